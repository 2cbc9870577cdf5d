/* lu.c - a block of columns after the other (lu_steps.h). Within a block a panel of columns is
 * factored, piece by piece, and the block's columns behind it are updated: first those of the next
 * panel, then all others. On devices whose pieces are factored by a cluster of blocks, what the
 * next panel waits for goes ahead in a stream beside the program's (ahead.h): it is factored while
 * the others are updated, and while rows are exchanged in the columns beside the block.
 *
 *     ahead     panel 0 | next 0 | panel 1 ............ | next 1 | panel 2 ......
 *     program                    | others 0 | beside 0           | others 1 | beside 1
 *
 * Behind a block come one solve and one product. The cut depends on sizes alone, so that the bits
 * are the same on every device whose products have the same. */
#include "lu.h"

#include <limits.h>

#include "../../../kernels/factor/cluster.h"
#include "../../cuda/workspace.h"
#include "../../model/factor_model.h"
#include "../../routine/decision.h"
#include "../../routine/sizes.h"
#include "../ozaki/cublas.h"
#include "../solve/solve.h"
#include "ahead.h"

_Static_assert((int)TD_FACTOR_MOST_ROWS == (int)TD_CLUSTER_ROWS, "the model is of other panels");

/* Where the steps of one call run. */
typedef struct {
    const td_problem *problem;
    td_factor_place place;
    td_lu_cut cut;
    td_workspace orders; /* of the last panels (cluster.h), if memory is not NULL */
    td_ahead *ahead;     /* NULL: all is in the program's stream */
    cudaStream_t stream; /* of what the next panel waits for */
} run;

static cudaError_t load(int which)
{
    (void)which;
    cudaError_t error = td_one_block_prepare();
    if (error == cudaSuccess) error = td_cluster_prepare();
    return error == cudaSuccess ? td_solve_prepare() : error;
}

const char *td_factor_lu_refusal(const td_problem *p)
{
    return p->m <= INT_MAX && p->n <= INT_MAX ? NULL : td_reason_large;
}

/* Columns from..to - 1. */
typedef struct {
    int64_t from, to;
} columns;

/* A block: its panels are in `factored`, and what they update at once in `updated`, which are the
 * same columns unless the last block is wide. */
typedef struct {
    columns factored, updated;
} block;

static block block_of(const run *r, int64_t i)
{
    const td_problem *p = r->problem;
    const int64_t first = td_lu_block_at(p, &r->cut, i), behind = td_lu_block_at(p, &r->cut, i + 1);
    const bool is_last = i + 1 == td_lu_blocks(p, &r->cut);
    return (block){{first, behind}, {first, is_last ? p->n : behind}};
}

/* A panel: columns first..behind - 1, of which a piece is factored at a time. */
typedef struct {
    int64_t first, behind, piece;
} panel;

static panel panel_at(const run *r, const block *b, int64_t first)
{
    const td_lu_panel_cut cut = td_lu_panel_cut_of(&r->cut, r->problem->m - first);
    return (panel){first, td_smaller(first + cut.panel, b->factored.to), cut.piece};
}

static bool is_one_piece(const panel *of) { return of->first + of->piece >= of->behind; }

/* The piece of a panel that begins at column `first`. */
static td_one_block_panel piece_at(const run *r, const panel *of, int64_t first)
{
    const td_problem *p = r->problem;
    const size_t pivot_bytes = p->has_wide_pivots ? sizeof(int64_t) : sizeof(int);
    return (td_one_block_panel){
        .is_complex = p->type == TD_COMPLEX_BINARY64,
        .a = td_lu_part(p, first, first).data,
        .ld = p->a.ld,
        .rows = p->m - first,
        .columns = td_smaller(of->piece, of->behind - first),
        .before = first,
        .pivots = p->pivots ? (char *)p->pivots + (size_t)first * pivot_bytes : NULL,
        .has_wide_pivots = p->has_wide_pivots,
        .info = p->info,
    };
}

