/* level3.h - the routines of level 3, as the library's table of routines has them (LEVEL3 in
 * lib/routine/routines.def), for programs that call all of them: which functions a routine has, and
 * one way to call any. */
#ifndef TESTS_SUPPORT_LEVEL3_H
#define TESTS_SUPPORT_LEVEL3_H

#include <cublas_api.h>
#include <stdbool.h>
#include <stdint.h>

/* Which parameters a routine has. */
typedef enum { GEMM, SYMM, SYRK, SYRKX, SYR2K, TRMM, TRSM } level3_kind;

typedef void level3_function(void);
typedef struct {
    const char *name; /* behind "cublas" */
    level3_kind kind;
    bool is_complex, is_hermitian;
    level3_function *plain, *large, *xt; /* with sizes of 32 and 64 bits, and of cublasXt */
} level3_routine;

#define LEVEL3(...) +1
enum {
    LEVEL3_ROUTINES =
#include "../../lib/routine/routines.def"
};

extern const level3_routine level3_routines[LEVEL3_ROUTINES];

/* The arguments of one call; each routine takes those that it has. Of numbers of cuBLAS's own types
 * op is op(A)'s. */
typedef struct {
    int side, uplo, op, op_b, diag;
    int64_t m, n, k, lda, ldb, ldc;
    const void *alpha, *a, *b, *beta;
    void *c;
} level3_arguments;

/* Calls one of the routine's functions with a handle of its library. */
cublasStatus_t level3_call(const level3_routine *r, level3_function *f, void *handle,
                           const level3_arguments *x);

/* True if A is square beside B, and if it is a triangle there. */
static inline bool level3_is_triangular(const level3_routine *r)
{
    return r->kind == TRMM || r->kind == TRSM;
}
static inline bool level3_has_side(const level3_routine *r)
{
    return r->kind == SYMM || level3_is_triangular(r);
}

#endif
