/* check_capture.c - stream capture: what becomes of captured calls, and what CUDA forbids
 * meanwhile. Also run with HOSTGPU_SEED, where nodes that need not wait for each other change
 * places. */
#include <pthread.h>
#include <cublas_v2.h>

#include "captures.h"

static enum cudaStreamCaptureStatus status_of(cudaStream_t of)
{
    enum cudaStreamCaptureStatus status;

    expect_success(cudaStreamIsCapturing(of, &status));
    return status;
}

/* ---- what is captured ---- */

/* A node for each of the five calls, each after the one before. */
static void is_a_chain(cudaGraph_t graph)
{
    static const enum cudaGraphNodeType types[] = {cudaGraphNodeTypeMemset, cudaGraphNodeTypeMemcpy,
                                                   cudaGraphNodeTypeKernel, cudaGraphNodeTypeKernel,
                                                   cudaGraphNodeTypeMemcpy};
    cudaGraphNode_t nodes[8];
    size_t count = 8;

    expect_success(cudaGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++) {
        enum cudaGraphNodeType type;
        cudaGraphNode_t before = NULL;
        size_t needs = 1;

        expect_success(cudaGraphNodeGetType(nodes[i], &type));
        assert_int_equal(type, types[i]);
        expect_success(cudaGraphNodeGetDependencies(nodes[i], &before, NULL, &needs));
        assert_int_equal(needs, i > 0);
        if (i > 0) assert_ptr_equal(before, nodes[i - 1]);
    }
}

/* Parameters, scalars and descriptions are copied when the call is captured; memory is read when
 * the graph runs. */
TEST(test_every_call_becomes_a_node)
{
    double in[2] = {5, 7}, out = 0, alpha = 2, beta = 1;
    cublasHandle_t handle = NULL;

    assert_int_equal(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetStream(handle, stream), CUBLAS_STATUS_SUCCESS);
    begin(cudaStreamCaptureModeGlobal);
    assert_int_equal(status_of(stream), cudaStreamCaptureStatusActive);
    assert_int_equal(status_of(other), cudaStreamCaptureStatusNone);
    expect_success(cudaMemsetAsync(y, 0, 8, stream));
    expect_success(cudaMemcpyAsync(x, in, sizeof in, cudaMemcpyHostToDevice, stream));
    expect_success(launch_update(3, 1, 2, x, stream));
    assert_int_equal(
        cublasDgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, 2, &alpha, x, 2, x, 2, &beta, y, 1),
        CUBLAS_STATUS_SUCCESS);
    alpha = beta = 100;
    expect_success(cudaMemcpyAsync(&out, y, 8, cudaMemcpyDeviceToHost, stream));
    assert_true(x[0] == 0 && y[0] == 0 && out == 0);
    cudaGraph_t graph = end();
    assert_int_equal(status_of(stream), cudaStreamCaptureStatusNone);

    is_a_chain(graph);
    in[0] = 1;
    run(graph, 2);
    assert_true(x[0] == 4 && x[1] == 22 && out == 2 * (16 + 484));
    assert_int_equal(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
}