/* While a panel is factored, columns left of it still go by the orders of the panel before the last
 * one. */
static int64_t orders_of(const td_lu_cut *cut)
{
    const int64_t panels = 3;
    return panels * cut->of_many.panel / td_lu_least_piece(cut);
}

static size_t order_bytes(const td_problem *p)
{
    return td_cluster_order_bytes(p->type == TD_COMPLEX_BINARY64);
}

/* What a piece leaves for other columns. */
static void *order_at(const run *r, int64_t first)
{
    const size_t number = (size_t)(first / td_lu_least_piece(&r->cut) % orders_of(&r->cut));
    return r->orders.memory ? (char *)r->orders.memory + number * order_bytes(r->problem) : NULL;
}

/* ---- products ---- */

/* The solve behind block i. */
static td_run_status solve(const run *r, int64_t i)
{
    const td_problem call = td_lu_block_solve(r->problem, &r->cut, i);
    const td_factor_place *at = &r->place;
    const td_factor_products *by = at->by;
    const td_solve_products with = {by->engine, by->parameter, by->cut};
    if (!by->engine) return td_cublas_run(at->device, &call, NULL, 0) ? TD_RUN_DONE : TD_RUN_FAILED;
    return td_solve_run(&call, &with, at->device, at->workspace_limit, at->counters);
}

/* Takes the products of columns first..behind - 1 away from columns from..to - 1 below them. */
static td_run_status update(const run *r, int64_t first, int64_t behind, int64_t from, int64_t to,
                            cudaStream_t stream)
{
    td_product product = td_lu_panel_product(r->problem, first, behind - first, from, to);
    product.stream = stream;
    return product.m > 0 ? td_factor_multiply(&r->place, &product) : TD_RUN_DONE;
}

/* ---- columns beside a panel ---- */

/* Rows of columns from..to - 1 go to their places; then, if `solves`, those beside the piece become
 * U's. */
static td_run_status exchange(const run *r, const td_one_block_panel *piece, int64_t from,
                              int64_t to, bool solves, cudaStream_t stream)
{
    if (from >= to || (!solves && !r->problem->pivots)) return TD_RUN_DONE;
    void *const columns = td_lu_part(r->problem, piece->before, from).data;
    const cudaError_t error =
        r->orders.memory ? td_cluster_exchange_run(piece, order_at(r, piece->before), columns,
                                                   to - from, solves, stream)
                         : td_one_block_exchange_run(piece, columns, to - from, solves, stream);
    return td_cuda_ok(error) ? TD_RUN_DONE : TD_RUN_FAILED;
}

/* As all pieces of a panel say. */
static td_run_status exchange_all(const run *r, const panel *of, int64_t from, int64_t to,
                                  bool solves, cudaStream_t stream)
{
    td_run_status status = TD_RUN_DONE;
    for (int64_t at = of->first; at < of->behind && status == TD_RUN_DONE; at += of->piece) {
        const td_one_block_panel piece = piece_at(r, of, at);
        status = exchange(r, &piece, from, to, solves, stream);
    }
    return status;
}

/* U's rows of columns from..to - 1 beside a panel of several pieces. */
static td_run_status solve_beside(const run *r, const panel *of, int64_t from, int64_t to,
                                  cudaStream_t stream)
{
    const td_problem solve = td_lu_panel_solve(r->problem, of->first, of->behind, from, to);
    const td_solve_block whole = td_solve_block_of(&solve, solve.m, 0);
    return td_cuda_ok(td_solve_block_run(&whole, stream)) ? TD_RUN_DONE : TD_RUN_FAILED;
}

/* All that a panel does to columns from..to - 1 behind it. */
static td_run_status apply(const run *r, const panel *of, int64_t from, int64_t to,
                           cudaStream_t stream)
{
    if (from >= to) return TD_RUN_DONE;
    td_run_status status = exchange_all(r, of, from, to, is_one_piece(of), stream);
    if (status == TD_RUN_DONE && !is_one_piece(of)) status = solve_beside(r, of, from, to, stream);
    return status == TD_RUN_DONE ? update(r, of->first, of->behind, from, to, stream) : status;
}

