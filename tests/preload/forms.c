#include "forms.h"

#define SIZES(integer)                                                                             \
    x->handle, (cublasOperation_t)x->op_a, (cublasOperation_t)x->op_b, (integer)x->m,              \
        (integer)x->n, (integer)x->k

#define PLAIN(function, integer)                                                                   \
    static cublasStatus_t call_##function(const arguments *x)                                      \
    {                                                                                              \
        return function(SIZES(integer), x->alpha, x->a, (integer)x->lda, x->b, (integer)x->ldb,    \
                        x->beta, x->c, (integer)x->ldc);                                           \
    }
#define STRIDED(function, integer)                                                                 \
    static cublasStatus_t call_##function(const arguments *x)                                      \
    {                                                                                              \
        return function(SIZES(integer), x->alpha, x->a, (integer)x->lda, x->stride_a, x->b,        \
                        (integer)x->ldb, x->stride_b, x->beta, x->c, (integer)x->ldc, x->stride_c, \
                        (integer)x->batch);                                                        \
    }
#define BATCHED(function, integer)                                                                 \
    static cublasStatus_t call_##function(const arguments *x)                                      \
    {                                                                                              \
        return function(SIZES(integer), x->alpha, x->a_array, (integer)x->lda, x->b_array,         \
                        (integer)x->ldb, x->beta, x->c_array, (integer)x->ldc, (integer)x->batch); \
    }
#define EX(function, integer)                                                                      \
    static cublasStatus_t call_##function(const arguments *x)                                      \
    {                                                                                              \
        return function(SIZES(integer), x->alpha, x->a, x->type_a, (integer)x->lda, x->b,          \
                        CUDA_R_64F, (integer)x->ldb, x->beta, x->c, x->type_c, (integer)x->ldc,    \
                        x->compute, CUBLAS_GEMM_DEFAULT);                                          \
    }

#define STRIDED_EX(function, integer)                                                              \
    static cublasStatus_t call_##function(const arguments *x)                                      \
    {                                                                                              \
        return function(SIZES(integer), x->alpha, x->a, x->type_a, (integer)x->lda, x->stride_a,   \
                        x->b, CUDA_R_64F, (integer)x->ldb, x->stride_b, x->beta, x->c, x->type_c,  \
                        (integer)x->ldc, x->stride_c, (integer)x->batch, x->compute,               \
                        CUBLAS_GEMM_DEFAULT);                                                      \
    }
#define BATCHED_EX(function, integer)                                                              \
    static cublasStatus_t call_##function(const arguments *x)                                      \
    {                                                                                              \
        return function(SIZES(integer), x->alpha, (const void *const *)x->a_array, x->type_a,      \
                        (integer)x->lda, (const void *const *)x->b_array, CUDA_R_64F,              \
                        (integer)x->ldb, x->beta, (void *const *)x->c_array, x->type_c,            \
                        (integer)x->ldc, (integer)x->batch, x->compute, CUBLAS_GEMM_DEFAULT);      \
    }

/* Sizes of two groups, the same ones, and scalars on the host; where the handle wants them on the
 * device, they are the caller's own. */
#define GROUPS_OF(integer)                                                                         \
    const cublasOperation_t op_a[GROUPS] = {(cublasOperation_t)x->op_a,                            \
                                            (cublasOperation_t)x->op_a},                           \
                            op_b[GROUPS] = {(cublasOperation_t)x->op_b,                            \
                                            (cublasOperation_t)x->op_b};                           \
    const integer m[GROUPS] = {(integer)x->m, (integer)x->m},                                      \
                  n[GROUPS] = {(integer)x->n, (integer)x->n},                                      \
                  k[GROUPS] = {(integer)x->k, (integer)x->k},                                      \
                  lda[GROUPS] = {(integer)x->lda, (integer)x->lda},                                \
                  ldb[GROUPS] = {(integer)x->ldb, (integer)x->ldb},                                \
                  ldc[GROUPS] = {(integer)x->ldc, (integer)x->ldc},                                \
                  members[GROUPS] = {1, (integer)x->batch - 1};                                    \
    const bool is_on_device = has_scalars_on_device(x->handle);                                    \
    const double alphas[GROUPS] = {is_on_device ? 0.0 : *x->alpha,                                 \
                                   is_on_device ? 0.0 : *x->alpha},                                \
                 betas[GROUPS] = {is_on_device ? 0.0 : *x->beta, is_on_device ? 0.0 : *x->beta};   \
    const double *alpha = is_on_device ? x->alpha : alphas, *beta = is_on_device ? x->beta : betas

