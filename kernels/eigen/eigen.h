/* eigen.h - what lies between the products of a symmetric eigenvalue problem A X = X D, whose X is
 * refined (Ogita and Aishima, Japan J. Indust. Appl. Math. 35 and 36): A's triangle as two full
 * matrices, one of them in binary32; what is off in A X = X D and X'X = I; the update E of X, from
 * S = X'A X and R = I - X'X; the vectors of small clusters of eigenvalues; and the results.
 *
 * Matrices are n x n in columns of n elements where nothing else is said. Everything is enqueued;
 * the launches' status is returned. For host C. */
#ifndef TD_EIGEN_H
#define TD_EIGEN_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A symmetric matrix of which one triangle is there. */
typedef struct {
    const double *data;
    int64_t ld, n;
    bool is_upper;
} td_eigen_source;

/* *bits becomes the bits of the largest magnitude in the triangle; those of infinity, or above, if
 * an element is not finite. */
cudaError_t td_eigen_largest_run(const td_eigen_source *a, unsigned long long *bits,
                                 cudaStream_t stream);

/* A 2^-exponent, with both triangles, in `whole` (NULL: not wanted), and rounded in `narrow`. */
cudaError_t td_eigen_take_run(const td_eigen_source *a, int exponent, double *whole, float *narrow,
                              cudaStream_t stream);

/* An n x n matrix of binary32 in columns of `ld` elements of binary64. */
cudaError_t td_eigen_widen_run(const float *narrow, int64_t n, double *to, int64_t ld,
                               cudaStream_t stream);

/* What is known of each column, n of each. Sums are added in an order that depends on n alone. */
typedef struct {
    double *values;     /* x'A x / x'x */
    double *residuals;  /* |A x - x value| */
    double *departures; /* the norm of the column of X'X - I */
} td_eigen_measured;

/* x, ax: X and A X. r: the lower triangle of I - X'X. */
cudaError_t td_eigen_measure_run(int64_t n, const double *x, const double *ax, const double *r,
                                 td_eigen_measured to, cudaStream_t stream);

/* A step's matrices. A pair of columns i and j, with the off-diagonal element
 *   off = s_ij + r_ij (d_i + d_j) / 2   and   gap = d_j - d_i,
 * is *settled* if |off| <= noise, which is what products leave, and more than 2^-32 |gap|: then
 * nothing tells the one's direction from the other's, and e_ij = r_ij / 2. It is *apart* if
 * |off| <= 2^-10 |gap|: e_ij = r_ij / 2 + off / gap. Otherwise it is *coupled*: the two belong to
 * one cluster of eigenvalues. */
typedef struct {
    int64_t n;
    double *s, *r; /* lower triangles of X'A X and I - X'X */
    const double *values;
    double noise;
} td_eigen_pairs;

/* reach[j] becomes the last column that is coupled with column j, or j; n of them. */
cudaError_t td_eigen_reach_run(const td_eigen_pairs *p, int *reach, cudaStream_t stream);

/* Where the columns of a cluster are. */
typedef struct {
    int first, count;
} td_eigen_cluster;

/* s becomes E, all of it. cluster_of[i], of n, is the first column of the cluster that column i is
 * in, or i; the block of r of a cluster from column c on becomes X'(A - shift[c] I) X, both
 * triangles, and e_ij = r_ij / 2 there. */
cudaError_t td_eigen_update_run(const td_eigen_pairs *p, const int *cluster_of, const double *shift,
                                cudaStream_t stream);

/* Clusters of up to so many columns have their vectors made by Jacobi's method, one warp each. */
enum { TD_EIGEN_SMALL = 32 };

/* The blocks of r of `count` small clusters become their vectors, by ascending values. */
cudaError_t td_eigen_solve_run(double *r, int64_t n, const td_eigen_cluster *clusters, int count,
                               cudaStream_t stream);

/* The columns of x of these clusters become their products with those vectors. */
cudaError_t td_eigen_turn_run(double *x, const double *r, int64_t n,
                              const td_eigen_cluster *clusters, int count, cudaStream_t stream);

/* Column j of a becomes column from[j] of x, w[j] its value times 2^exponent, and *info 0. */
typedef struct {
    int64_t n, ld;
    const double *x, *values;
    const int *from;
    int exponent;
    double *a, *w;
    int *info;
} td_eigen_result;
cudaError_t td_eigen_put_run(const td_eigen_result *r, cudaStream_t stream);

/* Load the kernels on the current device: all of them, and those of steps alone. */
cudaError_t td_eigen_prepare(int which);
cudaError_t td_eigen_prepare_steps(void);

#ifdef __cplusplus
}
#endif

#endif