/* ---- steps ---- */

static td_run_status factor_piece(const run *r, const td_one_block_panel *piece, bool is_first)
{
    const cudaError_t error =
        r->orders.memory
            ? td_cluster_factor_run(piece, order_at(r, piece->before),
                                    r->ahead && is_first ? r->ahead->begun : NULL, r->stream)
            : td_one_block_factor_run(piece, r->stream);
    return td_cuda_ok(error) ? TD_RUN_DONE : TD_RUN_FAILED;
}

/* What a piece does to the other columns of its panel. */
static td_run_status apply_within(const run *r, const panel *of, const td_one_block_panel *piece)
{
    const int64_t first = piece->before, behind = first + piece->columns;
    td_run_status status = exchange(r, piece, of->first, first, false, r->stream);
    if (behind >= of->behind || status != TD_RUN_DONE) return status;
    status = exchange(r, piece, behind, of->behind, true, r->stream);
    return status == TD_RUN_DONE ? update(r, first, behind, behind, of->behind, r->stream) : status;
}

/* TD_RUN_FAILED: nothing of the panel has been written. */
static td_run_status factor(const run *r, const panel *of)
{
    td_run_status status = TD_RUN_DONE;
    for (int64_t at = of->first; at < of->behind && status == TD_RUN_DONE; at += of->piece) {
        const td_one_block_panel piece = piece_at(r, of, at);
        status = factor_piece(r, &piece, at == of->first);
        if (status != TD_RUN_DONE && at == of->first) return status;
        if (status == TD_RUN_DONE) status = apply_within(r, of, &piece);
    }
    return status == TD_RUN_DONE ? TD_RUN_DONE : TD_RUN_BROKEN;
}

/* The next panel is begun; the program's stream goes on as soon as its first piece has its places
 * on the device, which it would have to wait for behind a large product. */
static td_run_status factor_next(const run *r, const block *b, int64_t first)
{
    cudaStream_t stream = r->problem->stream;
    if (r->ahead && !td_ahead_wait(stream, r->ahead->panel, r->stream)) return TD_RUN_FAILED;
    if (first >= b->factored.to) return TD_RUN_DONE;
    const panel next = panel_at(r, b, first);
    const td_run_status status = factor(r, &next);
    if (status != TD_RUN_DONE || !r->ahead) return status;
    return td_cuda_ok(cudaStreamWaitEvent(stream, r->ahead->begun, 0)) ? TD_RUN_DONE
                                                                       : TD_RUN_FAILED;
}

/* Rows of all columns that the panel does not update at once. */
static td_run_status exchange_beside(const run *r, const block *b, const panel *of)
{
    const td_problem *p = r->problem;
    const td_run_status status = exchange_all(r, of, 0, of->first, false, p->stream);
    return status == TD_RUN_DONE ? exchange_all(r, of, b->updated.to, p->n, false, p->stream)
                                 : status;
}

/* The panel is enqueued. */
static td_run_status step(const run *r, const block *b, const panel *of)
{
    const td_problem *p = r->problem;
    const int64_t behind = of->behind, next = behind < b->factored.to
                                                  ? panel_at(r, b, behind).behind
                                                  : td_smaller(behind + of->piece, b->updated.to);
    td_run_status status = apply(r, of, behind, next, r->stream);
    if (status == TD_RUN_DONE && r->ahead) status = factor_next(r, b, behind);
    if (status == TD_RUN_DONE) status = apply(r, of, next, b->updated.to, p->stream);
    if (status == TD_RUN_DONE && r->ahead && !td_ahead_wait(r->stream, r->ahead->step, p->stream))
        status = TD_RUN_FAILED;
    if (status == TD_RUN_DONE) status = exchange_beside(r, b, of);
    if (status == TD_RUN_DONE && !r->ahead) status = factor_next(r, b, behind);
    return status;
}

