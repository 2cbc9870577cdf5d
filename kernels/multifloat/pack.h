/* pack.h - operands into panels of components, and whole matrices from one type to another.
 *
 * A template argument `source` says what the elements are and how they become components:
 *   element              type in memory
 *   real, components          a component's type, how many there are
 *   is_scaled            elements are binary64, and are divided by the power of two of their line
 *   split(x, e, component)    components of x 2^-e */
#ifndef TD_MULTIFLOAT_PACK_H
#define TD_MULTIFLOAT_PACK_H

#include "../measure/range.h"
#include "../view/access.h"
#include "multifloat.h"

enum { TD_PACK_THREADS = 256, TD_PACK_K = TD_K_TILE };

/* The range of one line from its parts. */
TD_DEVICE td_range td_range_of_line(const td_scan &scan, int which, int batch, int line)
{
    const int padded = td_tiles(scan.operand[which].lines) * TD_TILE;
    const td_range *partial = scan.partial[which] + (int64_t)batch * scan.chunks * padded + line;
    td_range r = partial[0];
    for (int i = 1; i < scan.chunks; i++) r = td_range_join(r, partial[(int64_t)i * padded]);
    if (r.top < r.bottom) r.top = r.bottom = 0;
    return r;
}

/* Element l of the packed part of a line; zero in the padding. */
template <class source>
TD_DEVICE void td_pack_load(const td_pack &pack, const td_view &o,
                            const typename source::element *data, int line, int64_t l, int exponent,
                            typename source::real *component)
{
    if (line < o.lines && l < pack.k_count)
        source::split(td_view_load(o, data, line, pack.k_first + l), exponent, component);
    else
        for (int p = 0; p < source::components; p++) component[p] = 0;
}

/* Sets the exponents of the lines of a strip, from line0 on, and stores their ranges. */
template <class source>
TD_DEVICE void td_pack_exponents(const td_pack &pack, int which, int batch, int line0,
                                 int64_t strip, int (&exponent)[TD_TILE])
{
    const int i = (int)threadIdx.x;
    td_range r = {0, 0};
    if (i >= TD_TILE) return;
    if (source::is_scaled && line0 + i < pack.scan.operand[which].lines)
        r = td_range_of_line(pack.scan, which, batch, line0 + i);
    exponent[i] = r.top == TD_RANGE_SPECIAL ? 0 : r.top;
    if (source::is_scaled && blockIdx.y == 0) pack.range[which][strip * TD_TILE + i] = r;
}

/* Loads elements of lines that lie along k in memory, for k to become the outer index. */
template <class source, class turned_panel>
TD_DEVICE void td_pack_turn(const td_pack &pack, const td_view &o,
                            const typename source::element *data, int line0, int64_t l0,
                            const int (&exponent)[TD_TILE], turned_panel &turned)
{
    const int l = (int)threadIdx.x % 32;
    for (int i = (int)threadIdx.x / 32; i < TD_TILE; i += TD_PACK_THREADS / 32) {
        typename source::real component[source::components];
        td_pack_load<source>(pack, o, data, line0 + i, l0 + l, exponent[i], component);
        for (int p = 0; p < source::components; p++)
            turned[source::components * l + p][i] = component[p];
    }
}

/* Stores the panel's elements, turned ones or such that are loaded here. */
template <class source, class turned_panel>
TD_DEVICE void td_pack_store(const td_pack &pack, const td_view &o,
                             const typename source::element *data, int line0, int64_t l0,
                             const int (&exponent)[TD_TILE], const turned_panel &turned,
                             typename source::real *panel)
{
    constexpr int components = source::components;
    const bool along = o.k_step == 1;
    const int i = (int)threadIdx.x % TD_TILE;
    TD_UNROLL
    for (int l = (int)threadIdx.x / TD_TILE; l < TD_PACK_K; l += TD_PACK_THREADS / TD_TILE) {
        typename source::real component[components];
        if (!along) td_pack_load<source>(pack, o, data, line0 + i, l0 + l, exponent[i], component);
        for (int p = 0; p < components; p++)
            panel[(int64_t)(components * l + p) * TD_TILE + i] =
                along ? turned[components * l + p][i] : component[p];
    }
}

