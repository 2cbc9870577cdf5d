#include "branch_case.h"

#include "lib/engines/engine.h"
#include "lib/engines/ozaki/cublas.h"
#include "tests/kernels/support/device.h"
#include "tests/support/test.h"

bool names_call, is_short, branches_in_graph, is_call_refused;
uint64_t algorithm;

bool memory_comes_back(void)
{
    void *first, *second;
    CHECK_CUDA(cudaMallocFromPoolAsync(&first, 1 << 20, td_device_current()->pool, NULL));
    CHECK_CUDA(cudaFreeAsync(first, NULL));
    CHECK_CUDA(cudaMallocFromPoolAsync(&second, 1 << 20, td_device_current()->pool, NULL));
    CHECK_CUDA(cudaFreeAsync(second, NULL));
    CHECK_CUDA(cudaDeviceSynchronize());
    return first == second;
}

placed place_problem(const product *of)
{
    placed x = {.p = problem_make(of)};
    x.a = device_upload(&x.p.a);
    x.b = device_upload(&x.p.b);
    x.c = device_upload(&x.p.c);
    x.call = checked_lowered(&x.p, x.a, x.b, x.c);
    return x;
}

void free_placed(placed *x)
{
    device_free(x->a, x->b, x->c);
    problem_free(&x->p);
}

/* A td_problem.enqueue; of a problem without one. */
static bool enqueue_call(const void *call, cudaStream_t stream)
{
    static void *workspace;
    td_problem p = *(const td_problem *)call;
    if (!workspace) CHECK_CUDA(cudaMalloc(&workspace, TD_CUBLAS_WORKSPACE));
    p.stream = stream;
    return !is_call_refused &&
           td_cublas_run(td_device_current(), &p, workspace, TD_CUBLAS_WORKSPACE);
}

td_run_status run_priced(const td_product *call, td_prices prices, size_t limit,
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
    parameter.branches_in_graph = branches_in_graph;
    return td_engine_run(engine, call, parameter, td_device_current(),
                         limit ? limit : td_device_current()->workspace_bytes, counters);
}

void copy_to_device(double *to, const test_matrix *from)
{
    CHECK_CUDA(cudaMemcpy(to, from->storage, from->count * sizeof(double), cudaMemcpyHostToDevice));
}

void restore(const placed *x)
{
    CHECK_CUDA(cudaDeviceSynchronize());
    copy_to_device(x->c, &x->p.c);
    CHECK_CUDA(cudaDeviceSynchronize());
}

test_matrix run_whole(const placed *x, td_prices prices, size_t limit)
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

void expect_equal(const product *of, const test_matrix *got, test_matrix want, const char *what)
{
    const int64_t at = matrix_difference(got, &want);
    CHECK(at == -1, "element %d of C is not that of %s: %s", (int)at, what, product_text(of));
    matrix_free(&want);
}

void expect_sums(const product *of, const test_matrix *got)
{
    problem p = problem_make(of);
    checked_errors(&p, got, ((double)of->k + 2.5) * 0x1p-53);
    problem_free(&p);
}

void expect_native(const product *of, const test_matrix *got)
{
    expect_sums(of, got);
    if (device_is_host()) expect_equal(of, got, by_cublas(of), "cuBLAS");
}

product with_zeros(int which) { return product_varied("zeros", 150, 70, 200, which); }
