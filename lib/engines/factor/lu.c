#include "lu.h"

#include <limits.h>
#include <stdatomic.h>

#include "../../../kernels/factor/one_block.h"
#include "../../options/log.h"
#include "../../routine/decision.h"
#include "../../routine/sizes.h"
#include "../ozaki/cublas.h"
#include "../solve/solve.h"

/* Columns of a panel: one block of a solve has its rows. */
enum { PANEL = 32 };

/* Where the steps of one call run. */
typedef struct {
    const td_problem *problem;
    const td_factor_products *products;
    td_device *device;
    size_t workspace_limit;
    td_counters *counters;
} run;

static cudaError_t load(int which)
{
    (void)which;
    return td_one_block_prepare();
}

const char *td_factor_lu_refusal(const td_problem *p)
{
    return p->m <= INT_MAX && p->n <= INT_MAX ? NULL : td_reason_large;
}

static int64_t order_of(const td_problem *p) { return td_smaller(p->m, p->n); }

/* The matrix from an element on. */
static td_matrix part_of(const td_problem *p, int64_t row, int64_t column)
{
    const int64_t bytes = td_types[p->type].size;
    return (td_matrix){.data = (char *)p->a.data + (row + column * p->a.ld) * bytes, .ld = p->a.ld};
}

/* The number 1 or -1 of the matrix's type. */
static td_scalar unit_of(const td_problem *p, double value)
{
    td_scalar s = {.device = NULL};
    if (p->type == TD_COMPLEX_BINARY64)
        s.value.complex_binary64 = (td_complex_binary64){value, 0.0};
    else
        s.value.binary64 = value;
    return s;
}

static td_one_block_panel panel_at(const td_problem *p, int64_t first, int64_t columns)
{
    const size_t pivot_bytes = p->has_wide_pivots ? sizeof(int64_t) : sizeof(int);
    return (td_one_block_panel){
        .is_complex = p->type == TD_COMPLEX_BINARY64,
        .a = part_of(p, first, first).data,
        .ld = p->a.ld,
        .rows = p->m - first,
        .columns = columns,
        .before = first,
        .pivots = p->pivots ? (char *)p->pivots + (size_t)first * pivot_bytes : NULL,
        .has_wide_pivots = p->has_wide_pivots,
        .info = p->info,
    };
}

static bool exchange_rows(const td_problem *p, const td_one_block_panel *panel)
{
    const int64_t first = panel->before, behind = first + panel->columns;
    if (!p->pivots) return true;
    return (first == 0 || td_cuda_ok(td_one_block_exchange_run(panel, part_of(p, first, 0).data,
                                                               first, p->stream))) &&
           (behind == p->n ||
            td_cuda_ok(td_one_block_exchange_run(panel, part_of(p, first, behind).data,
                                                 p->n - behind, p->stream)));
}

/* U's rows beside the panel. */
static td_run_status solve(const run *r, int64_t first, int64_t columns)
{
    const td_problem *p = r->problem;
    const int64_t behind = first + columns;
    const td_problem system = {.kind = TD_TRIANGULAR_SOLVE,
                               .type = p->type,
                               .triangle = TD_LOWER,
                               .diagonal = TD_UNIT_DIAGONAL,
                               .m = columns,
                               .n = p->n - behind,
                               .alpha = unit_of(p, 1.0),
                               .a = part_of(p, first, first),
                               .b = part_of(p, first, behind),
                               .batch = 1,
                               .stream = p->stream,
                               .caller = p->caller};
    const td_solve_products by = {&td_engine_fp64, {0}, {PANEL, INT64_MAX}};
    return td_solve_run(&system, &by, r->device, r->workspace_limit, r->counters);
}

static td_problem update_of(const td_problem *p, int64_t first, int64_t columns)
{
    const int64_t behind = first + columns;
    return (td_problem){.kind = TD_PRODUCT,
                        .type = p->type,
                        .m = p->m - behind,
                        .n = p->n - behind,
                        .k = columns,
                        .alpha = unit_of(p, -1.0),
                        .beta = unit_of(p, 1.0),
                        .a = part_of(p, behind, first),
                        .b = part_of(p, first, behind),
                        .c = part_of(p, behind, behind),
                        .batch = 1,
                        .stream = p->stream,
                        .lent = p->lent,
                        .lent_bytes = p->lent_bytes,
                        .caller = p->caller};
}

static td_run_status multiply(const run *r, const td_problem *product)
{
    const td_factor_products *by = r->products;
    if (by->engine)
        return td_engine_run(by->engine, product, by->parameter, r->device, r->workspace_limit,
                             r->counters);
    return td_cublas_run(r->device, product, NULL, 0) ? TD_RUN_DONE : TD_RUN_FAILED;
}

/* A has been written, so that a mode that cannot make the product has another one in its place. */
static td_run_status update(const run *r, int64_t first, int64_t columns)
{
    static atomic_uint said;
    const td_problem product = update_of(r->problem, first, columns);
    const td_run_status status = multiply(r, &product);
    if (status == TD_RUN_DONE || status == TD_RUN_BROKEN) return status;
    td_log_capped(&said, 1, TD_LOG_WARN,
                  "a product of a factorisation could not run in its mode; it runs in mode fp64 "
                  "(said once)");
    return td_engine_run(&td_engine_fp64, &product, (td_parameter){0}, r->device,
                         r->workspace_limit, r->counters);
}

static td_run_status step(const run *r, int64_t first)
{
    const td_problem *p = r->problem;
    const int64_t columns = td_smaller(PANEL, order_of(p) - first), behind = first + columns;
    const td_one_block_panel panel = panel_at(p, first, columns);
    td_run_status status = TD_RUN_DONE;
    if (!td_cuda_ok(td_one_block_factor_run(&panel, p->stream)) || !exchange_rows(p, &panel))
        return TD_RUN_FAILED;
    if (behind < p->n) status = solve(r, first, columns);
    if (status == TD_RUN_DONE && behind < p->n && behind < p->m) status = update(r, first, columns);
    return status;
}

td_run_status td_factor_lu(const td_problem *p, const td_factor_products *products,
                           td_device *device, size_t workspace_limit, td_counters *counters)
{
    const run r = {p, products, device, workspace_limit, counters};
    td_run_status status = td_engine_check(p);
    if (status != TD_RUN_DONE) return status;
    if (!products->engine && !td_cublas_ready(device)) return TD_RUN_NO_CUBLAS;
    if (!td_device_load(device, load, 0) ||
        !td_cuda_ok(cudaMemsetAsync(p->info, 0, sizeof *p->info, p->stream)))
        return TD_RUN_FAILED;
    for (int64_t first = 0; first < order_of(p) && status == TD_RUN_DONE; first += PANEL)
        status = step(&r, first);
    return status == TD_RUN_DONE ? TD_RUN_DONE : TD_RUN_BROKEN;
}
