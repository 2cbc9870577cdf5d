/* qr.c - a block of columns after the other (qr_steps.h). Within a block a panel of columns becomes
 * reflectors, leaf by leaf, and the block's columns behind it are reflected: first those of the
 * next panel, then all others. What the next panel waits for goes ahead in a stream beside the
 * program's (ahead.h): it is factored while the others are reflected, and while V and T of the
 * block get what the panel has of them.
 *
 *     ahead     panel 0 | next 0 | panel 1 .......... | next 1 | panel 2 ......
 *     program                    | others 0 | join 0           | others 1 | join 1
 *
 * Behind a block all columns are reflected by the block's V and T. The next block does not begin
 * beside these products: where it did, both took longer than one after the other. The cut into
 * blocks, panels, leaves and products depends on sizes alone, so that the bits are the same on
 * every device whose products have the same. */
#include "qr.h"

#include "../../cuda/workspace.h"
#include "../../model/qr_model.h"
#include "../../routine/sizes.h"
#include "ahead.h"
#include "reflectors.h"

_Static_assert((int)TD_QR_MOST_ROWS == (int)TD_QR_ROWS, "the model is of other panels");

/* Most columns of a complex panel that real products apply: with 64 whole factorisations are 5 %
 * faster on an H200, with 128 up to 4 % slower. */
enum { MOST_REAL = 64 };

/* Where the steps of one call run. */
typedef struct {
    const td_problem *problem;
    td_reflectors reflectors;
} run;

TD_LOADER(load, td_qr_prepare)

/* A block: panels are in columns first..behind - 1, and update at once those before `to`. */
typedef struct {
    int64_t first, behind, to;
    bool is_last;
} block;

static block block_of(const run *r, int64_t i)
{
    const td_qr_cut *cut = &r->reflectors.cut;
    const int64_t order = td_problem_order(r->problem), first = i * cut->block;
    const bool is_last = i + 1 == td_qr_blocks(cut, order);
    return is_last ? (block){first, order, r->problem->n, true}
                   : (block){first, first + cut->block, first + cut->block, false};
}

static td_qr_panel panel_at(const run *r, int64_t first)
{
    return td_reflector_panel(&r->reflectors, first, first / r->reflectors.cut.panel);
}

/* Columns from..to - 1 behind some reflectors become (I - V T V')' times what they are. */
static td_run_status reflect(const run *r, const td_reflection *by, int64_t from, int64_t to,
                             cudaStream_t stream)
{
    const td_problem *p = r->problem;
    return td_reflector_apply(&r->reflectors, by, td_adjoint(p->type),
                              td_lu_part(p, p->m - by->rows, from), to - from, from, stream);
}

/* ---- steps ---- */

/* TD_RUN_FAILED if nothing of the panel has been written. */
static td_run_status factor(const run *r, int64_t first)
{
    const td_qr_panel panel = panel_at(r, first);
    for (int at = 0; at < panel.columns; at += td_qr_leaf(&panel)) {
        if (!td_cuda_ok(td_qr_leaf_run(&panel, at, r->reflectors.stream)))
            return at == 0 ? TD_RUN_FAILED : TD_RUN_BROKEN;
        if (!td_cuda_ok(td_qr_reflect_run(&panel, at, r->reflectors.stream))) return TD_RUN_BROKEN;
    }
    return TD_RUN_DONE;
}

/* The next panel of the block; the program's stream goes on as soon as its columns are reflected.
 * Though large products then begin with its first leaf, that finds its places: its stream has the
 * higher priority. */
static td_run_status factor_next(const run *r, const block *b, int64_t first)
{
    if (r->reflectors.ahead &&
        !td_ahead_wait(r->problem->stream, r->reflectors.ahead->panel, r->reflectors.stream))
        return TD_RUN_FAILED;
    return first < b->behind ? factor(r, first) : TD_RUN_DONE;
}