TEST(test_other_functions_of_cublas_refuse)
{
    const double two = 2;
    cublasHandle_t handle = NULL;
    capture c = start_capture();

    assert_int_equal(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetStream(handle, stream), CUBLAS_STATUS_SUCCESS);
    begin(cudaStreamCaptureModeGlobal);
    assert_int_equal(cublasDscal(handle, 1, &two, x, 1), CUBLAS_STATUS_NOT_SUPPORTED);
    free(end_capture(c));
    run(end(), 1);
    assert_int_equal(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
}

TEST(test_host_functions_and_graphs_are_captured)
{
    cudaGraphExec_t inner = NULL;
    int calls = 0;

    begin(cudaStreamCaptureModeGlobal);
    expect_success(cudaLaunchHostFunc(stream, add_one, &calls));
    cudaGraph_t graph = end();
    expect_success(cudaGraphInstantiate(&inner, graph, 0));
    expect_success(cudaGraphDestroy(graph));
    begin(cudaStreamCaptureModeGlobal);
    expect_success(cudaGraphLaunch(inner, stream));
    expect_success(cudaGraphLaunch(inner, stream));
    graph = end();
    expect_success(cudaGraphExecDestroy(inner));
    assert_int_equal(calls, 0);
    run(graph, 3);
    assert_int_equal(calls, 6);
}

/* ---- several streams ---- */

TEST(test_events_fork_and_join)
{
    cudaEvent_t fork = NULL, join = NULL;

    expect_success(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    expect_success(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    begin(cudaStreamCaptureModeGlobal);
    expect_success(launch_update(0, 3, 1, x, stream));
    expect_success(cudaEventRecord(fork, stream));
    expect_success(cudaStreamWaitEvent(other, fork, 0));
    assert_int_equal(status_of(other), cudaStreamCaptureStatusActive);
    expect_success(cudaMemcpyAsync(y, x, 8, cudaMemcpyDeviceToDevice, other)); /* after the 3 */
    expect_success(cudaEventRecord(join, other));
    expect_success(cudaStreamWaitEvent(stream, join, 0));
    expect_success(launch_update(10, 1, 1, x, stream)); /* after the copy */
    expect_error(cudaEventQuery(join), cudaErrorCapturedEvent);
    cudaGraph_t graph = end();
    assert_int_equal(status_of(other), cudaStreamCaptureStatusNone);
    run(graph, 1);
    assert_true(x[0] == 31 && y[0] == 3);
    expect_success(cudaEventRecord(join, stream)); /* an event like any other again */
    expect_success(cudaEventQuery(join));
    expect_success(cudaEventDestroy(fork));
    expect_success(cudaEventDestroy(join));
}

TEST(test_work_that_is_not_joined)
{
    cudaEvent_t fork = NULL;

    expect_success(cudaEventCreate(&fork));
    begin(cudaStreamCaptureModeGlobal);
    expect_success(cudaEventRecord(fork, stream));
    expect_success(cudaStreamWaitEvent(other, fork, 0));
    expect_success(cudaMemsetAsync(y, 0, 8, other));
    end_with(cudaErrorStreamCaptureUnjoined);
    assert_int_equal(status_of(other), cudaStreamCaptureStatusNone);
    expect_success(cudaEventDestroy(fork));
}

TEST(test_wrong_events)
{
    cudaEvent_t event = NULL;
    cudaGraph_t graph = NULL;

    expect_success(cudaEventCreate(&event));
    expect_success(cudaEventRecord(event, other));
    begin(cudaStreamCaptureModeGlobal);
    expect_error(cudaStreamWaitEvent(stream, event, 0), cudaErrorStreamCaptureIsolation);
    end_with(cudaErrorStreamCaptureInvalidated);

    begin(cudaStreamCaptureModeGlobal);
    expect_success(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal));
    expect_success(cudaEventRecord(event, other));
    expect_error(cudaStreamWaitEvent(stream, event, 0), cudaErrorStreamCaptureMerge);
    end_with(cudaErrorStreamCaptureInvalidated);
    expect_error(cudaStreamEndCapture(other, &graph), cudaErrorStreamCaptureInvalidated);
    expect_error(cudaStreamWaitEvent(stream, event, 0), cudaErrorCapturedEvent);
    expect_success(cudaEventDestroy(event));
}

TEST(test_dependencies_can_be_set)
{
    enum cudaStreamCaptureStatus status;
    unsigned long long id = 0;
    cudaGraph_t graph = NULL;
    const cudaGraphNode_t *needs = NULL;
    size_t count = 9;

    expect_success(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &needs, NULL, &count));
    assert_true(status == cudaStreamCaptureStatusNone && count == 0);
    begin(cudaStreamCaptureModeGlobal);
    expect_success(launch_update(0, 1, 1, x, stream));
    expect_success(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &needs, NULL, &count));
    assert_true(status == cudaStreamCaptureStatusActive && id != 0 && graph && count == 1);
    cudaGraphNode_t first = needs[0];
    expect_success(launch_update(0, 2, 1, y, stream));
    expect_success(cudaStreamUpdateCaptureDependencies(stream, &first, NULL, 1,
                                                       cudaStreamSetCaptureDependencies));
    expect_success(launch_update(2, 0, 1, x, stream));
    graph = end();
    count = 0;
    expect_success(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count));
    assert_int_equal(count, 2); /* from the first to each of the others */
    run(graph, 1);
    assert_true(x[0] == 2 && y[0] == 2);
}

/* ---- what is forbidden ---- */

TEST(test_unsafe_calls)
{
    enum { CALLS = 8 };
    cudaEvent_t event = NULL;
    void *memory = NULL;
    double host = 0;

    expect_success(cudaEventCreate(&event));
    for (int i = 0; i < CALLS; i++) {
        begin(cudaStreamCaptureModeGlobal);
        const cudaError_t error = i == 0   ? cudaMalloc(&memory, 8)
                                  : i == 1 ? cudaFree(x)
                                  : i == 2 ? cudaMallocHost(&memory, 8)
                                  : i == 3 ? cudaHostRegister(&host, 8, 0)
                                  : i == 4 ? cudaMemcpy(&host, x, 8, cudaMemcpyDeviceToHost)
                                  : i == 5 ? cudaEventQuery(event)
                                  : i == 6 ? cudaStreamSynchronize(other)
                                           : cudaDeviceSynchronize();
        assert_int_equal(error, cudaErrorStreamCaptureUnsupported);
        assert_int_equal(cudaGetLastError(), cudaErrorStreamCaptureUnsupported);
        assert_int_equal(status_of(stream), cudaStreamCaptureStatusInvalidated);
        expect_error(cudaMemsetAsync(y, 0, 8, stream), cudaErrorStreamCaptureInvalidated);
        end_with(cudaErrorStreamCaptureInvalidated);
    }
    expect_success(cudaEventDestroy(event));
}

