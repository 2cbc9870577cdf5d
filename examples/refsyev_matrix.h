/* refsyev_matrix.h - symmetric matrices with given eigenvalues, and eigenvectors to start from. */
#ifndef EXAMPLES_REFSYEV_MATRIX_H
#define EXAMPLES_REFSYEV_MATRIX_H

#include <stdbool.h>

#include "common.h"

/* A <- Q D Q', rounded to binary64 and symmetric to the bit: n x n, column-major, leading dimension
 * n.
 *   D: eigenvalues from 1 down to 1 / spread in a geometric sequence, each `multiple` times in a
 *   row Q: the product of so many random reflections; n of them make it uniformly distributed among
 *      the orthogonal matrices
 * False, with a message, if there is no memory. */
bool symmetric_make(int n, double spread, int multiple, int reflections, random_stream *random,
                    double *a);

/* Orthonormal eigenvectors of the symmetric n x n matrix A, one a column of X, by Jacobi's method
 * in binary64. False, with a message, if there is no memory or the iteration does not end. */
bool eigenvectors_jacobi(int n, const double *a, double *x);

#endif
