/* shift.h - whether shifts along k help: whether exponents spread along k, and whether lines that
 * are measured with shifts are kept. For kernels. */
#ifndef TD_SHIFT_H
#define TD_SHIFT_H

#include "../device/last_block.h"
#include "../device/warp.h"
#include "../view/access.h"
#include "measure.h"

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
            const int32_t *const bound = p.scratch.bounds[o] + 2 * (first * bounds + i);
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
    const int32_t *a = p.scratch.tops[0] + batch * k, *b = p.scratch.tops[1] + batch * k;
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

/* The block's lines are measured with shifts: adds what these have changed. The last block of a
 * member decides whether they are kept, which they are if they make norms smaller: true for that
 * block. All threads take part; `counts`: the thread has a line. */
template <int lines_of_block>
TD_DEVICE bool close_lines(const td_measure &p, int which, int batch, const td_line &line,
                           const td_line &again, bool counts)
{
    TD_SHARED(unsigned long long, sum, ); /* modulo 2^64 */
    TD_SHARED(unsigned, lines, );
    td_rise *const rise = &p.scratch.rise[batch];
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
