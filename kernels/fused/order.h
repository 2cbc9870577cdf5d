/* order.h - the order in which the tiles of C that a region meets are made: column by column within
 * groups of tile rows, so that tiles made at a time share lines in the L2. For fused.cu. */
#ifndef TD_FUSED_ORDER_H
#define TD_FUSED_ORDER_H

#include "../crt/deferred.h"
#include "../igemm/plane_gemm.h"

#if TD_HAS_CUDA_DEVICE

namespace
{

/* As high as the tiles of all multiprocessors at a time are wide, or so. */
enum { GROUP_ROWS = 12 };

/* Of rows x columns tiles the region meets those whose column is at most row + diagonal, if rows
 * and columns are counted from the last ones where `is_turned`: `count` tiles. */
struct tile_order {
    int rows, columns, diagonal, count;
    bool is_turned;
};

/* 1 + 2 + ... + count. */
TD_HOST_DEVICE int64_t sum_up_to(int64_t count) { return count > 0 ? count * (count + 1) / 2 : 0; }

/* Tiles of the rows before this one. Row r has r + diagonal + 1 of them, or none, or all columns:
 * what the positive part of that exceeds the columns by is taken off. */
TD_HOST_DEVICE int tiles_before(const tile_order &order, int row)
{
    const int64_t first = order.diagonal, over = first - order.columns;
    return (int)(sum_up_to(row + first) - sum_up_to(first) - sum_up_to(row + over) +
                 sum_up_to(over));
}

static int64_t tiles_down(int64_t elements)
{
    return (elements < 0 ? elements - (TD_FUSED_SIDE - 1) : elements) / TD_FUSED_SIDE;
}

/* By the host: a thread that copies has few registers. */
static tile_order order_of(const td_panels &p)
{
    tile_order order = {fused_tiles_along(p.m), fused_tiles_along(p.n), 0, 0,
                        p.region.kind == TD_REGION_UPPER};
    int64_t diagonal = order.columns;
    if (p.region.kind == TD_REGION_LOWER) diagonal = tiles_down(p.region.below + TD_FUSED_SIDE - 1);
    if (order.is_turned) diagonal = order.columns - order.rows - tiles_down(p.region.below);
    order.diagonal = (int)max((int64_t)-order.rows, min((int64_t)order.columns, diagonal));
    order.count = tiles_before(order, order.rows);
    return order;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

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
    int first = number / order.columns / GROUP_ROWS * GROUP_ROWS; /* no row has more tiles */
    TD_UNROLL_N(1)
    while (tiles_before(order, min(first + GROUP_ROWS, order.rows)) <= number) first += GROUP_ROWS;
    const tile_index at = index_in_group(order, first, min((int)GROUP_ROWS, order.rows - first),
                                         number - tiles_before(order, first));
    if (!order.is_turned) return at;
    return {order.rows - 1 - at.row, order.columns - 1 - at.column};
}

#endif

} // namespace

#endif

#endif
