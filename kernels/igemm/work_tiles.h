/* work_tiles.h - what blocks that stay on their multiprocessors work on, one unit after the other:
 * a tile of C of one piece of k, one member and one plane, the tiles of a plane being
 * neighbours. */
#ifndef TD_WORK_TILES_H
#define TD_WORK_TILES_H

#include "../view/raster.h"
#include "plane_gemm.h"

struct td_unit {
    int plane, member, piece, row, column; /* the tile's first elements */
};

/* How the work tiles of a launch are numbered, if tiles are tile_rows x tile_columns. */
template <int tile_rows, int tile_columns> struct td_units {
    int row_tiles, column_tiles, tiles, count;
};

template <int tile_rows, int tile_columns>
TD_DEVICE td_units<tile_rows, tile_columns> td_units_of(const td_panels &p)
{
    td_units<tile_rows, tile_columns> units;
    units.row_tiles = (int)((p.m + tile_rows - 1) / tile_rows);
    units.column_tiles = (int)((p.n + tile_columns - 1) / tile_columns);
    units.tiles = units.row_tiles * units.column_tiles;
    const int planes = p.batch == 1 ? min(p.planes, td_planes_wanted(&p, 0)) : p.planes;
    units.count = units.tiles * p.pieces * p.batch * planes;
    return units;
}

template <int tile_rows, int tile_columns>
TD_DEVICE td_unit td_unit_of(const td_panels &p, const td_units<tile_rows, tile_columns> &units,
                             int index)
{
    int rest = index / units.tiles;
    td_unit unit = {};
    /* Tiles are taken in groups of rows, about as high as the tiles that run at a time are wide. */
    td_tile_of(index - rest * units.tiles, units.row_tiles, units.column_tiles, &unit.row,
               &unit.column, 1536 / tile_rows);
    unit.row *= tile_rows;
    unit.column *= tile_columns;
    if (p.pieces > 1) {
        unit.piece = rest % p.pieces;
        rest /= p.pieces;
    }
    unit.plane = rest;
    if (p.batch > 1) {
        unit.plane = rest / p.batch;
        unit.member = rest % p.batch;
    }
    return unit;
}

/* Returns whether a work tile is wanted. All work tiles of a single member are, unless tiles are
 * left out. */
template <int tile_rows, int tile_columns>
TD_DEVICE bool td_is_wanted(const td_panels &p, const td_units<tile_rows, tile_columns> &units,
                            int index)
{
    const int member = p.batch == 1 ? 0 : index / units.tiles / p.pieces;
    if (p.batch > 1 && member / p.batch >= td_planes_wanted(&p, member % p.batch)) return false;
    if (!td_leaves_tiles(&p)) return true;
    const td_unit unit = td_unit_of(p, units, index);
    return td_has_wanted(&p, unit.member, unit.row, unit.column, tile_rows, tile_columns);
}

#endif
