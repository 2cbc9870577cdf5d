/* shim_wrong.c - a library to preload between a program and cuBLAS, whose cublasDgemm makes one
 * element of C wrong by 2^-20 of itself: for tests that such a thing is noticed. */
#define _GNU_SOURCE 1
#include <cublas_api.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

__typeof__(cublasDgemm_v2) cublasDgemm_v2;

cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, int m, int n, int k, const double *alpha,
                              const double *a, int lda, const double *b, int ldb,
                              const double *beta, double *c, int ldc)
{
    void *address = dlsym(RTLD_NEXT, "cublasDgemm_v2");
    __typeof__(&cublasDgemm_v2) next;
    double x;
    if (!address) abort();
    memcpy(&next, &address, sizeof next);
    const cublasStatus_t status =
        next(handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    if (status != CUBLAS_STATUS_SUCCESS || m < 1 || n < 1) return status;
    if (cudaDeviceSynchronize() || cudaMemcpy(&x, c, sizeof x, cudaMemcpyDeviceToHost)) abort();
    x *= 1.0 + 0x1p-20;
    if (cudaMemcpy(c, &x, sizeof x, cudaMemcpyHostToDevice)) abort();
    return status;
}
