#include "native_call.h"

static cublasOperation_t op_of(td_op op)
{
    return op == TD_OP_N ? CUBLAS_OP_N : op == TD_OP_T ? CUBLAS_OP_T : CUBLAS_OP_C;
}

static const void *address_of(const td_scalar *s) { return s->device ? s->device : &s->value; }

/* The library's function, called with the handle and these arguments. */
#define CALL(function, ...) TD_ORIGINAL(library, function)(handle, __VA_ARGS__)

static cublasStatus_t multiply(td_library *library, cublasHandle_t handle, const td_problem *p)
{
    const cudaDataType_t type = p->type == TD_COMPLEX_BINARY64 ? CUDA_C_64F : CUDA_R_64F;
    const cublasOperation_t a = op_of(p->op_a), b = op_of(p->op_b);
    const void *alpha = address_of(&p->alpha), *beta = address_of(&p->beta);
    const int m = (int)p->m, n = (int)p->n, k = (int)p->k, batch = (int)p->batch,
              lda = (int)p->a.ld, ldb = (int)p->b.ld, ldc = (int)p->c.ld;
    if (p->c.array)
        return CALL(cublasGemmBatchedEx, a, b, m, n, k, alpha, (const void *const *)p->a.array,
                    type, lda, (const void *const *)p->b.array, type, ldb, beta,
                    (void *const *)p->c.array, type, ldc, batch, CUBLAS_COMPUTE_64F,
                    CUBLAS_GEMM_DEFAULT);
    return CALL(cublasGemmStridedBatchedEx, a, b, m, n, k, alpha, p->a.data, type, lda, p->a.stride,
                p->b.data, type, ldb, p->b.stride, beta, p->c.data, type, ldc, p->c.stride, batch,
                CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT);
}

static cublasSideMode_t side_of(const td_problem *p)
{
    return p->side == TD_RIGHT ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
}

static cublasFillMode_t triangle_of(const td_problem *p)
{
    return p->triangle == TD_UPPER ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
}

static cublasDiagType_t diagonal_of(const td_problem *p)
{
    return p->diagonal == TD_UNIT_DIAGONAL ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
}

/* Defines what runs routines of one type, of whose matrices the elements are `number`s: symmetric
 * ones, and Hermitian ones (for real matrices the symmetric ones again), some of whose scalars are
 * real. */
#define DEFINE_LEVEL3(name, number, symm, syrk, syr2k, hemm, herk, her2k, trmm, trsm)              \
    static cublasStatus_t name(td_library *library, cublasHandle_t handle, const td_problem *p)    \
    {                                                                                              \
        const number *alpha = address_of(&p->alpha), *beta = address_of(&p->beta);                 \
        const double *real_alpha = address_of(&p->alpha), *real_beta = address_of(&p->beta);       \
        const cublasSideMode_t side = side_of(p);                                                  \
        const cublasFillMode_t half = triangle_of(p);                                              \
        const cublasDiagType_t diagonal = diagonal_of(p);                                          \
        const cublasOperation_t op = op_of(p->op_a);                                               \
        const int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)p->a.ld,                 \
                  ldb = (int)p->b.ld, ldc = (int)p->c.ld;                                          \
        number *a = p->a.data, *b = p->b.data, *c = p->c.data;                                     \
        switch (p->kind) {                                                                         \
        case TD_SYMMETRIC_PRODUCT:                                                                 \
            if (p->is_hermitian)                                                                   \
                return CALL(hemm, side, half, m, n, alpha, a, lda, b, ldb, beta, c, ldc);          \
            return CALL(symm, side, half, m, n, alpha, a, lda, b, ldb, beta, c, ldc);              \
        case TD_RANK_K:                                                                            \
            if (p->is_hermitian)                                                                   \
                return CALL(herk, half, op, n, k, real_alpha, a, lda, real_beta, c, ldc);          \
            return CALL(syrk, half, op, n, k, alpha, a, lda, beta, c, ldc);                        \
        case TD_RANK_2K:                                                                           \
            if (p->is_hermitian)                                                                   \
                return CALL(her2k, half, op, n, k, alpha, a, lda, b, ldb, real_beta, c, ldc);      \
            return CALL(syr2k, half, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc);               \
        case TD_TRIANGULAR_PRODUCT:                                                                \
            return CALL(trmm, side, half, op, diagonal, m, n, alpha, a, lda, b, ldb, c, ldc);      \
        case TD_TRIANGULAR_SOLVE:                                                                  \
            return CALL(trsm, side, half, op, diagonal, m, n, alpha, a, lda, b, ldb);              \
        default:                                                                                   \
            return CUBLAS_STATUS_NOT_SUPPORTED;                                                    \
        }                                                                                          \
    }

DEFINE_LEVEL3(run_real, double, cublasDsymm_v2, cublasDsyrk_v2, cublasDsyr2k_v2, cublasDsymm_v2,
              cublasDsyrk_v2, cublasDsyr2k_v2, cublasDtrmm_v2, cublasDtrsm_v2)
DEFINE_LEVEL3(run_complex, cuDoubleComplex, cublasZsymm_v2, cublasZsyrk_v2, cublasZsyr2k_v2,
              cublasZhemm_v2, cublasZherk_v2, cublasZher2k_v2, cublasZtrmm_v2, cublasZtrsm_v2)

static cublasStatus_t run(td_library *library, cublasHandle_t handle, const td_problem *p)
{
    if (p->kind == TD_PRODUCT) return multiply(library, handle, p);
    return (p->type == TD_COMPLEX_BINARY64 ? run_complex : run_real)(library, handle, p);
}

cublasStatus_t td_native_call(td_library *library, cublasHandle_t handle, const td_problem *p)
{
    if (!p->alpha.device) return run(library, handle, p);
    cublasStatus_t status = CALL(cublasSetPointerMode_v2, CUBLAS_POINTER_MODE_DEVICE);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    status = run(library, handle, p);
    const cublasStatus_t back = CALL(cublasSetPointerMode_v2, CUBLAS_POINTER_MODE_HOST);
    return status == CUBLAS_STATUS_SUCCESS ? back : status;
}
