/* share.c - a rank of several on one card: a product of N x N matrices, and the error of some of
 * its elements, relative to |A||B|. Usage: share N [FILE]. With FILE it makes that file after the
 * product, and ends when the file is gone. Prints `error E`. */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/preload/require.h"

/* Numbers between -1/2 and 1/2. */
static double number(int64_t i) { return fmod(0.618033988749895 * (double)(i + 1), 1.0) - 0.5; }

static double *make(int64_t n, double *host, int64_t first)
{
    double *device;
    const size_t bytes = (size_t)(n * n) * sizeof *device;
    for (int64_t i = 0; i < n * n; i++) host[i] = number(first + i);
    REQUIRE(cudaMalloc((void **)&device, bytes));
    REQUIRE(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
    return device;
}

/* Of some elements of C. */
static double error_of(int64_t n, const double *a, const double *b, const double *c)
{
    double worst = 0.0;
    for (int64_t e = 0; e < n * n; e += 977) {
        long double sum = 0.0L, sizes = 0.0L;
        for (int64_t l = 0; l < n; l++) {
            const long double term = (long double)a[e % n + l * n] * b[l + e / n * n];
            sum += term;
            sizes += fabsl(term);
        }
        worst = fmax(worst, (double)(fabsl(c[e] - sum) / sizes));
    }
    return worst;
}

static void wait_for_end(const char *path)
{
    FILE *file = fopen(path, "w");
    REQUIRE(!file || fclose(file));
    while (access(path, F_OK) == 0) usleep(10000);
}

int main(int argc, char **argv)
{
    const int64_t n = argc > 1 ? atoll(argv[1]) : 0;
    const size_t bytes = (size_t)(n * n) * sizeof(double);
    const double one = 1.0, zero = 0.0;
    double *host[3];
    cublasHandle_t handle;
    REQUIRE(n <= 0);
    for (int i = 0; i < 3; i++) REQUIRE(!(host[i] = malloc(bytes)));
    double *a = make(n, host[0], 0), *b = make(n, host[1], n), *c = make(n, host[2], 2 * n);
    REQUIRE(cublasCreate_v2(&handle));
    REQUIRE(cublasDgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)n, (int)n, (int)n, &one, a,
                           (int)n, b, (int)n, &zero, c, (int)n));
    REQUIRE(cudaMemcpy(host[2], c, bytes, cudaMemcpyDeviceToHost));
    if (argc > 2) wait_for_end(argv[2]);
    printf("error %.2e\n", error_of(n, host[0], host[1], host[2]));
    REQUIRE(cublasDestroy_v2(handle));
    REQUIRE(cudaFree(a) || cudaFree(b) || cudaFree(c));
    return 0;
}
