/* bound.c - a library that is linked to the cuBLAS of version MAJOR. */
#include "bound.h"

static cublasHandle_t make(void)
{
    cublasHandle_t handle = NULL;
    return cublasCreate_v2(&handle) == CUBLAS_STATUS_SUCCESS ? handle : NULL;
}

static int multiply(cublasHandle_t handle)
{
    const double one = 1.0, zero = 0.0, a = 1.0, b = 1.0;
    double c = -1.0;
    const cublasStatus_t status =
        cublasDgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1);
    return status == CUBLAS_STATUS_SUCCESS ? (int)c : -1;
}

static cublasStatus_t forward(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, int m, int n, int k, const double *alpha,
                              const double *A, int lda, const double *B, int ldb,
                              const double *beta, double *C, int ldc)
{
    return cublasDgemm_v2(handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

static int end(cublasHandle_t handle) { return cublasDestroy_v2(handle) != CUBLAS_STATUS_SUCCESS; }

const bound BOUND_TABLE(MAJOR) = {make, multiply, forward, end};
