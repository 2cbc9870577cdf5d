/* check_cublas.c - products of panels by cuBLAS against plain loops, exactly: with padding and
 * strides, in several threads. */
#include "tests/support/test.h"

#include <pthread.h>

#include <cublas_api.h>

#include "lib/engines/ozaki/cublas.h"
#include "tests/kernels/support/device.h"
#include "panels.h"

/* One product on a stream; for any thread. */
static bool is_right(const panels_case *p, uint64_t seed, size_t workspace_bytes,
                     cudaStream_t stream)
{
    panels_data d = panels_make(p, seed);
    const td_panels panels = panels_of(p, &d, workspace_bytes);
    bool right = td_cublas_multiply(td_device_current(), &panels, stream) &&
                 cudaStreamSynchronize(stream) == cudaSuccess;
    panels_multiply(p, &d, 1);
    right = right && panels_difference(p, &d) == -1;
    panels_free(&d);
    return right;
}

TEST(products_are_exact)
{
    static const size_t workspaces[] = {TD_CUBLAS_WORKSPACE, TD_CUBLAS_LEAST_WORKSPACE};
    for (int i = 0; i < PANELS_CASES; i++)
        for (size_t w = 0; w < sizeof workspaces / sizeof *workspaces; w++)
            CHECK(is_right(&panels_cases[i], (uint64_t)i, workspaces[w], NULL), "%s",
                  panels_text(&panels_cases[i]));
    device_check_clean("cuBLAS");
}

TEST(an_empty_product_is_no_error)
{
    const td_panels panels = {
        .type = TD_PANEL_INT8, .ld_a = 64, .ld_b = 64, .ld_c = 16, .batch = 1};
    CHECK(td_cublas_multiply(td_device_current(), &panels, NULL), "nothing to do");
}

/* A refusal is no more than that: the next product is right, and no error is left. */
TEST(refusals_leave_nothing_behind)
{
    const td_panels panels = {
        .type = TD_PANEL_INT8, .m = 16, .n = 16, .k = 64, .planes = 1, .batch = 1};
    CHECK(!td_cublas_multiply(td_device_current(), &panels, NULL), "leading dimensions of 0");
    CHECK(is_right(&panels_cases[1], 1, TD_CUBLAS_WORKSPACE, NULL), "after a refusal");
    device_check_clean("a refusal");
}

/* Threads */

enum { THREADS = 4, ROUNDS = 3 };

typedef struct {
    int first, wrong; /* product that it starts with; number of wrong ones */
} worker;

static void *work(void *argument)
{
    worker *w = argument;
    cudaStream_t stream;
    w->wrong = 1;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return NULL;
    w->wrong = 0;
    for (int i = 0; i < ROUNDS * PANELS_CASES; i++)
        w->wrong += !is_right(&panels_cases[(w->first + i) % PANELS_CASES],
                              (uint64_t)(100 * w->first + i), TD_CUBLAS_WORKSPACE, stream);
    (void)cudaStreamDestroy(stream);
    return NULL;
}

TEST(threads_share_a_handle)
{
    pthread_t threads[THREADS];
    worker workers[THREADS];
    for (int t = 0; t < THREADS; t++) {
        workers[t].first = 2 * t;
        CHECK(pthread_create(&threads[t], NULL, work, &workers[t]) == 0, "no thread");
    }
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++)
        CHECK(workers[t].wrong == 0, "%d wrong products in thread %d", workers[t].wrong, t);
}

int main(void)
{
    int version = 0;
    device_require();
    td_device *device = td_device_current();
    if (!device) return 1;
    if (cublasGetProperty(MAJOR_VERSION, &version) == CUBLAS_STATUS_SUCCESS)
        test_note("cuBLAS %d", version);
    return test_run();
}
