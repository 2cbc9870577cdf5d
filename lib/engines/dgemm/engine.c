/* engine.c - the update of a triangle by cuBLAS's own products, where its routine for triangles is
 * slower than these: columns of C, without scalars, go to the workspace, and from there those
 * elements to C that are in the triangle. Of a sum of two products, A B' + B A', one is made, of all
 * of C, and the other one is its transpose. Sums are native ones; their order is cuBLAS's. */
#include "../../../kernels/repair/join.h"
#include "../model/cost.h"
#include "../ozaki/cublas.h"
#include "../proven.h"
#include "../tiler.h"
#include "columns.h"

typedef struct {
    const td_problem *p;
    td_device *device;
    td_part_sizes sizes;
    size_t t, cublas; /* where these are in the workspace: columns of C, and what cuBLAS may use */
    char *workspace;
} update;

static cudaError_t prepare(int unused)
{
    (void)unused;
    const cudaError_t error = td_repair_prepare(); /* scales C where alpha or k is 0 */
    return error == cudaSuccess ? td_join_prepare() : error;
}

/* ---- workspace ---- */

static size_t lay_out(void *of)
{
    update *u = of;
    size_t end = 0;
    u->t = td_reserve(&end, u->sizes.m * u->sizes.n * (int64_t)sizeof(double));
    u->cublas = td_reserve(&end, (int64_t)u->sizes.cublas_bytes);
    return end;
}

static bool shrink(void *of)
{
    update *u = of;
    if (td_problem_has_rest(u->p)) return false; /* an element's mirror image is anywhere */
    return td_shrink(&u->sizes, &(td_pass_units){INT64_MAX, 1, u->p->k}); /* k is never cut */
}

/* A td_planner. */
static size_t plan(void *of, size_t limit)
{
    update *u = of;
    u->sizes = td_largest_part(u->p);
    if (!td_problem_has_rest(u->p)) u->sizes.n = td_smaller(u->sizes.n, td_dgemm_columns(u->p));
    u->sizes.cublas_bytes = TD_CUBLAS_WORKSPACE;
    return td_fit(u, limit, lay_out, shrink);
}

/* ---- running ---- */

static cudaError_t run_part(const void *of, const td_part *part, bool *touched)
{
    const update *u = of;
    const bool is_twofold = td_problem_has_rest(u->p);
    const td_part rows = is_twofold ? *part : td_dgemm_rows(u->p, part);
    td_problem product = td_dgemm_product(u->p, &rows);
    (void)touched;
    product.a = td_lines_from(u->p, 0, rows.i);
    product.b = td_lines_from(u->p, 1, rows.j);
    product.c = (td_matrix){.data = u->workspace + u->t, .ld = rows.m};
    if (!td_cublas_multiply64(u->device, &product, u->workspace + u->cublas, u->sizes.cublas_bytes))
        return cudaErrorUnknown;
    const td_target target = td_target_of(u->p, &rows, NULL);
    return td_join_run(&target, product.c.data, is_twofold, u->p->stream);
}

static td_run_status run(const td_problem *p, td_parameter parameter, td_device *device,
                         size_t workspace_limit, td_counters *counters)
{
    update u = {.p = p, .device = device};
    td_workspace workspace;
    (void)parameter, (void)counters;
    if (td_problem_only_scales(p)) return td_scale_parts(p);
    if (!td_cublas_counts(p) || (td_problem_has_rest(p) && p->n > TD_MAX_PART_LINES))
        return TD_RUN_TOO_LARGE;
    if (!td_cublas_ready(device)) return TD_RUN_NO_CUBLAS;
    td_run_status status = td_workspace_acquire(&workspace, device, p, workspace_limit, plan, &u);
    if (status != TD_RUN_DONE) return status;
    u.workspace = workspace.memory;
    status = td_run_parts(p, &u.sizes, &(td_part_steps){.product = &u, .part = run_part});
    td_workspace_release(&workspace, p->stream);
    return status;
}

const td_engine td_engine_dgemm = {
    .name = "dgemm",
    .summary = "updates of a triangle by cuBLAS's own products of its columns",
    .bound = "cuBLAS's",
    .bits = td_bits_fp64,
    .proven = td_proven_native,
    .takes_rest = true,
    .prepare = prepare,
    .run = run,
};
