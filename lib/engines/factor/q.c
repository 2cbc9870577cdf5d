/* q.c - Q is a product of panels, I - V T V', each of which is made again from its reflectors, and
 * applied. It is formed from its last panel to its first, as what it is applied to is 0 above and
 * to the left of a panel's diagonal. The next panel is made in a stream that goes ahead (ahead.h).
 *
 *     ahead     V, T of panel 2 | of panel 1 | ...
 *     program                   | panel 2    | panel 1 ... */
#include "q.h"

#include <limits.h>

#include "../../cuda/workspace.h"
#include "../../routine/decision.h"
#include "../../routine/sizes.h"
#include "../ozaki/cublas.h"
#include "ahead.h"
#include "reflectors.h"

/* Where the steps of one call run. */
typedef struct {
    const td_problem *problem;
    td_reflectors reflectors;
    bool is_backward; /* from the last panel to the first */
} run;

static cudaError_t load(int which)
{
    (void)which;
    return td_qr_prepare();
}

static bool are_sizes(const td_problem *p)
{
    return p->kind == TD_FORM_Q ? p->n <= p->m && p->k <= p->n : p->k <= td_qr_reflected(p);
}

const char *td_factor_q_refusal(const td_problem *p)
{
    const bool is_large = p->m > INT_MAX || p->n > INT_MAX;
    const bool has_op = p->op_a == TD_OP_N || p->op_a == td_qr_transpose(p->type);
    return !are_sizes(p) || !has_op ? td_reason_invalid : is_large ? td_reason_large : NULL;
}

/* ---- steps ---- */

/* So many columns from `first` on, and rows, become those of the unit matrix from `below` on. */
static bool unit(const run *r, int64_t first, int64_t columns, int64_t rows, int64_t below)
{
    const td_problem *p = r->problem;
    return td_cuda_ok(td_qr_unit_run(p->type == TD_COMPLEX_BINARY64, td_lu_part(p, 0, first).data,
                                     p->a.ld, rows, columns, below, p->stream));
}

/* Columns of Q from the panel's on; above its diagonal they are 0. */
static td_run_status form(const run *r, const td_qr_panel *panel, int64_t first)
{
    const td_problem *p = r->problem;
    const int64_t behind = first + panel->columns;
    const td_matrix others = td_lu_part(p, first, behind);
    const td_reflection by = td_reflection_of(panel);
    td_run_status status =
        td_reflector_apply(&r->reflectors, &by, TD_OP_N, others, p->n - behind, behind, p->stream);
    if (status == TD_RUN_DONE) status = td_reflector_form(&r->reflectors, panel, p->stream);
    if (status != TD_RUN_DONE) return status;
    return unit(r, first, panel->columns, first, first) ? TD_RUN_DONE : TD_RUN_BROKEN;
}

static td_run_status apply(const run *r, const td_qr_panel *panel, int64_t first)
{
    const td_problem *p = r->problem;
    const int64_t bytes = td_types[p->type].size;
    const td_reflection by = td_reflection_of(panel);
    char *const c = p->c.data;
    const td_matrix below = {.data = c + first * bytes, .ld = p->c.ld},
                    behind = {.data = c + first * p->c.ld * bytes, .ld = p->c.ld};
    return p->side == TD_LEFT
               ? td_reflector_apply(&r->reflectors, &by, p->op_a, below, p->n, 0, p->stream)
               : td_reflector_apply_right(&r->reflectors, &by, p->op_a, behind, p->m, p->stream);
}

/* The panel that has its turn as number `turn`. */
static int64_t first_of(const run *r, int64_t turn)
{
    const int64_t width = r->reflectors.cut.panel, panels = td_ceil_div(r->reflectors.count, width);
    return (r->is_backward ? panels - 1 - turn : turn) * width;
}

