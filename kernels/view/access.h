/* access.h - how kernels reach operands, scalars and elements of C. */
#ifndef TD_ACCESS_H
#define TD_ACCESS_H

#include "../arithmetic/float32.h"
#include "../device/portable.h"
#include "target.h"

/* Strips of some lines, tiles of some rows or columns. */
TD_HOST_DEVICE int td_tiles(int lines) { return (lines + TD_TILE - 1) / TD_TILE; }

/* Returns the number of the tile with element (row, col) of a C of m rows: tiles are numbered down
 * each column of tiles. */
TD_DEVICE int td_tile_with(int m, int row, int col)
{
    return col / TD_TILE * td_tiles(m) + row / TD_TILE;
}

/* A scalar of the type of the matrices' elements: binary64 where no other is named. */
template <class number = double> TD_DEVICE number td_scalar_value(const td_scalar &s)
{
    if (s.device) return *static_cast<const number *>(s.device);
    number value;
    memcpy(&value, &s.value, sizeof value);
    return value;
}

/* The probe's verdict; NULL if nobody was asked. */
TD_DEVICE td_verdict td_verdict_of(const int32_t *verdict)
{
    return verdict ? (td_verdict)*verdict : TD_RESIDUES;
}

/* True if C is there already: then kernels have nothing to do. */
TD_DEVICE bool td_is_made(const int32_t *verdict) { return td_verdict_of(verdict) == TD_C_IS_MADE; }

/* First element of a batch member; T is the type of its elements. */
template <class T> TD_DEVICE T *td_member(const td_matrix &matrix, int64_t index)
{
    if (matrix.array) return td_global(static_cast<T *>(matrix.array[index]));
    return td_global(static_cast<T *>(matrix.data) + index * matrix.stride);
}

/* Where element l of a line of a plain view is, from the first element of a batch member. */
TD_DEVICE int64_t td_view_at(const td_view &view, int line, int64_t l)
{
    return view.offset + line * view.line_step + l * view.k_step;
}

/* Element l of a line; data is the batch member's first element. */
template <class element>
TD_DEVICE element td_view_load(const td_view &view, const element *data, int line, int64_t l)
{
    return data[td_view_at(view, line, l)];
}

/* First element of a part of C, for the block's batch member. */
template <class T> TD_DEVICE T *td_target_c(const td_target &target)
{
    return td_member<T>(target.c, target.batch_first + blockIdx.z) + target.c_offset;
}

/* The repair mask of the subtile that (row, col) of a part of C belongs to, for the block's batch
 * member. */
TD_DEVICE uint16_t *td_target_mask(const td_target &target, int row, int col)
{
    const int64_t m_tiles = td_tiles(target.m), n_tiles = td_tiles(target.n);
    const int64_t tile = (blockIdx.z * n_tiles + col / TD_TILE) * m_tiles + row / TD_TILE;
    const int in_row = row % TD_TILE / TD_SUBTILE, in_col = col % TD_TILE / TD_SUBTILE;
    return target.masks + tile * TD_SUBTILES + in_col * (TD_TILE / TD_SUBTILE) + in_row;
}

/* The bits of the elements of a subtile that C has. */
TD_DEVICE unsigned td_whole_mask(const td_target &target, int row, int col)
{
    const td_region &region = target.region;
    const int rows = min((int)TD_SUBTILE, target.m - row),
              cols = min((int)TD_SUBTILE, target.n - col);
    if (rows <= 0 || cols <= 0) return 0;
    unsigned mask = ((1u << rows) - 1) * 0x1111u & ((1u << (TD_SUBTILE * cols)) - 1);
    if (td_region_holds(&region, row, col, TD_SUBTILE, TD_SUBTILE)) return mask;
    TD_ROLLED
    for (int e = 0; e < TD_SUBTILE * TD_SUBTILE; e++)
        if (!td_region_has(&region, row + e % TD_SUBTILE, col + e / TD_SUBTILE)) mask &= ~(1u << e);
    return mask;
}

/* True if C has elements of the tile at (row, col). */
TD_DEVICE bool td_has_tile(const td_target &target, int row, int col)
{
    return td_region_meets(&target.region, row, col, TD_TILE, TD_TILE);
}

