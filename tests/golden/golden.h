/* golden.h - the products of the golden bits, and the hashes of C that every mode gives on every
 * device: what check_invariance.c and `tandem selftest` compare with. */
#ifndef TEST_GOLDEN_H
#define TEST_GOLDEN_H

#include <stdint.h>

#include "../kernels/support/problem.h"

/* No distribution here may use a function of libm that rounds: its bits would be the library's. */
static const product golden_products[] = {
    {"uniform", TANDEM_OP_N, TANDEM_OP_N, 64, 64, 64, 0, 0, 0, 0, 1.0, 0.0, 1, false},
    {"uniform", TANDEM_OP_N, TANDEM_OP_T, 1, 1, 1600, 0, 0, 0, 0, 1.0, 0.0, 2, false},
    {"both signs", TANDEM_OP_T, TANDEM_OP_N, 65, 50, 545, 0, 0, 0, 0, 1.0, 0.0, 3, false},
    {"both signs", TANDEM_OP_T, TANDEM_OP_T, 70, 40, 1100, 0, 0, 0, 0, -1.0, 1.0, 4, false},
    {"both signs", TANDEM_OP_N, TANDEM_OP_N, 130, 60, 513, 0, 0, 0, 0, 1.7, -0.3, 5, false},
    {"graded", TANDEM_OP_N, TANDEM_OP_T, 90, 33, 700, 0, 0, 0, 0, 1.0, 0.5, 6, false},
    {"2^480", TANDEM_OP_T, TANDEM_OP_N, 40, 50, 1100, 0, 0, 0, 0, 1.0, 0.0, 7, false},
    {"scattered", TANDEM_OP_N, TANDEM_OP_N, 67, 66, 90, 0, 0, 0, 0, 1.0, 2.0, 8, false},
    {"some scattered", TANDEM_OP_T, TANDEM_OP_T, 40, 100, 600, 0, 0, 0, 0, 1.0, 0.0, 9, false},
    {"rising", TANDEM_OP_N, TANDEM_OP_N, 65, 64, 1024, 0, 0, 0, 0, 1.0, 0.0, 10, false},
    {"cancelling", TANDEM_OP_N, TANDEM_OP_T, 63, 65, 512, 0, 0, 0, 0, 1.0, 0.0, 11, false},
    {"subnormal", TANDEM_OP_T, TANDEM_OP_N, 66, 9, 200, 0, 0, 0, 0, 1.0, 0.0, 12, false},
    {"far crossing", TANDEM_OP_N, TANDEM_OP_N, 40, 30, 300, 0, 0, 0, 0, 1.0, 0.5, 13, false},
    {"both signs", TANDEM_OP_T, TANDEM_OP_N, 34, 35, 570, 0, 0, 0, 0, 1.5, -1.0, 14, true},
};
enum { GOLDEN_PRODUCTS = sizeof golden_products / sizeof *golden_products };

/* A row of tests/golden/FILE.txt: a product in words (product_text), and the hash of its C
 * (matrix_hash). The rows of a file follow each other in the order of golden_products. */
static const struct {
    const char *file, *product;
    uint64_t hash;
} golden_rows[] = {
#include "golden_rows.h"
};
enum { GOLDEN_ROWS = sizeof golden_rows / sizeof *golden_rows };

#endif
