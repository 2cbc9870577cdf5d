#include "tools/native_routine.h"

static const cublasSideMode_t side = CUBLAS_SIDE_LEFT;
static const cublasFillMode_t half = CUBLAS_FILL_MODE_LOWER;
static const cublasDiagType_t diagonal = CUBLAS_DIAG_NON_UNIT;
static const cublasOperation_t plain = CUBLAS_OP_N;

/* Calls cuBLAS's function with the handle and these arguments. */
#define CALL(function, ...) TD_ORIGINAL(library, function)(handle, __VA_ARGS__)

/* Defines what runs routines of one type, of whose matrices the elements are `number`s. The scalars
 * of Hermitian updates are real. */
#define DEFINE_RUN(name, number, symm, rk, r2k, trmm, trsm)                                        \
    static cublasStatus_t name(td_library *library, cublasHandle_t handle, const td_problem *p,    \
                               cublasOperation_t op)                                               \
    {                                                                                              \
        const number *alpha = (const void *)&p->alpha.value, *beta = (const void *)&p->beta.value; \
        const double *real_alpha = &p->alpha.value.binary64, *real_beta = &p->beta.value.binary64; \
        const int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)p->a.ld,                 \
                  ldb = (int)p->b.ld, ldc = (int)p->c.ld;                                          \
        number *a = p->a.data, *b = p->b.data, *c = p->c.data;                                     \
        switch (p->kind) {                                                                         \
        case TD_SYMMETRIC_PRODUCT:                                                                 \
            return CALL(symm, side, half, m, n, alpha, a, lda, b, ldb, beta, c, ldc);              \
        case TD_RANK_K:                                                                            \
            return CALL(rk, half, op, n, k, real_alpha, a, lda, real_beta, c, ldc);                \
        case TD_RANK_2K:                                                                           \
            return CALL(r2k, half, op, n, k, alpha, a, lda, b, ldb, real_beta, c, ldc);            \
        case TD_TRIANGULAR_PRODUCT:                                                                \
            return CALL(trmm, side, half, plain, diagonal, m, n, alpha, a, lda, b, ldb, c, ldc);   \
        case TD_TRIANGULAR_SOLVE:                                                                  \
            return CALL(trsm, side, half, plain, diagonal, m, n, alpha, a, lda, b, ldb);           \
        default:                                                                                   \
            return CUBLAS_STATUS_NOT_SUPPORTED;                                                    \
        }                                                                                          \
    }

DEFINE_RUN(run_real, double, cublasDsymm_v2, cublasDsyrk_v2, cublasDsyr2k_v2, cublasDtrmm_v2,
           cublasDtrsm_v2)
DEFINE_RUN(run_complex, cuDoubleComplex, cublasZhemm_v2, cublasZherk_v2, cublasZher2k_v2,
           cublasZtrmm_v2, cublasZtrsm_v2)

bool native_routine_run(td_library *library, cublasHandle_t handle, const td_problem *p)
{
    static const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    td_original_enter();
    const cublasStatus_t status =
        (p->type == TD_COMPLEX_BINARY64 ? run_complex : run_real)(library, handle, p, ops[p->op_a]);
    td_original_leave();
    return status == CUBLAS_STATUS_SUCCESS;
}
