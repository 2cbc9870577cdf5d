#include "level3.h"

#include <cublasXt.h>

#define KIND_TD_PRODUCT            GEMM
#define KIND_TD_SYMMETRIC_PRODUCT  SYMM
#define KIND_TD_RANK_K             SYRK
#define KIND_TD_RANK_KX            SYRKX
#define KIND_TD_RANK_2K            SYR2K
#define KIND_TD_TRIANGULAR_PRODUCT TRMM
#define KIND_TD_TRIANGULAR_SOLVE   TRSM

#define TYPES_REAL         .is_complex = false
#define TYPES_COMPLEX      .is_complex = true
#define TYPES_HERMITIAN    .is_complex = true, .is_hermitian = true
#define TYPES_HERMITIAN_K  TYPES_HERMITIAN
#define TYPES_HERMITIAN_2K TYPES_HERMITIAN

#define FUNCTION(name)        (level3_function *)cublas##name
#define FUNCTIONS_blas(name)  .plain = FUNCTION(name##_v2), .large = FUNCTION(name##_v2_64)
#define FUNCTIONS_sized(name) .plain = FUNCTION(name), .large = FUNCTION(name##_64)

#define LEVEL3(name_, forms, shape, kind_, types, family)                                          \
    {.name = #name_,                                                                               \
     .kind = KIND_##kind_,                                                                         \
     TYPES_##types,                                                                                \
     FUNCTIONS_##forms(name_),                                                                     \
     .xt = FUNCTION(Xt##name_)},
const level3_routine level3_routines[LEVEL3_ROUTINES] = {
#include "../../lib/routine/routines.def"
};

/* The function of each kind, with sizes of this type. */
#define DEFINE_CALL(name, size)                                                                    \
    typedef cublasStatus_t name##_gemm(void *, int, int, size, size, size, const void *,           \
                                       const void *, size, const void *, size, const void *,       \
                                       void *, size);                                              \
    typedef cublasStatus_t name##_symm(void *, int, int, size, size, const void *, const void *,   \
                                       size, const void *, size, const void *, void *, size);      \
    typedef cublasStatus_t name##_syrk(void *, int, int, size, size, const void *, const void *,   \
                                       size, const void *, void *, size);                          \
    typedef cublasStatus_t name##_trmm(void *, int, int, int, int, size, size, const void *,       \
                                       const void *, size, const void *, size, void *, size);      \
    typedef cublasStatus_t name##_trsm(void *, int, int, int, int, size, size, const void *,       \
                                       const void *, size, void *, size);                          \
    static cublasStatus_t name(level3_kind kind, level3_function *f, void *its,                    \
                               const level3_arguments *x)                                          \
    {                                                                                              \
        const size m = (size)x->m, n = (size)x->n, k = (size)x->k, lda = (size)x->lda,             \
                   ldb = (size)x->ldb, ldc = (size)x->ldc;                                         \
        switch (kind) {                                                                            \
        case GEMM:                                                                                 \
            return ((name##_gemm *)f)(its, x->op, x->op_b, m, n, k, x->alpha, x->a, lda, x->b,     \
                                      ldb, x->beta, x->c, ldc);                                    \
        case SYMM:                                                                                 \
            return ((name##_symm *)f)(its, x->side, x->uplo, m, n, x->alpha, x->a, lda, x->b, ldb, \
                                      x->beta, x->c, ldc);                                         \
        case SYRK:                                                                                 \
            return ((name##_syrk *)f)(its, x->uplo, x->op, n, k, x->alpha, x->a, lda, x->beta,     \
                                      x->c, ldc);                                                  \
        case TRMM:                                                                                 \
            return ((name##_trmm *)f)(its, x->side, x->uplo, x->op, x->diag, m, n, x->alpha, x->a, \
                                      lda, x->b, ldb, x->c, ldc);                                  \
        case TRSM:                                                                                 \
            return ((name##_trsm *)f)(its, x->side, x->uplo, x->op, x->diag, m, n, x->alpha, x->a, \
                                      lda, x->c, ldc);                                             \
        default:                                                                                   \
            return ((name##_symm *)f)(its, x->uplo, x->op, n, k, x->alpha, x->a, lda, x->b, ldb,   \
                                      x->beta, x->c, ldc);                                         \
        }                                                                                          \
    }
DEFINE_CALL(call_plain, int)
DEFINE_CALL(call_large, int64_t) /* cublasXt's, too, which are unsigned */

cublasStatus_t level3_call(const level3_routine *r, level3_function *f, void *handle,
                           const level3_arguments *x)
{
    return (f == r->plain ? call_plain : call_large)(r->kind, f, handle, x);
}
