/* tile_order.h - which tile of C a block works on: neighbouring blocks share panels, which keeps these in the L2. */
#ifndef TD_TILE_ORDER_H
#define TD_TILE_ORDER_H

#include "portable.h"

/* Tile rows that neighbouring blocks go through before the next column of tiles. */
enum { TD_TILE_GROUP = 16 };

/* Of a tile's number, in tiles. */
TD_DEVICE void td_tile_of(int tile, int row_tiles, int column_tiles, int *row, int *column)
{
    const int group = tile / (TD_TILE_GROUP * column_tiles);
    const int rest = tile % (TD_TILE_GROUP * column_tiles);
    const int height = min((int)TD_TILE_GROUP, row_tiles - group * TD_TILE_GROUP);
    *row = group * TD_TILE_GROUP + rest % height;
    *column = rest / height;
}

/* Of blockIdx.x. */
TD_DEVICE void td_tile_of_block(int row_tiles, int column_tiles, int *row, int *column)
{
    td_tile_of((int)blockIdx.x, row_tiles, column_tiles, row, column);
}

#endif
