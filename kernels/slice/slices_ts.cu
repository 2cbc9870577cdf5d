/* slices_ts.cu - measures of operands of triple-single numbers, and C of such numbers from sums of digit products. */
#include "../view/access.h"
#include "sums.h"
#include "../arithmetic/ts.h"

enum { THREADS = 256, LINES = 32, WARPS = THREADS / 32 };

/* ---- measures ---- */

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
        for (int step = 16; step; step /= 2)
            largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, step));
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

/* ---- C ---- */

/* Takes m 2^shift, a whole number, from the magnitude of x; m < 2^32. */
template <int limbs>
TD_DEVICE void shorten(td_wide<limbs> *x, bool is_negative, uint64_t m, int shift)
{
    const uint32_t flip = is_negative ? 0u : ~0u;
    uint64_t carry = flip & 1u;
    TD_UNROLL
    for (int i = 0; i < limbs; i++) {
        const int down = 32 * i - shift;
        uint64_t part = 0;
        if (down >= 0 && down < 32) part = m >> down;
        if (down < 0 && down > -32) part = m << -down;
        carry += (uint64_t)x->limb[i] + ((uint32_t)part ^ flip);
        x->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* The leading 24 bits of x 2^e, rounded to nearest, ties to even, which x loses. False if binary32 cannot have the rest, or not even these. */
template <int limbs> TD_DEVICE bool take_part(td_wide<limbs> *x, int e, float *part)
{
    int shift;
    const bool is_negative = td_wide_is_negative(*x);
    const uint64_t leading = td_wide_leading(td_wide_magnitude(*x), &shift);
    const uint64_t rest = leading & 0xffffffffffull, half = 1ull << 39;
    const uint64_t m = (leading >> 40) + (rest > half || (rest == half && (leading >> 40 & 1)));
    shift += 40;
    const float value = td_scale32((int)m, max(-252, min(127, shift + e)));
    *part = is_negative ? -value : value;
    if (shift + e < -149 || !td_is_finite32(value)) return false;
    shorten(x, is_negative, m, shift);
    return true;
}

template <int limbs> TD_DEVICE tandem_ts to_ts(td_wide<limbs> x, int e)
{
    tandem_ts r = td_ts(0.0f, 0.0f, 0.0f);
    if (take_part(&x, e, &r.x) && take_part(&x, e, &r.y)) take_part(&x, e, &r.z);
    return r;
}

TD_DEVICE bool is_special(td_line line) { return line.low == TD_SPECIAL; }

/* Grid: tile. */
template <int limbs>
static __global__ void __launch_bounds__(TD_SUBTILES)
    finish_ts_kernel(const td_slice_sums sums, const td_finish_ts p)
{
    int row, col;
    td_subtile_of_thread(p.target, &row, &col);
    td_slice_source<limbs> source;
    source.sums = &sums;
    for (int j = col; j < min(col + (int)TD_SUBTILE, p.target.n) && row < p.target.m; j++) {
        tandem_ts *c = td_target_c<tandem_ts>(p.target) + j * p.target.c.ld;
        const td_line b = p.line[1][j];
        td_wide<limbs> x[TD_SUBTILE];
        td_slice_source<limbs>::load(source, row, j, x);
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++) {
            if (row + i >= p.target.m) continue;
            const td_line a = p.line[0][row + i];
            tandem_ts sum = to_ts(x[i], -(a.scale + b.scale));
            if (is_special(a) || is_special(b)) sum.x = td_from_bits32(0x7fc00000u);
            sum = td_ts_mul(p.alpha, sum);
            if (p.beta.x != 0.0f) sum = td_ts_add(sum, td_ts_mul(p.beta, c[row + i]));
            c[row + i] = sum;
        }
    }
}

cudaError_t td_slices_finish_ts(const td_slice_sums *sums, const td_finish_ts *finish,
                                cudaStream_t stream)
{
    const dim3 grid = td_grid_of_tiles(finish->target, 1, 1);
    return td_sums_are_short(sums) ? TD_LAUNCH(finish_ts_kernel<TD_FEW_LIMBS>, grid, TD_SUBTILES, 0,
                                               stream, *sums, *finish)
                                   : TD_LAUNCH(finish_ts_kernel<TD_LIMBS>, grid, TD_SUBTILES, 0,
                                               stream, *sums, *finish);
}

cudaError_t td_slices_ts_prepare(void)
{
    return td_load(cudaSuccess, measure_kernel, finish_ts_kernel<TD_FEW_LIMBS>,
                   finish_ts_kernel<TD_LIMBS>);
}
