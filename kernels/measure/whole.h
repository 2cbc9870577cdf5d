/* whole.h - measures lines that a block can have whole. The records are those that measure.cu
 * makes. For kernels of THREADS threads. */
#ifndef TD_WHOLE_H
#define TD_WHOLE_H

#include "extremes.h"
#include "record.h"

/* A block has a warp's lines, whose chunks its warps have in turn. In the end a warp has one
 * line. */
enum { LINES = TD_WHOLE_LINES, MOST_CHUNKS = TD_SHORT_K / TD_CHUNK };
static_assert((int)LINES == (int)WARPS && (int)LINES == (int)WARP_LINES, "a line for each warp");
static_assert((int)MOST_CHUNKS <= 64, "sums of a line's logarithms have 31 bits");

struct chunks_of_block {
    chunk of[LINES][MOST_CHUNKS];
};

/* ---- chunks ---- */

/* Leaves each lane half of the heights that it shares with one of another line, the larger of
 * either. */
template <int left> TD_DEVICE void join_heights(int (&x)[PER_THREAD])
{
    const bool is_upper = (threadIdx.x & (unsigned)left) != 0;
    TD_UNROLL
    for (int i = 0; i < 2 * left; i++) {
        const int keep = is_upper ? x[i + 2 * left] : x[i],
                  give = is_upper ? x[i] : x[i + 2 * left];
        x[i] = max(keep, __shfl_xor_sync(~0u, give, left));
    }
}

/* The largest heights over the warp's lines, of two elements of k: x becomes the second one's, it
 * returns which is the first. */
TD_DEVICE int join_lines(int (&x)[PER_THREAD])
{
    static_assert((int)LINES == 8 && (int)PER_THREAD == 16, "three steps leave two");
    const int lane = (int)threadIdx.x % 32;
    join_heights<4>(x);
    join_heights<2>(x);
    join_heights<1>(x);
    return lane / LINES + 2 * PARTS * (lane % LINES);
}

/* Raises the bounds of a chunk's elements of k, of which `left` are not past the end. least: the
 * smallest height of the lane's part, which the largest heights of its elements of k are not below,
 * whichever line it is of. By whole warps. */
TD_DEVICE void raise_bounds(const summary &all, int least, int left, int32_t *bounds)
{
    const int lane = (int)threadIdx.x % 32;
    TD_UNROLL
    for (int d = 1; d < LINES; d *= 2) least = max(least, __shfl_xor_sync(~0u, least, d));
    TD_UNROLL
    for (int d = LINES; d < 32; d *= 2) least = min(least, __shfl_xor_sync(~0u, least, d));
    const int most = td_warp_max((all.peak >> 8) - NO_EXPONENT),
              own = lane % 2 ? least : most; /* both for each TD_BOUND elements */
    if (lane < 2 * TD_CHUNK / TD_BOUND && lane / 2 * TD_BOUND < left && own > 0)
        atomicMax(&bounds[lane], own + NO_EXPONENT);
}

/* Where a lane's elements of the operand are: of one of LINES lines from line0 on, the last one in
 * the place of those beyond. */
struct lane_place {
    const uint64_t *at;
    int64_t k_step;
    int k, own, part, which;

    TD_INSIDE lane_place(const td_measure &p, int which_, int batch, int line0)
        : k_step(p.operand[which_].k_step), k((int)p.operand[which_].k),
          own((int)threadIdx.x % LINES), part((int)threadIdx.x % 32 / LINES), which(which_)
    {
        const td_view &o = p.operand[which];
        at = reinterpret_cast<const uint64_t *>(
                 td_member<const double>(o.matrix, p.batch_first + batch)) +
             td_view_at(o, min(line0 + own, o.lines - 1), part);
    }
    /* Of a chunk, from l0 on. */
    TD_INSIDE operand_elements chunk_at(int l0) const
    {
        const int count = (k - l0 - part + PARTS - 1) / PARTS;
        return {at + l0 * k_step, PARTS * k_step, {}, min((int)PER_THREAD, max(0, count)), which};
    }
};

