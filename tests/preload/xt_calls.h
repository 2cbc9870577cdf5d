/* xt_calls.h - calls of level 3 routines, whose functions in cublasXt and in cuBLAS have the
 * same arguments: the matrices of a call in any kind of memory, with NaN where it
 * must not read, and the call itself. For client_xt.c. */
#ifndef TESTS_PRELOAD_XT_CALLS_H
#define TESTS_PRELOAD_XT_CALLS_H

#include <cublasXt.h>
#include <stdbool.h>
#include <stddef.h>

#include "../support/level3.h"

typedef enum { PAGEABLE, PINNED, DEVICE, MANAGED, PLACES } place;

typedef level3_function function;
typedef level3_routine routine;

/* Matrices are arrays of doubles, of which an element has one or, if complex, two. op is also
 * op(A)'s of a product of two full matrices. */
typedef struct {
    const routine *r;
    int op, op_b, side, uplo, diag;
    size_t m, n, k, pad;
    _Alignas(16) double alpha[2], beta[2]; /* as cuDoubleComplex is */
    place place;
    bool is_in_place; /* B of a triangular product is C */
} call;

typedef struct {
    size_t rows, columns;
} shape;

/* A matrix's numbers on the host, and where a call has them. */
typedef struct {
    shape shape;
    size_t ld, bytes;
    double *host, *at;
    place place;
} matrix;

/* Which elements a call may read: none, all, or those of its triangle, with or without the
 * diagonal. */
typedef enum { NONE, ALL, TRIANGLE, BESIDE_DIAGONAL } area;

size_t parts(const call *x);
bool is_rank_update(const call *x);

shape shape_of_a(const call *x);
shape shape_of_b(const call *x);
shape shape_of_c(const call *x);

/* Which elements of A, and of the result before the call, it may read. */
area area_of_a(const call *x);
area area_of_c(const call *x);
bool has(const call *x, area of, shape s, size_t row, size_t column);

/* A matrix on the host, with NaN where the call must not read; its copy at a place; and the end of
 * both. */
matrix make(const call *x, shape s, area of, int seed);
void put(matrix *x, place where);
void drop(const matrix *x);

/* Calls f, a routine's function of cublasXt or of cuBLAS, with a handle of that library. */
cublasStatus_t apply(const call *x, function *f, void *its, const matrix *a, const matrix *b,
                     const matrix *c);

#endif
