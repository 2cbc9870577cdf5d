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

/* Grid: strip, 32 elements of k, batch member * 2 + operand. */
template <class source>
static __global__ void __launch_bounds__(TD_PACK_THREADS) td_pack_kernel(const td_pack pack)
{
    using real = typename source::real;
    using element = typename source::element;
    constexpr int components = source::components;
    TD_SHARED(real, turned, [components * TD_PACK_K][TD_TILE + 1]);
    TD_SHARED(int, exponent, [TD_TILE]);
    const int which = (int)blockIdx.z % 2, batch = (int)blockIdx.z / 2, tid = (int)threadIdx.x;
    const td_view &o = pack.scan.operand[which];
    const int line0 = (int)blockIdx.x * TD_TILE, strips = td_tiles(o.lines);
    const int64_t l0 = (int64_t)blockIdx.y * TD_PACK_K;
    const bool used =
        line0 < o.lines && (!source::is_scaled || td_scalar_value(pack.scan.alpha) != 0.0);

    if (used && tid < TD_TILE) {
        td_range r = {0, 0};
        if (source::is_scaled && line0 + tid < o.lines)
            r = td_range_of_line(pack.scan, which, batch, line0 + tid);
        exponent[tid] = r.top == TD_RANGE_SPECIAL ? 0 : r.top;
        if (source::is_scaled && blockIdx.y == 0)
            pack.range[which][(int64_t)batch * strips * TD_TILE + line0 + tid] = r;
    }
    __syncthreads();

    const element *data = NULL;
    real *panel = NULL;
    if (used) {
        data = td_member<const element>(o.matrix, pack.scan.batch_first + batch);
        const int64_t padded_k = (pack.k_count + TD_K_TILE - 1) / TD_K_TILE * TD_K_TILE;
        panel = static_cast<real *>(pack.panel[which]) +
                (((int64_t)batch * strips + blockIdx.x) * padded_k + l0) * components * TD_TILE;
    }
    const bool along = o.k_step == 1;
    if (used && along) { /* through shared memory, which turns k to the outer index */
        const int l = tid % 32;
        for (int i = tid / 32; i < TD_TILE; i += TD_PACK_THREADS / 32) {
            real component[components];
            td_pack_load<source>(pack, o, data, line0 + i, l0 + l, exponent[i], component);
            for (int p = 0; p < components; p++) turned[components * l + p][i] = component[p];
        }
    }
    __syncthreads();
    if (used) {
        const int i = tid % TD_TILE;
        TD_UNROLL
        for (int l = tid / TD_TILE; l < TD_PACK_K; l += TD_PACK_THREADS / TD_TILE) {
            real component[components];
            if (!along)
                td_pack_load<source>(pack, o, data, line0 + i, l0 + l, exponent[i], component);
            for (int p = 0; p < components; p++)
                panel[(int64_t)(components * l + p) * TD_TILE + i] =
                    along ? turned[components * l + p][i] : component[p];
        }
    }
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