/* Raises the largest exponents along k by the block's lines. */
TD_DEVICE void raise_tops(const td_measure &p, int which, int batch, int line0)
{
    const lane_place place(p, which, batch, line0);
    int32_t *const tops = p.scratch.tops[which] + (int64_t)batch * place.k;
    TD_ROLLED
    for (int l0 = (int)threadIdx.x / 32 * TD_CHUNK; l0 < place.k; l0 += WARPS * TD_CHUNK) {
        const operand_elements mine = place.chunk_at(l0);
        int x[PER_THREAD];
        TD_UNROLL
        for (int i = 0; i < PER_THREAD; i++) x[i] = height_of(magnitude(mine.load_padded(i)));
        const int first = l0 + join_lines(x);
        TD_UNROLL
        for (int i = 0; i < 2; i++) {
            const int at = first + i * PARTS;
            if (x[i]) atomicMax(&tops[at], x[i] + NO_EXPONENT);
            if (x[i] && p.has_parts) atomicMax(&tops[at ^ 1], x[i] + NO_EXPONENT);
        }
    }
}

/* The chunks of some lines of a member's operand, by all threads of a block. `again`: with shifts,
 * of which the first lines leave word; else the bounds of the largest exponents along k are
 * raised. */
template <bool again>
TD_DEVICE void measure_chunks(const td_measure &p, int which, int batch, int line0,
                              chunks_of_block &chunks)
{
    const lane_place place(p, which, batch, line0);
    const int k = place.k, own = place.own, part = place.part;
    TD_ROLLED
    for (int u = (int)threadIdx.x / 32; u * TD_CHUNK < k; u += WARPS) {
        const int l0 = u * TD_CHUNK;
        operand_elements mine = place.chunk_at(l0);
        TD_UNROLL
        for (int o = 0; o < 2 && again; o++)
            mine.tops[o] = p.scratch.tops[o] + (int64_t)batch * k + l0 + part;
        part_of_chunk seen = {};
        const int least = summarise_part<again>(mine, seen);
        const summary all = join_parts(seen.own);
        const sums_of_chunk sums = add_parts(sum_part<again>(mine, seen, all));
        if (part == 0) chunks.of[own][u] = chunk_of(all, sums);
        if (again) {
            for (int i = 0; i < mine.count && own == 0 && line0 == 0 && which == 0; i++)
                p.shift[(int64_t)batch * k + l0 + part + i * PARTS] = (int16_t)mine.shift(i);
        } else {
            if (l0 < WARPS * TD_CHUNK) td_wait_for_last(); /* what is raised is cleared */
            raise_bounds(all, least, k - l0,
                         p.scratch.bounds[which] + 2 * (batch * td_bounds(k) + l0 / TD_BOUND));
        }
    }
}

/* ---- lines ---- */

/* The record of a line, by a warp. */
TD_DEVICE td_line join_chunks(const td_measure &p, const chunk *chunks, int64_t k)
{
    const int lane = (int)threadIdx.x % 32;
    const chunks_of_line<32> own = {chunks, 1, lane, (int)((k + TD_CHUNK - 1) / TD_CHUNK)};
    summary all = summarise_chunks(own);
    all.peak = td_warp_max(all.peak);
    all.low = -td_warp_max(-all.low);
    all.zeros = td_warp_add(all.zeros);
    const line_sums some = sum_chunks(own, all.peak >> 8);
    const int logs = td_warp_add((int)some.logs);
    const uint64_t sums[2] = {td_warp_add_long(some.magnitudes), td_warp_add_long(some.squares)};
    const int log = td_log_above(lane == 0   ? sums[0]
                                 : lane == 1 ? sums[1]
                                             : (uint64_t)(k - all.zeros));
    td_line line =
        line_of(all, {__shfl_sync(~0u, log, 0), __shfl_sync(~0u, log, 1), __shfl_sync(~0u, log, 2)},
                mean_of(logs, (int)k));
    if (p.counts_rounded) {
        const int scale = td_scale_of(p.scaling, line),
                  count = td_warp_add(find_rounded(own, scale).count);
        line.rounded = log_of_rounded(td_is_counted(line) ? count * TD_CHUNK : 0, k);
    }
    return line;
}

/* Strips of LINES lines of an operand. */
TD_HOST_DEVICE int strips_of(const td_measure &p, int which)
{
    return (p.operand[which].lines + LINES - 1) / LINES;
}

#endif
