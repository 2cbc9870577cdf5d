/* binary64_lines.h - whether a block's sums in binary64 have room as its lines are, and what its
 * lines are scaled by where they have not. */
#ifndef TD_BINARY64_LINES_H
#define TD_BINARY64_LINES_H

#include "binary64_sums.h"
#include "binary64_tiles.h"

/* What the block knows of its lines. */
struct line_summary {
    int peak[2], low[2]; /* of the counted ones */
    int scaled_low[2];   /* the lowest of these when scaled */
    int most_scale;      /* the largest magnitude of any line's scale */
    int most_shift;      /* the largest magnitude of any shift along k that was looked at */
    int has_special;
};

/* A block's shared memory, but for the stages. */
struct shared_state {
    td_copy_ring ring;
    int masked[2]; /* how many elements of both tiles are masked */
    line_summary lines;
    int scale[ROWS + COLUMNS]; /* powers of two that rows, then columns are multiplied by */
};

/* What was measured of a line: of a row of C if `which` is 0, else of a column. */
TD_DEVICE const td_line &record_of(const td_repair &p, int which, int line)
{
    return p.line[which][blockIdx.z * p.lines_of_member[which] + line];
}

/* Sets what the block knows of its lines. All threads take part. */
TD_DEVICE void summarise_lines(const td_repair &p, const block_place &at, shared_state &shared)
{
    line_summary &s = shared.lines;
    __syncthreads();
    if (threadIdx.x == 0)
        s = {{INT32_MIN, INT32_MIN}, {INT32_MAX, INT32_MAX}, {INT32_MAX, INT32_MAX}, 0, 0, 0};
    __syncthreads();
    TD_ROLLED
    for (int i = (int)threadIdx.x; i < ROWS + COLUMNS; i += THREADS) {
        const int which = i >= ROWS;
        const int line = which ? at.column + i - ROWS : at.row + i;
        shared.scale[i] = 0;
        if (line >= p.operand[which].lines || (!which && i >= rows_of(at))) continue;
        const td_line record = p.line[which][blockIdx.z * p.lines_of_member[which] + line];
        if (record.low == TD_SPECIAL) s.has_special = 1;
        if (!td_is_counted(record)) continue;
        shared.scale[i] = td_binary64_scale(record);
        atomicMax(&s.peak[which], record.peak >> 8);
        atomicMin(&s.low[which], (int)record.low);
        atomicMin(&s.scaled_low[which], record.low + shared.scale[i]);
        atomicMax(&s.most_scale, abs(shared.scale[i]));
    }
    __syncthreads();
}

/* True if all numbers of a block's rows, or of its columns, are 0. */
TD_DEVICE bool has_zeros_alone(const line_summary &s)
{
    return s.peak[0] == INT32_MIN || s.peak[1] == INT32_MIN;
}

/* True if no product of the block's elements overflows or has bits that binary64 has no room for,
 * and no sum overflows. */
TD_DEVICE bool has_room(const line_summary &s, int64_t k)
{
    return has_zeros_alone(s) || td_has_room(s.peak[0] + s.peak[1], s.low[0] + s.low[1], k);
}

/* True if scaled sums are good enough for all pairs of the block's lines. */
TD_DEVICE bool has_room_scaled(const line_summary &s)
{
    return has_zeros_alone(s) ||
           td_has_room_scaled(s.scaled_low[0], s.scaled_low[1], s.peak[0] + s.peak[1]);
}

/* Finds the largest of the shifts along k. All threads take part. */
TD_DEVICE void summarise_shifts(const int16_t *shift, int64_t k, shared_state &shared)
{
    int most = 0;
    TD_ROLLED
    for (int64_t l = threadIdx.x; shift && l < k; l += THREADS) most = max(most, abs(shift[l]));
    if (most) atomicMax(&shared.lines.most_shift, most);
    __syncthreads();
}

/* Takes scales of lines that are more than `most` back to it, if all products of the block's lines
 * have room for all of their bits with those, too: then sums have the same bits. Returns false, and
 * leaves the scales, if they have not, or if a scale is less than -most. All threads take part. */
TD_DEVICE bool draw_near(const td_repair &p, const block_place &at, int most, shared_state &shared)
{
    line_summary &s = shared.lines;
    __syncthreads();
    if (threadIdx.x < 2) s.scaled_low[threadIdx.x] = INT32_MAX;
    __syncthreads();
    TD_ROLLED
    for (int i = (int)threadIdx.x; i < ROWS + COLUMNS; i += THREADS) {
        const int which = i >= ROWS, line = which ? at.column + i - ROWS : at.row + i;
        if (line >= p.operand[which].lines || (!which && i >= rows_of(at))) continue;
        const td_line &record = record_of(p, which, line);
        if (td_is_counted(record))
            atomicMin(&s.scaled_low[which], shared.scale[i] < -most
                                                ? INT32_MIN / 2
                                                : record.low + min(shared.scale[i], most));
    }
    __syncthreads();
    const int low[2] = {td_uniform(s.scaled_low[0]), td_uniform(s.scaled_low[1])};
    if (min(low[0], low[1]) < TD_BINARY64_LEAST || low[0] + low[1] < TD_BINARY64_LEAST)
        return false;
    TD_ROLLED
    for (int i = (int)threadIdx.x; i < ROWS + COLUMNS; i += THREADS)
        shared.scale[i] = min(shared.scale[i], most);
    __syncthreads();
    return true;
}

/* True if every power of two that an element is multiplied by is a normal number, or has become
 * one. All threads take part. */
TD_DEVICE bool are_near(const td_repair &p, const block_place &at, const int16_t *shift,
                        shared_state &shared)
{
    const line_summary &s = shared.lines;
    summarise_shifts(shift, p.operand[0].k, shared);
    const int most = td_uniform(-LEAST_NORMAL - s.most_shift);
    return td_uniform(s.most_scale) <= most || draw_near(p, at, most, shared);
}

#endif
