#include "faults_work.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static double expected[N * N];

void fill_host(double *host, unsigned seed)
{
    for (int i = 0; i < N * N; i++) {
        seed = seed * 1664525u + 1013904223u;
        host[i] = (double)(int)seed / 65536;
    }
}

static void fill(double *device, unsigned seed)
{
    double *const host = malloc(BYTES);
    REQUIRE(host);
    fill_host(host, seed);
    REQUIRE(!cudaMemcpy(device, host, BYTES, cudaMemcpyHostToDevice));
    free(host);
}

work make_work(void)
{
    work w;
    REQUIRE(!cublasCreate(&w.handle));
    REQUIRE(!cudaMalloc((void **)&w.a, BYTES) && !cudaMalloc((void **)&w.b, BYTES) &&
            !cudaMalloc((void **)&w.c, BYTES));
    fill(w.a, 1);
    fill(w.b, 2);
    return w;
}

void free_work(const work *w)
{
    REQUIRE(!cudaFree(w->a) && !cudaFree(w->b) && !cudaFree(w->c));
    REQUIRE(!cublasDestroy(w->handle));
}

int multiply(const work *w)
{
    const double one = 1, zero = 0;
    return (int)cublasDgemm(w->handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, w->a, N, w->b, N,
                            &zero, w->c, N);
}

void read_c(const work *w, double *host)
{
    REQUIRE(!cudaMemcpy(host, w->c, BYTES, cudaMemcpyDeviceToHost));
}

void multiply_right(const work *w)
{
    double *host = malloc(BYTES);
    REQUIRE(host && !multiply(w));
    read_c(w, host);
    REQUIRE(!memcmp(host, expected, BYTES));
    free(host);
}

work first_product(void)
{
    const work w = make_work();
    REQUIRE(!multiply(&w));
    read_c(&w, expected);
    return w;
}

void in_threads(int count, void *(*body)(void *), void *argument)
{
    pthread_t thread[256];
    for (int i = 0; i < count; i++) REQUIRE(!pthread_create(&thread[i], NULL, body, argument));
    for (int i = 0; i < count; i++) pthread_join(thread[i], NULL);
}

void print_status(const char *name, int status) { printf("%s: %d\n", name, status); }
