/* measure_ts.cu - records of lines of triple-single numbers. */
#include "../arithmetic/logarithm.h"
#include "../device/warp.h"
#include "../view/access.h"
#include "measure_ts.h"

enum { THREADS = 256, LINES = 32, WARPS = THREADS / 32 };

/* The largest magnitude as bits: that of NaN and infinities is largest. */
TD_DEVICE uint32_t magnitude_of(const tandem_ts *x) { return td_bits32(x->x) & 0x7fffffffu; }

/* k is contiguous in memory: a warp reads along a line, several lines one after another. */
TD_DEVICE void measure_along(const td_view &o, const tandem_ts *data, int line0,
                             uint32_t (*seen)[LINES])
{
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    for (int line = warp; line < LINES; line += WARPS) {
        uint32_t largest = 0;
        if (line0 + line < o.lines)
            for (int64_t l = lane; l < o.k; l += 32)
                largest = max(largest, magnitude_of(&data[td_view_at(o, line0 + line, l)]));
        largest = td_warp_max(largest);
        if (lane < WARPS) seen[lane][line] = largest;
    }
}

/* Lines are contiguous in memory: neighbouring threads read neighbouring lines. */
TD_DEVICE void measure_across(const td_view &o, const tandem_ts *data, int line0,
                              uint32_t (*seen)[LINES])
{
    const int warp = (int)threadIdx.x / 32, line = (int)threadIdx.x % 32;
    uint32_t largest = 0;
    if (line0 + line < o.lines)
        for (int64_t l = warp; l < o.k; l += WARPS)
            largest = max(largest, magnitude_of(&data[td_view_at(o, line0 + line, l)]));
    seen[warp][line] = largest;
}

/* The record of a line whose largest magnitude has these bits. */
TD_DEVICE td_line record_of(uint32_t largest, int width)
{
    td_line line = {0, 0, TD_NO_MEAN, 0, 0, TD_NO_LOW, 0};
    const int field = (int)(largest >> 23);
    if (field == 0xff) {
        line.low = TD_SPECIAL;
    } else if (largest) {
        const int exponent = field ? field - 127 : -86 - td_clz64(largest);
        line.peak = TD_LOG * exponent;
        line.low = 0;
        line.scale = (int16_t)(width - exponent);
    }
    return line;
}

/* Grid: strip of LINES lines, operand. */
static __global__ void __launch_bounds__(THREADS) measure_kernel(const td_measure_ts p)
{
    TD_SHARED(uint32_t, seen, [WARPS][LINES]);
    const td_view &o = p.operand[blockIdx.y];
    const tandem_ts *data = td_member<const tandem_ts>(o.matrix, 0);
    const int line0 = (int)blockIdx.x * LINES, tid = (int)threadIdx.x;
    if (o.k_step == 1)
        measure_along(o, data, line0, seen);
    else
        measure_across(o, data, line0, seen);
    __syncthreads();
    if (tid < LINES && line0 + tid < o.lines) {
        uint32_t largest = 0;
        for (int i = 0; i < WARPS; i++) largest = max(largest, seen[i][tid]);
        p.line[blockIdx.y][line0 + tid] = record_of(largest, p.width);
    }
}

cudaError_t td_measure_ts_run(const td_measure_ts *p, cudaStream_t stream)
{
    const int lines = max(p->operand[0].lines, p->operand[1].lines);
    const dim3 grid((unsigned)((lines + LINES - 1) / LINES), 2);
    return TD_LAUNCH(measure_kernel, grid, THREADS, 0, stream, *p);
}

cudaError_t td_measure_ts_prepare(void) { return td_load(cudaSuccess, measure_kernel); }
