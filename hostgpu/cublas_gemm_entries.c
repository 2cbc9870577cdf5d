/* cublas_gemm_entries.c - cuBLAS's functions for matrix products; each only fills in a product. */
#include "cublas_internal.h"

/* ---- types of the Ex functions ---- */

static product_type type_of(cudaDataType a, cudaDataType b, cudaDataType c,
                            cublasComputeType_t compute)
{
    if ((a == CUDA_R_64F || a == CUDA_C_64F) && b == a && c == a) {
        if (compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC ||
            compute == CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT)
            return a == CUDA_R_64F ? PRODUCT_F64 : PRODUCT_C64;
    } else if ((a == CUDA_R_32F || a == CUDA_C_32F) && b == a && c == a) {
        if (compute >= CUBLAS_COMPUTE_32F && compute <= CUBLAS_COMPUTE_32F_EMULATED_16BFX9 &&
            compute != CUBLAS_COMPUTE_64F && compute != CUBLAS_COMPUTE_64F_PEDANTIC &&
            compute != CUBLAS_COMPUTE_32I && compute != CUBLAS_COMPUTE_32I_PEDANTIC)
            return a == CUDA_R_32F ? PRODUCT_F32 : PRODUCT_C32;
    } else if (a == CUDA_R_8I && b == a && c == CUDA_R_32I) {
        if (compute == CUBLAS_COMPUTE_32I || compute == CUBLAS_COMPUTE_32I_PEDANTIC)
            return PRODUCT_I8;
    }
    return PRODUCT_UNKNOWN;
}

static product_operand single(const void *data, int64_t ld)
{
    return (product_operand){.data = data, .ld = ld};
}

static product_operand strided(const void *data, int64_t ld, int64_t stride)
{
    return (product_operand){.data = data, .ld = ld, .stride = stride};
}

static product_operand listed(const void *const *array, int64_t ld)
{
    return (product_operand){.array = array, .ld = ld};
}

/* What all functions have in common, for arguments of the usual names. */
#define RUN(name, element_type, matrix_a, matrix_b, matrix_c, count)                               \
    do {                                                                                           \
        const product p = {.function = name,                                                       \
                           .type = element_type,                                                   \
                           .op_a = op_a,                                                           \
                           .op_b = op_b,                                                           \
                           .m = m,                                                                 \
                           .n = n,                                                                 \
                           .k = k,                                                                 \
                           .batch = count,                                                         \
                           .alpha = alpha,                                                         \
                           .beta = beta,                                                           \
                           .a = matrix_a,                                                          \
                           .b = matrix_b,                                                          \
                           .c = matrix_c};                                                         \
        return hostgpu_multiply(handle, &p);                                                       \
    } while (0)

#define SIZES(integer)                                                                             \
    cublasOperation_t op_a, cublasOperation_t op_b, integer m, integer n, integer k

/* ---- functions of one type ---- */

#define DEFINE_PLAIN(letter, element, element_type, integer, width)                                \
    cublasStatus_t cublas##letter##gemm_v2##width(                                                 \
        cublasHandle_t handle, SIZES(integer), const element *alpha, const element *a,             \
        integer lda, const element *b, integer ldb, const element *beta, element *c, integer ldc)  \
    {                                                                                              \
        RUN("cublas" #letter "gemm_v2" #width, element_type, single(a, lda), single(b, ldb),       \
            single(c, ldc), 1);                                                                    \
    }                                                                                              \
    cublasStatus_t cublas##letter##gemmStridedBatched##width(                                      \
        cublasHandle_t handle, SIZES(integer), const element *alpha, const element *a,             \
        integer lda, long long stride_a, const element *b, integer ldb, long long stride_b,        \
        const element *beta, element *c, integer ldc, long long stride_c, integer batch)           \
    {                                                                                              \
        RUN("cublas" #letter "gemmStridedBatched" #width, element_type, strided(a, lda, stride_a), \
            strided(b, ldb, stride_b), strided(c, ldc, stride_c), batch);                          \
    }                                                                                              \
    cublasStatus_t cublas##letter##gemmBatched##width(                                             \
        cublasHandle_t handle, SIZES(integer), const element *alpha, const element *const a[],     \
        integer lda, const element *const b[], integer ldb, const element *beta,                   \
        element *const c[], integer ldc, integer batch)                                            \
    {                                                                                              \
        RUN("cublas" #letter "gemmBatched" #width, element_type,                                   \
            listed((const void *const *)a, lda), listed((const void *const *)b, ldb),              \
            listed((const void *const *)c, ldc), batch);                                           \
    }
#define DEFINE_PLAINS(integer, width)                                                              \
    DEFINE_PLAIN(D, double, PRODUCT_F64, integer, width)                                           \
    DEFINE_PLAIN(S, float, PRODUCT_F32, integer, width)                                            \
    DEFINE_PLAIN(Z, cuDoubleComplex, PRODUCT_C64, integer, width)                                  \
    DEFINE_PLAIN(C, cuComplex, PRODUCT_C32, integer, width)
FOR_BOTH_WIDTHS(DEFINE_PLAINS)

/* ---- functions whose types are arguments ---- */

#define DEFINE_EX(integer, width)                                                                  \
    cublasStatus_t cublasGemmEx##width(                                                            \
        cublasHandle_t handle, SIZES(integer), const void *alpha, const void *a,                   \
        cudaDataType type_a, integer lda, const void *b, cudaDataType type_b, integer ldb,         \
        const void *beta, void *c, cudaDataType type_c, integer ldc, cublasComputeType_t compute,  \
        cublasGemmAlgo_t algorithm)                                                                \
    {                                                                                              \
        (void)algorithm;                                                                           \
        RUN("cublasGemmEx" #width, type_of(type_a, type_b, type_c, compute), single(a, lda),       \
            single(b, ldb), single(c, ldc), 1);                                                    \
    }                                                                                              \
    cublasStatus_t cublasGemmStridedBatchedEx##width(                                              \
        cublasHandle_t handle, SIZES(integer), const void *alpha, const void *a,                   \
        cudaDataType type_a, integer lda, long long stride_a, const void *b, cudaDataType type_b,  \
        integer ldb, long long stride_b, const void *beta, void *c, cudaDataType type_c,           \
        integer ldc, long long stride_c, integer batch, cublasComputeType_t compute,               \
        cublasGemmAlgo_t algorithm)                                                                \
    {                                                                                              \
        (void)algorithm;                                                                           \
        RUN("cublasGemmStridedBatchedEx" #width, type_of(type_a, type_b, type_c, compute),         \
            strided(a, lda, stride_a), strided(b, ldb, stride_b), strided(c, ldc, stride_c),       \
            batch);                                                                                \
    }                                                                                              \
    cublasStatus_t cublasGemmBatchedEx##width(                                                     \
        cublasHandle_t handle, SIZES(integer), const void *alpha, const void *const a[],           \
        cudaDataType type_a, integer lda, const void *const b[], cudaDataType type_b, integer ldb, \
        const void *beta, void *const c[], cudaDataType type_c, integer ldc, integer batch,        \
        cublasComputeType_t compute, cublasGemmAlgo_t algorithm)                                   \
    {                                                                                              \
        (void)algorithm;                                                                           \
        RUN("cublasGemmBatchedEx" #width, type_of(type_a, type_b, type_c, compute),                \
            listed(a, lda), listed(b, ldb), listed((const void *const *)c, ldc), batch);           \
    }
FOR_BOTH_WIDTHS(DEFINE_EX)
