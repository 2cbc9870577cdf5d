/* ref_lu.h - LU factors, triangular solutions and inverses in plain C, bit for bit what the kernels
 * give (docs/batched_lu.md). */
#ifndef REF_LU_H
#define REF_LU_H

#include <stdbool.h>
#include <stdint.h>

typedef enum { REF_LU_S, REF_LU_D, REF_LU_C, REF_LU_Z } ref_lu_type;
typedef enum { REF_LU_OP_N, REF_LU_OP_T, REF_LU_OP_C } ref_lu_op;

/* Matrices are column-major, of float or double, complex ones with the imaginary part after the
 * real one. Returns info. pivots: n, from 1; NULL: no interchanges. */
int ref_lu_factor(ref_lu_type type, int n, void *a, int lda, int *pivots);

/* A triangle A of n rows: op(A) X = alpha B, or X op(A) = alpha B, for so many columns, or rows, of
 * B. */
typedef struct {
    ref_lu_type type;
    ref_lu_op op;
    bool is_upper, is_unit, is_right;
    int n, vectors;
    const void *a;
    int lda;
    void *b;
    int ldb;
    double alpha_re, alpha_im;
    /* 1: vector v has zeros before its element v / 32 * 32, which are left alone */
    int start_of_32;
} ref_lu_triangle;
void ref_lu_solve_triangle(const ref_lu_triangle *t);

/* op(A) X = B in place of B, and the inverse, both from ref_lu_factor's result. */
void ref_lu_solve(ref_lu_type type, ref_lu_op op, int n, const void *factors, int lda,
                  const int *pivots, int vectors, void *b, int ldb);
void ref_lu_invert(ref_lu_type type, int n, const void *factors, int lda, const int *pivots,
                   void *c, int ldc);

#endif
