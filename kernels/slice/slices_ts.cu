/* slices_ts.cu - C of triple-single numbers from sums of digit products. */
#include "../view/access.h"
#include "sums.h"
#include "../arithmetic/ts.h"

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

/* The leading 24 bits of x 2^e, rounded to nearest, ties to even, which x loses. False if binary32
 * cannot have the rest, or not even these. */
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
    return td_load(td_measure_ts_prepare(), finish_ts_kernel<TD_FEW_LIMBS>,
                   finish_ts_kernel<TD_LIMBS>);
}
