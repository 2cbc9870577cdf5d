#include "result.h"

#include "../../kernels/unfold/unfold.h"
#include "../cuda/workspace.h"
#include "tiler.h"

typedef struct {
    const td_engine *engine;
    td_parameter parameter;
    td_device *device;
    td_counters *counters;
    const td_product *p;
    int64_t members; /* that are made at a time */
    char *workspace; /* NULL: C is made where it is */
} moving;

static int64_t element_bytes(const td_product *p) { return td_types[p->type].size; }

/* Of v->members; more than there can be where bytes cannot be counted. */
static size_t bytes_of(const moving *v)
{
    const td_product *p = v->p;
    if ((double)p->m * (double)p->n * (double)v->members > 0x1p56) return SIZE_MAX;
    return (size_t)(p->m * p->n * v->members * element_bytes(p));
}

/* A td_planner. */
static size_t plan(void *of, size_t limit)
{
    moving *v = of;
    v->members = td_smaller(v->p->batch, TD_MAX_PART_MEMBERS);
    while (bytes_of(v) > limit / 2 && td_halve(&v->members, 1)) continue;
    return bytes_of(v) <= limit ? bytes_of(v) : 0;
}

/* ---- copies ---- */

/* A matrix as it is stored in columns, or, if is_transposed, its transpose. */
typedef struct {
    td_matrix matrix;
    bool is_transposed;
} source;

/* Enqueues a copy to `to`, of so many rows and columns, unless what it is for is multiplied by a
 * scalar of 0. */
static cudaError_t copy(const td_product *p, const source *from, td_matrix to, int64_t rows,
                        int64_t columns, const td_scalar *scalar)
{
    const bool is_complex = p->type == TD_COMPLEX_BINARY64;
    td_unfold all = {.part = {{.matrix = from->matrix,
                               .is_complex = is_complex,
                               .is_transposed = from->is_transposed}},
                     .parts = 1,
                     .lines = columns,
                     .k = rows,
                     .scalar = *scalar,
                     .scalar_is_real = !is_complex,
                     .to = to};
    if (is_complex) {
        all.to.ld *= 2;
        all.to.stride *= 2;
    }
    return td_unfold_run(&all, (int)p->batch, p->stream);
}

/* What beta multiplies, to where C is made. */
static cudaError_t bring_before(const td_product *p, const td_matrix *made)
{
    const bool has_addend = td_product_has_addend(p);
    const source before =
        has_addend ? (source){p->addend, p->addend_in_rows} : (source){p->c, p->c_in_rows};
    if (!td_product_has_beta(p)) return cudaSuccess;
    return copy(p, &before, *made, p->m, p->n, &p->beta);
}

/* C in columns to its place in rows. */
static cudaError_t bring_after(const td_product *p, const td_matrix *made)
{
    static const td_scalar one = {.value.complex_binary64 = {1.0, 0.0}};
    if (!p->c_in_rows) return cudaSuccess;
    return copy(p, &(source){*made, true}, p->c, p->n, p->m, &one);
}

/* ---- running ---- */

/* The product of members z .. */
static td_product members_of(const moving *v, int64_t z)
{
    td_product own = *v->p;
    own.progress = NULL; /* the result is brought to its place behind all of C */
    td_matrix *const matrices[] = {&own.a, &own.b, &own.c, &own.addend};
    own.batch = td_smaller(v->members, v->p->batch - z);
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        *matrices[i] = td_members_from(matrices[i], z, element_bytes(v->p));
    return own;
}

/* The product of some members with its C in columns, where beta C is. */
static td_product in_columns(const moving *v, const td_product *own)
{
    td_product columns = *own;
    columns.addend = (td_matrix){.data = NULL};
    columns.c_in_rows = columns.addend_in_rows = false;
    if (v->workspace)
        columns.c = (td_matrix){.data = v->workspace, .ld = own->m, .stride = own->m * own->n};
    return columns;
}

/* The call that makes that product: as the program made it, unless it is another one. */
static td_problem call_in_columns(const moving *v, const td_product *columns)
{
    td_problem call = td_call_of_product(columns);
    if (v->workspace || columns->batch < v->p->batch || !v->parameter.native) return call;
    call.enqueue = v->parameter.native->enqueue;
    call.enqueued = v->parameter.native->enqueued;
    call.enqueued_by = v->parameter.native->enqueued_by;
    call.enqueued_by_bytes = v->parameter.native->enqueued_by_bytes;
    return call;
}

/* Members z ..; TD_RUN_BROKEN if C may have been touched. */
static td_run_status run_members(const moving *v, int64_t z, size_t limit)
{
    const td_product own = members_of(v, z), columns = in_columns(v, &own);
    const td_problem call = call_in_columns(v, &columns);
    td_parameter parameter = v->parameter;
    if (parameter.native) parameter.native = &call;
    if (!td_cuda_ok(bring_before(&own, &columns.c))) return TD_RUN_FAILED;
    const td_run_status status =
        td_engine_run_in_place(v->engine, &columns, parameter, v->device, limit, v->counters);
    if (status != TD_RUN_DONE) return status;
    return td_cuda_ok(bring_after(&own, &columns.c)) ? TD_RUN_DONE : TD_RUN_BROKEN;
}

static td_run_status run_all(const moving *v, size_t limit)
{
    td_run_status status = TD_RUN_DONE;
    for (int64_t z = 0; z < v->p->batch && status == TD_RUN_DONE; z += v->members) {
        status = run_members(v, z, limit);
        if (status != TD_RUN_DONE && z > 0) status = TD_RUN_BROKEN;
    }
    return status;
}

TD_LOADER(prepare, td_unfold_prepare)

td_run_status td_move_and_run(const td_engine *engine, const td_product *p, td_parameter parameter,
                              td_device *device, size_t workspace_limit, td_counters *counters)
{
    moving v = {engine, parameter, device, counters, p, td_smaller(p->batch, TD_MAX_PART_MEMBERS),
                NULL};
    td_workspace workspace;
    if (p->m > TD_UNFOLD_MOST || p->n > TD_UNFOLD_MOST) return TD_RUN_TOO_LARGE;
    if (!td_device_load(device, prepare, 0)) return TD_RUN_FAILED;
    if (!p->c_in_rows) return run_all(&v, workspace_limit);
    /* The engine may work in what is lent meanwhile. */
    td_run_status status =
        td_workspace_acquire(&workspace, device, p->stream, NULL, workspace_limit, plan, &v);
    if (status != TD_RUN_DONE) return status;
    v.workspace = workspace.memory;
    status = run_all(&v, workspace_limit - bytes_of(&v));
    td_workspace_release(&workspace, p->stream);
    return status;
}
