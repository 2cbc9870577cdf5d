/* tops.h - the largest exponents along k: those of a tile's lines, found by warps, raise those of
 * the operand and their bounds. For measure.cu. */
#ifndef TD_TOPS_H
#define TD_TOPS_H

#include "../device/warp.h"
#include "../view/access.h"
#include "block_tile.h"

/* The largest exponent of an element of k over some lines of a tile, whose largest upper half is
 * known, special ones not counting; INT32_MIN: all are zeros. */
template <bool along> TD_DEVICE int top_of(const uint64_t *tile, int line0, int l, uint32_t largest)
{
    const uint32_t first_normal = 1u << 20, first_special = 0x7ffu << 20;
    if (largest >= first_normal && largest < first_special) return (int)(largest >> 20) - 1023;
    int top = INT32_MIN; /* zeros and subnormal numbers, or special ones */
    TD_UNROLL_N(1)
    for (int i = 0; i < WARP_LINES; i++) {
        const uint64_t bits = tile[tile_shape::place<along>(line0 + i, l)];
        if (magnitude(bits) && td_is_finite64(bits)) top = max(top, td_exponent64(magnitude(bits)));
    }
    return top;
}

/* The largest exponents over some lines of a tile, by a warp. A lane has two elements of k:
 * neighbours, or, where pairs of lines are neighbours, some that are far from each other. */
template <bool along> TD_DEVICE void find_tops(const uint64_t *tile, int line0, int *top)
{
    enum {
        HALF = TD_CHUNK / 2,
        ROW = TD_BOX
    }; /* from row to row, and from pair to pair by exclusive-or */
    const int lane = td_fresh((int)threadIdx.x % 32),
              first = td_fresh(tile_shape::place<along>(line0, along ? 2 * lane : lane));
    uint32_t largest[2] = {0, 0}; /* upper halves */
    TD_UNROLL
    for (int i = 0; i < WARP_LINES; i++) {
        const td_pair_of_elements x = td_load_pair(
            tile + (along ? (first ^ 2 * i) + i * ROW : (first ^ i / 2 * 2) + i % 2 * HALF * ROW));
        const uint32_t high[2] = {upper_half(x.of[0]), upper_half(x.of[1])};
        if (along) {
            largest[0] = max(largest[0], high[0]);
            largest[1] = max(largest[1], high[1]);
        } else {
            largest[i % 2] = max(largest[i % 2], max(high[0], high[1]));
        }
    }
    TD_UNROLL
    for (int h = 0; h < 2; h++) {
        const int l = along ? 2 * lane + h : lane + h * HALF;
        top[l] = top_of<along>(tile, line0, l, largest[h]);
    }
}

/* Sets the largest exponents of lines that do not exist, which are zeros, to below all others. */
TD_DEVICE void clear_tops(int *top)
{
    TD_UNROLL
    for (int l = (int)threadIdx.x % 32; l < TD_CHUNK; l += 32) top[l] = INT32_MIN;
}

/* What a tile's largest exponents raise: those of its elements of k, of which `left` are not past
 * the end, and bounds of each TD_BOUND of these. */
struct raised_tops {
    int32_t *tops, *bounds;
    int left;
    bool has_parts; /* td_measure's */
};

/* What is there for element l of k, and for its bounds, some time before it is raised: most often
 * by nothing, and many blocks raise the same. */
struct seen_tops {
    int32_t top, bounds[2];
};

TD_DEVICE seen_tops see_tops(const raised_tops &raised, int l)
{
    if (l < 0 || l >= raised.left) return {};
    const int32_t *const bounds = &raised.bounds[l / TD_BOUND * 2];
    return {__ldcg(&raised.tops[l]), {__ldcg(&bounds[0]), __ldcg(&bounds[1])}};
}

/* Limits of the largest exponents of some elements of k. */
struct limits_of_tops {
    int largest, least;
};
struct join_limits {
    TD_INSIDE limits_of_tops operator()(const limits_of_tops &a, const limits_of_tops &b) const
    {
        return {max(a.largest, b.largest), min(a.least, b.least)};
    }
};

/* By the tile's, which each warp has of its lines. l: the thread's element of k; by two warps. */
TD_DEVICE void raise_tops(const raised_tops &raised, const int (*top)[TD_CHUNK], int l,
                          const seen_tops &seen)
{
    int largest = top[0][l];
    TD_UNROLL
    for (int warp = 1; warp < WARPS; warp++) largest = max(largest, top[warp][l]);
    if (raised.has_parts) largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
    const bool exists = l < raised.left;
    int32_t *const bounds = &raised.bounds[l / TD_BOUND * 2];
    if (exists && largest > seen.top) atomicMax(&raised.tops[l], largest);
    const limits_of_tops limits = td_warp_join_apart<1, TD_BOUND, join_limits>(
        limits_of_tops{largest, exists ? largest : INT32_MAX});
    if (l % TD_BOUND || !exists) return;
    if (limits.largest > seen.bounds[0]) atomicMax(&bounds[0], limits.largest);
    if (limits.least > seen.bounds[1]) atomicMax(&bounds[1], limits.least);
}

#endif
