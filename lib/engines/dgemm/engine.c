/* engine.c - the update of a triangle by cuBLAS's own products, where its routine for triangles is
 * slower than these: columns of C, without scalars, go to the workspace, and from there those
 * elements to C that are in the triangle. Of a sum of two products, A B' + B A', one is made, of
 * all of C, and the other one is its transpose, or conjugate transpose. Sums are native ones; their
 * order is cuBLAS's. */
#include "../../../kernels/repair/join.h"
#include "../../model/cost.h"
#include "../ozaki/cublas.h"
#include "../proven.h"
#include "../tiler.h"
#include "../unfold.h"
#include "../../routine/columns.h"

typedef struct {
    const td_problem *p;
    td_device *device;
    td_part_sizes sizes;
    size_t t, cublas; /* where these are in the workspace: T, and what cuBLAS may use */
    char *workspace;
} update;

static cudaError_t prepare(int unused)
{
    (void)unused;
    cudaError_t error = td_repair_prepare(); /* scales C where alpha or k is 0 */
    if (error == cudaSuccess) error = td_join_prepare();
    return error == cudaSuccess ? td_scalars_prepare() : error;
}

static bool is_complex(const td_problem *p) { return p->type == TD_COMPLEX_BINARY64; }

/* Real factors of two parts, and complex ones of one. */
static bool takes(const td_problem *p)
{
    return is_complex(p) != td_problem_has_rest(p) && !td_problem_only_scales(p);
}

/* True if T has the place of all of C: an element's mirror image is anywhere, and complex scalars
 * come last. Else T is one part of C after the other. */
static bool keeps_all(const td_problem *p) { return is_complex(p) || td_problem_has_rest(p); }

/* ---- workspace ---- */

static size_t lay_out(void *of)
{
    update *u = of;
    const int64_t columns = keeps_all(u->p) ? u->p->n : u->sizes.n;
    size_t end = 0;
    u->t = td_reserve(&end, u->sizes.m * columns * td_types[u->p->type].size);
    u->cublas = td_reserve(&end, (int64_t)u->sizes.cublas_bytes);
    return end;
}

static bool shrink(void *of)
{
    update *u = of;
    if (keeps_all(u->p)) return false;
    return td_shrink(&u->sizes, &(td_pass_units){INT64_MAX, 1, u->p->k}); /* k is never cut */
}

/* A td_planner. */
static size_t plan(void *of, size_t limit)
{
    update *u = of;
    u->sizes = td_largest_part(u->p);
    u->sizes.n = td_smaller(u->sizes.n, td_dgemm_columns(u->p));
    u->sizes.cublas_bytes = TD_CUBLAS_WORKSPACE;
    return td_fit(u, limit, lay_out, shrink);
}

/* ---- running ---- */

/* T without its scalars where the part has elements. */
static bool multiply(const update *u, const td_part *rows, void *t, int64_t ld)
{
    td_problem product = td_dgemm_product(u->p, rows);
    product.a = td_lines_from(u->p, 0, rows->i);
    product.b = td_lines_from(u->p, 1, rows->j);
    product.c = (td_matrix){.data = t, .ld = ld};
    return td_cublas_run(u->device, &product, u->workspace + u->cublas, u->sizes.cublas_bytes);
}

static cudaError_t run_part(const void *of, const td_part *part, bool *touched)
{
    const update *u = of;
    const td_part rows = td_dgemm_rows(u->p, part);
    double *const t = (double *)(u->workspace + u->t);
    (void)touched;
    if (!multiply(u, &rows, t, rows.m)) return cudaErrorUnknown;
    const td_target target = td_target_of(u->p, &rows, NULL);
    return td_join_run(&target, t, td_problem_has_rest(u->p), u->p->stream);
}

/* C of a complex T. */
static cudaError_t join_complex(const update *u)
{
    td_complex_scalars s = td_unfold_scalars(u->p);
    s.t = (td_matrix){.data = u->workspace + u->t, .ld = u->p->m};
    return td_scalars_end_run(&s, 1, u->p->stream);
}

/* C is touched last. */
static td_run_status run_complex(const update *u)
{
    const td_problem *p = u->p;
    td_complex_binary64 *const t = (td_complex_binary64 *)(u->workspace + u->t);
    td_part part = td_before_parts(p, &u->sizes, 0);
    while (td_next_part(p, &u->sizes, &part)) {
        const td_part rows = td_dgemm_rows(p, &part);
        if (!multiply(u, &rows, t + rows.i + rows.j * p->m, p->m)) return TD_RUN_FAILED;
    }
    return td_cuda_ok(join_complex(u)) ? TD_RUN_DONE : TD_RUN_FAILED;
}

static td_run_status run(const td_problem *p, td_parameter parameter, td_device *device,
                         size_t workspace_limit, td_counters *counters)
{
    update u = {.p = p, .device = device};
    td_workspace workspace;
    (void)parameter, (void)counters;
    if (td_problem_only_scales(p)) return td_scale_parts(p);
    if (!td_cublas_counts(p) || (keeps_all(p) && p->n > TD_MAX_PART_LINES)) return TD_RUN_TOO_LARGE;
    if (!td_cublas_ready(device)) return TD_RUN_NO_CUBLAS;
    td_run_status status = td_workspace_acquire(&workspace, device, p, workspace_limit, plan, &u);
    if (status != TD_RUN_DONE) return status;
    u.workspace = workspace.memory;
    const td_part_steps steps = {.product = &u, .part = run_part};
    status = is_complex(p) ? run_complex(&u) : td_run_parts(p, &u.sizes, &steps);
    td_workspace_release(&workspace, p->stream);
    return status;
}

const td_engine td_engine_dgemm = {
    .name = "dgemm",
    .summary = "updates of a triangle by cuBLAS's own products of its columns",
    .bound = "cuBLAS's",
    .bits = td_bits_fp64,
    .proven = td_proven_native,
    .takes = takes,
    .prepare = prepare,
    .run = run,
};
