/* record.h - from units (chunk.h) to what is known of lines, and whether shifts along k help. For kernels. */
#ifndef TD_RECORD_H
#define TD_RECORD_H

#include "../device/last_block.h"
#include "../device/warp.h"
#include "../select/choice.h"
#include "chunk.h"

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

/* Of the units of a line, `step` apart in memory, those from `first` on, `groups` apart. */
template <int groups> struct units_of_line {
    const unit *at;
    int64_t step;
    int first, count;
};

template <int groups> TD_DEVICE summary summarise_units(const units_of_line<groups> &units)
{
    summary s = NO_ELEMENTS;
    TD_UNROLL_N(4)
    for (int u = units.first; u < units.count; u += groups) {
        const unit x = units.at[u * units.step];
        const int fraction = (int)(x.magnitudes >> FRACTION & 255);
        s = join(s, {TD_LOG * x.top + fraction, x.low, x.magnitudes >> ZEROS ? x.logs : 0, 0});
    }
    return s;
}

/* In units of 2^(top - 11). */
template <int groups> TD_DEVICE line_sums sum_units(const units_of_line<groups> &units, int top)
{
    line_sums sums = {0, 0, 0};
    TD_UNROLL_N(4)
    for (int u = units.first; u < units.count; u += groups) {
        const unit x = units.at[u * units.step];
        const int down = top - x.top;
        sums.logs += x.logs;
        sums.magnitudes += shift_up(x.magnitudes & ((1u << FRACTION) - 1), down);
        sums.squares += shift_up(x.squares, 2 * down);
    }
    return sums;
}

/* Units of a line of which its scale rounds elements, as these reach below its last place: how many, and one of them. */
struct rounded_units {
    int count, any;
};

template <int groups>
TD_DEVICE rounded_units find_rounded(const units_of_line<groups> &units, int scale)
{
    rounded_units found = {0, 0};
    TD_UNROLL_N(4)
    for (int u = units.first; u < units.count; u += groups)
        if (units.at[u * units.step].low < -scale) found = {found.count + 1, u};
    return found;
}

/* td_line.rounded of a line of which no more elements are rounded. */
TD_DEVICE int log_of_rounded(int64_t elements, int64_t k)
{
    return elements ? td_log_above((uint64_t)min(k, elements)) : (int)TD_NONE_ROUNDED;
}

/* ---- what is cleared ---- */

/* What is raised while lines are measured, or counted later: of each array the first element, and each step-th after it. */
TD_DEVICE void clear_share(const td_measure &p, int64_t first, int64_t step)
{
    const int64_t tops = p.operand[0].k * p.batch, bounds = 2 * td_bounds(p.operand[0].k) * p.batch;
    TD_UNROLL_N(1) /* little code: each multiprocessor fetches it for some words */
    for (int64_t i = first; i < tops; i += step) p.tops[0][i] = p.tops[1][i] = INT32_MIN;
    TD_UNROLL_N(1)
    for (int64_t i = first; i < bounds; i += step) p.bounds[0][i] = p.bounds[1][i] = INT32_MIN;
    TD_UNROLL_N(1)
    for (int64_t i = first; i < p.batch; i += step) p.rise[i] = {}, p.shifted[i] = 0;
    TD_UNROLL_N(1)
    for (int64_t i = first; i < p.clear_count; i += step) p.clear[i] = 0;
}

/* ---- shifts ---- */

/* Shifts are not worth it while the exponents that they could even out spread no further. */
enum { LEAST_SPREAD = 16 };

/* Limits of what B's exponents are above A's, for all threads of a block. */
struct difference {
    int most, least;
};
constexpr difference NO_DIFFERENCE = {INT32_MIN, INT32_MAX};

TD_DEVICE difference join_differences(const difference &own)
{
    TD_SHARED(difference, all, );
    __syncthreads();
    if (threadIdx.x == 0) all = NO_DIFFERENCE;
    __syncthreads();
    if (own.most >= own.least) {
        atomicMax(&all.most, own.most);
        atomicMin(&all.least, own.least);
    }
    __syncthreads();
    return all;
}

/* The bounds of some members' operands: every step-th from `own` on. */
struct limits {
    difference of[2] = {NO_DIFFERENCE, NO_DIFFERENCE};

