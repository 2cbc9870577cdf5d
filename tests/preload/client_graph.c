/* client_graph.c - a program that captures cuBLAS's products into graphs, with and without a
 * workspace of its own for them. Prints a line for each: whether the graph's C has the bits of the
 * same call outside of it, and whether the workspace was written to. */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "require.h"

enum { M = 70, N = 35, K = 50, WORKSPACE_BYTES = 8 << 20, UNUSED = 0xa5 };

static cublasHandle_t handle;
static cudaStream_t stream, other;
static double *a, *b, *c;
static unsigned char *workspace;
static double eager[M * N], replayed[M * N];

static void multiply(void)
{
    const double alpha = 1.5, beta = 0.0;
    REQUIRE(
        cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &alpha, a, M, b, K, &beta, c, M));
}

static int is_written(void)
{
    static unsigned char copy[WORKSPACE_BYTES];
    int written = 0;
    REQUIRE(cudaMemcpy(copy, workspace, sizeof copy, cudaMemcpyDeviceToHost));
    for (int i = 0; i < WORKSPACE_BYTES; i++) written |= copy[i] != UNUSED;
    return written;
}

/* A graph, and a clone of it, of one product. */
static void run(const char *name)
{
    cudaGraph_t graph = NULL, clone = NULL;
    cudaGraphExec_t first = NULL, second = NULL;
    REQUIRE(cudaMemset(workspace, UNUSED, WORKSPACE_BYTES));
    REQUIRE(cudaMemset(c, 0, sizeof eager));
    REQUIRE(cudaDeviceSynchronize());
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    multiply();
    REQUIRE(cudaStreamEndCapture(stream, &graph));
    REQUIRE(cudaGraphClone(&clone, graph));
    REQUIRE(cudaGraphInstantiate(&first, graph, 0));
    REQUIRE(cudaGraphInstantiate(&second, clone, 0));
    REQUIRE(cudaGraphLaunch(first, stream));
    REQUIRE(cudaGraphLaunch(second, stream));
    REQUIRE(cudaStreamSynchronize(stream));
    REQUIRE(cudaMemcpy(replayed, c, sizeof replayed, cudaMemcpyDeviceToHost));
    printf("%s ; %s ; %s\n", name,
           memcmp(replayed, eager, sizeof eager) ? "other bits" : "same bits",
           is_written() ? "written" : "unwritten");
    REQUIRE(cudaGraphExecDestroy(first));
    REQUIRE(cudaGraphExecDestroy(second));
    REQUIRE(cudaGraphDestroy(graph));
    REQUIRE(cudaGraphDestroy(clone));
}

static double *upload(int count, unsigned seed)
{
    double host[K * M], *device = NULL;
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        host[i] = (double)seed / 4294967296.0 - 0.5;
    }
    REQUIRE(cudaMalloc((void **)&device, (size_t)count * sizeof *device));
    REQUIRE(cudaMemcpy(device, host, (size_t)count * sizeof *device, cudaMemcpyHostToDevice));
    return device;
}

int main(void)
{
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    REQUIRE(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    a = upload(M * K, 1);
    b = upload(K * N, 2);
    c = upload(M * N, 3);
    REQUIRE(cudaMalloc((void **)&workspace, WORKSPACE_BYTES));
    REQUIRE(cublasCreate(&handle));
    REQUIRE(cublasSetStream(handle, stream));
    multiply();
    REQUIRE(cudaStreamSynchronize(stream));
    REQUIRE(cudaMemcpy(eager, c, sizeof eager, cudaMemcpyDeviceToHost));

    run("no workspace");
    REQUIRE(cublasSetWorkspace(handle, workspace, WORKSPACE_BYTES));
    run("a workspace");
    REQUIRE(cublasSetStream(handle, stream)); /* the handle has its own again */
    run("the stream set again");
    REQUIRE(cublasSetWorkspace(handle, workspace, WORKSPACE_BYTES));
    REQUIRE(cublasSetStream(handle, other));
    REQUIRE(cublasSetStream(handle, stream));
    run("another stream between");
    REQUIRE(cublasSetWorkspace(handle, workspace, WORKSPACE_BYTES));
    REQUIRE(cublasDestroy(handle));
    REQUIRE(cublasCreate(&handle));
    REQUIRE(cublasSetStream(handle, stream));
    run("another handle");
    return 0;
}
