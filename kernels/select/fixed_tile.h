/* fixed_tile.h - how kernels that turn operands into planes of small numbers share the work: a
 * block has a tile of TD_FIXED_LINES lines and tile_k elements of k, a thread four neighbouring
 * elements of a line at a time. */
#ifndef TD_FIXED_TILE_H
#define TD_FIXED_TILE_H

#include "../view/access.h"
#include "../view/planes.h"
#include "fixed.h"

enum { TD_FIXED_THREADS = 256, TD_FIXED_LINES = 32 };

/* Grid: tile of k, strip of lines, batch member * 2 + operand. */
static inline dim3 td_fixed_grid(const td_fixed &fixed, int tile_k)
{
    const int lines = max(fixed.operand[0].lines, fixed.operand[1].lines);
    return dim3((unsigned)((fixed.k_count + tile_k - 1) / tile_k),
                (unsigned)((lines + TD_FIXED_LINES - 1) / TD_FIXED_LINES),
                2 * (unsigned)fixed.batch);
}

/* Where a block's tile of an operand is. */
struct td_fixed_place {
    int which, batch, line0, padded_lines;
    int64_t first, count, in_pass; /* of k: of the pass, and the tile's within it */
    bool along;                    /* k is contiguous in memory */
};

TD_DEVICE td_fixed_place td_fixed_place_of_block(const td_fixed &fixed, int tile_k)
{
    td_fixed_place at;
    at.which = (int)blockIdx.z % 2;
    at.batch = (int)blockIdx.z / 2;
    const td_view &o = fixed.operand[at.which];
    at.line0 = (int)blockIdx.y * TD_FIXED_LINES;
    at.padded_lines = (o.lines + TD_LINE_PAD - 1) / TD_LINE_PAD * TD_LINE_PAD;
    at.first = fixed.k_first;
    at.count = fixed.k_count;
    at.in_pass = (int64_t)blockIdx.x * tile_k;
    at.along = o.k_step == 1;
    return at;
}

/* A tile of an operand whose lines are contiguous in memory; zeros past the ends. */
template <class element, int tile_k>
TD_DEVICE void td_load_fixed_tile(const td_view &o, const td_fixed_place &at, const element *data,
                                  element (&tile)[tile_k][TD_FIXED_LINES + 1])
{
    const int in_tile = (int)threadIdx.x % TD_FIXED_LINES, line = at.line0 + in_tile;
    TD_UNROLL
    for (int i = (int)threadIdx.x / TD_FIXED_LINES; i < tile_k;
         i += TD_FIXED_THREADS / TD_FIXED_LINES) {
        const int64_t l = at.in_pass + i;
        const bool inside = line < o.lines && l < at.count;
        tile[i][in_tile] = inside ? td_view_load(o, data, line, at.first + l) : element{};
    }
}

/* What a thread works on in one step: four elements of a line, from l on, of the tile. Neighbouring
 * threads along a line if k is contiguous in memory, else such that shared memory likes it. */
struct td_fixed_quad {
    int line, l;
};

template <int tile_k> TD_DEVICE td_fixed_quad td_fixed_quad_of_thread(int step, bool along)
{
    const int quads = tile_k / TD_SUBTILE, warps = quads / 8; /* to a line; to four lines */
    const int tid = (int)threadIdx.x + step * TD_FIXED_THREADS, lane = tid % 32, warp = tid / 32;
    td_fixed_quad own;
    own.line = along ? tid / quads : warp / warps * 4 + lane / 8;
    own.l = TD_SUBTILE * (along ? tid % quads : warp % warps * 8 + lane % 8);
    return own;
}

/* Steps of a thread. */
TD_HOST_DEVICE constexpr int td_fixed_steps(int tile_k)
{
    return TD_FIXED_LINES * tile_k / TD_SUBTILE / TD_FIXED_THREADS;
}

#endif
