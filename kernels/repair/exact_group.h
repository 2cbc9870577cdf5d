/* exact_group.h - the masked elements of C, group by group, for the kernels that make each with one
 * rounding of its exact result. What needs infinities and NaN stays in the masks. */
#ifndef TD_EXACT_GROUP_H
#define TD_EXACT_GROUP_H

#include "../measure/room.h"
#include "../view/access.h"
#include "repair.h"
#include "../arithmetic/exact.h"

enum { WARP = 32 };

/* A group is SIDE x SIDE elements of C. A block has a strip of them, one below the other, in
 * turn. */
enum {
    SIDE = 16,
    STRIP = TD_TILE / SIDE,
    GROUP_SUBTILES = SIDE / TD_SUBTILE * (SIDE / TD_SUBTILE)
};

/* First row and column of a group's subtile, from those of the group. Subtiles are counted by
 * columns. */
TD_DEVICE void go_to_subtile(int subtile, int *row, int *col)
{
    *row += subtile % (SIDE / TD_SUBTILE) * TD_SUBTILE;
    *col += subtile / (SIDE / TD_SUBTILE) * TD_SUBTILE;
}

/* The mask of a group's subtile, NULL if that has no elements. */
TD_DEVICE uint16_t *group_mask(const td_target &target, int row, int col, int subtile)
{
    go_to_subtile(subtile, &row, &col);
    return row < target.m && col < target.n ? td_target_mask(target, row, col) : NULL;
}

/* First row and column of the block's strip of a tile. Blocks that run together share lines: if all
 * tiles are open, rows where only these are not contiguous and so cost a sector of memory for each
 * element of k, else columns. Grid: blocks over open tiles, strip, batch member. */
TD_DEVICE void strip_at(const td_repair &p, int tile, int *row, int *col)
{
    const bool shares_rows =
        !p.target.open_count && p.operand[0].k_step != 1 && p.operand[1].k_step == 1;
    const int tiles = td_tiles(shares_rows ? p.target.n : p.target.m);
    const int fast = tile % tiles * TD_TILE, slow = tile / tiles * TD_TILE;
    *row = shares_rows ? slow : fast;
    *col = (shares_rows ? fast : slow) + (int)blockIdx.y * SIDE;
}

/* The masks of a strip's groups; false if no element is masked, as in tiles outside C's region. All
 * threads take part. */
TD_DEVICE bool load_masks(const td_target &target, int row, int col,
                          uint16_t (*masks)[GROUP_SUBTILES])
{
    unsigned any = 0;
    if (!td_region_meets(&target.region, row, col, TD_TILE, SIDE)) return false;
    TD_UNROLL_N(1)
    for (int s = (int)threadIdx.x; s < STRIP * GROUP_SUBTILES; s += (int)blockDim.x) {
        const int group = s / GROUP_SUBTILES, subtile = s % GROUP_SUBTILES;
        const uint16_t *mask = group_mask(target, row + group * SIDE, col, subtile);
        masks[group][subtile] = mask ? *mask : 0;
        any |= masks[group][subtile];
    }
    return __syncthreads_or(any != 0);
}

/* Calls work(row, col, masks) for the groups of the block's strips, unless none of a strip's
 * elements is masked. All threads take part. */
template <class function> TD_DEVICE void each_group(const td_repair &p, function work)
{
    TD_SHARED(uint16_t, masks, [STRIP][GROUP_SUBTILES]);
    td_each_open_tile(p.target, p.takes_dense, [&](int tile) {
        int row, col;
        strip_at(p, tile, &row, &col);
        if (!load_masks(p.target, row, col, masks)) return;
        TD_UNROLL_N(1)
        for (int group = 0; group < STRIP; group++) {
            work(row + group * SIDE, col, masks[group]);
            __syncthreads();
        }
    });
}

/* The block's batch member of an operand. */
TD_DEVICE const double *operand_data(const td_repair &p, int which)
{
    return td_member<const double>(p.operand[which].matrix, p.target.batch_first + blockIdx.z);
}

/* alpha, beta and an element of C. */
struct scalars {
    double alpha, beta, c;
};

TD_DEVICE double *element_at(const td_repair &p, int row, int col)
{
    return td_target_c<double>(p.target) + row + col * p.target.c.ld;
}

TD_DEVICE scalars scalars_at(const td_repair &p, int row, int col)
{
    scalars r = {td_scalar_value(p.target.alpha), td_scalar_value(p.target.beta), 0.0};
    if (r.beta != 0.0) r.c = *element_at(p, row, col);
    return r;
}

/* False if an element needs the chain whatever its sum is. */
TD_DEVICE bool is_for_us(const td_repair &p, int row, int col)
{
    const scalars r = scalars_at(p, row, col);
    return td_exact_takes(r.alpha, r.beta, r.c);
}

TD_DEVICE void store_element(const td_repair &p, int row, int col, td_exact *x)
{
    const scalars r = scalars_at(p, row, col);
    *element_at(p, row, col) = td_exact_combine(x, r.alpha, r.beta, r.c);
}

/* A row of op(A) and a column of op(B). */
struct line_pair {
    const double *at[2];
    int64_t step[2], k;
};

TD_DEVICE line_pair pair_at(const td_repair &p, int row, int col)
{
    line_pair r;
    TD_UNROLL
    for (int o = 0; o < 2; o++) {
        r.at[o] = operand_data(p, o) + td_view_at(p.operand[o], o ? col : row, 0);
        r.step[o] = p.operand[o].k_step;
    }
    r.k = p.operand[0].k;
    return r;
}

/* Products that a thread loads before it adds them: memory takes longer than that. */
enum { AT_ONCE = 4 };

/* Factors of products from `first` on, `step` elements of k apart; zeros past the end. */
TD_DEVICE void load_products(const line_pair &pair, int64_t first, int64_t step,
                             uint64_t (&bits)[2][AT_ONCE])
{
    TD_UNROLL
    for (int i = 0; i < AT_ONCE; i++) TD_UNROLL
    for (int o = 0; o < 2; o++) {
        const int64_t l = first + i * step;
        bits[o][i] = td_bits64(l < pair.k ? pair.at[o][l * pair.step[o]] : 0.0);
    }
}

/* Takes the elements that are done out of a subtile's mask. */
TD_DEVICE void clear_mask(const td_repair &p, int row, int col, int subtile, unsigned mask,
                          unsigned done)
{
    if (!done) return;
    *group_mask(p.target, row, col, subtile) = (uint16_t)(mask ^ done);
    if (p.repaired) atomicAdd(p.repaired, (unsigned long long)__popc(done));
}

/* Grid of the kernels, see strip_at: no more blocks than have places at a time, so many on a
 * multiprocessor, as they mostly end at once. */
static inline dim3 grid_of_strips(const td_repair *p, int batch, int places)
{
    int multiprocessors = 0;
    dim3 grid = td_grid_of_turns(p->target, STRIP, batch);
    if (p->target.open_count && td_multiprocessors(&multiprocessors) == cudaSuccess)
        grid.x = min(grid.x, (unsigned)max(1, places * multiprocessors / ((int)STRIP * batch)));
    return grid;
}

#endif
