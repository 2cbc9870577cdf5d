/* scan.cu - the exponent range of every line of two operands. */
#include "../device/warp.h"
#include "../view/access.h"
#include "range.h"

enum { THREADS = 256 };

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

/* Lines are contiguous in memory: neighbouring threads read neighbouring lines. */
TD_DEVICE void scan_across(const td_view &o, const double *data, int line0, int64_t first,
                           int64_t end, magnitudes (*seen)[TD_TILE])
{
    const int column = (int)threadIdx.x / TD_TILE, line = (int)threadIdx.x % TD_TILE;
    magnitudes m = {0, ~0ull};
    if (line0 + line < o.lines)
        for (int64_t l = first + column; l < end; l += THREADS / TD_TILE)
            magnitudes_add(&m, td_bits64(td_view_load(o, data, line0 + line, l)));
    seen[column][line] = m;
}

/* k is contiguous in memory: a warp reads along a line, eight lines one after another. */
TD_DEVICE void scan_along(const td_view &o, const double *data, int line0, int64_t first,
                          int64_t end, magnitudes (*seen)[TD_TILE])
{
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    for (int line = warp; line < TD_TILE; line += THREADS / 32) {
        magnitudes m = {0, ~0ull};
        if (line0 + line < o.lines)
            for (int64_t l = first + lane; l < end; l += 32)
                magnitudes_add(&m, td_bits64(td_view_load(o, data, line0 + line, l)));
        if (!td_skips(line0 + line >= o.lines))
            m = {td_warp_join<td_largest>(m.largest), td_warp_join<td_least>(m.smallest)};
        if (lane == 0) seen[0][line] = m;
    }
}

/* Grid: strip, chunk, batch member * 2 + operand. */
static __global__ void __launch_bounds__(THREADS) scan_kernel(const td_scan scan)
{
    TD_SHARED(magnitudes, seen, [THREADS / TD_TILE][TD_TILE]);
    const int which = (int)blockIdx.z % 2, batch = (int)blockIdx.z / 2, tid = (int)threadIdx.x;
    const td_view &o = scan.operand[which];
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
            for (int i = 1; i < THREADS / TD_TILE; i++)
                r = td_range_join(r, range_of(seen[i][tid]));
        scan.partial[which][((int64_t)batch * scan.chunks + blockIdx.y) * padded + line0 + tid] = r;
    }
}

cudaError_t td_scan_run(const td_scan *scan, int batch, cudaStream_t stream)
{
    int lines = max(scan->operand[0].lines, scan->operand[1].lines);
    dim3 grid((unsigned)td_tiles(lines), (unsigned)scan->chunks, 2 * (unsigned)batch);
    return TD_LAUNCH(scan_kernel, grid, THREADS, 0, stream, *scan);
}

cudaError_t td_scan_prepare(void) { return td_load(cudaSuccess, scan_kernel); }
