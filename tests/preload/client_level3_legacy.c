/* client_level3_legacy.c - the level 3 routines of cublas.h. */
#include "client_level3.h"

#include <cublas.h>

/* What names nothing becomes a letter that names nothing. */
static char side(const call *x) { return x->side == 0 ? 'l' : x->side == 1 ? 'R' : 'x'; }
static char uplo(const call *x) { return x->uplo == 0 ? 'L' : x->uplo == 1 ? 'u' : 'x'; }
static char op(const call *x) { return x->op < 0 || x->op > 2 ? 'x' : "nTc"[x->op]; }
static char diag(const call *x) { return x->diag == 0 ? 'N' : x->diag == 1 ? 'u' : 'x'; }

#define NUMBER(number, x) (*(const number *)(x))

#define SYMM_OF(function, number)                                                                  \
    function(side(x), uplo(x), x->m, x->n, NUMBER(number, x->alpha), a, x->lda, b, x->ldb,         \
             NUMBER(number, x->beta), c, x->ldc)
#define SYRK_OF(function, number)                                                                  \
    function(uplo(x), op(x), x->n, x->k, NUMBER(number, x->alpha), a, x->lda,                      \
             NUMBER(number, x->beta), c, x->ldc)
#define SYR2K_OF(function, number, beta_number)                                                    \
    function(uplo(x), op(x), x->n, x->k, NUMBER(number, x->alpha), a, x->lda, b, x->ldb,           \
             NUMBER(beta_number, x->beta), c, x->ldc)
#define TRIANGULAR_OF(function, number)                                                            \
    function(side(x), uplo(x), op(x), diag(x), x->m, x->n, NUMBER(number, x->alpha), a, x->lda, c, \
             x->ldc)

static void run_real(kind k, const call *x, const void *a, const void *b, void *c)
{
    switch (k) {
    case SYMM:
        SYMM_OF(cublasDsymm, double);
        break;
    case SYRK:
        SYRK_OF(cublasDsyrk, double);
        break;
    case SYR2K:
        SYR2K_OF(cublasDsyr2k, double, double);
        break;
    case TRMM:
        TRIANGULAR_OF(cublasDtrmm, double);
        break;
    case TRSM:
        TRIANGULAR_OF(cublasDtrsm, double);
        break;
    default:
        break;
    }
}

static void run_complex(kind k, const call *x, const void *a, const void *b, void *c)
{
    switch (k) {
    case SYMM:
        SYMM_OF(cublasZsymm, cuDoubleComplex);
        break;
    case SYRK:
        SYRK_OF(cublasZsyrk, cuDoubleComplex);
        break;
    case SYR2K:
        SYR2K_OF(cublasZsyr2k, cuDoubleComplex, cuDoubleComplex);
        break;
    case TRMM:
        TRIANGULAR_OF(cublasZtrmm, cuDoubleComplex);
        break;
    case TRSM:
        TRIANGULAR_OF(cublasZtrsm, cuDoubleComplex);
        break;
    default:
        break;
    }
}

static void run_hermitian(kind k, const call *x, const void *a, const void *b, void *c)
{
    switch (k) {
    case SYMM:
        SYMM_OF(cublasZhemm, cuDoubleComplex);
        break;
    case SYRK:
        SYRK_OF(cublasZherk, double);
        break;
    case SYR2K:
        SYR2K_OF(cublasZher2k, cuDoubleComplex, double);
        break;
    default:
        break;
    }
}

int run_legacy(kind k, char type, int is_hermitian, const call *x, const void *a, const void *b,
               void *c)
{
    (type == 'D' ? run_real : is_hermitian ? run_hermitian : run_complex)(k, x, a, b, c);
    return (int)cublasGetError();
}
