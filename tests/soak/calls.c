#include "calls.h"

#include <cuComplex.h>

/* A routine's wrapper; number: the type of its elements, real: that of scalars which are real in
 * Hermitian routines. Conversions of pointers through the wrapper's own variables. */
#define OPERANDS(number, scalar)                                                                   \
    const scalar *const alpha = x->alpha, *const beta = x->beta;                                   \
    const number *const a = x->a, *const b = x->b;                                                 \
    number *const c = x->c;                                                                        \
    (void)alpha, (void)beta, (void)a, (void)b, (void)c

#define WRAP(function, number, scalar, ...)                                                        \
    static cublasStatus_t call_##function(const arguments *x)                                      \
    {                                                                                              \
        OPERANDS(number, scalar);                                                                  \
        return function(x->handle, __VA_ARGS__);                                                   \
    }

#define GEMM(function, number)                                                                     \
    WRAP(function, number, number, x->op_a, x->op_b, x->m, x->n, x->k, alpha, a, x->ld, b, x->ld,  \
         beta, c, x->ld)
#define GEMM_STRIDED(function, number)                                                             \
    WRAP(function, number, number, x->op_a, x->op_b, x->m, x->n, x->k, alpha, a, x->ld, x->stride, \
         b, x->ld, x->stride, beta, c, x->ld, x->stride, x->batch)
#define GEMM_BATCHED(function, number)                                                             \
    WRAP(function, number, number, x->op_a, x->op_b, x->m, x->n, x->k, alpha,                      \
         (const number *const *)x->a_array, x->ld, (const number *const *)x->b_array, x->ld, beta, \
         (number *const *)x->c_array, x->ld, x->batch)
#define RANK_K_OF(function, number, scalar)                                                        \
    WRAP(function, number, scalar, x->fill, x->op_a, x->n, x->k, alpha, a, x->ld, beta, c, x->ld)
#define RANK_2K_OF(function, number, real)                                                         \
    WRAP(function, number, number, x->fill, x->op_a, x->n, x->k, alpha, a, x->ld, b, x->ld,        \
         (const real *)x->beta, c, x->ld)
#define SYMMETRIC(function, number)                                                                \
    WRAP(function, number, number, x->side, x->fill, x->m, x->n, alpha, a, x->ld, b, x->ld, beta,  \
         c, x->ld)
#define TRIANGULAR_PRODUCT(function, number)                                                       \
    WRAP(function, number, number, x->side, x->fill, x->op_a, x->diag, x->m, x->n, alpha, a,       \
         x->ld, b, x->ld, c, x->ld)
#define TRIANGULAR_SYSTEM(function, number)                                                        \
    WRAP(function, number, number, x->side, x->fill, x->op_a, x->diag, x->m, x->n, alpha, a,       \
         x->ld, c, x->ld)
/* Functions that are told the type of the elements. */
#define TYPED(name, function, number, type, ...)                                                   \
    static cublasStatus_t call_##name(const arguments *x)                                          \
    {                                                                                              \
        OPERANDS(number, number);                                                                  \
        return function(x->handle, x->op_a, x->op_b, x->m, x->n, x->k, alpha, __VA_ARGS__,         \
                        CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT);                                  \
    }
#define EX(name, number, type)                                                                     \
    TYPED(name, cublasGemmEx, number, type, a, type, x->ld, b, type, x->ld, beta, c, type, x->ld)
#define STRIDED_EX(name, number, type)                                                             \
    TYPED(name, cublasGemmStridedBatchedEx, number, type, a, type, x->ld, x->stride, b, type,      \
          x->ld, x->stride, beta, c, type, x->ld, x->stride, x->batch)
#define BATCHED_EX(name, number, type)                                                             \
    TYPED(name, cublasGemmBatchedEx, number, type, x->a_array, type, x->ld, x->b_array, type,      \
          x->ld, beta, x->c_array, type, x->ld, x->batch)