/* The td_room that all elements of the block's member are left to. */
TD_DEVICE td_room td_room_for_all(const td_target &target)
{
    return target.open_count ? (td_room)target.open_count[blockIdx.z].room : TD_ROOM_UNKNOWN;
}

/* A block for each tile of C, or several for parts of it. Grid: tile, part, batch member. */
static inline dim3 td_grid_of_tiles(const td_target &target, unsigned parts, int batch)
{
    return dim3((unsigned)td_tiles(target.m) * (unsigned)td_tiles(target.n), parts,
                (unsigned)batch);
}

/* Row and column of the thread's subtile of a tile; TD_SUBTILES threads have it. */
TD_DEVICE void td_subtile_of_tile(const td_target &target, int tile, int *row, int *col)
{
    const int m_tiles = td_tiles(target.m), in_tile = TD_TILE / TD_SUBTILE;
    *row = tile % m_tiles * TD_TILE + (int)threadIdx.x % in_tile * TD_SUBTILE;
    *col = tile / m_tiles * TD_TILE + (int)threadIdx.x / in_tile * TD_SUBTILE;
}

TD_DEVICE void td_subtile_of_thread(const td_target &target, int *row, int *col)
{
    td_subtile_of_tile(target, (int)blockIdx.x, row, col);
}

/* Returns a grid whose blocks go through all tiles of C, or through the open ones, in turns:
 * `parts` blocks work on one tile, and all members together have about TD_TURNS blocks for each of
 * these parts. */
enum { TD_TURNS = 1024 };
static inline dim3 td_grid_of_turns(const td_target &target, unsigned parts, int batch)
{
    const dim3 grid = td_grid_of_tiles(target, parts, batch);
    return dim3(min(max(1u, (unsigned)TD_TURNS / grid.z), grid.x), grid.y, grid.z);
}

/* Calls work(tile) for the block's share of the tiles that C has. */
template <class function> TD_DEVICE void td_each_tile(const td_target &target, function work)
{
    const int m_tiles = td_tiles(target.m), tiles = m_tiles * td_tiles(target.n);
    TD_UNROLL_N(1)
    for (int tile = (int)blockIdx.x; tile < tiles; tile += (int)gridDim.x)
        if (td_has_tile(target, tile % m_tiles * TD_TILE, tile / m_tiles * TD_TILE)) work(tile);
}

/* Calls work(tile) for the block's share of the member's open tiles. Dense tiles come last if
 * takes_dense, else not at all. */
template <class function>
TD_DEVICE void td_each_open_tile(const td_target &target, bool takes_dense, function work)
{
    const int tiles = td_tiles(target.m) * td_tiles(target.n);
    const td_open_counts *const counts = target.open_count ? target.open_count + blockIdx.z : NULL;
    const int32_t *const own = target.open_tile + blockIdx.z * (int64_t)tiles;
    const int few = counts ? counts->few : tiles,
              count = few + (counts && takes_dense ? counts->dense : 0);
    TD_UNROLL_N(1)
    for (int i = (int)blockIdx.x; i < count; i += (int)gridDim.x)
        work(!counts ? i : own[i < few ? i : tiles - 1 - (i - few)]);
}

/* The most elements of a tile that count as exact sums of their own (td_open_counts.sums): of more
 * elements, exact sums are made in groups, which take no longer. */
enum { TD_TILE_OF_SUMS = 320 };

/* Adds a tile with `count` masked elements to the member's list of few or of dense ones. If the
 * target records dense tiles, this one is recorded and its sums are counted. */
TD_DEVICE void td_list_tile(const td_target &target, int tile, int count, bool is_dense)
{
    const int64_t tiles = (int64_t)td_tiles(target.m) * td_tiles(target.n);
    td_open_counts *const counts = target.open_count + blockIdx.z;
    const int place = atomicAdd(is_dense ? &counts->dense : &counts->few, 1);
    target.open_tile[blockIdx.z * tiles + (is_dense ? tiles - 1 - place : place)] = tile;
    if (!is_dense || !target.is_dense) return;
    target.is_dense[blockIdx.z * tiles + tile] = 1;
    atomicAdd(&counts->sums, min(count, (int)TD_TILE_OF_SUMS));
}

