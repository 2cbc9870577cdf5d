/* calls.h - cuBLAS's FP64 routines of level 3 behind one signature, for soak.c. */
#ifndef SOAK_CALLS_H
#define SOAK_CALLS_H

#include <cublas_api.h>
#include <stdbool.h>

#include "../support/level3.h"

/* The arguments of one call; each routine takes those that it has. Matrices and arrays of them are
 * in device memory, of binary64 or complex binary64 as the routine's type is; scalars are where the
 * handle's pointer mode says. */
typedef struct {
    cublasHandle_t handle;
    cublasOperation_t op_a, op_b;
    cublasSideMode_t side;
    cublasFillMode_t fill;
    cublasDiagType_t diag;
    int m, n, k, ld; /* of all three matrices */
    int batch;
    long long stride; /* elements from one member to the next, of all three matrices */
    const void *alpha, *beta, *a, *b;
    void *c;
    const void *const *a_array, *const *b_array;
    void *const *c_array;
} arguments;

/* How a routine reads its operands. */
typedef enum {
    PLAIN,    /* m x k times k x n */
    BATCHED,  /* the same, several times */
    RANK_K,   /* C is n x n and symmetric; one operand or two of n x k */
    ONE_SIDE, /* C is m x n, A square */
    SOLVED    /* the same: A has an inverse, and C goes in and out */
} shape;

typedef struct {
    const char *name; /* of the function, behind "cublas" */
    bool is_complex;
    shape shape;
    cublasOperation_t transpose;  /* the one beside CUBLAS_OP_N that an update of rank k takes */
    const level3_routine *level3; /* one of level 3 ... */
    cublasStatus_t (*form)(const arguments *x); /* ... or another form of a product */
} routine;

enum { ROUTINES = LEVEL3_ROUTINES + 11 };

/* The routine of that number. */
routine routine_at(int i);

cublasStatus_t call_routine(const routine *r, const arguments *x);

#endif