TEST(test_waiting_is_never_allowed)
{
    begin(cudaStreamCaptureModeRelaxed);
    expect_error(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    end_with(cudaErrorStreamCaptureInvalidated);
    begin(cudaStreamCaptureModeRelaxed);
    expect_error(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    end_with(cudaErrorStreamCaptureInvalidated);
}

/* Allowed to a thread that says so, and in a capture that began so. */
TEST(test_relaxed)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    void *memory = NULL;

    begin(cudaStreamCaptureModeGlobal);
    expect_success(cudaThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, cudaStreamCaptureModeGlobal);
    expect_success(cudaMalloc(&memory, 8));
    expect_success(cudaStreamSynchronize(other));
    expect_success(cudaThreadExchangeStreamCaptureMode(&mode));
    run(end(), 1);
    begin(cudaStreamCaptureModeRelaxed);
    expect_success(cudaFree(memory));
    run(end(), 1);
}

/* Loading one is an unsafe call. */
TEST(test_a_kernel_must_be_loaded)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;

    begin(cudaStreamCaptureModeGlobal);
    expect_error(launch_other_update(0, 1, 1, x, stream), cudaErrorStreamCaptureUnsupported);
    end_with(cudaErrorStreamCaptureInvalidated);
    begin(cudaStreamCaptureModeGlobal);
    expect_success(cudaThreadExchangeStreamCaptureMode(&mode));
    expect_success(launch_other_update(0, 8, 1, x, stream));
    expect_success(cudaThreadExchangeStreamCaptureMode(&mode));
    run(end(), 1);
    assert_true(x[0] == 8);
}

static void *allocate_elsewhere(void *mode)
{
    void *memory = NULL;
    cudaError_t error = cudaThreadExchangeStreamCaptureMode(mode);

    if (!error) error = cudaMalloc(&memory, 8);
    if (!error) error = cudaFree(memory);
    return (void *)(uintptr_t)error;
}

static cudaError_t in_another_thread(enum cudaStreamCaptureMode mode)
{
    pthread_t thread;
    void *error = NULL;

    pthread_create(&thread, NULL, allocate_elsewhere, &mode);
    pthread_join(thread, &error);
    return (cudaError_t)(uintptr_t)error;
}

TEST(test_other_threads)
{
    begin(cudaStreamCaptureModeGlobal);
    assert_int_equal(in_another_thread(cudaStreamCaptureModeRelaxed), cudaSuccess);
    assert_int_equal(in_another_thread(cudaStreamCaptureModeThreadLocal), cudaSuccess);
    assert_int_equal(in_another_thread(cudaStreamCaptureModeGlobal),
                     cudaErrorStreamCaptureUnsupported);
    end_with(cudaErrorStreamCaptureInvalidated);
    begin(cudaStreamCaptureModeThreadLocal);
    assert_int_equal(in_another_thread(cudaStreamCaptureModeGlobal), cudaSuccess);
    run(end(), 1);
}

static void *end_elsewhere(void *unused)
{
    cudaGraph_t graph = NULL;

    (void)unused;
    return (void *)(uintptr_t)cudaStreamEndCapture(stream, &graph);
}

TEST(test_wrong_ends)
{
    cudaGraph_t graph = NULL;
    pthread_t thread;
    void *error = NULL;

    expect_error(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
    expect_error(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal),
                 cudaErrorStreamCaptureUnsupported);
    begin(cudaStreamCaptureModeGlobal);
    expect_error(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal),
                 cudaErrorIllegalState);
    pthread_create(&thread, NULL, end_elsewhere, NULL);
    pthread_join(thread, &error);
    assert_int_equal((cudaError_t)(uintptr_t)error, cudaErrorStreamCaptureWrongThread);
    run(end(), 1);
}

TEST(test_the_legacy_stream)
{
    enum cudaStreamCaptureStatus status;
    cudaStream_t blocking = NULL;
    cudaGraph_t graph = NULL;

    expect_success(cudaStreamCreate(&blocking));
    begin(cudaStreamCaptureModeGlobal); /* of a stream that it does not wait for */
    expect_success(cudaMemset(y, 0, 8));
    run(end(), 1);
    expect_success(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
    expect_error(cudaStreamIsCapturing(NULL, &status), cudaErrorStreamCaptureImplicit);
    assert_int_equal(status_of(blocking), cudaStreamCaptureStatusActive);
    expect_error(cudaMemset(y, 0, 8), cudaErrorStreamCaptureImplicit);
    expect_error(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
    expect_success(cudaStreamDestroy(blocking));
}

TEST(test_a_reset_ends_captures)
{
    begin(cudaStreamCaptureModeGlobal);
    expect_success(cudaDeviceReset());
    assert_int_equal(set_up(NULL), 0); /* allocates */
}

int main(void) { return test_run(.before = set_up, .after = tear_down); }
