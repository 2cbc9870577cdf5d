/* ref_eigen.h - how many eigenvalues lie below a number: by a tridiagonal matrix in multiple
 * precision, and Sturm's counts. */
#ifndef REF_EIGEN_H
#define REF_EIGEN_H

#include <stdbool.h>

typedef struct ref_spectrum ref_spectrum;

/* Of A x = lambda x, or A x = lambda B x if b is not NULL: symmetric n x n matrices, column-major,
 * leading dimension n. Every operation has so many bits. NULL if B is not positive definite, as far
 * as those tell. */
ref_spectrum *ref_spectrum_make(int n, const double *a, const double *b, int bits);
void ref_spectrum_free(ref_spectrum *s);

/* The number of eigenvalues, with multiplicity, that are below x, or, if it is `inclusive`, at x or
 * below. */
int ref_spectrum_count(const ref_spectrum *s, double x, bool inclusive);

#endif
