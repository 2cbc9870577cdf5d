/* binary64_tiles.h - which tiles of C a block makes in binary64: of all, of those with masked
 * elements, or of the dense ones; alone, or two of them one below the other. */
#ifndef TD_BINARY64_TILES_H
#define TD_BINARY64_TILES_H

#include "../view/raster.h"
#include "binary64_stage.h"
#include "repair.h"

/* A block's share of its tiles: the sums of those warps whose number is `number` modulo `of`, a
 * power of two. */
struct tile_share {
    int number, of;
};

/* Where both operands' lines begin, how many rows there are, how many elements and how many whole
 * tiles of C are made, and whether these elements are all; the room for all of C, or
 * TD_ROOM_UNKNOWN: then there are masks. rows: negative in warps that make no sums of the block's
 * share; made, tiles: 0 but in the first share. */
struct block_place {
    int row, column, rows, made, tiles;
    bool is_whole;
    td_room room;
};

/* The rows of a block's tiles, whatever its share. */
TD_DEVICE int rows_of(const block_place &at) { return abs(at.rows); }

/* A share of what a block makes. */
TD_DEVICE block_place share_of(block_place at, const tile_share &share)
{
    if (td_uniform((int)threadIdx.x / 32) % share.of != share.number) at.rows = -at.rows;
    if (share.number > 0) at.made = at.tiles = 0;
    return at;
}

/* In how many shares so many tiles are made: at most in so many, and no more than there are blocks
 * for. Found for each tile anew, as no register is free for it while the last one is made. */
TD_DEVICE int shares_of(int most, int tiles)
{
    int shares = max(1, most);
    while (shares > 1 && (int64_t)tiles * shares > (int64_t)gridDim.x) shares /= 2;
    return td_uniform(shares);
}

/* The elements of C that are in a tile, or in so many rows of one and what is below it. */
TD_DEVICE int elements_of(const td_target &target, int row, int column, int most_rows = TD_TILE)
{
    const td_region region = td_region_from(&target.region, row, column);
    return (int)td_region_blocks(&region, min(most_rows, target.m - row),
                                 max(0, min((int)TD_TILE, target.n - column)), 1, 1);
}

/* A tile's masked elements, by all threads. Tiles without elements of C have no masks. */
TD_DEVICE int count_masked(const td_target &target, td_room room, int row, int column, int *count)
{
    if (room || !td_has_tile(target, row, column)) return elements_of(target, row, column);
    row += (int)threadIdx.x % (TD_TILE / TD_SUBTILE) * TD_SUBTILE;
    column += (int)threadIdx.x / (TD_TILE / TD_SUBTILE) * TD_SUBTILE;
    static_assert((int)THREADS >= (int)TD_SUBTILES, "a thread counts one subtile's elements");
    if (threadIdx.x == 0) *count = 0;
    __syncthreads();
    if (threadIdx.x < TD_SUBTILES && row < target.m && column < target.n) {
        const int own = __popc(*td_target_mask(target, row, column));
        if (own) atomicAdd(count, own);
    }
    __syncthreads();
    return td_uniform(*count);
}

/* The dense tiles of a member: those of the list, or, if these are all of C, the upper ones of
 * pairs, blocks that run together sharing lines. */
struct dense_tiles {
    bool are_all;
    int count;
};
TD_DEVICE dense_tiles dense_tiles_of(const td_target &target, int dense)
{
    const int m_tiles = td_tiles(target.m), n_tiles = td_tiles(target.n);
    const bool are_all = dense == (int64_t)m_tiles * n_tiles && !target.is_dense;
    return {are_all, are_all ? (m_tiles + 1) / 2 * n_tiles : dense};
}

/* The dense tile of so many before it; -1: there are no more. */
TD_DEVICE int dense_tile(const td_target &target, const dense_tiles &dense, int number)
{
    const int m_tiles = td_tiles(target.m), n_tiles = td_tiles(target.n);
    int row, column;
    if (number >= dense.count) return -1;
    td_tile_of(number, (m_tiles + 1) / 2, n_tiles, &row, &column);
    return dense.are_all
               ? 2 * row + column * m_tiles
               : target.open_tile[(blockIdx.z + 1) * (int64_t)m_tiles * n_tiles - 1 - number];
}

/* Calls work(tile, share) for what the block makes of all tiles, in so many shares at most: the
 * upper ones of `step` that are above each other. Blocks that run together share lines, and so many
 * neighbouring ones, a cluster, have tiles side by side, the last ones perhaps none of C's. */
