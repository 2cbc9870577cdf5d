/* raster.h - which tile of C a block works on: neighbouring blocks share panels, which keeps these
 * in the L2. */
#ifndef TD_RASTER_H
#define TD_RASTER_H

#include "../device/portable.h"

/* Tile rows that neighbouring blocks go through before the next column of tiles. */
enum { TD_TILE_GROUP = 16 };

/* Sets the place, in tiles, of the tile with a number: tiles are numbered column by column within
 * groups of `rows` tile rows. */
TD_DEVICE void td_tile_of(int tile, int row_tiles, int column_tiles, int *row, int *column,
                          int rows = TD_TILE_GROUP)
{
    const int group = tile / (rows * column_tiles), rest = tile % (rows * column_tiles);
    const int height = min(rows, row_tiles - group * rows);
    *row = group * rows + rest % height;
    *column = rest / height;
}

/* Sets the place, in tiles, of the tile whose number is blockIdx.x. */
TD_DEVICE void td_tile_of_block(int row_tiles, int column_tiles, int *row, int *column)
{
    td_tile_of((int)blockIdx.x, row_tiles, column_tiles, row, column);
}

#endif
