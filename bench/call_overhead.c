/* call_overhead - host time that interception adds to a call that stays native.
 *
 * Enqueues 8 x 8 x 8 products in turns through the wrapper and straight through cuBLAS, and prints
 * the medians of many rounds and their difference. This program links Tandem in front of cuBLAS:
 * run it with TANDEM_MODE=native, with and without TANDEM_REPORT. Exit status 1 if the wrapper adds
 * a microsecond or more. */
#include <stdlib.h>

#include "../examples/common.h"
#include "harness/native.h"
#include "harness/timing.h"

const char program_name[] = "call_overhead";

enum { SIZE = 8, CALLS = 200, ROUNDS = 101 };

/* Seconds of host time a call; the device has caught up before and after. Negative if a call
 * fails. */
static double time_round(dgemm *function, cublasHandle_t handle, double *matrices)
{
    const double alpha = 1.0, beta = 0.0;
    double *c = matrices + 2 * SIZE * SIZE;
    const double start = seconds_now();
    for (int i = 0; i < CALLS; i++)
        if (function(handle, CUBLAS_OP_N, CUBLAS_OP_N, SIZE, SIZE, SIZE, &alpha, matrices, SIZE,
                     matrices + SIZE * SIZE, SIZE, &beta, c, SIZE) != CUBLAS_STATUS_SUCCESS)
            return -1.0;
    const double seconds = (seconds_now() - start) / CALLS;
    return cuda_succeeded(cudaDeviceSynchronize(), "cudaDeviceSynchronize") ? seconds : -1.0;
}

int main(void)
{
    static double direct[ROUNDS], wrapped[ROUNDS];
    cublasHandle_t handle = NULL;
    double *matrices = NULL;
    dgemm *const original = native_dgemm();
    int status = EXIT_FAILURE;
    if (!original) goto out;
    CHECK_CUBLAS(cublasCreate(&handle));
    CHECK_CUDA(cudaMalloc((void **)&matrices, 3 * SIZE * SIZE * sizeof *matrices));
    CHECK_CUDA(cudaMemset(matrices, 0, 3 * SIZE * SIZE * sizeof *matrices));
    for (int i = -3; i < ROUNDS; i++) {
        const double d = time_round(original, handle, matrices),
                     w = time_round(cublasDgemm_v2, handle, matrices);
        if (d < 0.0 || w < 0.0) goto out;
        if (i >= 0) direct[i] = d, wrapped[i] = w;
    }
    const double by_cublas = median(direct, ROUNDS), by_wrapper = median(wrapped, ROUNDS),
                 added = by_wrapper - by_cublas;
    printf("host time a call, median of %d rounds of %d: cuBLAS %.3f us, through the wrapper %.3f "
           "us, added %.3f us\n",
           ROUNDS, CALLS, by_cublas * 1e6, by_wrapper * 1e6, added * 1e6);
    status = added < 1e-6 ? EXIT_SUCCESS : EXIT_FAILURE;
out:
    cudaFree(matrices);
    if (handle) cublasDestroy(handle);
    return status;
}