template <int neighbours, class function>
TD_DEVICE void each_tile(const td_target &target, int step, int most_shares, function work)
{
    const int m_tiles = td_tiles(target.m), rows = (m_tiles + step - 1) / step,
              columns = (td_tiles(target.n) + neighbours - 1) / neighbours;
    TD_ROLLED
    for (int i = (int)blockIdx.x / neighbours;; i += (int)gridDim.x / neighbours) {
        const int shares = shares_of(most_shares, rows * columns * neighbours);
        int row, column;
        if (i >= rows * columns * shares) break;
        td_tile_of(i / shares, rows, columns, &row, &column);
        if (!td_region_meets(&target.region, step * row * TD_TILE, column * neighbours * TD_TILE,
                             step * TD_TILE, neighbours * TD_TILE))
            continue;
        column = column * neighbours + (int)blockIdx.x % neighbours;
        work(td_uniform(step * row + column * m_tiles), tile_share{i % shares, shares});
    }
}

/* Calls work(tile, share) for the tiles of few masked elements, each block in turn, then for the
 * dense ones, in so many shares at most, whichever block is free; or for one kind of these alone.
 * All threads take part. */
template <class function>
TD_DEVICE void each_masked_tile(const td_target &target, td_open_tiles open, int most_shares,
                                function work)
{
    TD_SHARED(int, next, );
    const int64_t tiles = (int64_t)td_tiles(target.m) * td_tiles(target.n);
    td_open_counts *const counts = target.open_count ? target.open_count + blockIdx.z : NULL;
    const int few = td_uniform(open == TD_OPEN_DENSE ? 0
                               : counts              ? counts->few
                                                     : (int)tiles),
              listed = td_uniform(counts && open != TD_OPEN_FEW ? counts->dense : 0);
    const int32_t *const list = target.open_tile ? target.open_tile + blockIdx.z * tiles : NULL;
    TD_ROLLED
    for (int i = (int)blockIdx.x;; i += (int)gridDim.x) {
        int tile = list && i < few ? list[i] : i;
        tile_share share = {0, 1};
        if (i >= few) {
            __syncthreads();
            if (threadIdx.x == 0) next = listed ? atomicAdd(&counts->taken, 1) : 0;
            __syncthreads();
            const dense_tiles dense = dense_tiles_of(target, listed);
            const int shares = shares_of(most_shares, dense.count);
            tile = dense_tile(target, dense, next / shares);
            share = {td_uniform(next) % shares, shares};
        }
        tile = td_uniform(tile);
        if (tile < 0) break;
        work(tile, share);
    }
}

/* Returns the tiles that the block makes where all of C is made: so many from `tile` downwards. */
TD_DEVICE block_place place_of_all(const td_target &target, int tile, int tiles)
{
    const int m_tiles = td_tiles(target.m), row = tile % m_tiles * TD_TILE,
              column = tile / m_tiles * TD_TILE, rows = tiles * TD_TILE,
              made = elements_of(target, row, column, rows),
              there = min(rows, (m_tiles - tile % m_tiles) * (int)TD_TILE);
    return {row, column, there, made, there / (int)TD_TILE, made == rows * TD_TILE, TD_ROOM};
}

/* Where binary64 makes all elements of a pair of tile rows, the block of this tile does: of the
 * upper one, or of the lower one if only that has elements of C. */
TD_DEVICE int leading_tile(const td_target &target, int tile)
{
    const int m_tiles = td_tiles(target.m), row = tile % m_tiles, column = tile / m_tiles;
    return row + 1 < m_tiles && !td_has_tile(target, row * TD_TILE, column * TD_TILE) ? tile + 1
                                                                                      : tile;
}

/* The tiles that the block makes of one that has masked elements: of two such in a pair of tile
 * rows the upper one's block makes both. rows: 0 if it makes none. */
TD_DEVICE block_place place_of(const td_target &target, int listed, int masked[2])
{
    const td_room room = (td_room)td_uniform(td_room_for_all(target));
    const int tile = room ? leading_tile(target, listed) : listed, m_tiles = td_tiles(target.m),
              tile_row = tile % m_tiles, other = tile_row ^ 1;
    block_place at = {tile_row * TD_TILE, tile / m_tiles * TD_TILE, TD_TILE, 0, 0, false, room};
    __syncthreads();
    const int own = count_masked(target, room, at.row, at.column, &masked[0]);
    const int others =
        other < m_tiles ? count_masked(target, room, other * TD_TILE, at.column, &masked[1]) : 0;
    if (own == 0 || (tile_row % 2 && others > 0)) at.rows = 0;
    if (own != 0 && tile_row % 2 == 0 && others > 0) at.rows = ROWS;
    at.made = own + (at.rows == ROWS ? others : 0);
    at.is_whole = at.made == at.rows * TD_TILE;
    at.tiles = (own == elements_of(target, at.row, at.column)) +
               (at.rows == ROWS && others == elements_of(target, at.row + TD_TILE, at.column));
    return at;
}

#endif
