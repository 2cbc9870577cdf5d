/* q.c - Q is a product of panels, I - V T V', each of which is made again from its reflectors, and
 * applied. It is formed from its last panel to its first, as what it is applied to is 0 above and
 * to the left of a panel's diagonal. The next panel is made in a stream that goes ahead (ahead.h).
 *
 *     ahead     V, T of panel 2 | of panel 1 | ...
 *     program                   | panel 2    | panel 1 ...
 *
 * The panels of a block but the last one (qr_steps.h) become one V and T first, from its first
 * panel on, in whichever order blocks are applied. Where Q is formed the block's own columns are
 * made of its panels, once the columns behind have been reflected. */
#include "q.h"

#include "../../cuda/workspace.h"
#include "../../routine/decision.h"
#include "../../routine/sizes.h"
#include "ahead.h"
#include "reflectors.h"

/* Where the steps of one call run. */
typedef struct {
    const td_problem *problem;
    td_reflectors reflectors;
    bool is_backward; /* from the last panel to the first */
} run;

TD_LOADER(load, td_qr_prepare)

static bool are_sizes(const td_problem *p)
{
    return p->kind == TD_FORM_Q ? p->n <= p->m && p->k <= p->n : p->k <= td_qr_reflected(p);
}

const char *td_factor_q_refusal(const td_problem *p)
{
    const bool has_op = p->op_a == TD_OP_N || p->op_a == td_adjoint(p->type);
    return are_sizes(p) && has_op ? td_factor_size_refusal(p) : td_reason_invalid;
}

/* ---- steps ---- */

/* So many columns from `first` on, and rows, become those of the unit matrix from `below` on. */
static bool unit(const run *r, int64_t first, int64_t columns, int64_t rows, int64_t below)
{
    const td_problem *p = r->problem;
    return td_cuda_ok(td_qr_unit_run(p->type == TD_COMPLEX_BINARY64, td_lu_part(p, 0, first).data,
                                     p->a.ld, rows, columns, below, p->stream));
}

/* Columns of Q from those of a panel on, before `to`; above its diagonal they are 0. */
static td_run_status form(const run *r, const td_reflection *by, int64_t first, int64_t to)
{
    const td_problem *p = r->problem;
    const int64_t behind = first + by->columns;
    const td_matrix others = td_lu_part(p, first, behind), own = td_lu_part(p, first, first);
    td_run_status status =
        td_reflector_apply(&r->reflectors, by, TD_OP_N, others, to - behind, behind, p->stream);
    if (status == TD_RUN_DONE) status = td_reflector_form(&r->reflectors, by, own, p->stream);
    if (status != TD_RUN_DONE) return status;
    return unit(r, first, by->columns, first, first) ? TD_RUN_DONE : TD_RUN_BROKEN;
}

static td_run_status apply(const run *r, const td_reflection *by, int64_t first)
{
    const td_problem *p = r->problem;
    const int64_t bytes = td_types[p->type].size;
    char *const c = p->c.data;
    const td_matrix below = {.data = c + first * bytes, .ld = p->c.ld},
                    behind = {.data = c + first * p->c.ld * bytes, .ld = p->c.ld};
    return p->side == TD_LEFT
               ? td_reflector_apply(&r->reflectors, by, p->op_a, below, p->n, 0, p->stream)
               : td_reflector_apply_right(&r->reflectors, by, p->op_a, behind, p->m, p->stream);
}

/* Columns of Q from those of a block on, of which the others are made, and are 0 above its last
 * row. */
static td_run_status form_block(const run *r, td_reflection by, int64_t first)
{
    const td_problem *p = r->problem;
    const int64_t behind = first + by.columns, width = r->reflectors.cut.panel;
    by.meets_zeros = true;
    td_run_status status =
        td_reflector_apply(&r->reflectors, &by, TD_OP_N, td_lu_part(p, first, behind),
                           p->n - behind, behind, p->stream);
    for (int64_t at = behind - width; at >= first && status == TD_RUN_DONE; at -= width) {
        const td_reflection panel = td_reflector_of_block(&r->reflectors, first, at);
        status = form(r, &panel, at, behind);
        if (status != TD_RUN_DONE) status = TD_RUN_BROKEN;
    }
    return status;
}

/* Reflectors of all blocks but the last. */
static int64_t reflectors_in_blocks(const run *r)
{
    const td_reflectors *of = &r->reflectors;
    return (td_qr_blocks(&of->cut, of->count) - 1) * of->cut.block;
}

static int64_t panels_of(const run *r)
{
    return td_ceil_div(r->reflectors.count, r->reflectors.cut.panel);
}

