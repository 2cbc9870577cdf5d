/* inner_cublas.c - a library with a cuBLAS's name, one of whose functions calls cublasLtMatmul, as cuBLAS's do. */
#include <cublasLt.h>

__typeof__(cublasLtMatmul) cublasInner;

cublasStatus_t cublasInner(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                           const void *alpha, const void *a, cublasLtMatrixLayout_t of_a,
                           const void *b, cublasLtMatrixLayout_t of_b, const void *beta,
                           const void *c, cublasLtMatrixLayout_t of_c, void *d,
                           cublasLtMatrixLayout_t of_d, const cublasLtMatmulAlgo_t *algorithm,
                           void *workspace, size_t workspace_bytes, cudaStream_t stream)
{
    const cublasStatus_t status =
        cublasLtMatmul(handle, operation, alpha, a, of_a, b, of_b, beta, c, of_c, d, of_d,
                       algorithm, workspace, workspace_bytes, stream);
    return status; /* built so that the call is no jump: its return address is here */
}
