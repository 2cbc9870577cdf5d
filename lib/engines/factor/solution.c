/* solution.c - two triangular solves, with rows of B exchanged before or after them; or one, of a
 * unit matrix, in memory of its own, and the triangle of its result's product with itself. */
#include "solution.h"

#include <limits.h>

#include "../../../kernels/factor/row_exchange.h"
#include "../../cuda/workspace.h"
#include "../../routine/decision.h"
#include "../../routine/solution_steps.h"
#include "products.h"

/* Where the steps of one call run. */
typedef struct {
    const td_problem *problem;
    const td_solve_products *products;
    td_device *device;
    size_t workspace_limit;
    td_counters *counters;
    td_workspace work; /* of the exchanges, or of the unit matrix; no memory if there are none */
} run;

TD_LOADER(load, td_rows_prepare, td_solve_prepare)

const char *td_factor_solution_refusal(const td_problem *p)
{
    return !p->info                                                   ? td_reason_invalid
           : p->type != TD_BINARY64 && p->type != TD_COMPLEX_BINARY64 ? td_reason_routine
           : p->n > INT_MAX / 2                                       ? td_reason_large
                                                                      : NULL;
}

static bool is_complex(const td_problem *p) { return p->type == TD_COMPLEX_BINARY64; }
static bool is_inverse(const td_problem *p) { return p->kind == TD_CHOLESKY_INVERT; }

static td_row_exchange exchange_of(const td_problem *p)
{
    return (td_row_exchange){.is_complex = is_complex(p),
                             .b = p->b.data,
                             .ld = p->b.ld,
                             .rows = p->n,
                             .columns = p->k,
                             .exchanges = p->n,
                             .pivots = p->pivots,
                             .has_wide_pivots = p->has_wide_pivots,
                             .is_backward = !td_solution_exchanges_first(p)};
}

/* Bytes of device memory beside that of solves and products. */
static size_t bytes_of(const td_problem *p)
{
    const td_row_exchange exchange = exchange_of(p);
    if (is_inverse(p)) return (size_t)p->n * (size_t)p->n * (size_t)td_types[p->type].size;
    return td_solution_exchanges(p) ? td_row_exchange_bytes(&exchange) : 0;
}

static td_run_status exchange(const run *r)
{
    const td_row_exchange exchange = exchange_of(r->problem);
    return td_done_if(td_row_exchange_run(&exchange, r->work.memory, r->problem->stream));
}

static td_run_status solve(const run *r, int number)
{
    td_problem call = td_solution_solve(r->problem, number);
    if (is_inverse(r->problem)) call.b.data = r->work.memory;
    return td_solve_run(&call, r->products, r->device, r->workspace_limit, r->counters);
}

/* Until B has been touched, a failure is what it is. */
static td_run_status solve_all(const run *r)
{
    const td_problem *p = r->problem;
    const bool before = td_solution_exchanges(p) && td_solution_exchanges_first(p),
               behind = td_solution_exchanges(p) && !before;
    td_run_status status = td_done_if(cudaMemsetAsync(p->info, 0, sizeof *p->info, p->stream));
    if (status == TD_RUN_DONE && before) status = exchange(r);
    for (int i = 0; i < td_solution_solves(p) && status == TD_RUN_DONE; i++) {
        status = solve(r, i);
        if (status != TD_RUN_DONE && (before || i > 0)) return TD_RUN_BROKEN;
    }
    if (status != TD_RUN_DONE) return status;
    return behind && exchange(r) != TD_RUN_DONE ? TD_RUN_BROKEN : TD_RUN_DONE;
}

/* All products are the mode's. */
static td_run_status multiply(const run *r, int64_t number)
{
    const td_problem *p = r->problem;
    const td_factor_products by = {.engine = r->products->engine,
                                   .parameter = r->products->parameter};
    const td_factor_place place = {&by, r->device, r->workspace_limit, r->counters};
    const td_product product = td_inverse_product(p, number, r->work.memory, p->n);
    return td_factor_multiply(&place, &product);
}

/* The triangle of the inverse of A's factor is in memory of the call. */
static td_run_status invert_factor(const run *r)
{
    const td_problem *p = r->problem;
    td_run_status status =
        td_done_if(td_first_zero_run(is_complex(p), p->a.data, p->a.ld, p->n, p->info, p->stream));
    if (status == TD_RUN_DONE)
        status =
            td_done_if(td_unit_matrix_run(is_complex(p), r->work.memory, p->n, p->n, p->stream));
    return status == TD_RUN_DONE && solve(r, 0) == TD_RUN_DONE ? TD_RUN_DONE : TD_RUN_FAILED;
}

static td_run_status invert(const run *r)
{
    td_run_status status = invert_factor(r);
    if (status != TD_RUN_DONE) return status;
    for (int64_t i = 0; i < td_inverse_products(r->problem) && status == TD_RUN_DONE; i++) {
        status = multiply(r, i);
        if (status != TD_RUN_DONE && i > 0) return TD_RUN_BROKEN;
    }
    return status;
}

td_run_status td_factor_solution(const td_problem *p, const td_solve_products *products,
                                 td_device *device, size_t workspace_limit, td_counters *counters)
{
    run r = {p, products, device, workspace_limit, counters, .work = {0}};
    const size_t bytes = bytes_of(p);
    td_run_status status = td_engine_check(p);
    if (status != TD_RUN_DONE) return status;
    if (!td_device_load(device, load, 0)) return TD_RUN_FAILED;
    if (bytes)
        status = td_workspace_acquire_beside(&r.work, device, p->stream, bytes, &r.workspace_limit);
    if (status != TD_RUN_DONE) return status;
    status = is_inverse(p) ? invert(&r) : solve_all(&r);
    if (bytes) td_workspace_release(&r.work, p->stream);
    return status;
}
