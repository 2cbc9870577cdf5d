/* record.h - from chunks (chunk.h) to what is known of lines. For kernels. */
#ifndef TD_RECORD_H
#define TD_RECORD_H

#include "../device/warp.h"
#include "scale.h"
#include "chunk.h"
#include "shift.h"

struct line_sums {
    int64_t logs;
    uint64_t magnitudes, squares;
};

/* Logarithms of a line's sums, and of how many elements are not zero: at least. */
struct logs_of_sums {
    int magnitudes, squares, elements;
};

/* Rounded down, also below zero. */
template <class number> TD_DEVICE int mean_of(number logs, number k)
{
    return (int)(logs / k - (logs % k < 0));
}

TD_DEVICE td_line line_of(const summary &all, const logs_of_sums &logs, int mean)
{
    td_line line = {0, 0, TD_NO_MEAN, 0, 0, (int16_t)all.low, 0};
    const int unit_log = TD_LOG * ((all.peak >> 8) - 11);
    if (all.low == TD_SPECIAL || all.low == TD_NO_LOW) return line;
    line.norm = unit_log + ((logs.squares + 1) >> 1);
    line.sum = unit_log + logs.magnitudes;
    line.typical = line.sum - logs.elements;
    if (all.zeros == 0) line.mean = mean;
    line.peak = all.peak;
    return line;
}

/* x / 2^down, rounded up. */
TD_DEVICE uint64_t shift_up(uint32_t x, int down)
{
    return down > 31 ? x != 0 : (x + ((1ull << down) - 1)) >> down;
}

/* Of the chunks of a line, `step` apart in memory, those from `first` on, `groups` apart. */
template <int groups> struct chunks_of_line {
    const chunk *at;
    int64_t step;
    int first, count;
};

template <int groups> TD_DEVICE summary summarise_chunks(const chunks_of_line<groups> &chunks)
{
    summary s = NO_ELEMENTS;
    TD_UNROLL_N(4)
    for (int u = chunks.first; u < chunks.count; u += groups) {
        const chunk x = chunks.at[u * chunks.step];
        const int fraction = (int)(x.magnitudes >> FRACTION & 255);
        s = join(s, {TD_LOG * x.top + fraction, x.low, x.magnitudes >> ZEROS ? x.logs : 0, 0});
    }
    return s;
}

/* In units of 2^(top - 11). */
template <int groups> TD_DEVICE line_sums sum_chunks(const chunks_of_line<groups> &chunks, int top)
{
    line_sums sums = {0, 0, 0};
    TD_UNROLL_N(4)
    for (int u = chunks.first; u < chunks.count; u += groups) {
        const chunk x = chunks.at[u * chunks.step];
        const int down = top - x.top;
        sums.logs += x.logs;
        sums.magnitudes += shift_up(x.magnitudes & ((1u << FRACTION) - 1), down);
        sums.squares += shift_up(x.squares, 2 * down);
    }
    return sums;
}

/* Units of a line of which its scale rounds elements, as these reach below its last place: how
 * many, and one of them. */
struct rounded_chunks {
    int count, any;
};

template <int groups>
TD_DEVICE rounded_chunks find_rounded(const chunks_of_line<groups> &chunks, int scale)
{
    rounded_chunks found = {0, 0};
    TD_UNROLL_N(4)
    for (int u = chunks.first; u < chunks.count; u += groups)
        if (chunks.at[u * chunks.step].low < -scale) found = {found.count + 1, u};
    return found;
}

/* td_line.rounded of a line of which no more elements are rounded. */
TD_DEVICE int log_of_rounded(int64_t elements, int64_t k)
{
    return elements ? td_log_above((uint64_t)min(k, elements)) : (int)TD_NONE_ROUNDED;
}

/* True if no line is to be measured. */
TD_DEVICE bool measures_none(const td_measure &p)
{
    return td_verdict_of(p.verdict) != TD_RESIDUES || td_scalar_value(p.alpha) == 0.0;
}

/* ---- what is cleared ---- */

/* What is raised while lines are measured, or counted later: of each array the first element, and
 * each step-th after it. */
TD_DEVICE void clear_share(const td_measure &p, int64_t first, int64_t step)
{
    const int64_t tops = p.operand[0].k * p.batch, bounds = 2 * td_bounds(p.operand[0].k) * p.batch;
    TD_UNROLL_N(1) /* little code: each multiprocessor fetches it for some words */
    for (int64_t i = first; i < tops; i += step)
        p.scratch.tops[0][i] = p.scratch.tops[1][i] = INT32_MIN;
    TD_UNROLL_N(1)
    for (int64_t i = first; i < bounds; i += step)
        p.scratch.bounds[0][i] = p.scratch.bounds[1][i] = INT32_MIN;
    TD_UNROLL_N(1)
    for (int64_t i = first; i < p.batch; i += step) p.scratch.rise[i] = {}, p.shifted[i] = 0;
    TD_UNROLL_N(1)
    for (int64_t i = first; i < p.clear_count; i += step) p.clear[i] = 0;
}

#endif
