/* df_split.cu - binary64 to double-float: the exponent range of every line, then both operands into panels. */
#include "access.h"
#include "df.h"
#include "df_kernels.h"

enum { THREADS = 256, PACK_K = TD_K_TILE };

/* Largest magnitude and smallest nonzero one of some elements, as bits without sign. */
struct magnitudes {
    uint64_t largest, smallest;
};

TD_DEVICE void magnitudes_add(magnitudes *m, uint64_t bits)
{
    uint64_t magnitude = bits & 0x7fffffffffffffffull;
    if (magnitude > m->largest) m->largest = magnitude;
    if (magnitude && magnitude < m->smallest) m->smallest = magnitude;
}

/* Partial ranges of no nonzero element have top < bottom. */
TD_DEVICE td_range range_of(magnitudes m)
{
    td_range r;
    r.top = (int16_t)-0x7fff;
    r.bottom = 0x7fff;
    if (m.largest) {
        r.top = (int16_t)(td_is_finite64(m.largest) ? td_exponent64(m.largest) : TD_RANGE_SPECIAL);
        r.bottom = (int16_t)td_exponent64(m.smallest);
    }
    return r;
}

TD_DEVICE td_range range_join(td_range a, td_range b)
{
    td_range r;
    r.top = a.top > b.top ? a.top : b.top;
    r.bottom = a.bottom < b.bottom ? a.bottom : b.bottom;
    return r;
}

/* Lines are contiguous in memory: neighbouring threads read neighbouring lines. */
TD_DEVICE void scan_across(const td_operand &o, const double *data, int line0, int64_t first,
                           int64_t end, magnitudes (*seen)[TD_TILE])
{
    const int column = (int)threadIdx.x / TD_TILE, line = (int)threadIdx.x % TD_TILE;
    magnitudes m = {0, ~0ull};
    if (line0 + line < o.lines)
        for (int64_t l = first + column; l < end; l += THREADS / TD_TILE)
            magnitudes_add(&m, td_bits64(data[td_operand_at(o, line0 + line, l)]));
    seen[column][line] = m;
}

/* k is contiguous in memory: a warp reads along a line, eight lines one after another. */
TD_DEVICE void scan_along(const td_operand &o, const double *data, int line0, int64_t first,
                          int64_t end, magnitudes (*seen)[TD_TILE])
{
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    for (int line = warp; line < TD_TILE; line += THREADS / 32) {
        magnitudes m = {0, ~0ull};
        if (line0 + line < o.lines)
            for (int64_t l = first + lane; l < end; l += 32)
                magnitudes_add(&m, td_bits64(data[td_operand_at(o, line0 + line, l)]));
        for (int step = 16; step; step /= 2) {
            uint64_t largest = __shfl_xor_sync(0xffffffffu, m.largest, step);
            uint64_t smallest = __shfl_xor_sync(0xffffffffu, m.smallest, step);
            m.largest = largest > m.largest ? largest : m.largest;
            m.smallest = smallest < m.smallest ? smallest : m.smallest;
        }
        if (lane == 0) seen[0][line] = m;
    }
}

/* Grid: strip, chunk, batch member * 2 + operand. */
static __global__ void __launch_bounds__(THREADS) scan_kernel(const td_df_scan scan)
{
    TD_SHARED(magnitudes, seen, [THREADS / TD_TILE][TD_TILE]);
    const int which = (int)blockIdx.z % 2, batch = (int)blockIdx.z / 2, tid = (int)threadIdx.x;
    const td_operand &o = scan.operand[which];
    const int line0 = (int)blockIdx.x * TD_TILE, padded = td_tiles(o.lines) * TD_TILE;
    const int64_t first = blockIdx.y * scan.chunk, end = min(first + scan.chunk, o.k);
    const bool used = line0 < o.lines && td_scalar_value(scan.alpha) != 0.0;

    if (used) {
        const double *data = td_member<const double>(o.matrix, scan.batch_first + batch);
        if (o.k_step == 1)
            scan_along(o, data, line0, first, end, seen);
        else
            scan_across(o, data, line0, first, end, seen);
    }
    __syncthreads();
    if (used && tid < TD_TILE) {
        td_range r = range_of(seen[0][tid]);
        if (o.k_step != 1)
            for (int i = 1; i < THREADS / TD_TILE; i++) r = range_join(r, range_of(seen[i][tid]));
        scan.partial[which][((int64_t)batch * scan.chunks + blockIdx.y) * padded + line0 + tid] = r;
    }
}

cudaError_t td_df_scan_run(const td_df_scan *scan, int batch, cudaStream_t stream)
{
    int lines = max(scan->operand[0].lines, scan->operand[1].lines);
    dim3 grid((unsigned)td_tiles(lines), (unsigned)scan->chunks, 2 * (unsigned)batch);
    return TD_LAUNCH(scan_kernel, grid, THREADS, 0, stream, *scan);
}

/* The range of one line from its parts. */
TD_DEVICE td_range whole_range(const td_df_scan &scan, int which, int batch, int line)
{
    const int padded = td_tiles(scan.operand[which].lines) * TD_TILE;
    const td_range *partial = scan.partial[which] + (int64_t)batch * scan.chunks * padded + line;
    td_range r = partial[0];
    for (int i = 1; i < scan.chunks; i++) r = range_join(r, partial[(int64_t)i * padded]);
    if (r.top < r.bottom) r.top = r.bottom = 0;
    return r;
}

/* Element l of the packed part of a line, as the panel wants it: scaled binary64, or double-float as it is; zero in the
 * padding. */
