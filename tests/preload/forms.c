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

PLAIN(cublasDgemm_v2, int)
PLAIN(cublasDgemm_v2_64, int64_t)
STRIDED(cublasDgemmStridedBatched, int)
STRIDED(cublasDgemmStridedBatched_64, int64_t)
BATCHED(cublasDgemmBatched, int)
BATCHED(cublasDgemmBatched_64, int64_t)
EX(cublasGemmEx, int)
EX(cublasGemmEx_64, int64_t)

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

#define FORM(function, has_handle, has_batch, has_types)                                           \
    {                                                                                              \
#function, call_##function, has_handle, has_batch, has_types                               \
    }
const form forms[] = {
    FORM(cublasDgemm_v2, true, false, false),
    FORM(cublasDgemm_v2_64, true, false, false),
    FORM(cublasDgemm, false, false, false),
    FORM(cublasDgemmStridedBatched, true, true, false),
    FORM(cublasDgemmStridedBatched_64, true, true, false),
    FORM(cublasDgemmBatched, true, true, false),
    FORM(cublasDgemmBatched_64, true, true, false),
    FORM(cublasGemmEx, true, false, true),
    FORM(cublasGemmEx_64, true, false, true),
};
const int form_count = sizeof forms / sizeof *forms;
