/* engine.c - the update of a triangle by cuBLAS's own products, where its routine for triangles is
 * slower than these: columns of C, without scalars, go to the workspace, and from there those
 * elements to C that are in the triangle. Of a sum of two products, A B' + B A', one is made, of
 * all of C, and the other one is its transpose, or conjugate transpose. Sums are native ones; their
 * order is cuBLAS's. */
#include "../../../kernels/repair/join.h"
#include "../ozaki/cublas.h"
#include "../proven.h"
#include "../tiler.h"
#include "../unfold.h"
#include "../../routine/columns.h"
#include "../../routine/real.h"

/* The first one scales C where alpha or k is 0. */
TD_LOADER(prepare, td_repair_prepare, td_join_prepare, td_scalars_prepare)

/* ---- parts of C, one after the other ---- */

typedef struct {
    const td_real_product *p;
    td_device *device;
    td_part_sizes sizes;
    size_t t, cublas; /* where these are in the workspace: T, and what cuBLAS may use */
    char *workspace;
} update;

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
    return td_shrink(&u->sizes, &(td_pass_units){INT64_MAX, 1, u->p->k}); /* k is never cut */
}

/* A td_planner. */
static size_t plan(void *of, size_t limit)
{
    update *u = of;
    u->sizes = td_largest_part(u->p);
    u->sizes.n = td_smaller(u->sizes.n, td_dgemm_columns(u->p->n));
    u->sizes.cublas_bytes = TD_CUBLAS_WORKSPACE;
    return td_fit(u, limit, lay_out, shrink);
}

/* T without its scalars where the part has elements. */
static cudaError_t run_part(const void *of, const td_part *part, bool *touched)
{
    const update *u = of;
    const td_real_product *p = u->p;
    const td_part rows = td_dgemm_rows(td_real_region(p), part);
    double *const t = (double *)(u->workspace + u->t);
    td_problem call = td_call_of_part(p, &rows);
    call.alpha = td_scalar_of(TD_BINARY64, 1.0);
    call.beta = (td_scalar){.device = NULL};
    call.c = (td_matrix){.data = t, .ld = rows.m};
    (void)touched;
    if (!td_cublas_run(u->device, &call, u->workspace + u->cublas, u->sizes.cublas_bytes))
        return cudaErrorUnknown;
    const td_target target = td_target_of(p, &rows, NULL);
    return td_join_run(&target, t, false, p->stream);
}

static td_run_status run_parts(update *u, size_t workspace_limit)
{
    const td_real_product *p = u->p;
    const td_part_steps steps = {.product = u, .part = run_part};
    td_workspace workspace;
    td_run_status status =
        td_workspace_acquire(&workspace, u->device, p->stream, &p->lent, workspace_limit, plan, u);
    if (status != TD_RUN_DONE) return status;
    u->workspace = workspace.memory;
    status = td_run_parts(p, &u->sizes, &steps);
    td_workspace_release(&workspace, p->stream);
    return status;
}

static td_run_status run(const td_real_product *p, td_parameter parameter, td_device *device,
                         size_t workspace_limit, td_counters *counters)
{
    update u = {.p = p, .device = device};
    (void)parameter, (void)counters;
    if (td_real_only_scales(p)) return td_scale_parts(p);
    if (!td_cublas_counts(p->k, p->batch, &p->a, &p->b)) return TD_RUN_TOO_LARGE;
    return td_cublas_ready(device) ? run_parts(&u, workspace_limit) : TD_RUN_NO_CUBLAS;
}

/* ---- all of C at once ---- */

/* T has the place of all of C: of a sum of two products an element's mirror image is anywhere, and
 * complex scalars come last. */
typedef struct {
    const td_product *p;
    size_t t, cublas, bytes;
    char *workspace;
} whole;

static bool is_complex(const td_product *p) { return p->type == TD_COMPLEX_BINARY64; }

/* Real factors of two parts, and complex ones of one. */
static bool takes(const td_product *p)
{
    return is_complex(p) != td_product_has_rest(p) && !td_product_only_scales(p);
}

