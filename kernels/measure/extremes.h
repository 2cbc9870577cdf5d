/* extremes.h - what is seen of all lines of an operand together: the largest of some numbers of
 * their records. For kernels. */
#ifndef TD_EXTREMES_H
#define TD_EXTREMES_H

#include "../device/warp.h"
#include "scale.h"

/* What td_line_extremes has: the largest looseness, and that of lines that their scale rounds; the
 * largest width; the largest exponent, and the largest of those of lowest bits with the other sign;
 * whether any line is special. */
enum { ALL, ROUNDED, WIDTH, PEAK, DEPTH, SPECIAL };

/* All numbers of td_line_extremes are above NO_LINE. */
enum { NO_LINE = -(1 << 20), NO_MEAN = 1 << 20 };

/* By how much the norm and the sum of a line, which bound what rounding costs, are above its mean:
 * floor((norm + sum) / 2) - mean as logarithms; NO_MEAN for lines without one. */
TD_DEVICE int looseness_of(const td_line &line)
{
    if (line.mean == TD_NO_MEAN) return NO_MEAN;
    return max(0, ((line.norm + line.sum) >> 1) - line.mean);
}

/* True if lines alone certified what a probe looked at. */
TD_DEVICE bool td_is_by_lines(const int32_t *looseness)
{
    return looseness && *looseness != TD_NOT_BY_LINES;
}

/* The looseness of a line that counts against a candidate (td_extremes.loose). Zeros alone, which
 * leave a line without a mean, do not: the estimate sees the others. */
TD_DEVICE int counted_looseness(const td_line &line)
{
    enum { USUAL_PEAK = 4 * TD_LOG, USUAL_MEAN = TD_LOG };
    if (line.mean != TD_NO_MEAN || line.peak - line.typical > USUAL_PEAK) return looseness_of(line);
    return ((line.norm + line.sum) >> 1) - line.typical + USUAL_MEAN;
}

/* Counts a line of operand `which` that candidates do not certify (td_extremes.loose). */
TD_DEVICE void count_loose(const td_probed_lines &probed, int which, const td_line &line,
                           td_extremes *all)
{
    if (!td_is_by_lines(probed.looseness) || !td_is_counted(line)) return;
    const int both = counted_looseness(line) + probed.looseness[1 - which];
    TD_ROLLED
    for (int i = 0; i < probed.limits && both >= probed.limit[i]; i++)
        atomicAdd(&all->loose[which][i], 1);
}

/* The logarithm of a line's norm in units of its lowest bit: of the norm that it has as a line of
 * whole numbers. A scale by a level of so much or more rounds no element. */
TD_DEVICE int width_of(const td_line &line) { return line.norm - TD_LOG * line.low; }

/* What a thread has seen of some lines. */
struct seen_of_lines {
    int of[TD_EXTREMES] = {NO_LINE, NO_LINE, NO_LINE, NO_LINE, NO_LINE, NO_LINE};

    TD_INSIDE void add(const td_scaling &scaling, const td_line &line)
    {
        if (line.low == TD_SPECIAL) of[SPECIAL] = 0;
        if (!td_is_counted(line)) return;
        of[ALL] = max(of[ALL], looseness_of(line));
        if (td_scale_of(scaling, line) + line.low < 0)
            of[ROUNDED] = max(of[ROUNDED], looseness_of(line));
        of[WIDTH] = max(of[WIDTH], width_of(line));
        of[PEAK] = max(of[PEAK], line.peak >> 8);
        of[DEPTH] = max(of[DEPTH], -line.low);
    }
};

/* Raises, in shared memory, an operand's extremes by what each thread has seen. By whole warps. */
TD_DEVICE void raise_shared_extremes(const seen_of_lines &mine, td_line_extremes *seen)
{
    TD_UNROLL
    for (int e = 0; e < TD_EXTREMES; e++) td_warp_raise(&seen->above[e], mine.of[e] - NO_LINE);
}

/* Raises extremes that all blocks see. All threads take part; saw_none: true if no thread of the
 * warp has seen a line. */
TD_DEVICE void raise_extremes(const seen_of_lines &mine, bool saw_none, td_line_extremes *all)
{
    TD_SHARED(td_line_extremes, seen, );
    const int tid = (int)threadIdx.x;
    if (tid < TD_EXTREMES) seen.above[tid] = 0;
    __syncthreads();
    if (!saw_none) raise_shared_extremes(mine, &seen);
    __syncthreads();
    if (tid < TD_EXTREMES && seen.above[tid]) atomicMax(&all->above[tid], seen.above[tid]);
}

#endif
