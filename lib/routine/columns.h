/* columns.h - the update of a triangle as products of whole matrices: C is cut into columns of so
 * small a number that products of the rows that have elements of the triangle make few others.
 * Pure: no CUDA calls. */
#ifndef TD_COLUMNS_H
#define TD_COLUMNS_H

#include "parts.h"

/* Columns of C that one product makes. */
int64_t td_dgemm_columns(const td_problem *p);

/* The rows of a part of C from the first to the last that has elements of the region. */
td_part td_dgemm_rows(const td_problem *p, const td_part *part);

/* A product of matrices of p's type with the sizes of such a part, whose matrices are not set: C
 * without its scalars, so that alpha is 1 and beta 0. Of factors of two parts the first alone. */
td_problem td_dgemm_product(const td_problem *p, const td_part *part);

#endif