/* Grid: strip, 32 elements of k, batch member * 2 + operand. */
template <class source>
static __global__ void __launch_bounds__(TD_PACK_THREADS) td_pack_kernel(const td_pack pack)
{
    using real = typename source::real;
    using element = typename source::element;
    constexpr int components = source::components;
    TD_SHARED(real, turned, [components * TD_PACK_K][TD_TILE + 1]);
    TD_SHARED(int, exponent, [TD_TILE]);
    const int which = (int)blockIdx.z % 2, batch = (int)blockIdx.z / 2;
    const td_view &o = pack.scan.operand[which];
    const int line0 = (int)blockIdx.x * TD_TILE;
    const int64_t l0 = (int64_t)blockIdx.y * TD_PACK_K,
                  strip = (int64_t)batch * td_tiles(o.lines) + blockIdx.x,
                  padded_k = (pack.k_count + TD_K_TILE - 1) / TD_K_TILE * TD_K_TILE;
    if (line0 >= o.lines || (source::is_scaled && td_scalar_value(pack.scan.alpha) == 0.0)) return;

    td_pack_exponents<source>(pack, which, batch, line0, strip, exponent);
    __syncthreads();
    const element *data = td_member<const element>(o.matrix, pack.scan.batch_first + batch);
    if (o.k_step == 1) td_pack_turn<source>(pack, o, data, line0, l0, exponent, turned);
    __syncthreads();
    td_pack_store<source>(pack, o, data, line0, l0, exponent, turned,
                          static_cast<real *>(pack.panel[which]) +
                              (strip * padded_k + l0) * components * TD_TILE);
}

template <class source>
static cudaError_t td_pack_launch(const td_pack *pack, int batch, cudaStream_t stream)
{
    const int lines = max(pack->scan.operand[0].lines, pack->scan.operand[1].lines);
    const dim3 grid((unsigned)td_tiles(lines),
                    (unsigned)((pack->k_count + TD_PACK_K - 1) / TD_PACK_K), 2 * (unsigned)batch);
    return TD_LAUNCH(td_pack_kernel<source>, grid, TD_PACK_THREADS, 0, stream, *pack);
}

/* A td_format's pack, for one type beside binary64. */
template <class scaled, class own>
static cudaError_t td_pack_either(const td_pack *pack, int batch, cudaStream_t stream)
{
    return pack->type == TD_BINARY64 ? td_pack_launch<scaled>(pack, batch, stream)
                                     : td_pack_launch<own>(pack, batch, stream);
}

/* Whole matrices, element by element; a block takes some columns. convert(from) gives the
 * element. */
template <class from, class to, to (*convert)(const from &)>
static __global__ void td_convert_kernel(int64_t rows, int64_t cols, const from *a, int64_t lda,
                                         to *s, int64_t lds)
{
    for (int64_t j = blockIdx.x; j < cols; j += gridDim.x)
        for (int64_t i = threadIdx.x; i < rows; i += blockDim.x)
            s[i + j * lds] = convert(a[i + j * lda]);
}

/* A td_convert. */
template <class from, class to, to (*convert)(const from &)>
static cudaError_t td_convert_launch(int64_t rows, int64_t cols, const void *a, int64_t lda,
                                     void *s, int64_t lds, cudaStream_t stream)
{
    const dim3 grid((unsigned)min(cols, (int64_t)8192));
    return TD_LAUNCH((td_convert_kernel<from, to, convert>), grid, TD_PACK_THREADS, 0, stream, rows,
                     cols, static_cast<const from *>(a), lda, static_cast<to *>(s), lds);
}

#endif