GEMM(cublasDgemm_v2, double)
GEMM(cublasZgemm_v2, cuDoubleComplex)
GEMM(cublasZgemm3m, cuDoubleComplex)
GEMM_STRIDED(cublasDgemmStridedBatched, double)
GEMM_STRIDED(cublasZgemmStridedBatched, cuDoubleComplex)
GEMM_BATCHED(cublasDgemmBatched, double)
GEMM_BATCHED(cublasZgemmBatched, cuDoubleComplex)
EX(DGemmEx, double, CUDA_R_64F)
EX(ZGemmEx, cuDoubleComplex, CUDA_C_64F)
STRIDED_EX(DGemmStridedBatchedEx, double, CUDA_R_64F)
STRIDED_EX(ZGemmStridedBatchedEx, cuDoubleComplex, CUDA_C_64F)
BATCHED_EX(DGemmBatchedEx, double, CUDA_R_64F)
BATCHED_EX(ZGemmBatchedEx, cuDoubleComplex, CUDA_C_64F)
RANK_K_OF(cublasDsyrk_v2, double, double)
RANK_K_OF(cublasZsyrk_v2, cuDoubleComplex, cuDoubleComplex)
RANK_K_OF(cublasZherk_v2, cuDoubleComplex, double)
RANK_2K_OF(cublasDsyrkx, double, double)
RANK_2K_OF(cublasZsyrkx, cuDoubleComplex, cuDoubleComplex)
RANK_2K_OF(cublasZherkx, cuDoubleComplex, double)
RANK_2K_OF(cublasDsyr2k_v2, double, double)
RANK_2K_OF(cublasZsyr2k_v2, cuDoubleComplex, cuDoubleComplex)
RANK_2K_OF(cublasZher2k_v2, cuDoubleComplex, double)
SYMMETRIC(cublasDsymm_v2, double)
SYMMETRIC(cublasZsymm_v2, cuDoubleComplex)
SYMMETRIC(cublasZhemm_v2, cuDoubleComplex)
TRIANGULAR_PRODUCT(cublasDtrmm_v2, double)
TRIANGULAR_PRODUCT(cublasZtrmm_v2, cuDoubleComplex)
TRIANGULAR_SYSTEM(cublasDtrsm_v2, double)
TRIANGULAR_SYSTEM(cublasZtrsm_v2, cuDoubleComplex)

#define ROW(function, is_complex, shape, transpose)                                                \
    {                                                                                              \
#function, call_##function, is_complex, shape, transpose                                   \
    }
#define ROW_EX(letter, function, is_complex, shape)                                                \
    {                                                                                              \
        "cublas" #function, call_##letter##function, is_complex, shape, CUBLAS_OP_T                \
    }
const routine routines[] = {
    ROW(cublasDgemm_v2, false, PLAIN, CUBLAS_OP_T),
    ROW(cublasZgemm_v2, true, PLAIN, CUBLAS_OP_T),
    ROW(cublasZgemm3m, true, PLAIN, CUBLAS_OP_T),
    ROW(cublasDgemmStridedBatched, false, BATCHED, CUBLAS_OP_T),
    ROW(cublasZgemmStridedBatched, true, BATCHED, CUBLAS_OP_T),
    ROW(cublasDgemmBatched, false, BATCHED, CUBLAS_OP_T),
    ROW(cublasZgemmBatched, true, BATCHED, CUBLAS_OP_T),
    ROW_EX(D, GemmEx, false, PLAIN),
    ROW_EX(Z, GemmEx, true, PLAIN),
    ROW_EX(D, GemmStridedBatchedEx, false, BATCHED),
    ROW_EX(Z, GemmStridedBatchedEx, true, BATCHED),
    ROW_EX(D, GemmBatchedEx, false, BATCHED),
    ROW_EX(Z, GemmBatchedEx, true, BATCHED),
    ROW(cublasDsyrk_v2, false, RANK_K, CUBLAS_OP_T),
    ROW(cublasZsyrk_v2, true, RANK_K, CUBLAS_OP_T),
    ROW(cublasZherk_v2, true, RANK_K, CUBLAS_OP_C),
    ROW(cublasDsyrkx, false, RANK_K, CUBLAS_OP_T),
    ROW(cublasZsyrkx, true, RANK_K, CUBLAS_OP_T),
    ROW(cublasZherkx, true, RANK_K, CUBLAS_OP_C),
    ROW(cublasDsyr2k_v2, false, RANK_K, CUBLAS_OP_T),
    ROW(cublasZsyr2k_v2, true, RANK_K, CUBLAS_OP_T),
    ROW(cublasZher2k_v2, true, RANK_K, CUBLAS_OP_C),
    ROW(cublasDsymm_v2, false, ONE_SIDE, CUBLAS_OP_T),
    ROW(cublasZsymm_v2, true, ONE_SIDE, CUBLAS_OP_T),
    ROW(cublasZhemm_v2, true, ONE_SIDE, CUBLAS_OP_T),
    ROW(cublasDtrmm_v2, false, ONE_SIDE, CUBLAS_OP_T),
    ROW(cublasZtrmm_v2, true, ONE_SIDE, CUBLAS_OP_T),
    ROW(cublasDtrsm_v2, false, SOLVED, CUBLAS_OP_T),
    ROW(cublasZtrsm_v2, true, SOLVED, CUBLAS_OP_T),
};
const int routine_count = sizeof routines / sizeof *routines;
