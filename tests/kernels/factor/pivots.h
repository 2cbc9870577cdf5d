/* pivots.h - what the tests of solutions and of exchanges of rows share: numbers that a seed draws,
 * and pivots. */
#ifndef TESTS_PIVOTS_H
#define TESTS_PIVOTS_H

#include <stdint.h>

#include "tests/kernels/support/numbers.h"

typedef enum { NO_PIVOTS, PIVOTS, WIDE_PIVOTS, PIVOT_KINDS } pivot_kind;

/* Uniform in [-1, 1), or in that square. */
number drawn_number(uint64_t *state, bool is_complex);

bool is_same_number(number x, number y);

/* Where element (i, j) is. */
static inline size_t at(int i, int j, int ld) { return (size_t)i + (size_t)j * (size_t)ld; }

/* In device memory; NULL: rows are not exchanged. */
void *upload_pivots(pivot_kind kind, const int64_t *pivots, int n);

/* Exchanges of the rows of a column, from the last to the first if is_backward. */
void exchange_rows(const int64_t *pivots, int n, bool is_backward, number *column);

#endif
