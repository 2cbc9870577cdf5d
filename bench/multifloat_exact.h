/* multifloat_exact.h - sampled elements of a product, exactly, and how far others are from them. */
#ifndef BENCH_MULTIFLOAT_EXACT_H
#define BENCH_MULTIFLOAT_EXACT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct exact_product exact_product;

/* Largest over the samples: |C - AB| / (|A||B|), and |C - AB| / |C|, the papers' metric. NaN if C holds one. */
typedef struct {
    double err, relerr;
} exact_errors;

/* A B of an m x k and a k x n matrix, both column after column as data_sample gives them; off by less than 2^-300 of
 * |A||B|. NULL if there is no memory. */
exact_product *exact_make(int64_t m, int64_t n, int64_t k, const double *a, const double *b);
void exact_free(exact_product *e); /* accepts NULL */

/* c: m x n, in the same form. */
exact_errors exact_compare(const exact_product *e, const double *c);

#endif
