/* samples.h - sampled elements of matrices on the device, and their errors. */
#ifndef BENCH_SAMPLES_H
#define BENCH_SAMPLES_H

#include "data.h"
#include "exact.h"

/* A B of sampled rows of A, m x k, and sampled columns of B, k x n, 24 of each (all, if there are
 * fewer); column-major without padding. NULL, with a message, if that fails. */
exact_product *samples_multiply(data_type type, int64_t m, int64_t n, int64_t k, const void *a,
                                const void *b);

/* Makes alpha A B + beta C0 of it. False, with a message, if that fails. */
bool samples_update(exact_product *e, double alpha, double beta, data_type type, int64_t m,
                    int64_t n, const void *c0);

/* The errors of C, m x n. False, with a message, if that fails. */
bool samples_compare(const exact_product *e, data_type type, int64_t m, int64_t n, const void *c,
                     exact_errors *errors);

#endif
