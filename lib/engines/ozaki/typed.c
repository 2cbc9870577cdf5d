/* typed.c - cuts a product of triple-single matrices into parts that fit the workspace. The parts
 * change no bit of C: scales belong to whole lines, and every sum is exact. */
#include "typed.h"

#include "../../../kernels/slice/slices.h"
#include "cublas.h"
#include "../tiler.h"

typedef struct {
    td_scheme_sizes part;
    size_t line[2], cublas, planes, bytes; /* offsets, and the total */
} ts_plan;

static void lay_out(ts_plan *plan, const td_problem *p, int slices)
{
    const int64_t lines[2] = {p->m, p->n};
    plan->bytes = 0;
    for (int o = 0; o < 2; o++)
        plan->line[o] = td_reserve(&plan->bytes, lines[o] * (int64_t)sizeof(td_line));
    plan->cublas = td_reserve(&plan->bytes, (int64_t)plan->part.cublas_bytes);
    plan->planes =
        td_reserve(&plan->bytes, (int64_t)td_ts_slices_bytes(slices, plan->part.m, plan->part.n,
                                                             plan->part.k_pass));
}

typedef struct {
    const td_problem *p;
    int slices;
    td_device *device;
    ts_plan plan;
    char *workspace;
    bool touched; /* a kernel that writes C is enqueued */
} ts_product;

/* A td_planner. */
static size_t make_plan(void *of, size_t limit)
{
    ts_product *product = of;
    const td_problem *p = product->p;
    const int slices = product->slices;
    ts_plan *plan = &product->plan;
    plan->part = td_scheme_largest(p, td_ts_slices_most_k(slices, p->k));
    for (lay_out(plan, p, slices); plan->bytes > limit; lay_out(plan, p, slices))
        if (!td_scheme_shrink(&plan->part)) return 0;
    return plan->bytes;
}

static cudaError_t measure(const ts_product *product)
{
    const td_problem *p = product->p;
    const td_measure_ts measure = {
        .operand = {td_view_of(p, 0, 0, (int)p->m), td_view_of(p, 1, 0, (int)p->n)},
        .line = {(td_line *)(product->workspace + product->plan.line[0]),
                 (td_line *)(product->workspace + product->plan.line[1])},
        .width = td_ts_slices_width(product->slices, p->k),
    };
    return td_measure_ts_run(&measure, p->stream);
}

/* Rows i .., columns j ... */
static cudaError_t run_part(ts_product *product, int64_t i, int64_t j)
{
    const td_problem *p = product->p;
    const ts_plan *plan = &product->plan;
    const int m = (int)td_smaller(plan->part.m, p->m - i);
    const int n = (int)td_smaller(plan->part.n, p->n - j);
    const int64_t first[2] = {i, j};
    td_scheme_part part = {
        .device = product->device,
        .parameter = {.count = product->slices, .is_given = product->slices != 0},
        .k_pass = plan->part.k_pass,
        .workspace = product->workspace + plan->planes,
        .cublas_workspace = product->workspace + plan->cublas,
        .cublas_bytes = plan->part.cublas_bytes,
        .stream = p->stream,
        .fixed = {.operand = {td_view_of(p, 0, i, m), td_view_of(p, 1, j, n)},
                  .alpha.value.binary64 = 1.0,
                  .batch = 1},
        .finish = {.target = td_target_of(p, i, j, 0, m, n, NULL)},
    };
    for (int o = 0; o < 2; o++)
        part.finish.line[o] = part.fixed.line[o] =
            (const td_line *)(product->workspace + plan->line[o]) + first[o];
    const cudaError_t error = td_ts_slices_run(&part, p->alpha.value.ts, p->beta.value.ts);
    product->touched |= error == cudaSuccess;
    return error;
}

static td_run_status run_parts(ts_product *product)
{
    const td_problem *p = product->p;
    cudaError_t error = measure(product);
    for (int64_t j = 0; j < p->n; j += product->plan.part.n)
        for (int64_t i = 0; i < p->m && error == cudaSuccess; i += product->plan.part.m)
            error = run_part(product, i, j);
    if (td_cuda_ok(error)) return TD_RUN_DONE;
    return product->touched ? TD_RUN_BROKEN : TD_RUN_FAILED;
}

/* A td_loader. */
static cudaError_t prepare(int other_way)
{
    const cudaError_t error = td_slices_of_ts_prepare();
    (void)other_way;
    return error == cudaSuccess ? td_slices_ts_prepare() : error;
}

td_run_status td_typed_slices_run(const td_problem *p, int slices, td_device *device,
                                  size_t workspace_limit)
{
    ts_product product = {.p = p, .slices = slices, .device = device};
    if (!td_scheme_takes(p)) return TD_RUN_TOO_LARGE;
    if (!td_cublas_ready(device)) return TD_RUN_NO_CUBLAS;
    if (!td_device_load(device, prepare, 0)) return TD_RUN_FAILED;
    td_workspace workspace;
    td_run_status status =
        td_workspace_acquire(&workspace, device, p, workspace_limit, make_plan, &product);
    if (status != TD_RUN_DONE) return status;
    product.workspace = workspace.memory;
    status = run_parts(&product);
    td_workspace_release(&workspace, p->stream);
    return status;
}
