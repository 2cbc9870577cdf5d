/* client_graph_branch.c - a program that captures one product into a graph and launches that with
 * two kinds of numbers.
 *
 * usage: client_graph_branch ORDER TERMS [SETTINGS]
 *
 * C has so many rows and columns. SETTINGS count where the call is made (tandem_push). Prints how
 * many conditional nodes the graph has, and for each kind what the graph's C is: cuBLAS's bits,
 * near them, or wrong. If TERMS is not ORDER the graph is not launched. */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "require.h"

typedef int push(const char *settings);

static size_t order, terms;
static cublasHandle_t handle;
static cudaStream_t stream;
static double *a, *b, *c;            /* on the device */
static double *host_a, *host_b;      /* of order x order */
static double *by_graph, *by_cublas; /* C */

static void enter(const char *settings)
{
    void *found = dlsym(RTLD_DEFAULT, "tandem_push");
    push *function;
    memcpy(&function, &found, sizeof function);
    REQUIRE(!found || function(settings));
}

static void leave(void)
{
    void *found = dlsym(RTLD_DEFAULT, "tandem_pop");
    int (*function)(void);
    memcpy(&function, &found, sizeof function);
    REQUIRE(!found || function());
}

static void multiply(void)
{
    const double alpha = 1.0, beta = 0.0;
    const int n = (int)order, k = (int)terms;
    REQUIRE(
        cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, k, &alpha, a, n, b, k, &beta, c, n));
}

/* From -1 to 1. */
static double draw(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)state * 0x1p-63;
}

/* Numbers of sizes over 2^-spread to 2^spread. Beyond the first TERMS terms A is 0, so that the
 * host device has little to multiply. */
static void fill(double spread)
{
    enum { TERMS = 64 };
    for (size_t i = 0; i < order * order; i++) {
        host_a[i] = i < TERMS * order ? ldexp(draw(), (int)(spread * draw())) : 0.0;
        host_b[i] = ldexp(draw(), (int)(spread * draw()));
    }
    const size_t bytes = order * order * sizeof *a;
    REQUIRE(cudaMemcpy(a, host_a, bytes, cudaMemcpyHostToDevice));
    REQUIRE(cudaMemcpy(b, host_b, bytes, cudaMemcpyHostToDevice));
    REQUIRE(cudaMemset(c, 0xff, bytes));
}

static void fetch(double *to)
{
    REQUIRE(cudaStreamSynchronize(stream));
    REQUIRE(cudaMemcpy(to, c, order * order * sizeof *c, cudaMemcpyDeviceToHost));
}

/* True if an element of C is a sum in FP64, in some order. */
static int is_near(size_t i, size_t j)
{
    const size_t at = i + j * order;
    double size = 0.0;
    for (size_t l = 0; l < order; l++) size += fabs(host_a[i + l * order] * host_b[l + j * order]);
    return fabs(by_graph[at] - by_cublas[at]) <= 8.0 * sqrt((double)order) * 0x1p-53 * size;
}

/* True of some five hundred elements. */
static int are_near(void)
{
    const size_t step = 1 + order / 22;
    for (size_t j = 0; j < order; j += step)
        for (size_t i = j / step % step; i < order; i += step)
            if (!is_near(i, j)) return 0;
    return 1;
}

static double *allocate(double **on_device)
{
    double *host = malloc(order * order * sizeof *host);
    REQUIRE(!host);
    if (on_device) REQUIRE(cudaMalloc((void **)on_device, order * order * sizeof *host));
    return host;
}

static void run(const char *kind, double spread, cudaGraphExec_t graph)
{
    fill(spread);
    enter("native");
    multiply();
    leave();
    fetch(by_cublas);
    REQUIRE(cudaMemset(c, 0xff, order * order * sizeof *c));
    REQUIRE(cudaGraphLaunch(graph, stream));
    fetch(by_graph);
    const int is_same = memcmp(by_graph, by_cublas, order * order * sizeof *c) == 0;
    printf("%s: %s\n", kind, is_same ? "cuBLAS's" : are_near() ? "near" : "wrong");
}

static int conditions(cudaGraph_t graph)
{
    cudaGraphNode_t nodes[256];
    size_t count = sizeof nodes / sizeof *nodes;
    int found = 0;
    REQUIRE(cudaGraphGetNodes(graph, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        enum cudaGraphNodeType type;
        REQUIRE(cudaGraphNodeGetType(nodes[i], &type));
        found += type == cudaGraphNodeTypeConditional;
    }
    return found;
}

int main(int count, char **arguments)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
    order = count > 2 ? strtoul(arguments[1], NULL, 10) : 0;
    terms = count > 2 ? strtoul(arguments[2], NULL, 10) : 0;
    REQUIRE(terms < 1 || order < terms || order > 20000);
    host_a = allocate(&a);
    host_b = allocate(&b);
    by_graph = allocate(&c);
    by_cublas = allocate(NULL);
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    REQUIRE(cublasCreate(&handle));
    REQUIRE(cublasSetStream(handle, stream));
    if (terms == order) {
        fill(0.0);
        multiply(); /* what is made once is made outside of the capture */
        REQUIRE(cudaStreamSynchronize(stream));
    }
    enter(count > 3 ? arguments[3] : "");
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    multiply();
    REQUIRE(cudaStreamEndCapture(stream, &graph));
    leave();
    printf("conditions: %d\n", conditions(graph));
    if (terms != order) return 0;
    REQUIRE(cudaGraphInstantiate(&executable, graph, 0));
    run("ordinary", 0.0, executable);
    run("wide", 300.0, executable);
    run("ordinary again", 0.0, executable);
    return 0;
}
