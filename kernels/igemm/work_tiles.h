/* work_tiles.h - what blocks that stay on their multiprocessors work on, one unit after the other:
 * a tile of C of one slice of k, one member and one plane, the tiles of a plane being
 * neighbours. */
#ifndef TD_WORK_TILES_H
#define TD_WORK_TILES_H

#include "../view/raster.h"
#include "plane_gemm.h"

struct td_unit {
    int plane, member, slice, row, column; /* the tile's first elements */
};

/* How the work tiles of a launch are numbered, if tiles are tile_rows x tile_columns. Tiles are
 * taken in groups of GROUP rows, about as high as the tiles that run at a time are wide. Of a
 * triangle a group has the columns that it meets: less than GROUP tiles that follow each other are
 * not C's. */
template <int tile_rows, int tile_columns> struct td_units {
    enum { GROUP = 1536 / tile_rows };
    int row_tiles, column_tiles, tiles, count;
};

/* Columns of tiles. */
struct td_tile_columns {
    int first, count;
};

/* The columns of tiles that the region meets in rows row .. last of C. */
TD_DEVICE td_tile_columns td_columns_of_rows(const td_region &region, int64_t row, int64_t last,
                                             int tile_columns, int column_tiles)
{
    if (region.kind == TD_REGION_ALL) return {0, column_tiles};
    if (region.kind == TD_REGION_LOWER) {
        const int64_t most = (last >> region.row_shift) + region.below;
        return {0, most < 0 ? 0 : (int)min((int64_t)column_tiles, most / tile_columns + 1)};
    }
    const int64_t least = max((int64_t)0, (row >> region.row_shift) + region.below),
                  first = min((int64_t)column_tiles, least / tile_columns);
    return {(int)first, column_tiles - (int)first};
}

/* Calls work(first tile row, tile rows, columns) for each group, until that returns true. */
template <int tile_rows, int tile_columns, class function>
TD_DEVICE void td_each_group(const td_panels &p, const td_units<tile_rows, tile_columns> &units,
                             function work)
{
    const int step = p.region.kind == TD_REGION_ALL ? units.row_tiles : (int)units.GROUP;
    TD_UNROLL_N(1)
    for (int row = 0; row < units.row_tiles; row += step) {
        const int rows = min(step, units.row_tiles - row);
        const td_tile_columns columns = td_columns_of_rows(p.region, (int64_t)row * tile_rows,
                                                           (int64_t)(row + rows) * tile_rows - 1,
                                                           tile_columns, units.column_tiles);
        if (work(row, rows, columns)) return;
    }
}

template <int tile_rows, int tile_columns>
TD_DEVICE td_units<tile_rows, tile_columns> td_units_of(const td_panels &p)
{
    td_units<tile_rows, tile_columns> units;
    units.row_tiles = (int)((p.m + tile_rows - 1) / tile_rows);
    units.column_tiles = (int)((p.n + tile_columns - 1) / tile_columns);
    units.tiles = 0;
    td_each_group(p, units, [&](int, int rows, const td_tile_columns &columns) {
        units.tiles += rows * columns.count;
        return false;
    });
    const int planes = p.batch == 1 ? min(p.planes, td_planes_wanted(&p, 0)) : p.planes;
    units.count = units.tiles * p.slices * p.batch * planes;
    return units;
}

template <int tile_rows, int tile_columns>
TD_DEVICE td_unit td_unit_of(const td_panels &p, const td_units<tile_rows, tile_columns> &units,
                             int index)
{
    int rest = index / units.tiles;
    td_unit unit = {};
    int tile = index - rest * units.tiles;
    td_each_group(p, units, [&](int row, int rows, const td_tile_columns &columns) {
        if (tile >= rows * columns.count) return tile -= rows * columns.count, false;
        td_tile_of(tile, rows, columns.count, &unit.row, &unit.column, units.GROUP);
        unit.row = (unit.row + row) * tile_rows;
        unit.column = (unit.column + columns.first) * tile_columns;
        return true;
    });
    if (p.slices > 1) {
        unit.slice = rest % p.slices;
        rest /= p.slices;
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
    const int member = p.batch == 1 ? 0 : index / units.tiles / p.slices;
    if (p.batch > 1 && member / p.batch >= td_planes_wanted(&p, member % p.batch)) return false;
    if (!td_leaves_tiles(&p)) return true;
    const td_unit unit = td_unit_of(p, units, index);
    return td_has_wanted(&p, unit.member, unit.row, unit.column, tile_rows, tile_columns);
}

#endif
