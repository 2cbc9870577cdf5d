/* order.h - the order in which the tiles of C that a region meets are made: column by column within
 * groups of tile rows, so that tiles made at a time share lines in the L2. For fused.cu. */
#ifndef TD_FUSED_ORDER_H
#define TD_FUSED_ORDER_H

#include "tile.h"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

namespace
{

/* As high as the tiles of all multiprocessors at a time are wide, or so. */
enum { GROUP_ROWS = 12 };

/* Of rows x columns tiles the region meets those whose column is at most row + diagonal, if rows
 * and columns are counted from the last ones where `is_turned`. */
struct tile_order {
    int rows, columns, diagonal;
    bool is_turned;
};

TD_DEVICE int64_t tiles_down(int64_t elements)
{
    return (elements < 0 ? elements - (SIDE - 1) : elements) / SIDE;
}

TD_DEVICE tile_order order_of(const td_panels &p)
{
    const int rows = fused_tiles_along(p.m), columns = fused_tiles_along(p.n);
    const bool is_turned = p.region.kind == TD_REGION_UPPER;
    int64_t diagonal = columns;
    if (p.region.kind == TD_REGION_LOWER) diagonal = tiles_down(p.region.below + SIDE - 1);
    if (is_turned) diagonal = columns - rows - tiles_down(p.region.below);
    return {rows, columns, (int)max((int64_t)-rows, min((int64_t)columns, diagonal)), is_turned};
}

/* 1 + 2 + ... + count. */
TD_DEVICE int64_t sum_up_to(int64_t count) { return count > 0 ? count * (count + 1) / 2 : 0; }

/* Tiles of the rows before this one. Row r has r + diagonal + 1 of them, or none, or all columns:
 * what the positive part of that exceeds the columns by is taken off. */
TD_DEVICE int tiles_before(const tile_order &order, int row)
{
    const int64_t first = order.diagonal, over = first - order.columns;
    return (int)(sum_up_to(row + first) - sum_up_to(first) - sum_up_to(row + over) +
                 sum_up_to(over));
}

TD_DEVICE int count_of(const tile_order &order) { return tiles_before(order, order.rows); }

struct tile_index {
    int row, column;
};

/* Of the group of `height` rows from `first` on. Its first columns are whole; each later one has
 * its first tile one row further down. */
TD_DEVICE tile_index index_in_group(const tile_order &order, int first, int height, int number)
{
    const int whole = min(max(first + order.diagonal + 1, 0), order.columns);
    if (number < whole * height) return {first + number % height, number / height};
    int rest = number - whole * height, column = whole, above = whole - order.diagonal - first;
    TD_UNROLL_N(1)
    for (; rest >= height - above; column++, above++) rest -= height - above;
    return {first + above + rest, column};
}

/* Of the tile with that number among those that the region meets. */
TD_DEVICE tile_index index_of(const tile_order &order, int number)
{
    int first = 0;
    TD_UNROLL_N(1)
    while (tiles_before(order, min(first + GROUP_ROWS, order.rows)) <= number) first += GROUP_ROWS;
    const tile_index at = index_in_group(order, first, min((int)GROUP_ROWS, order.rows - first),
                                         number - tiles_before(order, first));
    if (!order.is_turned) return at;
    return {order.rows - 1 - at.row, order.columns - 1 - at.column};
}

} // namespace

#endif

#endif
