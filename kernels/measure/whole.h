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
    struct {
        int of[2 * left];
    } given;
    TD_UNROLL
    for (int i = 0; i < 2 * left; i++) {
        given.of[i] = is_upper ? x[i] : x[i + 2 * left];
        x[i] = is_upper ? x[i + 2 * left] : x[i];
    }
    given = td_warp_exchange<left>(given);
    TD_UNROLL
    for (int i = 0; i < 2 * left; i++) x[i] = max(x[i], given.of[i]);
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
    least = td_warp_join_apart<1, LINES, td_largest>(least);
    least = td_warp_join_apart<LINES, 32, td_least>(least);
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

/* Logarithms of three numbers that all lanes have: each by a lane of its own, but by all lanes of
 * the host device, where that is faster than a shuffle. */
TD_DEVICE logs_of_sums logs_by_lanes(uint64_t magnitudes, uint64_t squares, uint64_t elements)
{
#if TD_HAS_CUDA_DEVICE
    const int lane = (int)threadIdx.x % 32;
    const int log = td_log_above(lane == 0 ? magnitudes : lane == 1 ? squares : elements);
    return {__shfl_sync(~0u, log, 0), __shfl_sync(~0u, log, 1), __shfl_sync(~0u, log, 2)};
#else
    return {td_log_above(magnitudes), td_log_above(squares), td_log_above(elements)};
#endif
}

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
    td_line line = line_of(all, logs_by_lanes(sums[0], sums[1], (uint64_t)(k - all.zeros)),
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
