/* lu_steps.h - LU of one matrix as blocks of columns, each of which is panels: what is factored in
 * turn, and the solve and the product that are due behind a block. It depends on sizes alone, so
 * that bits do. Pure: no CUDA calls.
 *
 *     +-------+--------------+
 *     | block |    solve     |   block: panels, and products of as many terms as those have columns
 *     |       +--------------+   solve: U's rows beside the block, by its unit triangle
 *     |       |   product    |   product: of as many terms as the block has columns
 *     +-------+--------------+ */
#ifndef TD_LU_STEPS_H
#define TD_LU_STEPS_H

#include "product.h"

/* Columns of a block, and of a panel. */
typedef struct {
    int64_t block, panel;
} td_lu_cut;

/* A column of a narrow panel takes less time, and a wide one leaves longer products. */
td_lu_cut td_lu_cut_of(const td_problem *p);

/* The blocks of a matrix with elements, 1 or more. */
int64_t td_lu_blocks(const td_problem *p, const td_lu_cut *cut);

/* The first column of block i, or, of one more than there are, the first behind the last. The last
 * block has all columns that are left. */
int64_t td_lu_block_at(const td_problem *p, const td_lu_cut *cut, int64_t i);

/* Of a block that is not the last: the solve, of which A is the matrix from the block's diagonal
 * on; and the product. Its m is 0 if no rows are below the block. */
td_problem td_lu_block_solve(const td_problem *p, const td_lu_cut *cut, int64_t i);
td_product td_lu_block_product(const td_problem *p, const td_lu_cut *cut, int64_t i);

/* The product that the panel at column `first` of block i takes away from columns from..to - 1. */
td_product td_lu_panel_product(const td_problem *p, int64_t first, int64_t columns, int64_t from,
                               int64_t to);

/* The matrix from an element on. */
td_matrix td_lu_part(const td_problem *p, int64_t row, int64_t column);

#endif
