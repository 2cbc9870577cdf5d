/* double_tile.h - how the kernels for products of binary64 digits share the work: the dense pairs
 * of slices of a tile of C are for one, the sparse ones for the other. */
#ifndef TD_DOUBLE_TILE_H
#define TD_DOUBLE_TILE_H

#include "double_split.h"
#include "../view/raster.h"

/* A tile of C. */
enum { TD_DOUBLE_ROWS = 128, TD_DOUBLE_COLUMNS = 64 };

/* Tiles, from one end of C to the other; o is 0 for rows, 1 for columns. */
TD_HOST_DEVICE int td_double_tile_lines(int o) { return o ? TD_DOUBLE_COLUMNS : TD_DOUBLE_ROWS; }
TD_HOST_DEVICE int td_double_tiles(const td_double_slices &p, int o)
{
    return (p.lines[o] + td_double_tile_lines(o) - 1) / td_double_tile_lines(o);
}

/* Grid of both kernels: tile, weight from the last one on, which takes longest, batch member.
 * Blocks whose weight is below 0 have nothing to do: there are fewer weights, or C has no element
 * of the tile. */
static inline dim3 td_double_grid(const td_double_slices *p)
{
    return dim3((unsigned)td_double_tiles(*p, 0) * (unsigned)td_double_tiles(*p, 1),
                (unsigned)p->slices, (unsigned)p->batch);
}

/* First lines of op(A) and op(B). */
struct td_double_place {
    int weight, line[2];
};

TD_DEVICE td_double_place td_double_place_of_block(const td_double_slices &p)
{
    td_double_place at;
    int row, column;
    td_tile_of_block(td_double_tiles(p, 0), td_double_tiles(p, 1), &row, &column);
    at.weight = p.choice[blockIdx.z].parameter - 1 - (int)blockIdx.y;
    at.line[0] = row * TD_DOUBLE_ROWS;
    at.line[1] = column * TD_DOUBLE_COLUMNS;
    if (!td_region_meets(&p.region, at.line[0], at.line[1], TD_DOUBLE_ROWS, TD_DOUBLE_COLUMNS))
        at.weight = -1;
    return at;
}

/* Bits of the slices in which a tile's lines, of op(A) and op(B), have anything, and too much for
 * lists. */
struct td_tile_slices {
    unsigned any[2], dense[2];
};

TD_DEVICE bool td_pair_is_dense(const td_tile_slices &seen, int a, int b)
{
    return (seen.dense[0] >> a & seen.dense[1] >> b & 1) != 0;
}

TD_DEVICE bool td_pair_is_sparse(const td_tile_slices &seen, int a, int b)
{
    return (seen.any[0] >> a & seen.any[1] >> b & 1) != 0 && !td_pair_is_dense(seen, a, b);
}

/* All threads take part, and have read `seen`, in shared memory, when they meet at a barrier
 * again. */
TD_DEVICE td_tile_slices td_look_at_slices(const td_double_slices &p, const td_double_place &at,
                                           td_tile_slices &seen)
{
    const int tid = (int)threadIdx.x;
    if (tid < 2) seen.any[tid] = seen.dense[tid] = 0;
    __syncthreads();
    TD_UNROLL
    for (int o = 0; o < 2; o++)
        for (int e = tid; e < td_double_tile_lines(o) * p.slices; e += (int)blockDim.x) {
            const int slice = e / td_double_tile_lines(o);
            const int line = at.line[o] + e % td_double_tile_lines(o);
            if (line >= p.lines[o]) continue;
            const int64_t first = ((int64_t)blockIdx.z * p.slices + slice) * p.lines[o];
            const int count = p.count[o][first + line];
            if (count > 0) atomicOr(&seen.any[o], 1u << slice);
            if (count > p.capacity) atomicOr(&seen.dense[o], 1u << slice);
        }
    __syncthreads();
    return seen;
}

/* Of the block's batch member: line 0 of a slice, and the sums of a weight. */
TD_DEVICE const double *td_digits_of(const td_double_slices &p, int o, int slice)
{
    return p.digit[o] + ((int64_t)blockIdx.z * p.slices + slice) * p.lines[o] * p.k;
}

TD_DEVICE double *td_sums_of(const td_double_slices &p, int weight)
{
    return p.sum + ((int64_t)blockIdx.z * p.slices + weight) * p.lines[0] * p.lines[1];
}

#endif
