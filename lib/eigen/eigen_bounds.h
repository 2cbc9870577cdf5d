/* eigen_bounds.h - from norms of the columns of a few products to intervals that surely hold the
 * eigenvalues of A x = lambda x or A x = lambda B x. The theorems, their assumptions and the
 * derivation of every term are in docs/verify.md. Pure: no CUDA calls. */
#ifndef TD_EIGEN_BOUNDS_H
#define TD_EIGEN_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "../../kernels/verify/verify.h"

/* The matrices that norms are of; P, R, T and G as they were computed. Without B, P is X, and there
 * is no T. */
typedef enum {
    TD_OF_A,
    TD_OF_B,
    TD_OF_X,
    TD_OF_P, /* B X */
    TD_OF_R, /* A X - P D */
    TD_OF_T, /* X'R */
    TD_OF_G, /* X'P - I */
    TD_OF_COUNT
} td_verified_matrix;

/* What an element c of a product C <- +-A B +- C0 may be off the exact one:
 *   2^-53 |c| + relative (|A||B| + |C0|) + absolute. */
typedef struct {
    double relative, absolute;
} td_product_error;

/* Of products that are rounded once, half a unit in the last place, which at the bottom of the
 * range is 2^-1075; and of ordinary sums of n products and C0 in any order, each operation rounded
 * once. */
td_product_error td_error_rounded_once(void);
td_product_error td_error_of_sums(int n);

typedef struct {
    int n;
    bool has_b;
    td_product_error error;
    const td_norm *norm[TD_OF_COUNT]; /* n columns each; of B and T only with B */
    const double *d;                  /* n approximations of eigenvalues, finite, in any order */
} td_eigen_measures;

typedef enum {
    TD_BOUNDS_FOUND,
    TD_BOUNDS_NOT_FINITE,      /* something overflowed, or was not finite to begin with */
    TD_BOUNDS_NOT_INDEPENDENT, /* |X'B X - I| is not shown to be below 1 */
    TD_BOUNDS_NO_MEMORY
} td_bounds_status;

/* Of the i-th smallest eigenvalue, counted with multiplicity: it lies in [lower[i], upper[i]].
 * Eigenvalues of one cluster have one interval, and intervals of different clusters share no
 * number; clusters are numbered from 0 upward. `gram` <- what |X'B X - I| was bounded by in the
 * Frobenius norm. Nothing but `gram` is written unless bounds are found. */
td_bounds_status td_eigen_bounds_find(const td_eigen_measures *m, double *lower, double *upper,
                                      int64_t *cluster, double *gram);

#endif
