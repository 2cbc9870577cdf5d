/* call_overhead - host time that interception adds to a call that stays native.
 *
 * Enqueues 8 x 8 x 8 products in turns through the wrapper and straight through cuBLAS, and prints
 * the medians of many rounds and their difference. This program links Tandem in front of cuBLAS:
 * run it with TANDEM_MODE=native, with and without TANDEM_REPORT. Exit status 1 if the wrapper adds
 * a microsecond or more. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../examples/common.h"
#include "native.h"

const char program_name[] = "call_overhead";

enum { SIZE = 8, CALLS = 200, ROUNDS = 101 };

typedef cublasStatus_t dgemm(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                             const double *, const double *, int, const double *, int,
                             const double *, double *, int);

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of host time a call; the device has caught up before and after. Negative if a call
 * fails. */
static double time_round(dgemm *function, cublasHandle_t handle, double *matrices)
{
    const double alpha = 1.0, beta = 0.0;
    double *c = matrices + 2 * SIZE * SIZE;
    const double start = now();
    for (int i = 0; i < CALLS; i++)
        if (function(handle, CUBLAS_OP_N, CUBLAS_OP_N, SIZE, SIZE, SIZE, &alpha, matrices, SIZE,
                     matrices + SIZE * SIZE, SIZE, &beta, c, SIZE) != CUBLAS_STATUS_SUCCESS)
            return -1.0;
    const double seconds = (now() - start) / CALLS;
    return cuda_succeeded(cudaDeviceSynchronize(), "cudaDeviceSynchronize") ? seconds : -1.0;
}

int main(void)
{
    static double direct[ROUNDS], wrapped[ROUNDS];
    cublasHandle_t handle = NULL;
    double *matrices = NULL;
    dgemm *original = NULL;
    int status = EXIT_FAILURE;
    void *symbol = native_function("cublasDgemm_v2");
    memcpy(&original, &symbol, sizeof original);
    if (!original || original == cublasDgemm_v2) {
        complain("cuBLAS's own cublasDgemm_v2 is not to be found behind a wrapper");
        goto out;
    }
    CHECK_CUBLAS(cublasCreate(&handle));
    CHECK_CUDA(cudaMalloc((void **)&matrices, 3 * SIZE * SIZE * sizeof *matrices));
    CHECK_CUDA(cudaMemset(matrices, 0, 3 * SIZE * SIZE * sizeof *matrices));
    for (int i = -3; i < ROUNDS; i++) {
        const double d = time_round(original, handle, matrices),
                     w = time_round(cublasDgemm_v2, handle, matrices);
        if (d < 0.0 || w < 0.0) goto out;
        if (i >= 0) direct[i] = d, wrapped[i] = w;
    }
    qsort(direct, ROUNDS, sizeof *direct, ascending);
    qsort(wrapped, ROUNDS, sizeof *wrapped, ascending);
    const double added = wrapped[ROUNDS / 2] - direct[ROUNDS / 2];
    printf("host time a call, median of %d rounds of %d: cuBLAS %.3f us, through the wrapper %.3f "
           "us, added %.3f us\n",
           ROUNDS, CALLS, direct[ROUNDS / 2] * 1e6, wrapped[ROUNDS / 2] * 1e6, added * 1e6);
    status = added < 1e-6 ? EXIT_SUCCESS : EXIT_FAILURE;
out:
    cudaFree(matrices);
    if (handle) cublasDestroy(handle);
    return status;
}
