/* typed.c - cuts a product of triple-single matrices into parts that fit the workspace. The parts
 * change no bit of C: scales belong to whole lines, and every sum is exact. */
#include "typed.h"

#include "../../../kernels/slice/slices.h"
#include "cublas.h"
#include "../tiler.h"

typedef struct {
    td_part_sizes part;
    size_t line[2], cublas, planes, bytes; /* offsets, and the total */
} ts_plan;

typedef struct {
    const td_real_product *p;
    int slices;
    td_device *device;
    ts_plan plan;
    char *workspace;
} ts_product;

/* A plan of td_fit. */
static size_t lay_out(void *of)
{
    ts_product *product = of;
    ts_plan *plan = &product->plan;
    const int64_t lines[2] = {product->p->m, product->p->n};
    plan->bytes = 0;
    for (int o = 0; o < 2; o++)
        plan->line[o] = td_reserve(&plan->bytes, lines[o] * (int64_t)sizeof(td_line));
    plan->cublas = td_reserve(&plan->bytes, (int64_t)plan->part.cublas_bytes);
    plan->planes =
        td_reserve(&plan->bytes, (int64_t)td_ts_slices_bytes(product->slices, plan->part.m,
                                                             plan->part.n, plan->part.k_pass));
    return plan->bytes;
}

static bool shrink(void *of)
{
    ts_product *product = of;
    return td_scheme_shrink(&product->plan.part);
}

/* A td_planner. */
static size_t make_plan(void *of, size_t limit)
{
    ts_product *product = of;
    const td_real_product *p = product->p;
    product->plan.part = td_scheme_largest(p, td_ts_slices_most_k(product->slices, p->k));
    return td_fit(product, limit, lay_out, shrink);
}

/* Measures all lines of both operands: there is one member. */
static cudaError_t measure(const void *of, const td_part *before_parts)
{
    const ts_product *product = of;
    const td_real_product *p = product->p;
    const td_measure_ts measure = {
        .operand = {td_view_of(p, 0, 0, (int)p->m), td_view_of(p, 1, 0, (int)p->n)},
        .line = {(td_line *)(product->workspace + product->plan.line[0]),
                 (td_line *)(product->workspace + product->plan.line[1])},
        .width = td_ts_slices_width(product->slices, p->k),
    };
    (void)before_parts;
    return td_measure_ts_run(&measure, p->stream);
}

static cudaError_t run_part(const void *of, const td_part *at, bool *touched)
{
    const ts_product *product = of;
    const td_real_product *p = product->p;
    const ts_plan *plan = &product->plan;
    const int64_t first[2] = {at->i, at->j};
    td_scheme_part part = {
        .device = product->device,
        .parameter = {.count = product->slices, .is_given = product->slices != 0},
        .k_pass = plan->part.k_pass,
        .workspace = product->workspace + plan->planes,
        .cublas_workspace = product->workspace + plan->cublas,
        .cublas_bytes = plan->part.cublas_bytes,
        .stream = p->stream,
        .fixed = {.operand = {td_view_of(p, 0, at->i, at->m), td_view_of(p, 1, at->j, at->n)},
                  .alpha.value.binary64 = 1.0,
                  .batch = 1},
        .finish = {.target = td_target_of(p, at, NULL)},
    };
    for (int o = 0; o < 2; o++)
        part.finish.line[o] = part.fixed.line[o] =
            (const td_line *)(product->workspace + plan->line[o]) + first[o];
    (void)touched;
    return td_ts_slices_run(&part, p->alpha.value.ts, p->beta.value.ts);
}

TD_LOADER(prepare, td_slices_of_ts_prepare, td_slices_ts_prepare)

td_run_status td_typed_slices_run(const td_real_product *p, int slices, td_device *device,
                                  size_t workspace_limit)
{
    ts_product product = {.p = p, .slices = slices, .device = device};
    if (!td_scheme_takes(p)) return TD_RUN_TOO_LARGE;
    if (!td_cublas_ready(device)) return TD_RUN_NO_CUBLAS;
    if (!td_device_load(device, prepare, 0)) return TD_RUN_FAILED;
    td_workspace workspace;
    td_run_status status = td_workspace_acquire(&workspace, device, p->stream, &p->lent,
                                                workspace_limit, make_plan, &product);
    if (status != TD_RUN_DONE) return status;
    product.workspace = workspace.memory;
    status =
        td_run_parts(p, &product.plan.part,
                     &(td_part_steps){.product = &product, .members = measure, .part = run_part});
    td_workspace_release(&workspace, p->stream);
    return status;
}
