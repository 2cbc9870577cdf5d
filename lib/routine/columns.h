/* columns.h - the update of a triangle as products of whole matrices: C is cut into columns of so
 * small a number that products of the rows that have elements of the triangle make few others.
 * Pure: no CUDA calls. */
#ifndef TD_COLUMNS_H
#define TD_COLUMNS_H

#include "parts.h"

/* Columns of a C of n columns that one product makes. */
int64_t td_dgemm_columns(int64_t n);

/* The rows of a part of C from the first to the last that has elements of the region. */
td_part td_dgemm_rows(td_region region, const td_part *part);

#endif