/* Makes the panel once the one before the last has been used, whose memory it has. */
static td_run_status take(const run *r, int64_t turn)
{
    if (first_of(r, turn) < 0 || first_of(r, turn) >= r->reflectors.count) return TD_RUN_DONE;
    const td_qr_panel panel = td_reflector_panel(&r->reflectors, first_of(r, turn));
    if (r->reflectors.ahead &&
        !td_ahead_wait(r->reflectors.stream, r->reflectors.ahead->step, r->problem->stream))
        return TD_RUN_FAILED;
    const td_run_status status = td_reflector_take(&r->reflectors, &panel, r->reflectors.stream);
    return status == TD_RUN_DONE ? TD_RUN_DONE : TD_RUN_FAILED; /* in memory of the call's own */
}

static td_run_status step(const run *r, int64_t turn)
{
    const int64_t first = first_of(r, turn);
    const td_qr_panel panel = td_reflector_panel(&r->reflectors, first);
    if (r->reflectors.ahead &&
        !td_ahead_wait(r->problem->stream, r->reflectors.ahead->panel, r->reflectors.stream))
        return TD_RUN_FAILED;
    const td_run_status status = take(r, turn + 1);
    if (status != TD_RUN_DONE) return status;
    return r->problem->kind == TD_FORM_Q ? form(r, &panel, first) : apply(r, &panel, first);
}

/* Columns of Q that no reflector changes. */
static int64_t unchanged_columns(const td_problem *p)
{
    return p->kind == TD_FORM_Q ? p->n - p->k : 0;
}

static bool begin(const run *r)
{
    const td_problem *p = r->problem;
    const int64_t columns = unchanged_columns(p);
    return td_cuda_ok(cudaMemsetAsync(p->info, 0, sizeof *p->info, p->stream)) &&
           (columns == 0 || unit(r, p->k, columns, p->m, p->k));
}

/* TD_RUN_FAILED if nothing of A or C has been written. */
static td_run_status run_steps(const run *r)
{
    const int64_t panels = td_ceil_div(r->reflectors.count, r->reflectors.cut.panel);
    int64_t turn = 0;
    td_run_status status = take(r, 0);
    if (status == TD_RUN_DONE && !begin(r)) status = TD_RUN_FAILED;
    for (; turn < panels && status == TD_RUN_DONE; turn++) status = step(r, turn);
    const bool is_written = turn > 1 || (turn == 1 && unchanged_columns(r->problem) > 0);
    if (r->reflectors.ahead &&
        !td_ahead_wait(r->problem->stream, r->reflectors.ahead->panel, r->reflectors.stream))
        return TD_RUN_BROKEN;
    return status != TD_RUN_DONE && is_written ? TD_RUN_BROKEN : status;
}

td_run_status td_factor_q(const td_problem *p, const td_factor_products *products,
                          td_device *device, size_t workspace_limit, td_counters *counters)
{
    run r = {.problem = p,
             .reflectors = {.place = {products, device, workspace_limit, counters},
                            .type = p->type,
                            .a = p->a.data,
                            .tau = p->tau,
                            .ld = p->a.ld,
                            .rows = td_qr_reflected(p),
                            .count = p->k,
                            .cut = td_qr_cut_of(p),
                            .vectors = p->kind == TD_APPLY_Q && p->side == TD_RIGHT ? p->m : p->n},
             .is_backward = p->kind == TD_FORM_Q || (p->side == TD_LEFT) == (p->op_a == TD_OP_N)};
    td_run_status status = td_engine_check(p);
    if (status != TD_RUN_DONE) return status;
    if (!products->engine && !td_cublas_ready(device)) return TD_RUN_NO_CUBLAS;
    if (!td_device_load(device, load, 0)) return TD_RUN_FAILED;
    status = td_reflector_begin(&r.reflectors, p->stream);
    if (status != TD_RUN_DONE) return status;
    status = run_steps(&r);
    td_reflector_end(&r.reflectors, p->stream);
    return status;
}
