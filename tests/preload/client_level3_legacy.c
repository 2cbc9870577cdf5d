/* client_level3_legacy.c - the level 3 routines of cublas.h. */
#include "client_level3.h"

#include <cublas.h>
#include <string.h>

/* What names nothing becomes a letter that names nothing. */
static char side(const call *x) { return x->side == 0 ? 'l' : x->side == 1 ? 'R' : 'x'; }
static char uplo(const call *x) { return x->uplo == 0 ? 'L' : x->uplo == 1 ? 'u' : 'x'; }
static char op(const call *x) { return x->op < 0 || x->op > 2 ? 'x' : "nTc"[x->op]; }
static char diag(const call *x) { return x->diag == 0 ? 'N' : x->diag == 1 ? 'u' : 'x'; }

#define NUMBER(number, x) (*(const number *)(x))

#define SYMM_OF(function, number, alpha_type, beta_type)                                           \
    function(side(x), uplo(x), x->m, x->n, NUMBER(alpha_type, x->alpha), a, x->lda, b, x->ldb,     \
             NUMBER(beta_type, x->beta), c, x->ldc)
#define SYRK_OF(function, number, alpha_type, beta_type)                                           \
    function(uplo(x), op(x), x->n, x->k, NUMBER(alpha_type, x->alpha), a, x->lda,                  \
             NUMBER(beta_type, x->beta), c, x->ldc)
#define SYR2K_OF(function, number, alpha_type, beta_type)                                          \
    function(uplo(x), op(x), x->n, x->k, NUMBER(alpha_type, x->alpha), a, x->lda, b, x->ldb,       \
             NUMBER(beta_type, x->beta), c, x->ldc)
#define TRSM_OF(function, number, alpha_type, beta_type)                                           \
    function(side(x), uplo(x), op(x), diag(x), x->m, x->n, NUMBER(alpha_type, x->alpha), a,        \
             x->lda, c, x->ldc)
#define TRMM_OF      TRSM_OF
#define GEMM_OF(...) (void)0 /* another client's */

#define REAL         double, double, double
#define COMPLEX      cuDoubleComplex, cuDoubleComplex, cuDoubleComplex
#define HERMITIAN    COMPLEX
#define HERMITIAN_K  cuDoubleComplex, double, double
#define HERMITIAN_2K cuDoubleComplex, cuDoubleComplex, double

#define CALL_OF(shape, ...) shape##_OF(__VA_ARGS__)
#define CALL_blas(routine, shape, ...)                                                             \
    if (strcmp(name, #routine) == 0) CALL_OF(shape, cublas##routine, __VA_ARGS__);
#define CALL_sized(...) /* cublas.h has none */

int run_legacy(const char *name, const call *x, const void *a, const void *b, void *c)
{
#define LEVEL3(routine, forms, shape, kind, types, family) CALL_##forms(routine, shape, types)
#include "../../lib/routine/routines.def"
    return (int)cublasGetError();
}
