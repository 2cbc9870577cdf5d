/* cublas_xt.c - cublasXt's handles and its products of two full matrices on the host or a device.
 * They are made at once, on the host; devices and tiles are only remembered. Its other routines are
 * in cublas_level3.c. */
#include <cublasXt.h>
#include <stdlib.h>

#include "cublas_internal.h"

enum { USUAL_BLOCK = 2048 };

struct cublasXtContext {
    int device_count, block;
    cublasXtPinnedMemMode_t pinning;
};

cublasStatus_t cublasXtCreate(cublasXtHandle_t *handle)
{
    REQUIRE(handle, CUBLAS_STATUS_INVALID_VALUE);
    *handle = calloc(1, sizeof **handle);
    REQUIRE(*handle, CUBLAS_STATUS_ALLOC_FAILED);
    (*handle)->block = USUAL_BLOCK;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtDestroy(cublasXtHandle_t handle)
{
    REQUIRE(handle, CUBLAS_STATUS_NOT_INITIALIZED);
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtDeviceSelect(cublasXtHandle_t handle, int count, int devices[])
{
    int there = 0;

    REQUIRE(handle, CUBLAS_STATUS_NOT_INITIALIZED);
    REQUIRE(count > 0 && devices && !cudaGetDeviceCount(&there), CUBLAS_STATUS_INVALID_VALUE);
    for (int i = 0; i < count; i++)
        REQUIRE(devices[i] >= 0 && devices[i] < there, CUBLAS_STATUS_INVALID_VALUE);
    handle->device_count = count;
    return CUBLAS_STATUS_SUCCESS;
}

#define DEFINE_PROPERTY(...)                                                                       \
    HOSTGPU_DEFINE_PROPERTY(CUBLAS, cublasStatus_t, cublasXt, cublasXtHandle_t, (bool), __VA_ARGS__)
DEFINE_PROPERTY(BlockDim, int, block, value > 0)
DEFINE_PROPERTY(PinningMemMode, cublasXtPinnedMemMode_t, pinning, true)

cublasStatus_t hostgpu_check_xt(cublasXtHandle_t handle)
{
    REQUIRE(handle && handle->device_count, CUBLAS_STATUS_NOT_INITIALIZED);
    return CUBLAS_STATUS_SUCCESS;
}

#define DEFINE_XT_GEMM(letter, element, element_type)                                              \
    cublasStatus_t cublasXt##letter##gemm(                                                         \
        cublasXtHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, size_t m,         \
        size_t n, size_t k, const element *alpha, const element *a, size_t lda, const element *b,  \
        size_t ldb, const element *beta, element *c, size_t ldc)                                   \
    {                                                                                              \
        const product p = {.function = "cublasXt" #letter "gemm",                                  \
                           .type = element_type,                                                   \
                           .op_a = op_a,                                                           \
                           .op_b = op_b,                                                           \
                           .m = (int64_t)m,                                                        \
                           .n = (int64_t)n,                                                        \
                           .k = (int64_t)k,                                                        \
                           .batch = 1,                                                             \
                           .alpha = alpha,                                                         \
                           .beta = beta,                                                           \
                           .a = {.data = a, .ld = (int64_t)lda},                                   \
                           .b = {.data = b, .ld = (int64_t)ldb},                                   \
                           .c = {.data = c, .ld = (int64_t)ldc}};                                  \
        REQUIRE_SUCCESS(hostgpu_check_xt(handle));                                                 \
        return hostgpu_multiply_anywhere(&p);                                                      \
    }
DEFINE_XT_GEMM(D, double, PRODUCT_F64)
DEFINE_XT_GEMM(Z, cuDoubleComplex, PRODUCT_C64)
