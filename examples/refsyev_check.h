/* refsyev_check.h - how good approximate eigenvectors of a symmetric matrix are, and what they
 * prove about its eigenvalues. Everything is computed on the host with 113 bits. */
#ifndef EXAMPLES_REFSYEV_CHECK_H
#define EXAMPLES_REFSYEV_CHECK_H

#include <stdbool.h>

typedef struct {
    double orthogonality; /* Frobenius norm of I - X'X */
    /* that of X'A X without its diagonal, relative to the largest |eigenvalue| */
    double off_diagonal;
    /* Every eigenvalue of A is in one of the n intervals d_i - r_i .. d_i + r_i, rounding errors
     * included. */
    /* the largest r_i, relative to the largest |d_i|; infinite if nothing is proven */
    double radius;
    int isolated; /* intervals that meet no other: each holds exactly one eigenvalue */
} eigen_quality;

/* A: n x n, symmetric; X = hi + lo: n x n, an approximate eigenvector a column; both column-major,
 * leading dimension n. Takes time for 2 n^3 multiplications of 113 bits. False, with a message, if
 * there is no memory. */
bool eigen_check(int n, const double *a, const double *hi, const double *lo, eigen_quality *q);

#endif
