/* lu.h - blocked LU factorisation with partial pivoting on the device, as LINPACK's benchmark does
 * it. */
#ifndef EXAMPLES_LU_H
#define EXAMPLES_LU_H

#include <stdbool.h>

#include <cublas_v2.h>

/* The system A x = b as the n x (n + 1) matrix [A | b] in device memory, column-major, leading
 * dimension n. */
typedef struct {
    cublasHandle_t blas; /* host pointer mode, default stream */
    double *entries;
    int n;
    int block; /* columns of a panel, and k of the products that update the rest */
    /* n rows, in host memory: row j was swapped with pivots[j] >= j; NULL: not recorded */
    int *pivots;
} lu_system;

/* Overwrites A with L below U on and above the diagonal, and b with inv(L) P b. P is recorded if
 * there is room for it. False, with a message, if a call fails or a pivot vanishes. */
bool lu_factor(const lu_system *s);

/* After lu_factor: overwrites column n with the solution x. */
bool lu_back_substitute(const lu_system *s);

/* After lu_factor with pivots: overwrites the vector b, n numbers in device memory, with the
 * solution of A x = b. rows: room for n numbers in host memory. */
bool lu_solve_again(const lu_system *s, double *b, double *rows);

#endif
