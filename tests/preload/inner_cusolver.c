/* inner_cusolver.c - stands for a cuSOLVER that makes products by cuBLAS, and calls functions of
 * its own by their exported names: cusolverDnDgetrf adds A A to what lies behind A and asks
 * cusolverDnZgetrf for nothing. */
#include <cublas_v2.h>
#include <cusolverDn.h>

struct cusolverDnContext {
    cublasHandle_t blas;
};

static struct cusolverDnContext only;

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle)
{
    *handle = &only;
    return cublasCreate(&only.blas) ? CUSOLVER_STATUS_ALLOC_FAILED : CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle)
{
    return cublasDestroy(handle->blas) ? CUSOLVER_STATUS_INTERNAL_ERROR : CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t *stream)
{
    return cublasGetStream(handle->blas, stream) ? CUSOLVER_STATUS_INTERNAL_ERROR
                                                 : CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDgetrf_bufferSize(cusolverDnHandle_t handle, int m, int n, double *A,
                                             int lda, int *Lwork)
{
    (void)handle, (void)m, (void)n, (void)A, (void)lda;
    *Lwork = 1;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnZgetrf_bufferSize(cusolverDnHandle_t handle, int m, int n,
                                             cuDoubleComplex *A, int lda, int *Lwork)
{
    return cusolverDnDgetrf_bufferSize(handle, m, n, (double *)A, lda, Lwork);
}

cusolverStatus_t cusolverDnZgetrf(cusolverDnHandle_t handle, int m, int n, cuDoubleComplex *A,
                                  int lda, cuDoubleComplex *Workspace, int *devIpiv, int *devInfo)
{
    (void)handle, (void)m, (void)n, (void)A, (void)lda, (void)Workspace, (void)devIpiv,
        (void)devInfo;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDgetrf(cusolverDnHandle_t handle, int m, int n, double *A, int lda,
                                  double *Workspace, int *devIpiv, int *devInfo)
{
    const double one = 1.0;
    (void)m;
    if (cublasDgemm(handle->blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, A, lda, A, lda, &one,
                    A + (size_t)lda * (size_t)n, lda))
        return CUSOLVER_STATUS_EXECUTION_FAILED;
    return cusolverDnZgetrf(handle, n, n, (cuDoubleComplex *)A, lda, (cuDoubleComplex *)Workspace,
                            devIpiv, devInfo);
}