static td_run_status factor_block(const run *r, const block *b)
{
    if (r->ahead && !td_ahead_wait(r->stream, r->ahead->step, r->problem->stream))
        return TD_RUN_FAILED;
    panel of = panel_at(r, b, b->factored.from);
    td_run_status status = factor(r, &of);
    while (of.first < b->factored.to && status == TD_RUN_DONE) {
        if (step(r, b, &of) != TD_RUN_DONE) status = TD_RUN_BROKEN;
        of = panel_at(r, b, of.behind);
    }
    if (r->ahead && !td_ahead_wait(r->problem->stream, r->ahead->panel, r->stream))
        return TD_RUN_BROKEN;
    return status;
}

/* What block i, which is not the last, does to all columns behind it. */
static td_run_status update_behind(const run *r, int64_t i)
{
    const td_product product = td_lu_block_product(r->problem, &r->cut, i);
    const td_run_status status = solve(r, i);
    return status == TD_RUN_DONE && product.m > 0 ? td_factor_multiply(&r->place, &product)
                                                  : status;
}

static td_run_status run_blocks(const run *r)
{
    const td_problem *p = r->problem;
    const int64_t blocks = td_lu_blocks(p, &r->cut);
    if (!td_cuda_ok(cudaMemsetAsync(p->info, 0, sizeof *p->info, p->stream))) return TD_RUN_FAILED;
    td_run_status status = TD_RUN_DONE;
    for (int64_t i = 0; i < blocks && status == TD_RUN_DONE; i++) {
        const block b = block_of(r, i);
        status = factor_block(r, &b);
        if (status == TD_RUN_FAILED && i == 0) return status;
        if (status == TD_RUN_DONE && i + 1 < blocks) status = update_behind(r, i);
    }
    return status == TD_RUN_DONE ? TD_RUN_DONE : TD_RUN_BROKEN;
}

/* ---- what is needed ---- */

/* Panels by a cluster need memory, which others do without. */
static td_run_status prepare(run *r)
{
    const td_problem *p = r->problem;
    const block whole = block_of(r, 0);
    const panel of = panel_at(r, &whole, 0);
    const td_one_block_panel first = piece_at(r, &of, 0);
    const size_t bytes = (size_t)orders_of(&r->cut) * order_bytes(p);
    r->stream = p->stream;
    if (!td_cluster_fits(&first)) return td_one_block_fits() ? TD_RUN_DONE : TD_RUN_NO_PANELS;
    const td_run_status status = td_workspace_acquire_beside(&r->orders, r->place.device, p->stream,
                                                             bytes, &r->place.workspace_limit);
    if (status != TD_RUN_DONE || td_stream_is_capturing(p->stream)) return status;
    r->ahead = td_ahead_take(r->place.device);
    if (r->ahead) r->stream = r->ahead->stream;
    return TD_RUN_DONE;
}

static void clean_up(run *r)
{
    if (r->ahead) td_ahead_give_back(r->ahead);
    if (r->orders.memory) td_workspace_release(&r->orders, r->problem->stream);
}

td_run_status td_factor_lu(const td_problem *p, const td_factor_products *products,
                           td_device *device, size_t workspace_limit, td_counters *counters)
{
    run r = {p, {products, device, workspace_limit, counters}, .cut = products->panels};
    td_run_status status = td_engine_check(p);
    if (status != TD_RUN_DONE) return status;
    if (!products->engine && !td_cublas_ready(device)) return TD_RUN_NO_CUBLAS;
    if (!td_device_load(device, load, 0)) return TD_RUN_FAILED;
    status = prepare(&r);
    if (status != TD_RUN_DONE) return status;
    status = run_blocks(&r);
    clean_up(&r);
    return status;
}
