/* check_cublas.c - products of panels, by cuBLAS and by our own int8 kernel, against plain loops, exactly: with padding
 * and strides, in several threads, with choices. */
#include "../support/test.h"

#include <pthread.h>

#include <cublas_api.h>

#include "../../kernels/int8/panels.h"
#include "../../lib/engines/cublas.h"
#include "device.h"
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

static void products_are_exact(void **unused)
{
    (void)unused;
    static const size_t workspaces[] = {TD_CUBLAS_WORKSPACE, TD_CUBLAS_LEAST_WORKSPACE};
    for (int i = 0; i < PANELS_CASES; i++)
        for (size_t w = 0; w < sizeof workspaces / sizeof *workspaces; w++)
            CHECK(is_right(&panels_cases[i], (uint64_t)i, workspaces[w], NULL), "%s",
                  panels_text(&panels_cases[i]));
    device_check_clean("cuBLAS");
}

static void an_empty_product_is_no_error(void **unused)
{
    (void)unused;
    const td_panels panels = {.type = TD_PANEL_INT8, .ld_a = 64, .ld_b = 64, .ld_c = 16};
    CHECK(td_cublas_multiply(td_device_current(), &panels, NULL), "nothing to do");
}

/* A refusal is no more than that: the next product is right, and no error is left. */
static void refusals_leave_nothing_behind(void **unused)
{
    (void)unused;
    const td_panels panels = {.type = TD_PANEL_INT8, .m = 16, .n = 16, .k = 64, .count = 1};
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

static void threads_share_a_handle(void **unused)
{
    (void)unused;
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

/* Our own int8 products: `count` of a product is planes times members here. */

enum { MOST_MEMBERS = 4 };

typedef struct {
    panels_case of;
    int planes, plane_first;
    int wanted[MOST_MEMBERS]; /* what the choice of each member says; none: no choice */
} planes_case;

/* Sizes that large tiles suit on any device, and that leave some of them, or most, empty. */
static const planes_case planes_cases[] = {
    {{TD_PANEL_INT8, 16, 16, 64, 0, 0, 0, 1, false, false}, 1, 0, {0}},
    {{TD_PANEL_INT8, 80, 48, 128, 64, 16, 16, 6, true, false}, 3, 14, {15, 17}},
    {{TD_PANEL_INT8, 208, 16, 192, 0, 0, 0, 8, false, false}, 2, 14, {14, 15, 16, 20}},
    {{TD_PANEL_INT8, 64, 64, 1024, 0, 0, 32, 4, false, true}, 4, 0, {3}},
    {{TD_PANEL_INT8, 112, 240, 320, 16, 16, 16, 4, true, false}, 2, 5, {6, 7}},
    {{TD_PANEL_INT8, 240, 496, 64, 0, 64, 0, 2, false, false}, 1, 0, {1, 0}},
    {{TD_PANEL_INT8, 1008, 1008, 256, 0, 0, 16, 5, true, false}, 5, 14, {18}},
    {{TD_PANEL_INT8, 2160, 720, 128, 0, 0, 0, 6, false, false}, 3, 0, {0}},
};
enum { PLANES_CASES = sizeof planes_cases / sizeof *planes_cases };

/* Matrix p + planes * z is plane p of member z. */
static bool is_wanted(const planes_case *of, int matrix)
{
    const int plane = matrix % of->planes, member = matrix / of->planes;
    return !of->wanted[0] || of->plane_first + plane < of->wanted[member];
}

static void multiply_wanted_plainly(const planes_case *of, const panels_data *d)
{
    const panels_case *p = &of->of;
    panels_case single = *p;
    single.count = 1;
    for (int z = 0; z < p->count; z++) {
        if (!is_wanted(of, z)) continue;
        const panels_data matrix = {.a = d->a + (p->a_is_shared ? 0 : z * panels_stride_a(p)),
                                    .b = d->b + z * panels_stride_b(p),
                                    .c = d->c + z * panels_stride_c(p)};
        panels_multiply(&single, &matrix, 1);
    }
}

static td_int8_multiply multiply_of(const planes_case *of, const panels_data *d,
                                    const td_choice *choice)
{
    const td_panels panels = panels_of(&of->of, d, 0);
    return (td_int8_multiply){
        .a = panels.a,
        .b = panels.b,
        .c = panels.c,
        .m = panels.m,
        .n = panels.n,
        .k = panels.k,
        .ld_a = panels.ld_a,
        .ld_b = panels.ld_b,
        .ld_c = panels.ld_c,
        .stride_a = panels.stride_a,
        .stride_b = panels.stride_b,
        .stride_c = panels.stride_c,
        .batch_a = panels.stride_a * of->planes,
        .batch_b = panels.stride_b * of->planes,
        .batch_c = panels.stride_c * of->planes,
        .planes = of->planes,
        .batch = of->of.count / of->planes,
        .accumulate = panels.accumulate,
        .choice = choice,
        .plane_first = of->plane_first,
    };
}

static void planes_are_those_chosen(void **unused)
{
    (void)unused;
    td_choice *choice = NULL;
    CHECK_CUDA(cudaMalloc((void **)&choice, MOST_MEMBERS * sizeof *choice));
    CHECK_CUDA(td_int8_multiply_prepare());
    for (int i = 0; i < PLANES_CASES; i++) {
        const planes_case *of = &planes_cases[i];
        td_choice chosen[MOST_MEMBERS] = {{0}};
        panels_data d = panels_make(&of->of, 1000 + (uint64_t)i);
        for (int z = 0; z < MOST_MEMBERS; z++) chosen[z].parameter = of->wanted[z];
        CHECK_CUDA(cudaMemcpy(choice, chosen, sizeof chosen, cudaMemcpyHostToDevice));
        const td_int8_multiply multiply = multiply_of(of, &d, of->wanted[0] ? choice : NULL);
        CHECK_CUDA(td_int8_multiply_run(&multiply, NULL));
        device_check_clean("int8 products");
        multiply_wanted_plainly(of, &d);
        const int64_t at = panels_difference(&of->of, &d);
        CHECK(at == -1, "element %lld of C's storage: %s", (long long)at, panels_text(&of->of));
        panels_free(&d);
    }
    device_free(choice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_exact),
        cmocka_unit_test(an_empty_product_is_no_error),
        cmocka_unit_test(refusals_leave_nothing_behind),
        cmocka_unit_test(threads_share_a_handle),
        cmocka_unit_test(planes_are_those_chosen),
    };
    int version = 0;
    device_require();
    td_device *device = td_device_current();
    if (!device) return 1;
    if (cublasGetProperty(MAJOR_VERSION, &version) == CUBLAS_STATUS_SUCCESS)
        test_note("cuBLAS %d", version);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
