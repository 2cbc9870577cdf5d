/* cholesky_steps.h - a Cholesky factorisation of one matrix as panels of columns, and the product
 * that is due behind each of them but the last. It depends on sizes alone, so that bits do. Pure:
 * no CUDA calls. */
#ifndef TD_CHOLESKY_STEPS_H
#define TD_CHOLESKY_STEPS_H

#include "product.h"

/* Columns of a panel; and up to so many rows what is left is one panel. */
typedef struct {
    int64_t panel, whole;
} td_cholesky_cut;

td_cholesky_cut td_cholesky_cut_of(const td_problem *p);

/* Columns of the panel that begins at column `first` of n. */
int64_t td_cholesky_columns(td_cholesky_cut cut, int64_t n, int64_t first);

/* The number of products. Product i is due behind the panel at column i times cut.panel. */
int64_t td_cholesky_products(td_cholesky_cut cut, int64_t n);

/* The product that takes the panel at column `first` away from the triangle behind it. */
td_product td_cholesky_product(td_cholesky_cut cut, const td_problem *p, int64_t first);

/* The matrix from an element of L on. */
td_matrix td_cholesky_part(const td_problem *p, int64_t row, int64_t column);

#endif
