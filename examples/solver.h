/* solver.h - eigenpairs of symmetric matrices by libraries that are looked up when they are asked
 * for, so that a program also runs where there are none: cuSOLVER on a GPU, LAPACK (OpenBLAS's) on
 * the host. Matrices are n x n, column-major, leading dimension n. All functions return false, with
 * a message, if the library is not found or a call fails. */
#ifndef EXAMPLES_SOLVER_H
#define EXAMPLES_SOLVER_H

#include <stdbool.h>

/* Orthonormal eigenvectors of A, one a column of X, by cusolverDnSsyevd, in binary32; both matrices
 * on the host. */
bool eigenvectors_cusolver(int n, const double *a, double *x);

/* A x = lambda x, or A x = lambda B x if b is not NULL, in binary64: eigenvectors, one a column of
 * X, and the eigenvalues in ascending order. Everything is in device memory; A and B are read only.
 * *seconds <- what the library's one call took, without the copies around it. */
typedef bool eigen_solver(int n, const double *a, const double *b, double *x, double *d,
                          double *seconds);
eigen_solver eigenpairs_cusolver, eigenpairs_lapack;

#endif
