/* selftest_products.h - the products of `tandem selftest`: the golden bits of every mode, and the
 * errors of larger products against the exact ones, on the current device. */
#ifndef TD_TOOLS_SELFTEST_PRODUCTS_H
#define TD_TOOLS_SELFTEST_PRODUCTS_H

#include <stdbool.h>
#include <stdio.h>

/* Writes a line for each mode: how many of its products have the bits of tests/golden. False if one
 * has not. */
bool selftest_golden(FILE *out);

/* Writes a line for each mode and product: the largest error of some hundred elements, as a share
 * of what the mode promises. False if one is beyond 1, or a product did not run. is_small: the
 * sizes are those for a host device. */
bool selftest_errors(FILE *out, bool is_small);

#endif
