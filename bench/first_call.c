/* first_call - host time of the first product of a process, which loads its mode's kernels, and of
 * the second.
 *
 * usage: first_call MODE
 *
 * The context and cuBLAS are there before: a program that multiplies has them. Prints, in
 * milliseconds, how long each call took to return and until the device was done. */
#include <stdlib.h>

#include "../examples/common.h"
#include "../include/tandem.h"

const char program_name[] = "first_call";

enum { SIZE = 128, CALLS = 3 };

int main(int argc, char **argv)
{
    cublasHandle_t handle = NULL;
    double *matrices = NULL;
    int status = EXIT_FAILURE;
    if (argc != 2) {
        complain("usage: first_call MODE");
        return 2;
    }
    CHECK_CUBLAS(cublasCreate(&handle));
    CHECK_CUDA(cudaMalloc((void **)&matrices, 3 * SIZE * SIZE * sizeof *matrices));
    CHECK_CUDA(cudaMemset(matrices, 0, 3 * SIZE * SIZE * sizeof *matrices));
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < CALLS; i++) {
        const double start = seconds_now();
        const tandem_status result =
            tandem_dgemm(argv[1], TANDEM_OP_N, TANDEM_OP_N, SIZE, SIZE, SIZE, 1.0, matrices, SIZE,
                         matrices + SIZE * SIZE, SIZE, 0.0, matrices + 2 * SIZE * SIZE, SIZE, NULL);
        const double returned = seconds_now();
        if (result != TANDEM_OK) {
            complain("%s: %s", argv[1], tandem_last_message());
            goto out;
        }
        CHECK_CUDA(cudaDeviceSynchronize());
        printf("%s, call %d: returned after %.3f ms, done after %.3f ms\n", argv[1], i + 1,
               1e3 * (returned - start), 1e3 * (seconds_now() - start));
    }
    status = EXIT_SUCCESS;
out:
    cudaFree(matrices);
    if (handle) cublasDestroy(handle);
    return status;
}
