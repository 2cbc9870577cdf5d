/* probe_blocks.h - how much of both operands of a product are blocks of zeros, by blocks beside the
 * lines that a probe looks at (probe_lines.h). */
#ifndef TD_PROBE_BLOCKS_H
#define TD_PROBE_BLOCKS_H

#include "../view/planes.h"
#include "probe_lines.h"

namespace
{

/* A block has as many elements of k as the int8 products pass over at a time, and two groups of
 * lines: the least that one of their tiles has. */
enum { BLOCK_K = TD_SLICE_K, LEAST_BLOCKS = 16, MOST_BLOCKS = SLICES };
static_assert((int)LEAST_BLOCKS <= (int)MOST_BLOCKS, "places for as many");

/* What of a block holds a number that is not 0: a group of GROUP lines, the TD_LINE_GROUP lines
 * that it lies among, all of it. */
enum { GROUP_HOLDS = 1, NEAR_HOLDS = 2, BLOCK_HOLDS = 4 };

/* How many blocks of a strip are looked at. */
TD_HOST_DEVICE int blocks_of(int slices) { return max(slices, (int)LEAST_BLOCKS); }

/* The group that block `number` is beside. Each group of op(A) comes with each of op(B), and both
 * with each quarter of k, equally often: blocks beside a diagonal count for no more than they are.
 */
TD_DEVICE int group_of_block(int which, int number)
{
    return (which ? number / GROUPS + number + 1 : number) % GROUPS;
}

/* True if any of the terms from `first` up to `end` is not 0, in so many lines from `line` on. By
 * all threads. */
template <int count, int loads>
TD_DEVICE bool any_holds(const td_probe &p, const strip &own, int64_t line, int64_t first,
                         int64_t end)
{
    enum { APART = THREADS / count };
    const int64_t last = p.lines[own.which] - 1;
    const probed_line mine(p, own, min(last, line + (int)threadIdx.x / APART));
    TD_ROLLED
    for (int64_t l = first; l < end; l += APART * loads) {
        double x[loads];
        int is_any = 0;
        mine.load(l + threadIdx.x % APART, APART, end, x);
        TD_UNROLL
        for (int e = 0; e < loads; e++) is_any |= x[e] != 0.0;
        if (__syncthreads_or(is_any)) return true;
    }
    return false;
}

/* What holds a number of block `number` of so many of a strip. By all threads. */
TD_DEVICE int holds_of_block(const td_probe &p, const strip &own, int number, int blocks)
{
    const int64_t terms = terms_of(p),
                  side = p.factor[own.which].is_complex ? 2 * BLOCK_K : BLOCK_K,
                  first = terms * number / blocks / side * side, end = min(terms, first + side),
                  line = place_of_line(p, own, group_of_block(own.which, number) * GROUP),
                  near = line / TD_LINE_GROUP * TD_LINE_GROUP;
    if (any_holds<GROUP, 2>(p, own, line, first, end))
        return GROUP_HOLDS | NEAR_HOLDS | BLOCK_HOLDS;
    TD_ROLLED
    for (int half = 0; half < 2; half++) {
        const int64_t place = near ^ (half * TD_LINE_GROUP);
        if (place < p.lines[own.which] &&
            any_holds<TD_LINE_GROUP, 2 * AT_ONCE>(p, own, place, first, end))
            return half ? BLOCK_HOLDS : NEAR_HOLDS | BLOCK_HOLDS;
    }
    return 0;
}

/* What is known of blocks of both operands in the same terms: how many pairs of them were looked
 * at; of how many op(A)'s group, TD_LINE_GROUP lines and all hold a number, then op(B)'s; and of
 * how many both do. */
struct block_counts {
    uint32_t all, group[2], near[2], block[2], meet;
};

/* The counts of all tiles, by what each block of a strip holds. By all threads, which all get
 * them. */
TD_DEVICE block_counts count_blocks(const td_probe &p, const uint8_t (&holds)[STRIPS][MOST_BLOCKS],
                                    int blocks)
{
    TD_SHARED(block_counts, counts, );
    if (threadIdx.x == 0) counts = {};
    __syncthreads();
    TD_ROLLED
    for (int i = (int)threadIdx.x; i < TILES * blocks; i += THREADS) {
        const int of[2] = {holds[number_of_strip(p, i % TILES, 0)][i / TILES],
                           holds[number_of_strip(p, i % TILES, 1)][i / TILES]};
        TD_ROLLED
        for (int o = 0; o < 2; o++) {
            if (of[o] & GROUP_HOLDS) atomicAdd(&counts.group[o], 1u);
            if (of[o] & NEAR_HOLDS) atomicAdd(&counts.near[o], 1u);
            if (of[o] & BLOCK_HOLDS) atomicAdd(&counts.block[o], 1u);
        }
        if (of[0] & of[1] & BLOCK_HOLDS) atomicAdd(&counts.meet, 1u);
    }
    __syncthreads();
    block_counts found = counts;
    found.all = (uint32_t)(TILES * blocks);
    return found;
}

/* The share of pairs of blocks of the size of tiles of products that hold numbers both. These have
 * up to twice as many lines of each operand: of those that no number shows beside one block, so
 * many hold some as of all blocks. */
TD_DEVICE float met_of_tiles(const block_counts &counts)
{
    const float all = (float)counts.all, a = (float)counts.block[0] / all,
                b = (float)counts.block[1] / all;
    return min(1.0f, (float)counts.meet / all * (2.0f - a) * (2.0f - b));
}

/* Of subtiles whose lines nowhere meet, the share whose tiles of TD_LINE_GROUP lines of each
 * operand do; `met`: the share of all subtiles whose lines meet. More lines meet as much more often
 * as more of them hold numbers in the same elements of k. */
TD_DEVICE float met_beside(const block_counts &counts, float met)
{
    float growth = 1.0f;
    TD_UNROLL
    for (int o = 0; o < 2; o++)
        growth *= ((float)counts.near[o] + 0.5f) / ((float)counts.group[o] + 0.5f);
    return 1.0f - exp2f((growth - 1.0f) * log2f(1.0f - met));
}

} // namespace

#endif
