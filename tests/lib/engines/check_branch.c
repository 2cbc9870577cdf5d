/* check_branch.c - cuBLAS's own product where data leave all of C to binary64, as mode auto asks
 * for it: on the host device its bits, on a GPU its accuracy; in parts, streams and threads; and
 * Tandem's own sums where cuBLAS's product does not serve. */
#include "tests/support/test.h"

#include <math.h>
#include <pthread.h>

#include "branch_case.h"
#include "tests/kernels/support/device.h"
#include "tests/support/bits.h"

static test_matrix by_fp64(const product *of)
{
    const mode m = {.name = "fp64", .is_binary64 = true};
    problem p = problem_make(of);
    test_matrix c = checked_compute(&m, &p);
    problem_free(&p);
    return c;
}

/* First what must not branch: a product that cuBLAS refused would leave none to the tests behind
 * it. */

/* Addresses of B and C in device memory, as batched calls of one member have them: of a complex
 * one A is unfolded, and its address is known. */
TEST(addresses_on_the_device)
{
    const product of = with_zeros(4);
    placed x = place_problem(&of);
    void **addresses;
    addresses = device_copy((void *[]){x.call.b.data, x.call.c.data}, 2 * sizeof(void *));
    x.call.b = (td_matrix){.array = addresses, .ld = x.call.b.ld};
    x.call.c = (td_matrix){.array = addresses + 1, .ld = x.call.c.ld};
    test_matrix c = run_whole(&x, free_native, 0);
    expect_equal(&of, &c, by_fp64(&of), "fp64");
    matrix_free(&c);
    CHECK_CUDA(cudaFree((void *)addresses));
    free_placed(&x);
}

/* Scalars in device memory, which the handle's own mode does not read. */
TEST(scalars_on_the_device)
{
    const product of = with_zeros(4);
    placed x = place_problem(&of);
    double *scalars;
    scalars = device_copy((double[]){of.alpha, of.beta}, 2 * sizeof(double));
    x.call.alpha.device = scalars;
    x.call.beta.device = scalars + 1;
    test_matrix c = run_whole(&x, free_native, 0);
    expect_equal(&of, &c, by_fp64(&of), "fp64");
    matrix_free(&c);
    CHECK_CUDA(cudaFree(scalars));
    free_placed(&x);
}

/* Only a triangle's elements are written, which cuBLAS's product would not know. */
TEST(triangles_are_ours)
{
    const product of = product_varied("zeros", 192, 192, 200, 5);
    placed x = place_problem(&of);
    test_matrix whole = by_fp64(&of);
    x.call.region = TD_REGION_LOWER;
    test_matrix c = run_whole(&x, free_native, 0);
    for (int64_t j = 0; j < of.n; j++)
        for (int64_t i = 0; i < of.m; i++) {
            const uint64_t want = bits_of(*matrix_at(i >= j ? &whole : &x.p.c, i, j));
            CHECK(bits_of(*matrix_at(&c, i, j)) == want, "C(%d, %d): %s", (int)i, (int)j,
                  product_text(&of));
        }
    matrix_free(&whole, &c);
    free_placed(&x);
}

/* A captured product has no branch, so that its graph is as others are: it can be cloned. */
TEST(captured_sums_are_ours)
{
    const product of = with_zeros(2);
    placed x = place_problem(&of);
    cudaGraph_t graph = NULL, clone = NULL;
    cudaGraphExec_t executable = NULL;
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    x.call.stream = stream;
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(run_priced(&x.call, free_native, 0, NULL) == TD_RUN_DONE, "refused in a capture");
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphClone(&clone, graph));
    CHECK_CUDA(cudaGraphInstantiate(&executable, clone, 0));
    CHECK_CUDA(cudaGraphLaunch(executable, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    test_matrix c = checked_result(&x.p, x.c);
    expect_equal(&of, &c, by_fp64(&of), "fp64");
    matrix_free(&c);
    CHECK_CUDA(cudaGraphExecDestroy(executable));
    CHECK_CUDA(cudaGraphDestroy(clone));
    CHECK_CUDA(cudaGraphDestroy(graph));
    CHECK_CUDA(cudaStreamDestroy(stream));
    free_placed(&x);
}

/* The thread may capture another stream meanwhile, and another thread any: neither capture ends. */
TEST(captures_of_other_streams_go_on)
{
    static const enum cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal,
                                                       cudaStreamCaptureModeThreadLocal};
    for (int i = 0; i < 4; i++) {
        const product of = with_zeros(2);
        placed x = place_problem(&of);
        cudaGraph_t graph = NULL;
        cudaStream_t captured, stream;
        CHECK_CUDA(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking));
        CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        x.call.stream = stream;
        is_short = i >= 2;
        CHECK_CUDA(cudaStreamBeginCapture(captured, modes[i % 2]));
        CHECK(run_priced(&x.call, free_native, 0, NULL) == TD_RUN_DONE, "refused");
        CHECK_CUDA(cudaStreamEndCapture(captured, &graph));
        CHECK_CUDA(cudaGraphDestroy(graph));
        CHECK_CUDA(cudaStreamSynchronize(stream));
        test_matrix c = checked_result(&x.p, x.c);
        expect_sums(&of, &c);
        matrix_free(&c);
        CHECK_CUDA(cudaStreamDestroy(stream));
        CHECK_CUDA(cudaStreamDestroy(captured));
        free_placed(&x);
    }
    is_short = false;
}