/* Clears the record of a dense tile. Called once for each tile, before it may be listed. */
TD_DEVICE void td_begin_tile(const td_target &target, int tile)
{
    const int64_t tiles = (int64_t)td_tiles(target.m) * td_tiles(target.n);
    if (target.is_dense) target.is_dense[blockIdx.z * tiles + tile] = 0;
}

/* What a thread says of its masked elements: the tile is dense by its number of masked elements;
 * or it is dense whatever their number; or it is not. */
typedef enum { TD_DENSE_BY_COUNT, TD_DENSE_ALWAYS, TD_DENSE_NEVER } td_density;

/* Returns what a thread's masked elements add to a tile's count: more than few if they make the
 * tile dense by themselves. */
TD_DEVICE int td_counted(unsigned mask, td_density density)
{
    return __popc(mask) + (density == TD_DENSE_ALWAYS ? (int)TD_FEW : 0);
}

/* A tile is open if any thread's mask is not 0, and dense if more than TD_FEW elements are counted
 * and no thread is against it. All threads take part. */
TD_DEVICE void td_close_tile(const td_target &target, int tile, unsigned mask, td_density density)
{
    TD_SHARED(int, count, );
    TD_SHARED(int, is_sparse, );
    if (!target.open_count) return;
    if (threadIdx.x == 0) td_begin_tile(target, tile);
    if (!__syncthreads_or(mask != 0)) return;
    if (threadIdx.x == 0) count = is_sparse = 0;
    __syncthreads();
    if (mask) {
        atomicAdd(&count, td_counted(mask, density));
        if (density == TD_DENSE_NEVER) is_sparse = 1;
    }
    __syncthreads();
    if (threadIdx.x == 0) td_list_tile(target, tile, count, count > TD_FEW && !is_sparse);
}

/* What td_close_tile does, for several tiles at a time and blocks whose warps go on at their own
 * pace. Warps count what they mask (td_count_deferred); td_list_counted lists the tiles and clears
 * the counts, which td_clear_counts has cleared at first. All threads take part in clearing and
 * closing. */
enum { TD_COUNTED_TILES = 32 };
struct td_deferred_counts {
    int32_t tile[TD_COUNTED_TILES], count[TD_COUNTED_TILES], is_sparse[TD_COUNTED_TILES];
};

TD_DEVICE void td_clear_counts(td_deferred_counts &counts)
{
    if (threadIdx.x < TD_COUNTED_TILES)
        counts.count[threadIdx.x] = counts.is_sparse[threadIdx.x] = 0;
    __syncthreads();
}

TD_DEVICE void td_list_counted(const td_target &target, td_deferred_counts &counts)
{
    const int i = (int)threadIdx.x;
    __syncthreads();
    if (target.open_count && i < TD_COUNTED_TILES && counts.count[i])
        td_list_tile(target, counts.tile[i], counts.count[i],
                     counts.count[i] > TD_FEW && !counts.is_sparse[i]);
    td_clear_counts(counts);
}

/* Counts the elements of a thread's mask of a tile, which is the i-th that is counted. */
TD_DEVICE void td_count_deferred(td_deferred_counts &counts, int i, int tile, unsigned mask,
                                 td_density density)
{
    if (!mask) return;
    counts.tile[i] = tile;
    atomicAdd(&counts.count[i], td_counted(mask, density));
    if (density == TD_DENSE_NEVER) counts.is_sparse[i] = 1;
}

/* Four numbers that are loaded and stored together: of one column of a subtile, or of one line. */
template <class number> struct alignas(16) td_quad {
    number of[TD_SUBTILE];
};

/* alpha sum + beta c as cuBLAS rounds it, c not read if beta is 0. */
TD_DEVICE double td_axpby(double alpha, double sum, double beta, const double *c)
{
    return beta == 0.0 ? td_mul64(alpha, sum) : td_fma64(alpha, sum, td_mul64(beta, *c));
}

/* Returns what becomes of an element *c of C where alpha or k is 0: what cuBLAS makes of it with
 * scalars on the host, wherever ours are. With a beta of 1 it stays as it is, else a zero is +0; it
 * is not read if beta is 0. */
TD_DEVICE double td_scaled(double beta, const double *c)
{
    return beta == 1.0 ? *c : td_axpby(0.0, 0.0, beta, c);
}

#endif
