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
#define RUN(name, element_type, ...) RUN_COMPUTED(name, element_type, false, __VA_ARGS__)
#define RUN_COMPUTED(name, element_type, is_asking, matrix_a, matrix_b, matrix_c, count)           \
    do {                                                                                           \
        const product p = {.function = name,                                                       \
                           .type = element_type,                                                   \
                           .asks_emulation = is_asking,                                            \
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

#define DEFINE_SINGLE(function, element, element_type, integer)                                    \
    cublasStatus_t function(cublasHandle_t handle, SIZES(integer), const element *alpha,           \
                            const element *a, integer lda, const element *b, integer ldb,          \
                            const element *beta, element *c, integer ldc)                          \
    {                                                                                              \
        RUN(#function, element_type, single(a, lda), single(b, ldb), single(c, ldc), 1);           \
    }
#define DEFINE_PLAIN(letter, element, element_type, integer, width)                                \
    DEFINE_SINGLE(cublas##letter##gemm_v2##width, element, element_type, integer)                  \
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
    DEFINE_PLAIN(C, cuComplex, PRODUCT_C32, integer, width)                                        \
    DEFINE_SINGLE(cublasZgemm3m##width, cuDoubleComplex, PRODUCT_C64, integer)
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
        RUN_COMPUTED("cublasGemmEx" #width, type_of(type_a, type_b, type_c, compute),              \
                     compute == CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT, single(a, lda),            \
                     single(b, ldb), single(c, ldc), 1);                                           \
    }                                                                                              \
    cublasStatus_t cublasGemmStridedBatchedEx##width(                                              \
        cublasHandle_t handle, SIZES(integer), const void *alpha, const void *a,                   \
        cudaDataType type_a, integer lda, long long stride_a, const void *b, cudaDataType type_b,  \
        integer ldb, long long stride_b, const void *beta, void *c, cudaDataType type_c,           \
        integer ldc, long long stride_c, integer batch, cublasComputeType_t compute,               \
        cublasGemmAlgo_t algorithm)                                                                \
    {                                                                                              \
        (void)algorithm;                                                                           \
        RUN_COMPUTED("cublasGemmStridedBatchedEx" #width,                                          \
                     type_of(type_a, type_b, type_c, compute),                                     \
                     compute == CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT, strided(a, lda, stride_a), \
                     strided(b, ldb, stride_b), strided(c, ldc, stride_c), batch);                 \
    }                                                                                              \
    cublasStatus_t cublasGemmBatchedEx##width(                                                     \
        cublasHandle_t handle, SIZES(integer), const void *alpha, const void *const a[],           \
        cudaDataType type_a, integer lda, const void *const b[], cudaDataType type_b, integer ldb, \
        const void *beta, void *const c[], cudaDataType type_c, integer ldc, integer batch,        \
        cublasComputeType_t compute, cublasGemmAlgo_t algorithm)                                   \
    {                                                                                              \
        (void)algorithm;                                                                           \
        RUN_COMPUTED("cublasGemmBatchedEx" #width, type_of(type_a, type_b, type_c, compute),       \
                     compute == CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT, listed(a, lda),            \
                     listed(b, ldb), listed((const void *const *)c, ldc), batch);                  \
    }
FOR_BOTH_WIDTHS(DEFINE_EX)

/* ---- groups ---- */

/* What the functions of groups have in common, for arguments of the usual names. Scalars lie
 * scalar_bytes apart. Pointers of all groups lie behind one another. */
#define PRODUCT_OF_GROUP(name, element_type, scalar_bytes, g, first)                               \
    (product)                                                                                      \
    {                                                                                              \
        .function = name, .type = element_type, .op_a = op_a[g], .op_b = op_b[g], .m = m[g],       \
        .n = n[g], .k = k[g], .batch = group_size[g],                                              \
        .alpha = (const char *)alpha + (size_t)(g) * (scalar_bytes),                               \
        .beta = (const char *)beta + (size_t)(g) * (scalar_bytes),                                 \
        .a = listed((const void *const *)a + (first), lda[g]),                                     \
        .b = listed((const void *const *)b + (first), ldb[g]),                                     \
        .c = listed((const void *const *)c + (first), ldc[g])                                      \
    }

/* All groups are checked before one is multiplied. */
#define RUN_GROUPS(name, element_type, scalar_bytes)                                               \
    do {                                                                                           \
        cublasStatus_t status = hostgpu_check_handle(handle, name);                                \
        REQUIRE(!status, status);                                                                  \
        REQUIRE(handle->pointer_mode == CUBLAS_POINTER_MODE_HOST, CUBLAS_STATUS_NOT_SUPPORTED);    \
        REQUIRE(group_count >= 0, CUBLAS_STATUS_INVALID_VALUE);                                    \
        REQUIRE(!group_count || (op_a && op_b && m && n && k && alpha && a && lda && b && ldb &&   \
                                 beta && c && ldc && group_size),                                  \
                CUBLAS_STATUS_INVALID_VALUE);                                                      \
        for (int runs = 0; runs < 2; runs++) {                                                     \
            int64_t first = 0;                                                                     \
            for (int64_t g = 0; g < group_count && !status; first += group_size[g++]) {            \
                const product p = PRODUCT_OF_GROUP(name, element_type, scalar_bytes, g, first);    \
                status = (runs ? hostgpu_multiply : hostgpu_check_product)(handle, &p);            \
            }                                                                                      \
        }                                                                                          \
        return status;                                                                             \
    } while (0)

#define GROUP_SIZES(integer)                                                                       \
    const cublasOperation_t op_a[], const cublasOperation_t op_b[], const integer m[],             \
        const integer n[], const integer k[]

#define DEFINE_GROUPED(letter, element, element_type, integer, width)                              \
    cublasStatus_t cublas##letter##gemmGroupedBatched##width(                                      \
        cublasHandle_t handle, GROUP_SIZES(integer), const element alpha[],                        \
        const element *const a[], const integer lda[], const element *const b[],                   \
        const integer ldb[], const element beta[], element *const c[], const integer ldc[],        \
        integer group_count, const integer group_size[])                                           \
    {                                                                                              \
        RUN_GROUPS("cublas" #letter "gemmGroupedBatched" #width, element_type, sizeof(element));   \
    }
#define DEFINE_GROUPS(integer, width)                                                              \
    DEFINE_GROUPED(D, double, PRODUCT_F64, integer, width)                                         \
    DEFINE_GROUPED(S, float, PRODUCT_F32, integer, width)                                          \
    cublasStatus_t cublasGemmGroupedBatchedEx##width(                                              \
        cublasHandle_t handle, GROUP_SIZES(integer), const void *alpha, const void *const a[],     \
        cudaDataType_t type_a, const integer lda[], const void *const b[], cudaDataType_t type_b,  \
        const integer ldb[], const void *beta, void *const c[], cudaDataType_t type_c,             \
        const integer ldc[], integer group_count, const integer group_size[],                      \
        cublasComputeType_t compute)                                                               \
    {                                                                                              \
        const product_type type = type_of(type_a, type_b, type_c, compute);                        \
        REQUIRE(type == PRODUCT_F64 || type == PRODUCT_F32, CUBLAS_STATUS_NOT_SUPPORTED);          \
        RUN_GROUPS("cublasGemmGroupedBatchedEx" #width, type,                                      \
                   type == PRODUCT_F64 ? sizeof(double) : sizeof(float));                          \
    }
FOR_BOTH_WIDTHS(DEFINE_GROUPS)