/* The panel that has its turn as number `turn`: of a block its first one is always the first. */
static int64_t first_of(const run *r, int64_t turn)
{
    const int64_t width = r->reflectors.cut.panel, block = r->reflectors.cut.block,
                  in_blocks = reflectors_in_blocks(r) / width, panels = panels_of(r);
    if (!r->is_backward) return turn * width;
    if (turn < panels - in_blocks) return (panels - 1 - turn) * width;
    const int64_t at = (turn - (panels - in_blocks)) * width;
    return reflectors_in_blocks(r) - (at / block + 1) * block + at % block;
}

static td_qr_panel panel_of(const run *r, int64_t turn)
{
    return td_reflector_panel(&r->reflectors, first_of(r, turn), turn);
}

/* Makes the panel once the one before the last has been used, whose memory it has. */
static td_run_status take(const run *r, int64_t turn)
{
    if (turn >= panels_of(r)) return TD_RUN_DONE;
    const td_qr_panel panel = panel_of(r, turn);
    if (r->reflectors.ahead &&
        !td_ahead_wait(r->reflectors.stream, r->reflectors.ahead->step, r->problem->stream))
        return TD_RUN_FAILED;
    const td_run_status status = td_reflector_take(&r->reflectors, &panel, r->reflectors.stream);
    return status == TD_RUN_DONE ? TD_RUN_DONE : TD_RUN_FAILED; /* in memory of the call's own */
}

/* The panel joins those of its block that have had their turns. */
static td_run_status join(const run *r, const td_qr_panel *panel, int64_t first, int64_t at)
{
    cudaStream_t stream = r->problem->stream;
    td_run_status status = td_reflector_keep(&r->reflectors, panel, first, at, stream);
    if (status == TD_RUN_DONE) status = td_reflector_join(&r->reflectors, first, at, stream);
    return status == TD_RUN_DONE ? TD_RUN_DONE : TD_RUN_FAILED; /* in memory of the call's own */
}

/* Panels that are not of a block; or a block, when its last panel has joined it. *writes: A or C is
 * written. */
static td_run_status use(const run *r, int64_t turn, bool *writes)
{
    const int64_t at = first_of(r, turn), block = r->reflectors.cut.block;
    const bool forms = r->problem->kind == TD_FORM_Q;
    const td_qr_panel panel = panel_of(r, turn);
    td_reflection by = td_reflection_of(&panel);
    *writes = true;
    if (at >= reflectors_in_blocks(r))
        return forms ? form(r, &by, at, r->problem->n) : apply(r, &by, at);
    const int64_t first = at / block * block;
    const td_run_status status = join(r, &panel, first, at);
    *writes = at + r->reflectors.cut.panel == first + block;
    if (status != TD_RUN_DONE || !*writes) return status;
    by = td_reflector_block(&r->reflectors, first, block);
    return forms ? form_block(r, by, first) : apply(r, &by, first);
}

static td_run_status step(const run *r, int64_t turn, bool *writes)
{
    *writes = false;
    if (r->reflectors.ahead &&
        !td_ahead_wait(r->problem->stream, r->reflectors.ahead->panel, r->reflectors.stream))
        return TD_RUN_FAILED;
    const td_run_status status = take(r, turn + 1);
    return status == TD_RUN_DONE ? use(r, turn, writes) : status;
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
    bool is_written = false, writes;
    td_run_status status = take(r, 0);
    if (status == TD_RUN_DONE && !begin(r))
        status = TD_RUN_FAILED;
    else
        is_written = status == TD_RUN_DONE && unchanged_columns(r->problem) > 0;
    for (int64_t turn = 0; turn < panels_of(r) && status == TD_RUN_DONE; turn++) {
        status = step(r, turn, &writes);
        is_written = is_written || (status == TD_RUN_DONE && writes);
    }
    if (r->reflectors.ahead &&
        !td_ahead_wait(r->problem->stream, r->reflectors.ahead->panel, r->reflectors.stream))
        return TD_RUN_BROKEN;
    return status != TD_RUN_DONE && is_written ? TD_RUN_BROKEN : status;
}

td_run_status td_factor_q(const td_problem *p, const td_factor_products *products, td_qr_cut cut,
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
                            .cut = cut,
                            .vectors = p->kind == TD_APPLY_Q && p->side == TD_RIGHT ? p->m : p->n},
             .is_backward = p->kind == TD_FORM_Q || (p->side == TD_LEFT) == (p->op_a == TD_OP_N)};
    td_run_status status = td_factor_ready(p, &r.reflectors.place, load);
    if (status != TD_RUN_DONE) return status;
    status = td_reflector_begin(&r.reflectors, p->stream);
    if (status != TD_RUN_DONE) return status;
    status = run_steps(&r);
    td_reflector_end(&r.reflectors, p->stream);
    return status;
}
