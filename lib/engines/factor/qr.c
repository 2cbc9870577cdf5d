/* qr.c - a panel of columns becomes reflectors, leaf by leaf, and the columns behind it are
 * reflected: first those of the next panel, then all others. What the next panel waits for goes
 * ahead in a stream beside the program's (ahead.h): it is factored while the others are reflected.
 *
 *     ahead     panel 0 | next 0 | panel 1 .......... | next 1 | panel 2 ......
 *     program                    | others 0                    | others 1
 *
 * The cut into panels, leaves and products depends on sizes alone, so that the bits are the same on
 * every device whose products have the same. */
#include "qr.h"

#include <limits.h>

#include "../../cuda/workspace.h"
#include "../../model/qr_model.h"
#include "../../routine/decision.h"
#include "../../routine/sizes.h"
#include "../ozaki/cublas.h"
#include "ahead.h"
#include "reflectors.h"

_Static_assert((int)TD_QR_MOST_ROWS == (int)TD_QR_ROWS, "the model is of other panels");

/* Where the steps of one call run. */
typedef struct {
    const td_problem *problem;
    td_reflectors reflectors;
} run;

static cudaError_t load(int which)
{
    (void)which;
    return td_qr_prepare();
}

const char *td_factor_qr_refusal(const td_problem *p)
{
    return p->m <= INT_MAX && p->n <= INT_MAX ? NULL : td_reason_large;
}

static int64_t order_of(const td_problem *p) { return td_smaller(p->m, p->n); }

/* Columns from..to - 1 behind a panel become (I - V T V')' times what they are. */
static td_run_status reflect(const run *r, const td_qr_panel *panel, int64_t from, int64_t to,
                             cudaStream_t stream)
{
    const td_problem *p = r->problem;
    return td_reflector_apply(&r->reflectors, panel, td_qr_transpose(p->type),
                              td_lu_part(p, p->m - panel->rows, from), to - from, from, stream);
}

/* ---- steps ---- */

static td_run_status factor(const run *r, int64_t first)
{
    const td_qr_panel panel = td_reflector_panel(&r->reflectors, first);
    for (int at = 0; at < panel.columns; at += td_qr_leaf(&panel))
        if (!td_cuda_ok(td_qr_leaf_run(&panel, at, r->reflectors.stream)) ||
            !td_cuda_ok(td_qr_reflect_run(&panel, at, r->reflectors.stream)))
            return TD_RUN_FAILED;
    return TD_RUN_DONE;
}

/* The next panel; the program's stream goes on as soon as its columns are reflected. Though large
 * products then begin with its first leaf, that finds its places: its stream has the higher
 * priority. */
static td_run_status factor_next(const run *r, int64_t first)
{
    if (r->reflectors.ahead &&
        !td_ahead_wait(r->problem->stream, r->reflectors.ahead->panel, r->reflectors.stream))
        return TD_RUN_FAILED;
    return first < order_of(r->problem) ? factor(r, first) : TD_RUN_DONE;
}

/* The panel at `first` is enqueued. */
static td_run_status step(const run *r, int64_t first)
{
    const td_problem *p = r->problem;
    const td_qr_panel panel = td_reflector_panel(&r->reflectors, first);
    const int64_t behind = first + panel.columns,
                  next = td_smaller(behind + r->reflectors.width, p->n);
    td_run_status status = reflect(r, &panel, behind, next, r->reflectors.stream);
    if (status == TD_RUN_DONE && r->reflectors.ahead) status = factor_next(r, behind);
    if (status == TD_RUN_DONE) status = reflect(r, &panel, next, p->n, p->stream);
    if (status == TD_RUN_DONE && r->reflectors.ahead &&
        !td_ahead_wait(r->reflectors.stream, r->reflectors.ahead->step, p->stream))
        status = TD_RUN_FAILED;
    if (status == TD_RUN_DONE && !r->reflectors.ahead) status = factor_next(r, behind);
    return status;
}

static td_run_status run_steps(const run *r)
{
    const td_problem *p = r->problem;
    if (!td_cuda_ok(cudaMemsetAsync(p->info, 0, sizeof *p->info, p->stream)) ||
        (r->reflectors.ahead &&
         !td_ahead_wait(r->reflectors.stream, r->reflectors.ahead->step, p->stream)))
        return TD_RUN_FAILED;
    td_run_status status = factor(r, 0);
    for (int64_t first = 0; first < order_of(p) && status == TD_RUN_DONE;
         first += r->reflectors.width)
        status = step(r, first);
    if (r->reflectors.ahead &&
        !td_ahead_wait(p->stream, r->reflectors.ahead->panel, r->reflectors.stream))
        return TD_RUN_BROKEN;
    return status == TD_RUN_DONE ? TD_RUN_DONE : TD_RUN_BROKEN;
}

td_run_status td_factor_qr(const td_problem *p, const td_factor_products *products,
                           td_device *device, size_t workspace_limit, td_counters *counters)
{
    run r = {.problem = p,
             .reflectors = {.place = {products, device, workspace_limit, counters},
                            .type = p->type,
                            .a = p->a.data,
                            .tau = p->tau,
                            .ld = p->a.ld,
                            .rows = p->m,
                            .count = order_of(p),
                            .width = td_qr_panel_columns(p),
                            .vectors = p->n}};
    td_run_status status = td_engine_check(p);
    if (status != TD_RUN_DONE) return status;
    if (!products->engine && !td_cublas_ready(device)) return TD_RUN_NO_CUBLAS;
    if (!td_device_load(device, load, 0)) return TD_RUN_FAILED;
    if (!td_qr_fits(p->m)) return TD_RUN_NO_PANELS;
    status = td_reflector_begin(&r.reflectors, p->stream);
    if (status != TD_RUN_DONE) return status;
    status = run_steps(&r);
    td_reflector_end(&r.reflectors, p->stream);
    return status;
}