static bool has_scalars_on_device(cublasHandle_t handle)
{
    cublasPointerMode_t mode = CUBLAS_POINTER_MODE_HOST;
    (void)cublasGetPointerMode_v2(handle, &mode);
    return mode == CUBLAS_POINTER_MODE_DEVICE;
}

#define GROUPED(function, integer)                                                                 \
    static cublasStatus_t call_##function(const arguments *x)                                      \
    {                                                                                              \
        GROUPS_OF(integer);                                                                        \
        return function(x->handle, op_a, op_b, m, n, k, alpha, x->a_array, lda, x->b_array, ldb,   \
                        beta, x->c_array, ldc, GROUPS, members);                                   \
    }
#define GROUPED_EX(function, integer)                                                              \
    static cublasStatus_t call_##function(const arguments *x)                                      \
    {                                                                                              \
        GROUPS_OF(integer);                                                                        \
        return function(x->handle, op_a, op_b, m, n, k, alpha, (const void *const *)x->a_array,    \
                        x->type_a, lda, (const void *const *)x->b_array, CUDA_R_64F, ldb, beta,    \
                        (void *const *)x->c_array, x->type_c, ldc, GROUPS, members, x->compute);   \
    }

PLAIN(cublasDgemm_v2, int)
PLAIN(cublasDgemm_v2_64, int64_t)
STRIDED(cublasDgemmStridedBatched, int)
STRIDED(cublasDgemmStridedBatched_64, int64_t)
BATCHED(cublasDgemmBatched, int)
BATCHED(cublasDgemmBatched_64, int64_t)
EX(cublasGemmEx, int)
EX(cublasGemmEx_64, int64_t)
STRIDED_EX(cublasGemmStridedBatchedEx, int)
STRIDED_EX(cublasGemmStridedBatchedEx_64, int64_t)
BATCHED_EX(cublasGemmBatchedEx, int)
BATCHED_EX(cublasGemmBatchedEx_64, int64_t)
GROUPED(cublasDgemmGroupedBatched, int)
GROUPED(cublasDgemmGroupedBatched_64, int64_t)
GROUPED_EX(cublasGemmGroupedBatchedEx, int)
GROUPED_EX(cublasGemmGroupedBatchedEx_64, int64_t)

static char letter(int op)
{
    switch (op) {
    case CUBLAS_OP_N:
        return 'n';
    case CUBLAS_OP_T:
        return 'T';
    case CUBLAS_OP_C:
        return 'c';
    default:
        return 'x';
    }
}

static cublasStatus_t call_cublasDgemm(const arguments *x)
{
    cublasDgemm(letter(x->op_a), letter(x->op_b), (int)x->m, (int)x->n, (int)x->k, x->alpha_value,
                x->a, (int)x->lda, x->b, (int)x->ldb, x->beta_value, x->c, (int)x->ldc);
    return cublasGetError();
}

#define FORM(function, ...)                                                                        \
    {                                                                                              \
#function, call_##function, __VA_ARGS__                                                    \
    }
const form forms[] = {
    FORM(cublasDgemm_v2, true, false, false, false, false),
    FORM(cublasDgemm_v2_64, true, false, false, false, false),
    FORM(cublasDgemm, false, false, false, false, false),
    FORM(cublasDgemmStridedBatched, true, true, false, false, false),
    FORM(cublasDgemmStridedBatched_64, true, true, false, false, false),
    FORM(cublasDgemmBatched, true, true, false, false, false),
    FORM(cublasDgemmBatched_64, true, true, false, false, false),
    FORM(cublasGemmEx, true, false, true, false, false),
    FORM(cublasGemmEx_64, true, false, true, false, false),
    FORM(cublasGemmStridedBatchedEx, true, true, true, false, false),
    FORM(cublasGemmStridedBatchedEx_64, true, true, true, false, true),
    FORM(cublasGemmBatchedEx, true, true, true, false, false),
    FORM(cublasGemmBatchedEx_64, true, true, true, false, true),
    FORM(cublasDgemmGroupedBatched, true, true, false, true, false),
    FORM(cublasDgemmGroupedBatched_64, true, true, false, true, true),
    FORM(cublasGemmGroupedBatchedEx, true, true, true, true, false),
    FORM(cublasGemmGroupedBatchedEx_64, true, true, true, true, true),
};
const int form_count = sizeof forms / sizeof *forms;
