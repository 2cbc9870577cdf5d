/* faults_operands.c - handles, streams and operands that are none, or not there. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "faults_work.h"

void use_a_destroyed_handle(void)
{
    const work w = first_product();
    REQUIRE(!cublasDestroy(w.handle));
    print_status("destroyed", multiply(&w));
    print_status("destroyed twice", (int)cublasDestroy(w.handle));
    work again = w;
    REQUIRE(!cublasCreate(&again.handle));
    multiply_right(&again);
    static max_align_t zeros[64];
    again.handle = (cublasHandle_t)(void *)zeros;
    print_status("zeroed", multiply(&again));
    again.handle = NULL;
    print_status("null", multiply(&again));
}

static void *destroy_soon(void *handle)
{
    usleep(3000);
    cublasDestroy(handle);
    return NULL;
}

/* Products of a handle that another thread destroys succeed until they are refused. */
void destroy_in_use(void)
{
    work w = first_product();
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        int status = 0;
        REQUIRE(!pthread_create(&thread, NULL, destroy_soon, w.handle));
        while (!status) status = multiply(&w);
        print_status("destroyed meanwhile", status);
        pthread_join(thread, NULL);
        REQUIRE(!cublasCreate(&w.handle));
        multiply_right(&w);
    }
}

void use_a_destroyed_stream(void)
{
    cudaStream_t stream;
    const work w = first_product();
    REQUIRE(!cudaStreamCreate(&stream) && !cublasSetStream(w.handle, stream));
    multiply_right(&w);
    REQUIRE(!cudaStreamDestroy(stream));
    print_status("dead stream", multiply(&w));
}

static double beta; /* of all products with wrong operands */

static int multiply_64(const work *w, int64_t m, int64_t n, int64_t k, const double *alpha,
                       const double *a, const double *b, double *c)
{
    return (int)cublasDgemm_64(w->handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha, a, m, b,
                               k ? k : 1, &beta, c, m);
}

static void multiply_wrong_operands(const work *of)
{
    const work w = *of;
    static double host[N * N];
    const double one = 1, *const alpha = &one;
    const int64_t most = INT32_MAX;
    print_status("host A", multiply_64(&w, N, N, N, alpha, host, w.b, w.c));
    print_status("host B", multiply_64(&w, N, N, N, alpha, w.a, host, w.c));
    print_status("host C", multiply_64(&w, N, N, N, alpha, w.a, w.b, host));
    print_status("A too short", multiply_64(&w, N, N, N, alpha, w.a + 1, w.b, w.c));
    print_status("B too short", multiply_64(&w, N, N, N, alpha, w.a, w.b + 1, w.c));
    print_status("C too short", multiply_64(&w, N, N, N, alpha, w.a, w.b, w.c + 1));
    print_status("m", multiply_64(&w, most, 1, 1, alpha, w.a, w.b, w.c));
    print_status("n", multiply_64(&w, 1, most, 1, alpha, w.a, w.b, w.c));
    print_status("k", multiply_64(&w, 1, 1, most, alpha, w.a, w.b, w.c));
    print_status("m and n", multiply_64(&w, most, most, 1, alpha, w.a, w.b, w.c));
    print_status("m, n and k", multiply_64(&w, most, most, most, alpha, w.a, w.b, w.c));
    print_status("m = 2^31 - 64", multiply_64(&w, most - 63, 2, 2, alpha, w.a, w.b, w.c));
    print_status("m = 2^31", multiply_64(&w, most + 1, 1, 1, alpha, w.a, w.b, w.c));
    print_status("m = 2^40", multiply_64(&w, INT64_C(1) << 40, 1, 1, alpha, w.a, w.b, w.c));
    print_status("n = 2^40", multiply_64(&w, 1, INT64_C(1) << 40, 1, alpha, w.a, w.b, w.c));
    print_status("k = 2^40", multiply_64(&w, 1, 1, INT64_C(1) << 40, alpha, w.a, w.b, w.c));
    print_status("m = 2^62",
                 multiply_64(&w, INT64_C(1) << 62, INT64_C(1) << 62, 1, alpha, w.a, w.b, w.c));
    REQUIRE(!cublasSetPointerMode(w.handle, CUBLAS_POINTER_MODE_DEVICE));
    print_status("host alpha", multiply_64(&w, N, N, N, alpha, w.a, w.b, w.c));
    REQUIRE(!cublasSetPointerMode(w.handle, CUBLAS_POINTER_MODE_HOST));
    multiply_right(&w);
}

/* C is read where beta is not 0. */
void use_wrong_operands(void)
{
    const work w = first_product();
    for (beta = 0.0; beta < 2.0; beta++) multiply_wrong_operands(&w);
}

/* One pointer of an array of a batch is NULL, or is not device memory. */
void use_a_bad_batch(void)
{
    enum { MEMBERS = 3 };
    const work w = first_product();
    static double host[N * N];
    double *bad[] = {NULL, host}, **array[3];
    const double one = 1;
    for (int i = 0; i < 3; i++)
        REQUIRE(!cudaMalloc((void **)&array[i], sizeof(double *) * MEMBERS));
    for (int operand = 0; operand < 3; operand++)
        for (int i = 0; i < 2; i++) {
            double *good[] = {w.a, w.b, w.c};
            for (int o = 0; o < 3; o++) {
                double *list[MEMBERS] = {good[o], good[o], good[o]};
                if (o == operand) list[1] = bad[i];
                REQUIRE(!cudaMemcpy(array[o], list, sizeof list, cudaMemcpyHostToDevice));
            }
            print_status("batch", (int)cublasDgemmBatched(w.handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N,
                                                          N, &one, (const double *const *)array[0],
                                                          N, (const double *const *)array[1], N,
                                                          &one, array[2], N, MEMBERS));
        }
    multiply_right(&w);
}

enum { MATRICES = 5 };

static void factor(const work *w, double *const *stack, const char *name, int *pivots, int *info)
{
    print_status(name, (int)cublasDgetrfBatched(w->handle, N, stack, N, pivots, info, MATRICES));
}

/* Pivots and info of a batch of factorisations on the host, or beyond their allocation. */
void use_wrong_pivots(void)
{
    const work w = first_product();
    static int on_host[N * MATRICES];
    double **stack = NULL, *members[MATRICES];
    int *pivots = NULL, *info = NULL;
    REQUIRE(!cudaMalloc((void **)&stack, sizeof members) &&
            !cudaMalloc((void **)&pivots, sizeof on_host) &&
            !cudaMalloc((void **)&info, sizeof *info * MATRICES));
    for (int i = 0; i < MATRICES; i++) {
        REQUIRE(!cudaMalloc((void **)&members[i], BYTES));
        REQUIRE(!cudaMemcpy(members[i], w.a, BYTES, cudaMemcpyDeviceToDevice));
    }
    REQUIRE(!cudaMemcpy(stack, members, sizeof members, cudaMemcpyHostToDevice));
    factor(&w, stack, "host pivots", on_host, info);
    factor(&w, stack, "host info", pivots, on_host);
    factor(&w, stack, "pivots too short", pivots + 1, info);
    factor(&w, stack, "info too short", pivots, info + 1);
    factor(&w, stack, "pivots and info", pivots, info);
    multiply_right(&w);
}
