/* region.h - which elements of C a routine reads and writes. For host C and for kernels. */
#ifndef TD_REGION_H
#define TD_REGION_H

#include "../arithmetic/float32.h"

/* Element (i, j) of C is in the lower triangle if i >= j, in the upper one if i <= j. */
typedef enum { TD_REGION_ALL, TD_REGION_LOWER, TD_REGION_UPPER } td_region_kind;

/* The region as a part of C sees it whose first element is in row i and column j of C: there
 * `below` is i - j. Rows and columns of the functions below count from the part's first element. */
typedef struct {
    td_region_kind kind;
    int64_t below;

    /* 2^row_shift rows are one element of the matrix that the routine knows: two where that is
     * complex and C has its parts as neighbouring rows. A part begins with a whole element. */
    int row_shift;
} td_region;

/* True if one element is in the region. */
TD_BOTH bool td_region_has(const td_region *region, int64_t row, int64_t column)
{
    if (region->kind == TD_REGION_ALL) return true;
    const int64_t below = (row >> region->row_shift) + region->below - column;
    return region->kind == TD_REGION_LOWER ? below >= 0 : below <= 0;
}

/* Rows from `first` on, and before `end`. */
typedef struct {
    int64_t first, end;
} td_row_range;

/* The rows that a part of m rows has of one column in the region; none where `first` is not before
 * `end`. */
TD_BOTH td_row_range td_region_rows(const td_region *region, int64_t m, int64_t column)
{
    td_row_range rows = {0, m};
    const int64_t element = (int64_t)1 << region->row_shift,
                  diagonal = (column - region->below) * element;
    if (region->kind == TD_REGION_LOWER && diagonal > 0) rows.first = diagonal < m ? diagonal : m;
    if (region->kind == TD_REGION_UPPER && diagonal + element < m)
        rows.end = diagonal + element > 0 ? diagonal + element : 0;
    return rows;
}

/* True if any element of a block may be in the region. */
TD_BOTH bool td_region_meets(const td_region *region, int64_t row, int64_t column, int rows,
                             int columns)
{
    if (region->kind == TD_REGION_ALL) return true;
    return region->kind == TD_REGION_LOWER ? td_region_has(region, row + rows - 1, column)
                                           : td_region_has(region, row, column + columns - 1);
}

/* True if every element of a block is in the region. */
TD_BOTH bool td_region_holds(const td_region *region, int64_t row, int64_t column, int rows,
                             int columns)
{
    if (region->kind == TD_REGION_ALL) return true;
    return region->kind == TD_REGION_LOWER ? td_region_has(region, row, column + columns - 1)
                                           : td_region_has(region, row + rows - 1, column);
}

/* The region as a part sees it that begins at (row, column) of this one. */
TD_BOTH td_region td_region_from(const td_region *region, int64_t row, int64_t column)
{
    const td_region part = {region->kind, region->below + (row >> region->row_shift) - column,
                            region->row_shift};
    return part;
}

/* Blocks of rows x columns that cover m x n elements and meet the region. */
TD_BOTH int64_t td_region_blocks(const td_region *region, int64_t m, int64_t n, int rows,
                                 int columns)
{
    const int64_t down = (m + rows - 1) / rows, across = (n + columns - 1) / columns;
    int64_t blocks = 0;
    if (region->kind == TD_REGION_ALL) return down * across;
    for (int64_t j = 0; j < across; j++) {
        /* Of a column of blocks the region has a first or a last row. */
        const bool is_lower = region->kind == TD_REGION_LOWER;
        const int64_t edge = (is_lower ? j * columns : (j + 1) * columns - 1) - region->below,
                      element = 1 << region->row_shift,
                      row = is_lower ? edge * element : (edge + 1) * element - 1,
                      block = edge < 0 ? -1 : row / rows;
        if (is_lower)
            blocks += block < 0 ? down : block < down ? down - block : 0;
        else
            blocks += block < down ? block + 1 : down;
    }
    return blocks;
}

#endif
