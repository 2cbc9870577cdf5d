/* client_adaptive.c - a program that repeats products of data that suit an emulated mode ("good")
 * and of data that it loses with ("bad"): exponents so far apart that no number of moduli does.
 *
 * usage: client_adaptive SCENARIO; scenarios are the functions of the table at the end. */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "require.h"

enum { N = 96, ELEMENTS = N * N, NUMBERS = 4 * ELEMENTS, MEMBERS = 2, ROUNDS = 100, THREADS = 4 };
#define ONE_PLACE static __attribute__((noinline)) void

static cublasHandle_t handle;
static cudaStream_t stream;
static double *good, *bad, *work, *c; /* work: what a scenario changes */

static double number(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)*seed / 4294967296.0 - 0.5;
}

static void fill(double *device, bool is_bad)
{
    static double host[NUMBERS];
    unsigned seed = 1;
    for (int i = 0; i < NUMBERS; i++) {
        const int exponent = is_bad ? (int)(number(&seed) * 400.0) : 0;
        host[i] = ldexp(number(&seed), exponent);
    }
    REQUIRE(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
}

static double *allocate(void)
{
    double *device = NULL;
    REQUIRE(cudaMalloc((void **)&device, NUMBERS * sizeof *device));
    return device;
}

static void begin(void)
{
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    REQUIRE(cublasCreate(&handle));
    REQUIRE(cublasSetStream(handle, stream));
    good = allocate();
    bad = allocate();
    work = allocate();
    c = allocate();
    fill(good, false);
    fill(bad, true);
}

/* ---- calls, each from one place ---- */

ONE_PLACE multiply(cublasHandle_t by, const double *x, double *to)
{
    const double alpha = 1.0, beta = 0.0;
    REQUIRE(cublasDgemm(by, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &alpha, x, N, x, N, &beta, to, N));
}

ONE_PLACE one_site(const double *x)
{
    multiply(handle, x, c);
    REQUIRE(cudaStreamSynchronize(stream));
}

ONE_PLACE other_site(const double *x)
{
    const double alpha = 1.0, beta = 0.0;
    REQUIRE(
        cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &alpha, x, N, x, N, &beta, c, N));
    REQUIRE(cudaStreamSynchronize(stream));
}

ONE_PLACE members(const double *x)
{
    const double alpha = 1.0, beta = 0.0;
    REQUIRE(cublasDgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &alpha, x, N,
                                      ELEMENTS, x, N, ELEMENTS, &beta, c, N, ELEMENTS, MEMBERS));
    REQUIRE(cudaStreamSynchronize(stream));
}

ONE_PLACE complex_numbers(const double *x)
{
    const cuDoubleComplex alpha = {1.0, 0.0}, beta = {0.0, 0.0};
    const cuDoubleComplex *z = (const cuDoubleComplex *)x;
    REQUIRE(cublasZgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &alpha, z, N, z, N, &beta,
                        (cuDoubleComplex *)c, N));
    REQUIRE(cudaStreamSynchronize(stream));
}

/* ---- scenarios ---- */

static void bad_then_good(void)
{
    for (int i = 0; i < ROUNDS; i++) one_site(bad);
    for (int i = 0; i < ROUNDS; i++) one_site(good);
}

static void good_then_bad(void)
{
    for (int i = 0; i < ROUNDS; i++) one_site(good);
    for (int i = 0; i < ROUNDS; i++) one_site(bad);
}

static void two_sites(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        one_site(bad);
        other_site(good);
    }
}

static void forms(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        members(bad);
        complex_numbers(bad);
    }
}

static void *repeat(void *unused)
{
    cublasHandle_t own;
    cudaStream_t its;
    double *to = allocate();
    (void)unused;
    REQUIRE(cudaStreamCreateWithFlags(&its, cudaStreamNonBlocking));
    REQUIRE(cublasCreate(&own));
    REQUIRE(cublasSetStream(own, its));
    for (int i = 0; i < ROUNDS; i++) {
        multiply(own, bad, to);
        REQUIRE(cudaStreamSynchronize(its));
    }
    REQUIRE(cublasDestroy(own));
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_create(&thread[i], NULL, repeat, NULL));
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_join(thread[i], NULL));
}

static cudaGraphExec_t capture(const double *x)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    multiply(handle, x, c);
    REQUIRE(cudaStreamEndCapture(stream, &graph));
    REQUIRE(cudaGraphInstantiate(&executable, graph, 0));
    REQUIRE(cudaGraphDestroy(graph));
    return executable;
}

static void replay(cudaGraphExec_t graph)
{
    REQUIRE(cudaGraphLaunch(graph, stream));
    REQUIRE(cudaStreamSynchronize(stream));
}

/* A graph keeps what was decided at its capture. What its launches meet counts for later calls:
 * good numbers, then bad ones, after which two calls stay native. */
static void replays(void)
{
    fill(work, false);
    cudaGraphExec_t graph = capture(work);
    for (int i = 0; i < 3; i++) replay(graph);
    multiply(handle, work, c);
    fill(work, true);
    replay(graph);
    for (int i = 0; i < 2; i++) multiply(handle, work, c);
    REQUIRE(cudaStreamSynchronize(stream));
    REQUIRE(cudaGraphExecDestroy(graph));
}

/* No graph has a trial: as many as are captured where one is due are native. */
static void captures(void)
{
    for (int i = 0; i < 3; i++) {
        multiply(handle, bad, c);
        REQUIRE(cudaStreamSynchronize(stream));
    }
    for (int i = 0; i < 5; i++) REQUIRE(cudaGraphExecDestroy(capture(bad)));
    multiply(handle, bad, c);
    REQUIRE(cudaStreamSynchronize(stream));
}

/* A context takes what was known of its sites along. */
static void resets(void)
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) one_site(bad);
        REQUIRE(cublasDestroy(handle));
        REQUIRE(cudaDeviceReset());
        begin();
    }
}

/* A device knows nothing of the other's calls. */
static void devices(void)
{
    for (int i = 0; i < 2; i++) {
        REQUIRE(cudaSetDevice(i));
        begin();
        one_site(bad);
    }
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = {
        {"bad_then_good", bad_then_good},
        {"good_then_bad", good_then_bad},
        {"two_sites", two_sites},
        {"forms", forms},
        {"threads", threads},
        {"replays", replays},
        {"captures", captures},
        {"resets", resets},
        {"devices", devices},
    };
    begin();
    for (size_t i = 0; count == 2 && i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(arguments[1], scenarios[i].name) == 0) {
            scenarios[i].run();
            REQUIRE(cudaDeviceSynchronize());
            return 0;
        }
    fprintf(stderr, "usage: client_adaptive SCENARIO\n");
    return 2;
}
