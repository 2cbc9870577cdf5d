/* captures.h - what tests of captures and of graphs share: two streams, memory, and how a capture
 * begins and ends. */
#ifndef CAPTURES_H
#define CAPTURES_H

#include "executor_kernels.h"
#include "expect.h"

enum { COUNT = 100 };

static cudaStream_t stream, other; /* not blocking */
static double *x, *y;              /* COUNT zeros in device memory, x[0] and y[0] of interest */

static inline int set_up(void **state)
{
    int failed = 0;

    (void)state;
    failed |= (int)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    failed |= (int)cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    failed |= (int)cudaMalloc((void **)&x, COUNT * sizeof *x);
    failed |= (int)cudaMalloc((void **)&y, COUNT * sizeof *y);
    failed |= (int)cudaMemset(x, 0, COUNT * sizeof *x);
    failed |= (int)cudaMemset(y, 0, COUNT * sizeof *y);
    failed |= (int)launch_update(1, 0, COUNT, x, stream); /* so that it is loaded */
    return failed;
}

static inline int tear_down(void **state)
{
    (void)state;
    return cudaStreamDestroy(stream) || cudaStreamDestroy(other) || cudaFree(x) || cudaFree(y) ||
           cudaGetLastError();
}

static inline void begin(enum cudaStreamCaptureMode mode)
{
    expect_success(cudaStreamBeginCapture(stream, mode));
}

static inline cudaGraph_t end(void)
{
    cudaGraph_t graph = NULL;

    expect_success(cudaStreamEndCapture(stream, &graph));
    assert_non_null(graph);
    return graph;
}

static inline void end_with(cudaError_t error)
{
    cudaGraph_t graph = (cudaGraph_t)&graph;

    expect_error(cudaStreamEndCapture(stream, &graph), error);
    assert_null(graph);
}

/* Launches the graph so many times and takes it apart. */
static inline void run(cudaGraph_t graph, int times)
{
    cudaGraphExec_t executable = NULL;

    expect_success(cudaGraphInstantiate(&executable, graph, 0));
    expect_success(cudaGraphDestroy(graph));
    for (int i = 0; i < times; i++) expect_success(cudaGraphLaunch(executable, stream));
    expect_success(cudaStreamSynchronize(stream));
    expect_success(cudaGraphExecDestroy(executable));
}

static inline size_t node_count(cudaGraph_t graph)
{
    size_t count = 0;

    expect_success(cudaGraphGetNodes(graph, NULL, &count));
    return count;
}

static inline void add_one(void *number) { ++*(int *)number; }

#endif
