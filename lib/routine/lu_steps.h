/* lu_steps.h - LU of one matrix as blocks of columns, each of which is panels: what is factored in
 * turn, and the products and solves that are due beside and behind a block. It depends on sizes
 * alone, so that bits do. Pure: no CUDA calls.
 *
 *     +-------+--------------+
 *     | block |    rows      |   block: panels, and products of as many terms as those have columns
 *     |       +--------------+   rows: U's, by a solve with the block's triangle; or by panels,
 *     |       |   product    |      whose triangles solve for what is left of the products above
 *     +-------+--------------+   product: of as many terms as the block has columns */
#ifndef TD_LU_STEPS_H
#define TD_LU_STEPS_H

#include "product.h"

/* Columns of a panel, which all columns behind it meet in one product, and of a piece of it, which
 * is factored at a time. */
typedef struct {
    int64_t panel, piece;
} td_lu_panel_cut;

/* Columns of a block; and its panels where the matrix has more than `few` rows from the panel's
 * diagonal on, more than `many`, or no more. No panel is wider than the first. */
typedef struct {
    int64_t block, few, many;
    td_lu_panel_cut of_many, of_some, of_few;
    bool is_late; /* rows that no panel updates at once are exchanged late; bits are the same */
} td_lu_cut;

/* A column of a narrow piece takes less time, and a wide panel leaves longer products. */
td_lu_cut td_lu_cut_of(const td_problem *p);

/* The panel that has so many rows from its diagonal on. */
td_lu_panel_cut td_lu_panel_cut_of(const td_lu_cut *cut, int64_t rows);

/* The columns of the narrowest piece. */
int64_t td_lu_least_piece(const td_lu_cut *cut);

/* The blocks of a matrix with elements, 1 or more. */
int64_t td_lu_blocks(const td_problem *p, const td_lu_cut *cut);

/* The first column of block i, or, of one more than there are, the first behind the last. The last
 * block has all columns that are left. */
int64_t td_lu_block_at(const td_problem *p, const td_lu_cut *cut, int64_t i);

/* Of a block that is not the last: the solve of U's rows, of which A is the matrix from the block's
 * diagonal on, where panels do not make them; and the product. Its m is 0 if no rows are below the
 * block. */
td_problem td_lu_block_solve(const td_problem *p, const td_lu_cut *cut, int64_t i);
td_product td_lu_block_product(const td_problem *p, const td_lu_cut *cut, int64_t i);

/* What a block's rows from `begin` to first - 1 take away from rows first..behind - 1, which are
 * beside a panel of the block, in columns from..to - 1. Its k is 0 for the block's first panel. */
td_product td_lu_rows_product(const td_problem *p, int64_t begin, int64_t first, int64_t behind,
                              int64_t from, int64_t to);

/* The solve beside columns first..behind - 1 for columns from..to - 1; it may be cut no further. */
td_problem td_lu_panel_solve(const td_problem *p, int64_t first, int64_t behind, int64_t from,
                             int64_t to);

/* The product that `columns` columns from `first` on take away from columns from..to - 1. */
td_product td_lu_panel_product(const td_problem *p, int64_t first, int64_t columns, int64_t from,
                               int64_t to);

/* The matrix from an element on. */
td_matrix td_lu_part(const td_problem *p, int64_t row, int64_t column);

#endif
