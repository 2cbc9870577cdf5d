/* gemm.c - wrappers of the matrix products with a handle, of real and complex matrices. Each one
 * describes its arguments as a td_problem; the forms differ in types alone. */
#include "wrap.h"

#define HANDLE cublasHandle_t
#define WRAP   TD_WRAP
#include "by_handle.h"

#define PRODUCT(type_, transa, transb, m_, n_, k_, a_, b_, c_, batch_)                             \
    {                                                                                              \
        .kind = TD_PRODUCT, .type = (type_), .op_a = (td_op)(transa), .op_b = (td_op)(transb),     \
        .m = (m_), .n = (n_), .k = (k_), .a = a_, .b = b_, .c = c_, .batch = (batch_)              \
    }

/* Matrices of a batch, a stride apart. */
#define STRIDED(p, ld_, stride_)                                                                   \
    {                                                                                              \
        .data = (void *)(uintptr_t)(p), .ld = (ld_), .stride = (stride_)                           \
    }

#define SIZES(size)                                                                                \
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, size m, size n,     \
        size k

/* ---- functions of one type ---- */

#define DEFINE_GEMM_STRIDED(function, size, number, alpha_type, beta_type, type_, hermitian)       \
    TD_EXPORT cublasStatus_t function(SIZES(size), const number *alpha, const number *A, size lda, \
                                      long long int strideA, const number *B, size ldb,            \
                                      long long int strideB, const number *beta, number *C,        \
                                      size ldc, long long int strideC, size batchCount)            \
    {                                                                                              \
        td_problem p = PRODUCT(type_, transa, transb, m, n, k, STRIDED(A, lda, strideA),           \
                               STRIDED(B, ldb, strideB), STRIDED(C, ldc, strideC), batchCount);    \
        TD_WRAP(function, handle, alpha, beta, p, transa, transb, m, n, k, alpha, A, lda, strideA, \
                B, ldb, strideB, beta, C, ldc, strideC, batchCount);                               \
    }

#define DEFINE_GEMM_BATCHED(function, size, number, alpha_type, beta_type, type_, hermitian)       \
    TD_EXPORT cublasStatus_t function(SIZES(size), const number *alpha,                            \
                                      const number *const Aarray[], size lda,                      \
                                      const number *const Barray[], size ldb, const number *beta,  \
                                      number *const Carray[], size ldc, size batchCount)           \
    {                                                                                              \
        td_problem p = PRODUCT(type_, transa, transb, m, n, k, MATRICES(Aarray, lda),              \
                               MATRICES(Barray, ldb), MATRICES(Carray, ldc), batchCount);          \
        TD_WRAP(function, handle, alpha, beta, p, transa, transb, m, n, k, alpha, Aarray, lda,     \
                Barray, ldb, beta, Carray, ldc, batchCount);                                       \
    }

/* ---- functions whose types are arguments ---- */

/* TD_TYPE_COUNT: no product for Tandem. The pedantic compute type is none: it asks for no
 * replacement of the arithmetic. */
static td_type type_of(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute)
{
    if (a != b || a != c || (compute != CUBLAS_COMPUTE_64F && !td_wrap_asks_emulation(compute)))
        return TD_TYPE_COUNT;
    return a == CUDA_R_64F ? TD_BINARY64 : a == CUDA_C_64F ? TD_COMPLEX_BINARY64 : TD_TYPE_COUNT;
}

#define DEFINE_GEMM_EX(function, size, ...)                                                        \
    TD_EXPORT cublasStatus_t function(                                                             \
        SIZES(size), const void *alpha, const void *A, cudaDataType Atype, size lda,               \
        const void *B, cudaDataType Btype, size ldb, const void *beta, void *C,                    \
        cudaDataType Ctype, size ldc, cublasComputeType_t computeType, cublasGemmAlgo_t algo)      \
    {                                                                                              \
        td_problem p = PRODUCT(type_of(Atype, Btype, Ctype, computeType), transa, transb, m, n, k, \
                               STRIDED(A, lda, 0), STRIDED(B, ldb, 0), STRIDED(C, ldc, 0), 1);     \
        p.asks_emulation = td_wrap_asks_emulation(computeType);                                    \
        TD_WRAP_IF(p.type != TD_TYPE_COUNT, function, handle, alpha, beta, p, transa, transb, m,   \
                   n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc, computeType,    \
                   algo);                                                                          \
    }

#define DEFINE_GEMM_STRIDED_EX(function, size, ...)                                                \
    TD_EXPORT cublasStatus_t function(                                                             \
        SIZES(size), const void *alpha, const void *A, cudaDataType Atype, size lda,               \
        long long int strideA, const void *B, cudaDataType Btype, size ldb, long long int strideB, \
        const void *beta, void *C, cudaDataType Ctype, size ldc, long long int strideC,            \
        size batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo)                   \
    {                                                                                              \
        td_problem p = PRODUCT(type_of(Atype, Btype, Ctype, computeType), transa, transb, m, n, k, \
                               STRIDED(A, lda, strideA), STRIDED(B, ldb, strideB),                 \
                               STRIDED(C, ldc, strideC), batchCount);                              \
        p.asks_emulation = td_wrap_asks_emulation(computeType);                                    \
        TD_WRAP_IF(p.type != TD_TYPE_COUNT, function, handle, alpha, beta, p, transa, transb, m,   \
                   n, k, alpha, A, Atype, lda, strideA, B, Btype, ldb, strideB, beta, C, Ctype,    \
                   ldc, strideC, batchCount, computeType, algo);                                   \
    }

#define DEFINE_GEMM_BATCHED_EX(function, size, ...)                                                \
    TD_EXPORT cublasStatus_t function(                                                             \
        SIZES(size), const void *alpha, const void *const Aarray[], cudaDataType Atype, size lda,  \
        const void *const Barray[], cudaDataType Btype, size ldb, const void *beta,                \
        void *const Carray[], cudaDataType Ctype, size ldc, size batchCount,                       \
        cublasComputeType_t computeType, cublasGemmAlgo_t algo)                                    \
    {                                                                                              \
        td_problem p = PRODUCT(type_of(Atype, Btype, Ctype, computeType), transa, transb, m, n, k, \
                               MATRICES(Aarray, lda), MATRICES(Barray, ldb),                       \
                               MATRICES(Carray, ldc), batchCount);                                 \
        p.asks_emulation = td_wrap_asks_emulation(computeType);                                    \
        TD_WRAP_IF(p.type != TD_TYPE_COUNT, function, handle, alpha, beta, p, transa, transb, m,   \
                   n, k, alpha, Aarray, Atype, lda, Barray, Btype, ldb, beta, Carray, Ctype, ldc,  \
                   batchCount, computeType, algo);                                                 \
    }

/* ---- all of them ---- */

#define DEFINE_GEMM(function, size, ...) DEFINE(GEMM, TD_PRODUCT, function, size, __VA_ARGS__)

/* Rows whose wrappers grouped.c and lt.c define. */
#define DEFINE_GROUPED(...)
#define DEFINE_GROUPED_EX(...)
#define FORM_alone(...)

#define FORM_sized(shape, function, ...)                                                           \
    DEFINE_##shape(function, int, __VA_ARGS__) DEFINE_##shape(function##_64, int64_t, __VA_ARGS__)
#define FORM(name, forms, shape, kind, types, family) FORM_##forms(shape, cublas##name, types)
#include "../lib/routine/routines.def"