    TD_INSIDE void add(const td_measure &p, int first, int members, int own, int step)
    {
        const int64_t bounds = td_bounds(p.operand[0].k);
        for (int64_t i = own; i < members * bounds; i += step) TD_UNROLL
        for (int o = 0; o < 2; o++) {
            const int32_t *const bound = p.bounds[o] + 2 * (first * bounds + i);
            of[o] = {max(of[o].most, bound[0]), min(of[o].least, bound[1])};
        }
    }

    /* False if they show that no difference is far from another. */
    TD_INSIDE bool may_spread() const
    {
        return of[0].least == INT32_MIN || of[1].least == INT32_MIN ||
               of[1].most - of[0].least - (of[1].least - of[0].most) > LEAST_SPREAD;
    }
};

/* Of some members together, by all threads of a block. */
TD_DEVICE bool may_spread(const td_measure &p, int first, int members)
{
    limits all;
    all.add(p, first, members, (int)threadIdx.x, (int)blockDim.x);
    TD_UNROLL
    for (int o = 0; o < 2; o++) all.of[o] = join_differences(all.of[o]);
    return all.may_spread();
}

/* Of a member, by each warp: waits for no other. */
TD_DEVICE bool may_spread_by_warp(const td_measure &p, int batch)
{
    limits all;
    all.add(p, batch, 1, (int)threadIdx.x % 32, 32);
    TD_UNROLL
    for (int o = 0; o < 2; o++)
        all.of[o] = {td_warp_max(all.of[o].most), ~td_warp_max(~all.of[o].least)};
    return all.may_spread();
}

/* True if what B's exponents are above A's spreads. By all threads of a block. */
TD_DEVICE bool spreads(const td_measure &p, int batch)
{
    const int64_t k = p.operand[0].k;
    const int32_t *a = p.tops[0] + batch * k, *b = p.tops[1] + batch * k;
    difference seen = NO_DIFFERENCE;
    TD_UNROLL_N(8) /* loads under way together */
    for (int64_t l = threadIdx.x; l < k; l += blockDim.x) {
        const bool both = a[l] != INT32_MIN && b[l] != INT32_MIN;
        const int own = both ? b[l] - a[l] : 0;
        seen.most = both ? max(seen.most, own) : seen.most;
        seen.least = both ? min(seen.least, own) : seen.least;
    }
    seen = join_differences(seen);
    return seen.most >= seen.least && seen.most - seen.least > LEAST_SPREAD;
}

/* What the shifts add to the mean of (norm + sum) / 2 over an operand's lines, rounded down. */
TD_DEVICE int64_t mean_rise(const td_rise &rise, int which)
{
    const int64_t all = (int64_t)rise.sum[which], count = rise.lines[which];
    return count == 0 ? 0 : all / count - (all % count < 0);
}

/* The block's lines are measured with shifts: adds what these have changed. The last block of a member decides whether they are kept,
 * which they are if they make norms smaller: true for that block. All threads take part; `counts`: the thread has a line. */
template <int lines_of_block>
TD_DEVICE bool close_lines(const td_measure &p, int which, int batch, const td_line &line,
                           const td_line &again, bool counts)
{
    TD_SHARED(unsigned long long, sum, ); /* modulo 2^64 */
    TD_SHARED(unsigned, lines, );
    td_rise *const rise = &p.rise[batch];
    const int64_t own = ((again.norm + again.sum) >> 1) - ((line.norm + line.sum) >> 1);
    int blocks = 0;
    for (int o = 0; o < 2; o++)
        blocks += (p.operand[o].lines + lines_of_block - 1) / lines_of_block;
    if (threadIdx.x == 0) sum = lines = 0;
    __syncthreads();
    if (counts && line.low != TD_SPECIAL && line.low != TD_NO_LOW) {
        atomicAdd(&sum, (unsigned long long)own);
        atomicAdd(&lines, 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&rise->sum[which], sum);
        atomicAdd(&rise->lines[which], lines);
    }
    const bool is_last = td_is_last(&rise->blocks, blocks);
    if (is_last && threadIdx.x == 0)
        p.shifted[batch] = mean_rise(*rise, 0) + mean_rise(*rise, 1) < 0;
    return is_last;
}

#endif
