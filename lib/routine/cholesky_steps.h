/* cholesky_steps.h - a Cholesky factorisation of one matrix as panels of columns, and the products
 * that are due behind each of them but the last. It depends on sizes alone, so that bits do. Pure:
 * no CUDA calls.
 *
 *     panel 0 | own 1, below 1 | panel 1 | own 2-3, below 2-3 | panel 2 | own 3, below 3 |
 *     panel 3 | rest of 0-3 | panel 4 ...
 *
 * Panels go in groups of 1, 2, 4, 8 ... What is behind a group meets it once, in a product of as
 * many terms as the group has columns. Within a group the first half is taken away from all columns
 * of the second half at once, from the triangle of their own rows and from the rows below; and each
 * half is a group likewise. So most elements are read and written for many terms, which emulation
 * needs to gain. */
#ifndef TD_CHOLESKY_STEPS_H
#define TD_CHOLESKY_STEPS_H

#include "product.h"

/* Columns of a panel; up to how many rows what is left is one panel; and how many of the others are
 * a group, a power of two. */
typedef struct {
    int64_t panel, whole, group;
} td_cholesky_cut;

td_cholesky_cut td_cholesky_cut_of(const td_problem *p);

/* Columns of the panel that begins at column `first` of n. */
int64_t td_cholesky_columns(td_cholesky_cut cut, int64_t n, int64_t first);

/* The number of panels but the last, of products, and of those that an element meets at most. */
int64_t td_cholesky_panels(td_cholesky_cut cut, int64_t n);
int64_t td_cholesky_products(td_cholesky_cut cut, int64_t n);
int64_t td_cholesky_products_of_element(td_cholesky_cut cut, int64_t n);

/* The most terms that a product has. */
int64_t td_cholesky_most_terms(td_cholesky_cut cut, int64_t n);

/* The number of the first product that is due behind a panel, which is not the last one; and how
 * many are. */
int64_t td_cholesky_first_product(td_cholesky_cut cut, int64_t panel);
int td_cholesky_products_behind(td_cholesky_cut cut, int64_t n, int64_t panel);

/* Product `number` of the factorisation. */
td_product td_cholesky_product(td_cholesky_cut cut, const td_problem *p, int64_t number);

/* The number of the product with the most operations, if there is one. */
int64_t td_cholesky_largest_product(td_cholesky_cut cut, const td_problem *p);

/* The matrix from an element of L on. */
td_matrix td_cholesky_part(const td_problem *p, int64_t row, int64_t column);

#endif