/* A call of the program's own that cuBLAS refuses is left to the mode, and is nothing to the calls
 * that follow. */
TEST(a_refused_call_is_no_other_one)
{
    for (int i = 0; i < 4; i++) {
        const product of = with_zeros(2 * i);
        placed x = place_problem(&of);
        names_call = true;
        algorithm = 1;
        is_short = i >= 2;
        is_call_refused = i % 2 == 0;
        test_matrix c = run_whole(&x, free_native, 0);
        if (is_call_refused)
            expect_equal(&of, &c, by_fp64(&of), "fp64");
        else
            expect_native(&of, &c);
        matrix_free(&c);
        free_placed(&x);
    }
    names_call = is_short = is_call_refused = false;
    algorithm = 0;
}

TEST(all_is_native)
{
    for (int which = 0; which < (test_is_brief() ? 4 : 12); which++) {
        const product of = with_zeros(which);
        placed x = place_problem(&of);
        td_counters *counters, counted = {0};
        names_call = which % 2 == 1;
        is_short = which % 4 == 3;
        const unsigned times = is_short ? TIMES_MADE : 1;
        counters = device_copy(&counted, sizeof counted);
        for (unsigned i = 0; i < times; i++) {
            restore(&x);
            CHECK(run_priced(&x.call, free_native, 0, counters) == TD_RUN_DONE, "refused: %s",
                  product_text(&of));
        }
        test_matrix c = checked_result(&x.p, x.c);
        CHECK_CUDA(cudaMemcpy(&counted, counters, sizeof counted, cudaMemcpyDeviceToHost));
        CHECK(counted.planes == 0 &&
                  counted.repaired == times * (unsigned long long)(of.m * of.n) &&
                  counted.tiles == times * UINT64_C(6),
              "%d moduli, %d elements and %d tiles in binary64", (int)counted.planes,
              (int)counted.repaired, (int)counted.tiles);
        expect_native(&of, &c);
        matrix_free(&c);
        device_free((double *)(void *)counters);
        free_placed(&x);
    }
    names_call = is_short = false;
}

/* The branch is not entered where residues are the better way. */
TEST(nothing_is_native)
{
    static const char *const kinds[] = {"uniform", "both signs", "zeros"};
    for (int which = 0; which < 9; which += test_is_brief() ? 4 : 1) {
        const product of = product_varied(kinds[which % 3], 150, 70, 200, which);
        td_prices without = dear_native;
        without.native = 0;
        placed x = place_problem(&of), y = place_problem(&of);
        names_call = which >= 3;
        is_short = which >= 6;
        test_matrix c = run_whole(&x, dear_native, 0);
        names_call = is_short = false;
        expect_equal(&of, &c, run_whole(&y, without, 0), "a product without a branch");
        matrix_free(&c);
        free_placed(&x);
        free_placed(&y);
    }
}

/* In parts, one after the other in the other body: with the same bits, in less memory. */
TEST(parts_are_in_the_other_body)
{
    product of = product_varied("uniform", 1100, 200, 96, 1);
    of.beta = 0.5;
    placed x = place_problem(&of), y = place_problem(&of);
    names_call = is_short = true;
    test_matrix c = run_whole(&x, dear_native, (size_t)24 << 20);
    names_call = is_short = false;
    expect_equal(&of, &c, run_whole(&y, dear_native, 0), "one in one piece");
    matrix_free(&c);
    free_placed(&x);
    free_placed(&y);
}

