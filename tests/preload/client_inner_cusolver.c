/* client_inner_cusolver.c - calls cusolverDnDgetrf without a devInfo, which Tandem leaves to
 * cuSOLVER, and then a product of its own. Prints "right" if all calls succeed. */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <stdio.h>

enum { N = 24 };

int main(void)
{
    const double one = 1.0;
    double *a = NULL, *work = NULL;
    cusolverDnHandle_t solver = NULL;
    cublasHandle_t blas = NULL;
    if (cudaMalloc((void **)&a, 2 * N * N * sizeof *a) || cudaMalloc((void **)&work, 64) ||
        cudaMemset(a, 0, 2 * N * N * sizeof *a) || cusolverDnCreate(&solver) || cublasCreate(&blas))
        return 1;
    for (int i = 0; i < 2; i++) {
        if (cusolverDnDgetrf(solver, N, N, a, N, work, NULL, NULL)) return 2;
        if (cublasDgemm(blas, CUBLAS_OP_T, CUBLAS_OP_N, N, N, N, &one, a, N, a, N, &one, a + N * N,
                        N))
            return 3;
    }
    if (cudaDeviceSynchronize() || cusolverDnDestroy(solver) || cublasDestroy(blas)) return 4;
    puts("right");
    return 0;
}
