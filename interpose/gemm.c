/* gemm.c - wrappers of the matrix products with a handle. Each one describes its arguments as a
 * td_problem; the forms with 32-bit and 64-bit sizes differ in a type alone. */
#include "wrap.h"

#define PRODUCT(transa, transb, m_, n_, k_, a_, b_, c_, batch_)                                    \
    {                                                                                              \
        .kind = TD_PRODUCT, .type = TD_BINARY64, .op_a = (td_op)(transa), .op_b = (td_op)(transb), \
        .m = (m_), .n = (n_), .k = (k_), .a = a_, .b = b_, .c = c_, .batch = (batch_)              \
    }

/* Matrices as the kernels know them; A and B are never written. */
#define MATRIX(p, ld_, stride_)                                                                    \
    {                                                                                              \
        .data = (void *)(uintptr_t)(p), .ld = (ld_), .stride = (stride_)                           \
    }
#define MATRICES(p, ld_)                                                                           \
    {                                                                                              \
        .array = (void *const *)(uintptr_t)(p), .ld = (ld_)                                        \
    }

#define DEFINE_DGEMM(function, size)                                                               \
    TD_EXPORT cublasStatus_t function(                                                             \
        cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, size m, size n, \
        size k, const double *alpha, const double *A, size lda, const double *B, size ldb,         \
        const double *beta, double *C, size ldc)                                                   \
    {                                                                                              \
        td_problem p = PRODUCT(transa, transb, m, n, k, MATRIX(A, lda, 0), MATRIX(B, ldb, 0),      \
                               MATRIX(C, ldc, 0), 1);                                              \
        TD_WRAP(function, handle, alpha, beta, p, transa, transb, m, n, k, alpha, A, lda, B, ldb,  \
                beta, C, ldc);                                                                     \
    }

#define DEFINE_DGEMM_STRIDED(function, size)                                                       \
    TD_EXPORT cublasStatus_t function(                                                             \
        cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, size m, size n, \
        size k, const double *alpha, const double *A, size lda, long long int strideA,             \
        const double *B, size ldb, long long int strideB, const double *beta, double *C, size ldc, \
        long long int strideC, size batchCount)                                                    \
    {                                                                                              \
        td_problem p = PRODUCT(transa, transb, m, n, k, MATRIX(A, lda, strideA),                   \
                               MATRIX(B, ldb, strideB), MATRIX(C, ldc, strideC), batchCount);      \
        TD_WRAP(function, handle, alpha, beta, p, transa, transb, m, n, k, alpha, A, lda, strideA, \
                B, ldb, strideB, beta, C, ldc, strideC, batchCount);                               \
    }

#define DEFINE_DGEMM_BATCHED(function, size)                                                       \
    TD_EXPORT cublasStatus_t function(cublasHandle_t handle, cublasOperation_t transa,             \
                                      cublasOperation_t transb, size m, size n, size k,            \
                                      const double *alpha, const double *const Aarray[], size lda, \
                                      const double *const Barray[], size ldb, const double *beta,  \
                                      double *const Carray[], size ldc, size batchCount)           \
    {                                                                                              \
        td_problem p = PRODUCT(transa, transb, m, n, k, MATRICES(Aarray, lda),                     \
                               MATRICES(Barray, ldb), MATRICES(Carray, ldc), batchCount);          \
        TD_WRAP(function, handle, alpha, beta, p, transa, transb, m, n, k, alpha, Aarray, lda,     \
                Barray, ldb, beta, Carray, ldc, batchCount);                                       \
    }

/* Only binary64 throughout is a product for Tandem, and not the pedantic compute type, which asks
 * for no replacement of the arithmetic. */
static bool is_binary64(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute)
{
    return a == CUDA_R_64F && b == CUDA_R_64F && c == CUDA_R_64F && compute == CUBLAS_COMPUTE_64F;
}

#define DEFINE_GEMM_EX(function, size)                                                             \
    TD_EXPORT cublasStatus_t function(                                                             \
        cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, size m, size n, \
        size k, const void *alpha, const void *A, cudaDataType Atype, size lda, const void *B,     \
        cudaDataType Btype, size ldb, const void *beta, void *C, cudaDataType Ctype, size ldc,     \
        cublasComputeType_t computeType, cublasGemmAlgo_t algo)                                    \
    {                                                                                              \
        if (!is_binary64(Atype, Btype, Ctype, computeType)) {                                      \
            td_library *library = TD_LIBRARY_OF(handle, function);                                 \
            __typeof__(&(function)) other = TD_ORIGINAL(library, function);                        \
            return other ? other(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype,  \
                                 ldb, beta, C, Ctype, ldc, computeType, algo)                      \
                         : CUBLAS_STATUS_NOT_INITIALIZED;                                          \
        }                                                                                          \
        td_problem p = PRODUCT(transa, transb, m, n, k, MATRIX(A, lda, 0), MATRIX(B, ldb, 0),      \
                               MATRIX(C, ldc, 0), 1);                                              \
        TD_WRAP(function, handle, alpha, beta, p, transa, transb, m, n, k, alpha, A, Atype, lda,   \
                B, Btype, ldb, beta, C, Ctype, ldc, computeType, algo);                            \
    }

DEFINE_DGEMM(cublasDgemm_v2, int)
DEFINE_DGEMM(cublasDgemm_v2_64, int64_t)
DEFINE_DGEMM_STRIDED(cublasDgemmStridedBatched, int)
DEFINE_DGEMM_STRIDED(cublasDgemmStridedBatched_64, int64_t)
DEFINE_DGEMM_BATCHED(cublasDgemmBatched, int)
DEFINE_DGEMM_BATCHED(cublasDgemmBatched_64, int64_t)
DEFINE_GEMM_EX(cublasGemmEx, int)
DEFINE_GEMM_EX(cublasGemmEx_64, int64_t)
