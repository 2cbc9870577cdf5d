/* eigen_case.h - small symmetric matrices of many kinds, approximate eigenpairs of LAPACK's, and
 * how many eigenvalues lie where. */
#ifndef EIGEN_CASE_H
#define EIGEN_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/ref/ref_eigen.h"
#include "tests/support/random.h"

enum { EIGEN_LEAST = 2, EIGEN_MOST = 40 };

/* Everything is column-major with leading dimension n. */
typedef struct {
    char name[96];
    int n;
    bool has_b, is_tame; /* tame: a bound must be found for LAPACK's eigenpairs */
    /* Bounds must separate all eigenvalues. Random numbers repel them: that a gap is below d times
     * the mean one, where errors are 1e-12 of it, has a probability of some n d^2, or n d between
     * the smallest of two signs. */
    bool is_apart;
    double a[EIGEN_MOST * EIGEN_MOST], b[EIGEN_MOST * EIGEN_MOST];
    double x[EIGEN_MOST * EIGEN_MOST], d[EIGEN_MOST];
    int bits; /* of the reference */
} eigen_case;

/* The case of a seed: kind of matrix, B or none, n and what is done to the eigenpairs all follow
 * from it. */
void eigen_case_make(uint64_t seed, eigen_case *c);

#endif
