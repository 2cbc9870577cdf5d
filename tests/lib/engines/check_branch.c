/* check_branch.c - cuBLAS's own product where data leave all of C to binary64, as mode auto asks
 * for it: on the host device its bits, on a GPU its accuracy; in parts, streams and threads; and
 * Tandem's own sums where cuBLAS's product does not serve. */
#include "tests/support/test.h"

#include <math.h>
#include <pthread.h>

#include "lib/engines/engine.h"
#include "lib/cuda/device.h"
#include "lib/engines/ozaki/branch.h"
#include "lib/engines/ozaki/cublas.h"
#include "tests/support/bits.h"
#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"

/* ---- running ---- */

/* A product whose matrices are in device memory. */
typedef struct {
    problem p;
    double *a, *b, *c;
    td_product call;
} placed;

static placed place_problem(const product *of)
{
    placed x = {.p = problem_make(of)};
    x.a = device_upload(&x.p.a);
    x.b = device_upload(&x.p.b);
    x.c = device_upload(&x.p.c);
    x.call = checked_lowered(&x.p, x.a, x.b, x.c);
    return x;
}

static void free_placed(placed *x)
{
    device_free(x->a);
    device_free(x->b);
    device_free(x->c);
    problem_free(&x->p);
}

/* True if the engine is told which call of cuBLAS would make C: the probe may leave C to it. And if
 * that call takes so short a time that the mode may stand in the other body of the condition. */
static bool names_call, is_short;

/* A call that the device waits for is described when it is made again, and then launched again. */
enum { TIMES_MADE = 4 };

/* What the program says that its own call depends on, which then makes C; 0: it has none. */
static uint64_t algorithm;

/* A td_problem.enqueue; of a problem without one. */
static bool enqueue_call(const void *call, cudaStream_t stream)
{
    static void *workspace;
    td_problem p = *(const td_problem *)call;
    if (!workspace) CHECK_CUDA(cudaMalloc(&workspace, TD_CUBLAS_WORKSPACE));
    p.stream = stream;
    return td_cublas_run(td_device_current(), &p, workspace, TD_CUBLAS_WORKSPACE);
}

static td_run_status run_priced(const td_product *call, td_prices prices, size_t limit,
                                td_counters *counters)
{
    td_parameter parameter;
    const td_engine *engine = td_engine_parse("ozaki2", &parameter);
    parameter.prices = prices;
    parameter.prices.has_late_branch = !is_short;
    const td_problem own = td_call_of_product(call);
    td_problem native = own;
    if (algorithm) {
        native.enqueue = enqueue_call;
        native.enqueued = &own;
        native.enqueued_by = &algorithm;
        native.enqueued_by_bytes = sizeof algorithm;
    }
    parameter.native = names_call ? &native : NULL;
    return td_engine_run(engine, call, parameter, td_device_current(),
                         limit ? limit : td_device_current()->workspace_bytes, counters);
}

static void copy_to_device(double *to, const test_matrix *from)
{
    CHECK_CUDA(cudaMemcpy(to, from->storage, from->count * sizeof(double), cudaMemcpyHostToDevice));
}

static void restore(const placed *x)
{
    CHECK_CUDA(cudaDeviceSynchronize());
    copy_to_device(x->c, &x->p.c);
    CHECK_CUDA(cudaDeviceSynchronize());
}

static test_matrix run_whole(const placed *x, td_prices prices, size_t limit)
{
    for (int i = 0; i < (is_short ? (int)TIMES_MADE : 1); i++) {
        restore(x);
        CHECK(run_priced(&x->call, prices, limit, NULL) == TD_RUN_DONE, "refused: %s",
              product_text(&x->p.of));
    }
    return checked_result(&x->p, x->c);
}

static test_matrix by_cublas(const product *of)
{
    placed x = place_problem(of);
    void *workspace;
    CHECK_CUDA(cudaMalloc(&workspace, TD_CUBLAS_WORKSPACE));
    CHECK(td_cublas_ready(td_device_current()), "no cuBLAS");
    const td_problem call = td_call_of_product(&x.call);
    CHECK(td_cublas_run(td_device_current(), &call, workspace, TD_CUBLAS_WORKSPACE), "refused: %s",
          product_text(of));
    test_matrix c = checked_result(&x.p, x.c);
    CHECK_CUDA(cudaFree(workspace));
    free_placed(&x);
    return c;
}

static test_matrix by_fp64(const product *of)
{
    const mode m = {.name = "fp64", .is_binary64 = true};
    problem p = problem_make(of);
    test_matrix c = checked_compute(&m, &p);
    problem_free(&p);
    return c;
}

static void expect_equal(const product *of, const test_matrix *got, test_matrix want,
                         const char *what)
{
    const int64_t at = matrix_difference(got, &want);
    CHECK(at == -1, "element %d of C is not that of %s: %s", (int)at, what, product_text(of));
    matrix_free(&want);
}