/* Rows and columns in parts, each of which has a product of its own: in another order than our own
 * sums. */
TEST(parts_are_native)
{
    product of = product_varied("zeros", 1100, 200, 96, 1);
    of.beta = 0.5;
    placed x = place_problem(&of);
    test_matrix c = run_whole(&x, free_native, (size_t)8 << 20), ours = by_fp64(&of);
    expect_sums(&of, &c);
    CHECK(matrix_difference(&c, &ours) != -1, "C is that of fp64: %s", product_text(&of));
    matrix_free(&ours, &c);
    free_placed(&x);
}

/* Elements that are NaN or infinite natively are so here. */
TEST(special_values)
{
    const product of = with_zeros(3);
    placed x = place_problem(&of);
    *matrix_at(&x.p.a, 2, 5) = (double)NAN;
    *matrix_at(&x.p.b, 7, 3) = (double)INFINITY;
    device_free(x.a, x.b);
    x.a = device_upload(&x.p.a);
    x.b = device_upload(&x.p.b);
    x.call = checked_lowered(&x.p, x.a, x.b, x.c);
    const mode fp64 = {.name = "fp64", .is_binary64 = true};
    test_matrix c = run_whole(&x, free_native, 0), sums = checked_compute(&fp64, &x.p);
    for (int64_t j = 0; j < of.n; j++)
        for (int64_t i = 0; i < of.m; i++) {
            const double got = *matrix_at(&c, i, j), want = *matrix_at(&sums, i, j);
            CHECK(isfinite(got) == isfinite(want) && isnan(got) == isnan(want),
                  "C(%d, %d) is %g for %g", (int)i, (int)j, got, want);
        }
    matrix_free(&sums, &c);
    free_placed(&x);
}

/* More streams than have executables of their own, in turn; in a brief test few come again. */
TEST(streams_take_turns)
{
    enum { STREAMS = 11 };
    const int turns = test_is_brief() ? STREAMS + 3 : 2 * STREAMS;
    cudaStream_t stream[STREAMS];
    for (int s = 0; s < STREAMS; s++)
        CHECK_CUDA(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
    for (int s = 0; s < turns; s++) {
        const product of = with_zeros(s);
        placed x = place_problem(&of);
        x.call.stream = stream[s % STREAMS];
        names_call = is_short = s % 2 == 1;
        test_matrix c = run_whole(&x, free_native, 0);
        expect_native(&of, &c);
        matrix_free(&c);
        free_placed(&x);
    }
    names_call = is_short = false;
    for (int s = 0; s < STREAMS; s++) CHECK_CUDA(cudaStreamDestroy(stream[s]));
}

enum { THREADS = 4, PRODUCTS = 6 };

typedef struct {
    placed of[PRODUCTS];
    td_run_status status;
} worker;

/* In a stream of the thread's own, all products one after the other. */
static void *work(void *argument)
{
    worker *w = argument;
    cudaStream_t stream;
    w->status = TD_RUN_FAILED;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return NULL;
    for (int i = 0; i < PRODUCTS; i++) {
        w->of[i].call.stream = stream;
        w->status = run_priced(&w->of[i].call, free_native, 0, NULL);
        if (w->status != TD_RUN_DONE) return NULL;
    }
    (void)cudaStreamSynchronize(stream);
    (void)cudaStreamDestroy(stream);
    return NULL;
}

TEST(threads_do_not_matter)
{
    static worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < PRODUCTS; i++) {
            const product of = with_zeros(t * PRODUCTS + i);
            workers[t].of[i] = place_problem(&of);
        }
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int t = 0; t < THREADS; t++)
        CHECK(pthread_create(&threads[t], NULL, work, &workers[t]) == 0, "no thread");
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++) {
        CHECK(workers[t].status == TD_RUN_DONE, "thread %d ended with %d", t,
              (int)workers[t].status);
        for (int i = 0; i < PRODUCTS; i++) {
            placed *x = &workers[t].of[i];
            test_matrix c = checked_result(&x->p, x->c);
            expect_native(&x->p.of, &c);
            matrix_free(&c);
            free_placed(x);
        }
    }
}