template <bool typed>
TD_DEVICE tandem_df load_df(const td_df_pack &pack, const td_operand &o, const void *data, int line,
                            int64_t l, int exponent)
{
    if (line >= o.lines || l >= pack.k_count) return td_df(0.0f, 0.0f);
    const int64_t at = td_operand_at(o, line, pack.k_first + l);
    if (typed) return static_cast<const tandem_df *>(data)[at];
    return td_df_split(td_bits64(static_cast<const double *>(data)[at]), exponent);
}

/* Grid: strip, 32 elements of k, batch member * 2 + operand. */
template <bool typed>
static __global__ void __launch_bounds__(THREADS) pack_kernel(const td_df_pack pack)
{
    TD_SHARED(float, hi, [PACK_K][TD_TILE + 1]);
    TD_SHARED(float, lo, [PACK_K][TD_TILE + 1]);
    TD_SHARED(int, exponent, [TD_TILE]);
    const int which = (int)blockIdx.z % 2, batch = (int)blockIdx.z / 2, tid = (int)threadIdx.x;
    const td_operand &o = pack.scan.operand[which];
    const int line0 = (int)blockIdx.x * TD_TILE, strips = td_tiles(o.lines);
    const int64_t l0 = (int64_t)blockIdx.y * PACK_K;
    const bool used = line0 < o.lines && (typed || td_scalar_value(pack.scan.alpha) != 0.0);

    if (used && !typed && tid < TD_TILE) {
        td_range r = {0, 0};
        if (line0 + tid < o.lines) r = whole_range(pack.scan, which, batch, line0 + tid);
        exponent[tid] = r.top == TD_RANGE_SPECIAL ? 0 : r.top;
        if (blockIdx.y == 0) pack.range[which][(int64_t)batch * strips * TD_TILE + line0 + tid] = r;
    }
    __syncthreads();

    const void *data = NULL;
    float *panel = NULL;
    if (used) {
        data = typed ? (const void *)td_member<tandem_df>(o.matrix, pack.scan.batch_first + batch)
                     : (const void *)td_member<double>(o.matrix, pack.scan.batch_first + batch);
        int64_t padded_k = (pack.k_count + TD_K_TILE - 1) / TD_K_TILE * TD_K_TILE;
        panel = pack.panel[which] +
                (((int64_t)batch * strips + blockIdx.x) * padded_k + l0) * 2 * TD_TILE;
    }
    const bool along = o.k_step == 1;
    if (used && along) { /* through shared memory, which turns k to the outer index */
        const int l = tid % 32;
        for (int i = tid / 32; i < TD_TILE; i += THREADS / 32) {
            const tandem_df x =
                load_df<typed>(pack, o, data, line0 + i, l0 + l, typed ? 0 : exponent[i]);
            hi[l][i] = x.hi;
            lo[l][i] = x.lo;
        }
    }
    __syncthreads();
    if (used) {
        const int i = tid % TD_TILE;
        TD_UNROLL
        for (int l = tid / TD_TILE; l < PACK_K; l += THREADS / TD_TILE) {
            const tandem_df x =
                along ? td_df(hi[l][i], lo[l][i])
                      : load_df<typed>(pack, o, data, line0 + i, l0 + l, typed ? 0 : exponent[i]);
            panel[(int64_t)(2 * l) * TD_TILE + i] = x.hi;
            panel[(int64_t)(2 * l + 1) * TD_TILE + i] = x.lo;
        }
    }
}

cudaError_t td_df_pack_run(const td_df_pack *pack, int batch, cudaStream_t stream)
{
    int lines = max(pack->scan.operand[0].lines, pack->scan.operand[1].lines);
    dim3 grid((unsigned)td_tiles(lines), (unsigned)((pack->k_count + PACK_K - 1) / PACK_K),
              2 * (unsigned)batch);
    return pack->typed ? TD_LAUNCH(pack_kernel<true>, grid, THREADS, 0, stream, *pack)
                       : TD_LAUNCH(pack_kernel<false>, grid, THREADS, 0, stream, *pack);
}

/* Whole matrices, element by element; a block takes some columns. */
static __global__ void split_kernel(int64_t rows, int64_t cols, const double *a, int64_t lda,
                                    tandem_df *s, int64_t lds)
{
    for (int64_t j = blockIdx.x; j < cols; j += gridDim.x)
        for (int64_t i = threadIdx.x; i < rows; i += blockDim.x)
            s[i + j * lds] = td_df_split(td_bits64(a[i + j * lda]), 0);
}

static __global__ void unsplit_kernel(int64_t rows, int64_t cols, const tandem_df *s, int64_t lds,
                                      double *a, int64_t lda)
{
    for (int64_t j = blockIdx.x; j < cols; j += gridDim.x)
        for (int64_t i = threadIdx.x; i < rows; i += blockDim.x)
            a[i + j * lda] = td_df_join(s[i + j * lds]);
}

static dim3 column_blocks(int64_t cols) { return dim3((unsigned)min(cols, (int64_t)8192)); }

cudaError_t td_df_split_run(int64_t rows, int64_t cols, const double *a, int64_t lda, tandem_df *s,
                            int64_t lds, cudaStream_t stream)
{
    return TD_LAUNCH(split_kernel, column_blocks(cols), THREADS, 0, stream, rows, cols, a, lda, s,
                     lds);
}

cudaError_t td_df_unsplit_run(int64_t rows, int64_t cols, const tandem_df *s, int64_t lds,
                              double *a, int64_t lda, cudaStream_t stream)
{
    return TD_LAUNCH(unsplit_kernel, column_blocks(cols), THREADS, 0, stream, rows, cols, s, lds, a,
                     lda);
}

cudaError_t td_df_split_prepare(void)
{
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, scan_kernel);
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, pack_kernel<false>);
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, pack_kernel<true>);
    return error;
}
