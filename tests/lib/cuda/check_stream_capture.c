/* check_stream_capture.c - a product captured into a graph, and run from it three times, gives the
 * same bits; so does one whose very first use of Tandem in the process is the capture. */
#include "tests/support/test.h"

#include "include/tandem.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/modes.h"
#include "tests/kernels/support/problem.h"

/* The mode that the tests are running for, the product, and what C is to be. */
static const mode *tested;
static problem p;
static test_matrix want;

static int replays(void) { return test_is_brief() ? 1 : 3; }

static const product of = {"both signs", TANDEM_OP_N, TANDEM_OP_T, 130,  70, 545, 1, 2, 3, 1,
                           1.5,          -0.5,        61,          false};

static int set_up(void **unused)
{
    (void)unused;
    p = problem_make(&of);
    want = matrix_copy(&p.c);
    const ref_gemm gemm = problem_gemm(&p, &want);
    ref_account account = mode_product(tested, &gemm);
    ref_account_free(&account);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    matrix_free(&want);
    problem_free(&p);
    return 0;
}

static cudaGraphExec_t capture(enum cudaStreamCaptureMode mode, double *const to[3],
                               cudaStream_t stream)
{
    CHECK_CUDA(cudaStreamBeginCapture(stream, mode));
    const tandem_status status =
        tandem_dgemm(tested->name, of.op_a, of.op_b, of.m, of.n, of.k, of.alpha,
                     device_data(&p.a, to[0]), p.a.ld, device_data(&p.b, to[1]), p.b.ld, of.beta,
                     device_data(&p.c, to[2]), p.c.ld, stream);
    cudaGraphExec_t executable = device_end_capture(stream);
    CHECK(status == TANDEM_OK, "capture mode %d: %s", (int)mode, tandem_last_message());
    return executable;
}

static void check_mode(enum cudaStreamCaptureMode mode)
{
    test_matrix got = matrix_copy(&p.c);
    double *to[3] = {device_upload(&p.a), device_upload(&p.b), device_upload(&p.c)};
    const size_t bytes = p.c.count * sizeof(double);
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaGraphExec_t executable = capture(mode, to, stream);
    CHECK_CUDA(cudaMemcpy(got.storage, to[2], bytes, cudaMemcpyDeviceToHost));
    CHECK(matrix_difference(&got, &p.c) == -1, "the capture itself has changed C");
    for (int i = 0; i < replays(); i++) {
        CHECK_CUDA(cudaMemcpyAsync(to[2], p.c.storage, bytes, cudaMemcpyHostToDevice, stream));
        CHECK_CUDA(cudaGraphLaunch(executable, stream));
        CHECK_CUDA(cudaStreamSynchronize(stream));
        device_download(&got, to[2]);
        CHECK(matrix_difference(&got, &want) == -1, "replay %d in capture mode %d: other bits", i,
              (int)mode);
        CHECK(matrix_damage(&got) == -1, "replay %d wrote outside C", i);
    }
    device_check_clean("a captured product");
    CHECK_CUDA(cudaGraphExecDestroy(executable));
    CHECK_CUDA(cudaStreamDestroy(stream));
    for (int i = 0; i < 3; i++) device_free(to[i]);
    matrix_free(&got);
}

/* First of all, so that what Tandem sets up for a device is set up while a stream is captured. */
TEST(first_use_in_a_capture) { check_mode(cudaStreamCaptureModeGlobal); }

/* More captures of one mode of each family alone. */
static bool has_more(void)
{
    return mode_stands_for_others(tested) || (test_takes_everything() && !test_is_brief());
}

TEST(thread_local_captures)
{
    if (!has_more()) skip();
    check_mode(cudaStreamCaptureModeThreadLocal);
    if (!test_is_brief()) check_mode(cudaStreamCaptureModeRelaxed);
}

TEST(repeated_captures)
{
    if (!has_more()) skip();
    for (int i = 0; i < replays(); i++) check_mode(cudaStreamCaptureModeGlobal);
}

int main(void)
{
    return mode_run_tests(&tested, (test_group){.set_up = set_up, .tear_down = tear_down});
}