/* A td_planner. */
static size_t plan_whole(void *of, size_t limit)
{
    whole *w = of;
    w->bytes = 0;
    w->t = td_reserve(&w->bytes, w->p->n * w->p->n * td_types[w->p->type].size);
    w->cublas = td_reserve(&w->bytes, TD_CUBLAS_WORKSPACE);
    return w->bytes <= limit ? w->bytes : 0;
}

/* The matrix whose first elements are those of lines first .. of a factor. */
static td_matrix lines_from(const td_product *p, int which, int64_t first)
{
    td_matrix from = which ? p->b : p->a;
    const bool are_columns = which ? p->op_b == TD_OP_N : p->op_a != TD_OP_N;
    from.data = (char *)from.data + first * (are_columns ? from.ld : 1) * td_types[p->type].size;
    return from;
}

/* T without its scalars where columns have elements, of A B' alone, if B A' is to be added. */
static bool multiply(const whole *w, td_device *device, const td_part *rows)
{
    const td_product *p = w->p;
    const int64_t size = td_types[p->type].size, at = rows->i + rows->j * p->n;
    td_problem call = td_call_of_product(p);
    call.m = rows->m;
    call.n = rows->n;
    call.k = td_product_has_rest(p) ? p->k / 2 : p->k;
    call.alpha = td_scalar_of(p->type, 1.0);
    call.beta = (td_scalar){.device = NULL};
    call.a = lines_from(p, 0, rows->i);
    call.b = lines_from(p, 1, rows->j);
    call.c = (td_matrix){.data = w->workspace + w->t + at * size, .ld = p->n};
    return td_cublas_run(device, &call, w->workspace + w->cublas, TD_CUBLAS_WORKSPACE);
}

static cudaError_t join(const whole *w)
{
    const td_product *p = w->p;
    void *const t = w->workspace + w->t;
    if (is_complex(p)) {
        td_complex_scalars s = td_unfold_scalars(p);
        s.t = (td_matrix){.data = t, .ld = p->n};
        return td_scalars_end_run(&s, 1, p->stream);
    }
    const td_part all = {.m = (int)p->n, .n = (int)p->n, .batch = 1};
    const td_real_product real = td_real_product_of(p);
    const td_target target = td_target_of(&real, &all, NULL);
    return td_join_run(&target, t, true, p->stream);
}

/* C is touched last. */
static td_run_status run_whole(const whole *w, td_device *device)
{
    const td_product *p = w->p;
    const bool needs_all = td_product_has_rest(p) || p->adds_mirror; /* for mirror images */
    const int64_t columns = needs_all ? p->n : td_dgemm_columns(p->n);
    const td_region region = {.kind = needs_all ? TD_REGION_ALL : p->region};
    for (int64_t j = 0; j < p->n; j += columns) {
        const td_part part = {
            .j = j, .m = (int)p->n, .n = (int)td_smaller(columns, p->n - j), .batch = 1};
        const td_part rows = td_dgemm_rows(region, &part);
        if (!multiply(w, device, &rows)) return TD_RUN_FAILED;
    }
    return td_done_if(join(w));
}

static td_run_status run_folded(const td_product *p, td_device *device, size_t workspace_limit)
{
    whole w = {.p = p};
    td_workspace workspace;
    if (!td_cublas_counts(p->k, p->batch, &p->a, &p->b) || p->n > TD_MAX_PART_LINES)
        return TD_RUN_TOO_LARGE;
    if (!td_cublas_ready(device)) return TD_RUN_NO_CUBLAS;
    td_run_status status = td_workspace_acquire(&workspace, device, p->stream, &p->lent,
                                                workspace_limit, plan_whole, &w);
    if (status != TD_RUN_DONE) return status;
    w.workspace = workspace.memory;
    status = run_whole(&w, device);
    td_workspace_release(&workspace, p->stream);
    return status;
}

const td_engine td_engine_dgemm = {
    .name = "dgemm",
    .summary = "updates of a triangle by cuBLAS's own products of its columns",
    .error = "cuBLAS's",
    .bound = &td_bound_native,
    .takes = takes,
    .run_folded = run_folded,
    .prepare = prepare,
    .run = run,
};