/* The panel at `first` is enqueued. What is copied of it is there before the panel after the next
 * one has its memory. */
static td_run_status step(const run *r, const block *b, int64_t first)
{
    const td_problem *p = r->problem;
    const td_qr_panel panel = panel_at(r, first);
    const td_reflection by = td_reflection_of(&panel);
    const int64_t behind = first + panel.columns,
                  next = td_smaller(behind + r->reflectors.cut.panel, b->to);
    td_run_status status = reflect(r, &by, behind, next, r->reflectors.stream);
    if (status == TD_RUN_DONE && r->reflectors.ahead) status = factor_next(r, b, behind);
    if (status == TD_RUN_DONE && !b->is_last)
        status = td_reflector_keep(&r->reflectors, &panel, b->first, first, p->stream);
    if (status == TD_RUN_DONE) status = reflect(r, &by, next, b->to, p->stream);
    if (status == TD_RUN_DONE && r->reflectors.ahead &&
        !td_ahead_wait(r->reflectors.stream, r->reflectors.ahead->step, p->stream))
        status = TD_RUN_FAILED;
    if (status == TD_RUN_DONE && !b->is_last)
        status = td_reflector_join(&r->reflectors, b->first, first, p->stream);
    if (status == TD_RUN_DONE && !r->reflectors.ahead) status = factor_next(r, b, behind);
    return status;
}

/* TD_RUN_FAILED if the block has written nothing: the first panel is the first to write. */
static td_run_status factor_block(const run *r, const block *b)
{
    const td_reflectors *of = &r->reflectors;
    if (of->ahead && !td_ahead_wait(of->stream, of->ahead->step, r->problem->stream))
        return TD_RUN_FAILED;
    td_run_status status = factor(r, b->first);
    for (int64_t first = b->first; first < b->behind && status == TD_RUN_DONE;
         first += of->cut.panel)
        if (step(r, b, first) != TD_RUN_DONE) status = TD_RUN_BROKEN;
    if (of->ahead && !td_ahead_wait(r->problem->stream, of->ahead->panel, of->stream))
        return TD_RUN_BROKEN;
    return status;
}

/* What a block that is not the last does to all columns behind it. */
static td_run_status update_behind(const run *r, const block *b)
{
    const td_reflection by = td_reflector_block(&r->reflectors, b->first, b->behind - b->first);
    return reflect(r, &by, b->behind, r->problem->n, r->problem->stream);
}

/* Block i, and what it does to all columns behind it. */
static td_run_status take_block(const void *of, int64_t i)
{
    const run *r = of;
    const block b = block_of(r, i);
    const td_run_status status = factor_block(r, &b);
    if (status != TD_RUN_DONE || b.is_last) return status;
    return update_behind(r, &b) == TD_RUN_DONE ? TD_RUN_DONE : TD_RUN_BROKEN;
}

td_run_status td_factor_qr(const td_problem *p, const td_factor_products *products, td_qr_cut cut,
                           td_device *device, size_t workspace_limit, td_counters *counters)
{
    run r = {.problem = p,
             .reflectors = {.place = {products, device, workspace_limit, counters},
                            .type = p->type,
                            .a = p->a.data,
                            .tau = p->tau,
                            .ld = p->a.ld,
                            .rows = p->m,
                            .count = td_problem_order(p),
                            .cut = cut,
                            .vectors = p->n,
                            .multiplies_real = cut.panel <= MOST_REAL}};
    td_run_status status = td_factor_ready(p, &r.reflectors.place, load);
    if (status != TD_RUN_DONE) return status;
    if (!td_qr_fits(p->m)) return TD_RUN_NO_PANELS;
    status = td_reflector_begin(&r.reflectors, p->stream);
    if (status != TD_RUN_DONE) return status;
    status = td_factor_blocks(p, td_qr_blocks(&cut, td_problem_order(p)), take_block, &r);
    td_reflector_end(&r.reflectors, p->stream);
    return status;
}
