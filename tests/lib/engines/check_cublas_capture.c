/* check_cublas_capture.c - products of panels by cuBLAS, captured into graphs; the first use of
 * cuBLAS in the process is in a capture, and so is that of every kernel. */
#include "tests/support/test.h"

#include "lib/engines/ozaki/cublas.h"
#include "tests/kernels/support/device.h"
#include "panels.h"

static void check_graph(const panels_case *p, unsigned stream_flags)
{
    enum { REPLAYS = 3 };
    panels_data d = panels_make(p, 77);
    const td_panels panels = panels_of(p, &d, TD_CUBLAS_WORKSPACE);
    cudaStream_t stream;
    td_device *device = td_device_current();
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, stream_flags));
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    const bool enqueued = td_cublas_multiply(device, &panels, stream);
    cudaGraphExec_t executable = device_end_capture(stream);
    CHECK(enqueued, "not captured: %s", panels_text(p));
    CHECK(panels_difference(p, &d) == -1, "the capture itself has changed C: %s", panels_text(p));
    for (int i = 0; i < REPLAYS; i++) CHECK_CUDA(cudaGraphLaunch(executable, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    panels_multiply(p, &d, REPLAYS);
    CHECK(panels_difference(p, &d) == -1, "replayed: %s", panels_text(p));
    CHECK_CUDA(cudaGraphExecDestroy(executable));
    CHECK_CUDA(cudaStreamDestroy(stream));
    panels_free(&d);
}

/* A handle is not made while a stream is captured that the legacy stream waits for. */
TEST(no_handle_ends_a_capture)
{
    const panels_case *p = &panels_cases[0];
    panels_data d = panels_make(p, 77);
    const td_panels panels = panels_of(p, &d, TD_CUBLAS_WORKSPACE);
    cudaStream_t stream;
    td_device *device = td_device_current();
    CHECK_CUDA(cudaStreamCreate(&stream));
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    const bool enqueued = td_cublas_multiply(device, &panels, stream);
    CHECK_CUDA(cudaGraphExecDestroy(device_end_capture(stream)));
    CHECK(!enqueued, "a handle was made: %s", panels_text(p));
    CHECK(panels_difference(p, &d) == -1, "C was written: %s", panels_text(p));
    CHECK_CUDA(cudaStreamDestroy(stream));
    panels_free(&d);
    device_check_clean("a capture");
}

TEST(products_can_be_captured)
{
    for (int i = 0; i < PANELS_CASES; i++) {
        check_graph(&panels_cases[i], cudaStreamNonBlocking);
        check_graph(&panels_cases[i], cudaStreamDefault);
    }
    device_check_clean("captured products");
}

int main(void)
{
    device_require();
    if (!td_device_current()) return 1;
    return test_run();
}
