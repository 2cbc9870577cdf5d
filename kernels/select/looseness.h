/* looseness.h - what is seen of all lines, and the choice that follows from it. For kernels. */
#ifndef TD_LOOSENESS_H
#define TD_LOOSENESS_H

#include "../device/warp.h"
#include "choice.h"

/* Numbers of td_spread are above this; for lines without a mean. */
enum { NO_LINE = -(1 << 20), NO_MEAN = 1 << 20 };

TD_DEVICE int spread_of(const td_line &line)
{
    if (line.mean == TD_NO_MEAN) return NO_MEAN;
    return max(0, ((line.norm + line.sum) >> 1) - line.mean);
}

/* What td_spread_of_lines has. */
enum { ALL, ROUNDED, PEAK, DEPTH, SCALED_DEPTH, SPECIAL };

/* What is seen of some lines: above NO_LINE. */
struct seen_of_lines {
    int of[TD_SPREADS] = {NO_LINE, NO_LINE, NO_LINE, NO_LINE, NO_LINE, NO_LINE};

    TD_INSIDE void add(const td_choose &p, const td_line &line)
    {
        if (line.low == TD_SPECIAL) of[SPECIAL] = 0;
        if (!td_is_counted(line)) return;
        of[ALL] = max(of[ALL], spread_of(line));
        if (td_scale_of(p, p.candidate[0], line) + line.low < 0)
            of[ROUNDED] = max(of[ROUNDED], spread_of(line));
        of[PEAK] = max(of[PEAK], line.peak >> 8);
        of[DEPTH] = max(of[DEPTH], -line.low);
        of[SCALED_DEPTH] = max(of[SCALED_DEPTH], -line.low - td_binary64_scale(line));
    }
};

/* Some of a member's lines: the thread's are first, first + step, ... */
struct share_of_lines {
    int which, first, step;
};

/* Half of the threads of some blocks, this one being number `block`, have lines of op(A), half of op(B). */
TD_DEVICE share_of_lines share_of_thread(int block, int blocks)
{
    const int half = (int)blockDim.x / 2, tid = (int)threadIdx.x;
    return {tid / half, block * half + tid % half, blocks * half};
}

/* What is seen of the thread's share of a member's lines. */
TD_DEVICE seen_of_lines see_lines(const td_choose &p, int batch, const share_of_lines &own)
{
    seen_of_lines mine;
    const td_line *const lines = td_measured_lines(p, own.which, batch);
    TD_ROLLED
    for (int i = own.first; i < p.lines[own.which]; i += own.step) mine.add(p, lines[i]);
    return mine;
}

/* Raises, in shared memory, what is seen of an operand by what each thread sees. By whole warps. */
TD_DEVICE void raise_shared_spread(const seen_of_lines &mine, td_spread_of_lines *seen)
{
    TD_UNROLL
    for (int s = 0; s < TD_SPREADS; s++) {
        const int most = td_warp_max(mine.of[s] - NO_LINE);
        if (most && threadIdx.x % 32 == 0) atomicMax(&seen->above[s], most);
    }
}

/* The same for all blocks to see. All threads take part; saw_none: true if no thread of the warp
 * saw a line. */
TD_DEVICE void raise_spread(const seen_of_lines &mine, bool saw_none, td_spread_of_lines *all)
{
    TD_SHARED(td_spread_of_lines, seen, );
    const int tid = (int)threadIdx.x;
    if (tid < TD_SPREADS) seen.above[tid] = 0;
    __syncthreads();
    if (!saw_none) raise_shared_spread(mine, &seen);
    __syncthreads();
    if (tid < TD_SPREADS && seen.above[tid]) atomicMax(&all->above[tid], seen.above[tid]);
}

/* The same of all lines: the largest of floor((norm + sum) / 2) - mean, and of those that the first candidate rounds; of
 * the exponents, and less those of the lowest bits, as lines are and in the units of binary64.h; whether any is special. */
struct spread {
    int all, rounded, peak, depth, scaled_depth;
    bool has_special;
};
TD_DEVICE spread spread_seen(const td_spread_of_lines &seen)
{
    const int32_t *above = seen.above;
    return {above[ALL] + NO_LINE,   above[ROUNDED] + NO_LINE,      above[PEAK] + NO_LINE,
            above[DEPTH] + NO_LINE, above[SCALED_DEPTH] + NO_LINE, above[SPECIAL] != 0};
}

/* What binary64 has for sums of all lines of both operands. */
TD_DEVICE td_room room_of(const td_choose &p, const spread &a, const spread &b)
{
    if (a.all == NO_LINE || b.all == NO_LINE) return TD_ROOM_IF_SCALED;
    if (!td_has_room_scaled(-a.scaled_depth, -b.scaled_depth)) return TD_ROOM_FOR_SOME;
    return !a.has_special && !b.has_special && td_has_room(a.peak + b.peak, -a.depth - b.depth, p.k)
               ? TD_ROOM
               : TD_ROOM_IF_SCALED;
}

/* The first candidate that certifies all pairs of lines, as far as lines may choose, else as many: a pair is certified if neither is
 * rounded, or if both spread little. */
TD_DEVICE int candidate_of_lines(const td_choose &p, const spread *seen)
{
    const int most = max(seen[0].rounded + seen[1].all, seen[0].all + seen[1].rounded);
    int i = 0;
    while (i < p.candidates_of_lines && most >= p.candidate[i].level - p.level_of_pair) i++;
    return i;
}

/* seen: of either operand; has_lines: alpha is not 0. */
TD_DEVICE td_choice choice_of_lines(const td_choose &p, bool has_lines,
                                    const td_spread_of_lines *seen)
{
    td_choice choice = p.candidate[0];
    if (!has_lines) choice.is_estimated = 0;
    if (!has_lines || p.candidates == 1) return choice;
    const spread of[2] = {spread_seen(seen[0]), spread_seen(seen[1])};
    const int i = candidate_of_lines(p, of);
    if (i < p.candidates_of_lines) {
        choice = p.candidate[i];
        choice.is_estimated = 0;
    }
    choice.room = room_of(p, of[0], of[1]);
    return choice;
}

/* By one thread. */
TD_DEVICE void leave_choice(const td_choose &p, int batch, const td_choice &choice)
{
    p.choice[batch] = choice;
    if (p.planes && !(p.candidates > 1 && choice.is_estimated))
        atomicMax(p.planes, (unsigned long long)choice.parameter);
}

#endif
