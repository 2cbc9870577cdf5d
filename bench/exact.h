/* exact.h - sampled elements of a product, exactly, and how far others are from them. */
#ifndef BENCH_EXACT_H
#define BENCH_EXACT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct exact_product exact_product;

/* Over the samples, of |C - exact|. NaN if C holds one. */
typedef struct {
    double err, rms; /* largest and root mean square, in |alpha||A||B| + |beta||C0| */
    double relerr;   /* largest, in |C|: the papers' metric */
    double ulps;     /* largest, in binary64's unit in the last place of the exact element */
} exact_errors;

/* A B of an m x k and a k x n matrix, both column after column as data_sample gives them; off by
 * less than 2^-300 of |A||B|. NULL if there is no memory. */
exact_product *exact_make(int64_t m, int64_t n, int64_t k, const double *a, const double *b);
void exact_free(exact_product *e); /* accepts NULL */

/* Makes alpha A B + beta C0 of A B. c0: m x n, in the same form. */
void exact_update(exact_product *e, double alpha, double beta, const double *c0);

/* c: m x n, in the same form. */
exact_errors exact_compare(const exact_product *e, const double *c);

#endif
