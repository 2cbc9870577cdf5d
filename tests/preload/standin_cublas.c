/* standin_cublas.c - a cuBLAS of version MAJOR with next to nothing in it: its products store its
 * version in C's first element, and a handle of another version ends the process, as anything may
 * then happen. */
#include <cublas_api.h>
#include <stdio.h>
#include <stdlib.h>

struct cublasContext {
    int major;
};

static void check(cublasHandle_t handle, const char *function)
{
    if (handle->major == MAJOR) return;
    fprintf(stderr, "%s of cuBLAS %d has a handle of %d\n", function, MAJOR, handle->major);
    exit(1);
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    *handle = malloc(sizeof **handle);
    if (!*handle) return CUBLAS_STATUS_ALLOC_FAILED;
    (*handle)->major = MAJOR;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    check(handle, __func__);
    handle->major = 0;
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream)
{
    check(handle, __func__);
    *stream = NULL;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
    check(handle, __func__);
    *mode = CUBLAS_POINTER_MODE_HOST;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode)
{
    check(handle, __func__);
    *mode = CUBLAS_DEFAULT_MATH;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, int m, int n, int k, const double *alpha,
                              const double *A, int lda, const double *B, int ldb,
                              const double *beta, double *C, int ldc)
{
    (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)alpha, (void)A, (void)lda;
    (void)B, (void)ldb, (void)beta, (void)ldc;
    check(handle, __func__);
    *C = MAJOR;
    return CUBLAS_STATUS_SUCCESS;
}
