/* client_secure.c - a program that is linked to libtandem, makes one product by cuBLAS, and ends;
 * for check_secure.py, which runs it with more rights than its user's. */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

enum { N = 8 };

int main(void)
{
    const double one = 1.0, zero = 0.0;
    double *memory;
    cublasHandle_t handle;
    if (cudaMalloc((void **)&memory, 3 * N * N * sizeof *memory) ||
        cudaMemset(memory, 0, 3 * N * N * sizeof *memory) || cublasCreate(&handle))
        return 1;
    /* A call that Tandem does not intercept: it is what links the program to cuBLAS. */
    if (cublasDscal(handle, N * N, &one, memory, 1)) return 1;
    return cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, memory, N, memory + N * N,
                       N, &zero, memory + 2 * N * N, N) != CUBLAS_STATUS_SUCCESS;
}