/* Every element is a sum in binary64, in any order. */
static void expect_sums(const product *of, const test_matrix *got)
{
    problem p = problem_make(of);
    checked_errors(&p, got, ((double)of->k + 2.5) * 0x1p-53);
    problem_free(&p);
}

static void expect_native(const product *of, const test_matrix *got)
{
    expect_sums(of, got);
    if (device_is_host()) expect_equal(of, got, by_cublas(of), "cuBLAS");
}

/* A product with zeros, whose lines do not tell what residues will do. */
static product with_zeros(int which) { return product_varied("zeros", 150, 70, 200, which); }

/* ---- tests ---- */

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
    matrix_free(&whole);
    matrix_free(&c);
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

/* True if memory that was given back is had again, mostly, as a graph needs that is launched again.
 * Under AddressSanitizer the host device's is not. */
static bool memory_comes_back(void)
{
    void *first, *second;
    CHECK_CUDA(cudaMallocFromPoolAsync(&first, 1 << 20, td_device_current()->pool, NULL));
    CHECK_CUDA(cudaFreeAsync(first, NULL));
    CHECK_CUDA(cudaMallocFromPoolAsync(&second, 1 << 20, td_device_current()->pool, NULL));
    CHECK_CUDA(cudaFreeAsync(second, NULL));
    CHECK_CUDA(cudaDeviceSynchronize());
    return first == second;
}

/* Makes a call until its graph is launched again, which the first time must not be. */
static void repeat(const placed *x, td_prices prices)
{
    enum { MOST = 50 }; /* the host device's memory may be elsewhere at times */
    const unsigned long before = td_branch_repeats(td_device_current());
    const bool may_repeat = memory_comes_back();
    unsigned long repeats = before;
    for (int i = 0; i < (may_repeat ? (int)MOST : (int)TIMES_MADE) && repeats == before; i++) {
        restore(x);
        CHECK(run_priced(&x->call, prices, 0, NULL) == TD_RUN_DONE, "refused: %s",
              product_text(&x->p.of));
        repeats = td_branch_repeats(td_device_current());
        CHECK(i > 0 || repeats == before, "a new call was repeated: %s", product_text(&x->p.of));
    }
    CHECK(!may_repeat || repeats == before + 1, "no call was repeated: %s", product_text(&x->p.of));
}

/* The graph of a call is launched again for the same call, and not for one with another scalar. */
TEST(graphs_are_launched_again)
{
    const product of = product_varied("uniform", 150, 70, 200, 2);
    placed x = place_problem(&of), y = place_problem(&of);
    for (int i = 0; i < 2; i++) {
        names_call = is_short = true;
        repeat(&x, dear_native);
        names_call = is_short = false;
        test_matrix c = checked_result(&x.p, x.c);
        restore(&y);
        expect_equal(&of, &c, run_whole(&y, dear_native, 0), "one with that scalar");
        matrix_free(&c);
        x.call.alpha.value.binary64 = y.call.alpha.value.binary64 = 2.0 * of.alpha;
    }
    free_placed(&x);
    free_placed(&y);
}

/* A mode by name, whose kernels no condition precedes. */
static const td_prices no_prices = {0};

/* Has the call of x multiply the numbers of y, which are as many. */
static void run_with_numbers_of(const placed *x, const placed *y)
{
    copy_to_device(x->a, &y->p.a);
    copy_to_device(x->b, &y->p.b);
    copy_to_device(x->c, &y->p.c);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(run_priced(&x->call, no_prices, 0, NULL) == TD_RUN_DONE, "refused: %s",
          product_text(&x->p.of));
}

/* Of small products of a mode by name all kernels are one graph when they have been made twice: its
 * bits are those of the first call, and numbers that have changed meanwhile are read anew. */
TEST(small_products_are_launched_again)
{
    static const char *const kinds[] = {"uniform", "wide 2", "zeros", "both signs"};
    for (int which = 0; which < 8; which += test_is_brief() ? 3 : 1) {
        const product of = product_varied(kinds[which % 4], 150, 70, 200, which),
                      other = product_varied(kinds[(which + 1) % 4], 150, 70, 200, which);
        placed x = place_problem(&of), y = place_problem(&other);
        test_matrix first = run_whole(&x, no_prices, 0);
        repeat(&x, no_prices);
        test_matrix again = checked_result(&x.p, x.c);
        expect_equal(&of, &again, first, "the first call");
        matrix_free(&again);
        run_with_numbers_of(&x, &y);
        test_matrix changed = checked_result(&y.p, x.c);
        expect_equal(&other, &changed, run_whole(&y, no_prices, 0), "a first call");
        matrix_free(&changed);
        free_placed(&x);
        free_placed(&y);
    }
}

/* Makes so many calls in turn, as often as has the graphs of few launched again; returns how many
 * were. */
static int repeats_of(const placed *x, int calls)
{
    enum { ROUNDS = 4 };
    const unsigned long before = td_branch_repeats(td_device_current());
    td_product call = x->call;
    for (int i = 0; i < ROUNDS * calls; i++) {
        call.alpha.value.binary64 = 1.0 + i % calls;
        CHECK(run_priced(&call, no_prices, 0, NULL) == TD_RUN_DONE, "refused: %s",
              product_text(&x->p.of));
    }
    CHECK_CUDA(cudaDeviceSynchronize());
    return (int)(td_branch_repeats(td_device_current()) - before);
}

/* Describing a graph is dearer than launching its kernels: it is for calls that come again soon. */
TEST(graphs_are_for_few_calls)
{
    enum { FEW = 8, MANY = 17, MOST = 20 };
    const product of = product_varied("uniform", 40, 30, 50, 2);
    placed x = place_problem(&of);
    const int many = repeats_of(&x, MANY);
    CHECK(many == 0, "%d of many calls were repeated", many);
    bool is_repeated = false; /* the host device's memory may be elsewhere at times */
    for (int i = 0; i < MOST && !is_repeated; i++)
        is_repeated = repeats_of(&x, FEW) > 0 || !memory_comes_back();
    CHECK(is_repeated, "none of few calls was repeated");
    free_placed(&x);
}

/* C = alpha A B and B = alpha A C in turn, whose magnitudes grow from each to the next; the host
 * waits for none. `tells_apart`: no call has the limit of another, so that none is repeated. */
static test_matrix run_chain(const placed *x, bool tells_apart)
{
    enum { ROUNDS = 12 };
    const size_t limit = td_device_current()->workspace_bytes;
    for (int i = 0; i < 2 * ROUNDS; i++) {
        td_product call = x->call;
        if (i % 2) call.b = x->call.c, call.c = x->call.b;
        CHECK(run_priced(&call, no_prices, limit - (tells_apart ? (size_t)i : 0), NULL) ==
                  TD_RUN_DONE,
              "refused: %s", product_text(&x->p.of));
    }
    CHECK_CUDA(cudaMemcpyAsync(x->c, x->b, x->p.b.count * sizeof(double), cudaMemcpyDeviceToDevice,
                               x->call.stream));
    return checked_result(&x->p, x->c);
}

/* Takes a chain's result. Where the host device's memory is elsewhere for each call, as it may be
 * while others have the processor, the chain is made anew. */
static void expect_repeated_chain(const product *of, test_matrix want)
{
    enum { MOST = 20 };
    const unsigned long before = td_branch_repeats(td_device_current());
    bool is_repeated = false;
    for (int i = 0; i < MOST && !is_repeated; i++) {
        placed x = place_problem(of);
        test_matrix chain = run_chain(&x, false);
        expect_equal(of, &chain, matrix_copy(&want), "calls that are not repeated");
        matrix_free(&chain);
        free_placed(&x);
        is_repeated = td_branch_repeats(td_device_current()) > before || !memory_comes_back();
    }
    CHECK(is_repeated, "no call was repeated: %s", product_text(of));
    matrix_free(&want);
}

/* A graph that is launched again reads what work before it in the stream has written, and work
 * behind it reads what it has written. Large orders are for a GPU, where work takes time: the chain
 * of order 500 takes nine tenths of the host device's time. */
TEST(graphs_are_in_the_order_of_the_stream)
{
    static const int orders[] = {24, 60, 128, 255, 500};
    const int most = test_takes_everything() ? 500 : test_is_brief() ? 60 : 255;
    for (int i = 0; i < 5 && orders[i] <= most; i++) {
        product of = product_plain("uniform", orders[i], orders[i], orders[i]);
        of.alpha = 0.75 + i;
        of.seed = (uint64_t)i;
        placed y = place_problem(&of);
        const unsigned long before = td_branch_repeats(td_device_current());
        test_matrix apart = run_chain(&y, true);
        CHECK(td_branch_repeats(td_device_current()) == before, "other calls were repeated: %s",
              product_text(&of));
        expect_repeated_chain(&of, apart);
        free_placed(&y);
    }
}

/* A call that the program makes by an algorithm of its own is another one by another algorithm. */
TEST(algorithms_tell_calls_apart)
{
    const product of = with_zeros(3);
    placed x = place_problem(&of);
    names_call = is_short = true;
    for (algorithm = 1; algorithm <= 2; algorithm++) {
        repeat(&x, free_native);
        test_matrix c = checked_result(&x.p, x.c);
        expect_native(&of, &c);
        matrix_free(&c);
    }
    algorithm = 0;
    names_call = is_short = false;
    free_placed(&x);
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
    matrix_free(&ours);
    matrix_free(&c);
    free_placed(&x);
}

/* Elements that are NaN or infinite natively are so here. */
TEST(special_values)
{
    const product of = with_zeros(3);
    placed x = place_problem(&of);
    *matrix_at(&x.p.a, 2, 5) = (double)NAN;
    *matrix_at(&x.p.b, 7, 3) = (double)INFINITY;
    device_free(x.a);
    device_free(x.b);
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
    matrix_free(&sums);
    matrix_free(&c);
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
