/* lu.c - a block of columns after the other (lu_steps.h). Within a block a panel of columns is
 * factored, piece by piece, and the block's columns behind it are updated: first those of the next
 * panel, then all others. On devices whose pieces are factored by a cluster of blocks, what the
 * next panel waits for goes ahead in a stream beside the program's (ahead.h): it is factored while
 * the others are updated, and while rows are exchanged in the columns beside the block, and U's
 * rows are made there.
 *
 *     ahead     panel 0 | next 0 | panel 1 ............ | next 1 | panel 2 ......
 *     program                    | others 0 | rows 0             | others 1 | rows 1
 *
 * Behind a block comes one product. The cut depends on sizes alone, so that the bits are the same
 * on every device whose products have the same. */
#include "lu.h"

#include "../../../kernels/factor/lu_cluster.h"
#include "../../cuda/workspace.h"
#include "../../model/factor_model.h"
#include "../../routine/sizes.h"
#include "../solve/solve.h"
#include "ahead.h"
#include "lu_late.h"

_Static_assert((int)TD_FACTOR_MOST_ROWS == (int)TD_CLUSTER_ROWS, "the model is of other panels");

/* Where the steps of one call run. */
typedef struct {
    const td_problem *problem;
    td_lu_cut cut;
    td_factor_place place;  /* of products behind a block */
    td_factor_place within; /* of products within a block, and of those that make its rows */
    bool makes_rows;        /* U's rows are made panel by panel, as no mode makes their products */
    td_workspace work;      /* has memory for late rows and for orders */
    bool is_late;           /* rows that no panel updates are exchanged late */
    td_lu_late *late;
    void *orders;        /* of the last panels (lu_cluster.h); NULL: no cluster factors them */
    td_ahead *ahead;     /* NULL: all is in the program's stream */
    cudaStream_t stream; /* of what the next panel waits for */
} run;

TD_LOADER(load, td_one_block_prepare, td_cluster_prepare, td_rows_prepare, td_late_prepare,
          td_solve_prepare)

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

/* Pivots from number `first` on; NULL: the call has none. */
static void *pivots_from(const td_problem *p, int64_t first)
{
    const size_t bytes = p->has_wide_pivots ? sizeof(int64_t) : sizeof(int);
    return p->pivots ? (char *)p->pivots + (size_t)first * bytes : NULL;
}

/* The piece of a panel that begins at column `first`. */
static td_one_block_panel piece_at(const run *r, const panel *of, int64_t first)
{
    const td_problem *p = r->problem;
    return (td_one_block_panel){
        .is_complex = p->type == TD_COMPLEX_BINARY64,
        .a = td_lu_part(p, first, first).data,
        .ld = p->a.ld,
        .rows = p->m - first,
        .columns = td_smaller(of->piece, of->behind - first),
        .before = first,
        .pivots = pivots_from(p, first),
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
    return r->orders ? (char *)r->orders + number * order_bytes(r->problem) : NULL;
}

/* ---- streams ---- */

/* The stream ahead, if there is one, waits for the program's. */
static bool fork_stream(const run *r)
{
    return !r->ahead || td_ahead_wait(r->stream, r->ahead->step, r->problem->stream);
}

/* The program's stream waits for the one ahead. */
static bool join_stream(const run *r)
{
    return !r->ahead || td_ahead_wait(r->problem->stream, r->ahead->panel, r->stream);
}

/* ---- products ---- */

static td_run_status multiply(const run *r, td_product product, cudaStream_t stream)
{
    product.stream = stream;
    return product.m > 0 && product.k > 0 ? td_factor_multiply(&r->within, &product) : TD_RUN_DONE;
}

/* Takes the products of columns first..behind - 1 away from columns from..to - 1 below them. */
static td_run_status update(const run *r, int64_t first, int64_t behind, int64_t from, int64_t to,
                            cudaStream_t stream)
{
    return multiply(r, td_lu_panel_product(r->problem, first, behind - first, from, to), stream);
}

/* ---- columns beside a panel ---- */

/* Rows of the `before` columns in front of a piece go to their places, and those of columns
 * from..to - 1 behind it, where those beside the piece become U's then. */
static td_run_status exchange(const run *r, const td_one_block_panel *piece, int64_t before,
                              int64_t from, int64_t to, cudaStream_t stream)
{
    const int64_t first = piece->before;
    void *const to_solve = td_lu_part(r->problem, first, from).data;
    if (r->orders)
        return td_done_if(td_cluster_exchange_run(piece, order_at(r, first), to_solve, to - from,
                                                  before, stream));
    void *const in_front = td_lu_part(r->problem, first, first - before).data;
    cudaError_t error = cudaSuccess;
    if (before > 0) error = td_one_block_exchange_run(piece, in_front, before, false, stream);
    if (from < to && error == cudaSuccess)
        error = td_one_block_exchange_run(piece, to_solve, to - from, true, stream);
    return td_done_if(error);
}

/* Of rows of columns from..to - 1, as columns first..behind - 1 say. */
static td_row_exchange exchange_of(const td_problem *p, int64_t first, int64_t behind, int64_t from,
                                   int64_t to)
{
    return (td_row_exchange){
        .is_complex = p->type == TD_COMPLEX_BINARY64,
        .b = td_lu_part(p, first, from).data,
        .ld = p->a.ld,
        .rows = p->m - first,
        .columns = to - from,
        .exchanges = behind - first,
        .pivots = pivots_from(p, first),
        .before = first,
        .has_wide_pivots = p->has_wide_pivots,
    };
}

/* As columns first..behind - 1 say, which are at most TD_FEW_EXCHANGES. */
static td_run_status exchange_all(const run *r, int64_t first, int64_t behind, int64_t from,
                                  int64_t to, cudaStream_t stream)
{
    const td_row_exchange x = exchange_of(r->problem, first, behind, from, to);
    if (from >= to || !r->problem->pivots) return TD_RUN_DONE;
    return td_done_if(td_few_exchanges_run(&x, stream));
}

/* U's rows of columns from..to - 1 beside columns first..behind - 1. */
static td_run_status solve_beside(const run *r, int64_t first, int64_t behind, int64_t from,
                                  int64_t to, cudaStream_t stream)
{
    const td_problem solve = td_lu_panel_solve(r->problem, first, behind, from, to);
    const td_solve_block whole = td_solve_block_of(&solve, solve.m, 0);
    return td_done_if(td_solve_block_run(&whole, stream));
}

/* All that a panel does to columns from..to - 1 behind it. */
static td_run_status apply(const run *r, const panel *of, int64_t from, int64_t to,
                           cudaStream_t stream)
{
    if (from >= to) return TD_RUN_DONE;
    const td_one_block_panel piece = piece_at(r, of, of->first);
    td_run_status status = is_one_piece(of)
                               ? exchange(r, &piece, 0, from, to, stream)
                               : exchange_all(r, of->first, of->behind, from, to, stream);
    if (status == TD_RUN_DONE && !is_one_piece(of))
        status = solve_beside(r, of->first, of->behind, from, to, stream);
    return status == TD_RUN_DONE ? update(r, of->first, of->behind, from, to, stream) : status;
}

/* ---- steps ---- */

static td_run_status factor_piece(const run *r, const td_one_block_panel *piece, bool is_first)
{
    const cudaError_t error =
        r->orders ? td_cluster_factor_run(piece, order_at(r, piece->before),
                                          r->ahead && is_first ? r->ahead->begun : NULL, r->stream)
                  : td_one_block_factor_run(piece, r->stream);
    return td_done_if(error);
}

/* What a piece does to the other columns of its panel. */
static td_run_status apply_within(const run *r, const panel *of, const td_one_block_panel *piece)
{
    const int64_t first = piece->before, behind = first + piece->columns;
    if (is_one_piece(of)) return TD_RUN_DONE;
    const td_run_status status =
        exchange(r, piece, first - of->first, behind, of->behind, r->stream);
    if (behind >= of->behind || status != TD_RUN_DONE) return status;
    return update(r, first, behind, behind, of->behind, r->stream);
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
    if (!join_stream(r)) return TD_RUN_FAILED;
    if (first >= b->factored.to) return TD_RUN_DONE;
    const panel next = panel_at(r, b, first);
    const td_run_status status = factor(r, &next);
    if (status != TD_RUN_DONE || !r->ahead) return status;
    return td_cuda_ok(cudaStreamWaitEvent(r->problem->stream, r->ahead->begun, 0)) ? TD_RUN_DONE
                                                                                   : TD_RUN_FAILED;
}

/* Panels of a block whose rows are made together. */
typedef struct {
    int64_t first, behind;
} group;

/* Rows of the group's own columns go where the panels behind them say. */
static td_run_status exchange_within(const run *r, const block *b, const group *of)
{
    td_run_status status = TD_RUN_DONE;
    panel next = panel_at(r, b, of->first);
    for (int64_t at = next.behind; at < of->behind && status == TD_RUN_DONE; at = next.behind) {
        next = panel_at(r, b, at);
        status = exchange_all(r, at, next.behind, of->first, at, r->problem->stream);
    }
    return status;
}

/* Exchanges the rows of all columns that the group does not update at once. */
static td_run_status exchange_beside(const run *r, const block *b, const group *of)
{
    const td_problem *p = r->problem;
    const td_row_exchange x = exchange_of(p, of->first, of->behind, 0, 0);
    if (r->is_late) return td_done_if(td_lu_late_exchange(r->late, &x));
    const td_run_status status = exchange_all(r, of->first, of->behind, 0, of->first, p->stream);
    return status == TD_RUN_DONE
               ? exchange_all(r, of->first, of->behind, b->updated.to, p->n, p->stream)
               : status;
}

/* And makes U's of those behind the block. */
static td_run_status make_rows(const run *r, const block *b, const group *of)
{
    const int64_t from = b->updated.to, to = r->problem->n, first = of->first, behind = of->behind;
    td_run_status status = exchange_within(r, b, of);
    if (status == TD_RUN_DONE) status = exchange_beside(r, b, of);
    if (from >= to || !r->makes_rows || status != TD_RUN_DONE) return status;
    const td_product above =
        td_lu_rows_product(r->problem, b->factored.from, first, behind, from, to);
    status = multiply(r, above, r->problem->stream);
    return status == TD_RUN_DONE ? solve_beside(r, first, behind, from, to, r->problem->stream)
                                 : status;
}

/* The panel is enqueued; rows are made once those of another panel would be too many. */
static td_run_status step(const run *r, const block *b, const panel *of, group *rows)
{
    const int64_t behind = of->behind, next = behind < b->factored.to
                                                  ? panel_at(r, b, behind).behind
                                                  : td_smaller(behind + of->piece, b->updated.to);
    const bool is_due = behind >= b->factored.to || next - rows->first > TD_FEW_EXCHANGES;
    rows->behind = behind;
    td_run_status status = apply(r, of, behind, next, r->stream);
    if (status == TD_RUN_DONE && r->ahead) status = factor_next(r, b, behind);
    if (status == TD_RUN_DONE) status = apply(r, of, next, b->updated.to, r->problem->stream);
    if (status == TD_RUN_DONE && !fork_stream(r)) status = TD_RUN_FAILED;
    if (status == TD_RUN_DONE && is_due) {
        status = make_rows(r, b, rows);
        rows->first = behind;
    }
    if (status == TD_RUN_DONE && !r->ahead) status = factor_next(r, b, behind);
    return status;
}

static td_run_status factor_block(const run *r, int64_t i)
{
    const block b = block_of(r, i);
    panel of = panel_at(r, &b, b.factored.from);
    group rows = {of.first, of.first};
    if (!fork_stream(r)) return TD_RUN_FAILED;
    if (r->is_late && !td_cuda_ok(td_lu_late_begin(r->late, b.updated.from, b.updated.to)))
        return TD_RUN_FAILED;
    td_run_status status = factor(r, &of);
    while (of.first < b.factored.to && status == TD_RUN_DONE) {
        if (step(r, &b, &of, &rows) != TD_RUN_DONE) status = TD_RUN_BROKEN;
        of = panel_at(r, &b, of.behind);
    }
    if (status == TD_RUN_DONE && !join_stream(r)) status = TD_RUN_BROKEN;
    if (status == TD_RUN_DONE && r->is_late && !td_cuda_ok(td_lu_late_end(r->late)))
        status = TD_RUN_BROKEN;
    return status;
}

/* ---- behind a block ---- */

/* U's rows behind block i, which no panel has made. */
static td_run_status solve(const run *r, int64_t i)
{
    const td_problem call = td_lu_block_solve(r->problem, &r->cut, i);
    const td_factor_place *at = &r->place;
    const td_solve_products with = {at->by->engine, at->by->parameter, at->by->cut};
    return td_solve_run(&call, &with, at->device, at->workspace_limit, at->counters);
}

/* What block i, which is not the last, does to all columns behind it. */
static td_run_status update_behind(const run *r, int64_t i)
{
    const td_product product = td_lu_block_product(r->problem, &r->cut, i);
    const td_run_status status = r->makes_rows ? TD_RUN_DONE : solve(r, i);
    return status == TD_RUN_DONE && product.m > 0 ? td_factor_multiply(&r->place, &product)
                                                  : status;
}

/* Block i, and what it does to all columns beside it. */
static td_run_status take_block(const void *of, int64_t i)
{
    const run *r = of;
    td_run_status status = factor_block(r, i);
    if (status != TD_RUN_DONE) return status;
    if (i + 1 < td_lu_blocks(r->problem, &r->cut)) status = update_behind(r, i);
    return status == TD_RUN_DONE ? TD_RUN_DONE : TD_RUN_BROKEN;
}

/* ---- what is needed ---- */

/* A stream beside the program's, if a capture does not forbid it. */
static void choose_stream(run *r)
{
    if (td_stream_is_capturing(r->problem->stream)) return;
    r->ahead = td_ahead_take(r->place.device);
    if (r->ahead) r->stream = r->ahead->stream;
}

static td_run_status acquire_bytes(run *r, size_t bytes)
{
    if (bytes == 0) return TD_RUN_DONE;
    return td_workspace_acquire_beside(&r->work, r->place.device, r->problem->stream, bytes,
                                       &r->place.workspace_limit);
}

/* Without memory for late rows none are. */
static td_run_status acquire(run *r, size_t bytes_of_orders)
{
    size_t late = td_lu_late_bytes(r->problem, &r->cut, r->makes_rows);
    td_run_status status = acquire_bytes(r, late + bytes_of_orders);
    if (status != TD_RUN_DONE && late > 0) {
        late = 0;
        status = acquire_bytes(r, bytes_of_orders);
    }
    r->is_late = late > 0;
    if (r->is_late) td_lu_late_prepare(r->late, r->problem, &r->cut, r->makes_rows, r->work.memory);
    if (bytes_of_orders > 0) r->orders = (char *)r->work.memory + late;
    return status;
}

/* Panels by a cluster need memory, which others do without. */
static td_run_status prepare(run *r)
{
    const td_problem *p = r->problem;
    const block whole = block_of(r, 0);
    const panel of = panel_at(r, &whole, 0);
    const td_one_block_panel first = piece_at(r, &of, 0);
    const bool has_clusters = td_cluster_fits(&first);
    r->stream = p->stream;
    if (!has_clusters && !td_one_block_fits()) return TD_RUN_NO_PANELS;
    const td_run_status status =
        acquire(r, has_clusters ? (size_t)orders_of(&r->cut) * order_bytes(p) : 0);
    if (status == TD_RUN_DONE && has_clusters) choose_stream(r);
    return status;
}

/* Whatever has become of the factorisation. */
static bool clean_up(run *r)
{
    const bool is_done = join_stream(r);
    if (r->ahead) td_ahead_give_back(r->ahead);
    if (r->work.memory) td_workspace_release(&r->work, r->problem->stream);
    return is_done;
}

td_run_status td_factor_lu(const td_problem *p, const td_factor_products *products,
                           td_device *device, size_t workspace_limit, td_counters *counters)
{
    td_factor_products within = *products;
    td_lu_late late;
    run r = {.problem = p,
             .place = {products, device, workspace_limit, counters},
             .cut = products->panels,
             .late = &late};
    if (within.cut.least_terms > r.cut.of_many.panel) within.engine = NULL;
    r.makes_rows = !within.engine;
    td_run_status status = td_factor_ready(p, &r.place, load);
    if (status != TD_RUN_DONE) return status;
    status = prepare(&r);
    if (status != TD_RUN_DONE) return status;
    r.within = r.place;
    r.within.by = &within;
    status = td_factor_blocks(p, td_lu_blocks(p, &r.cut), take_block, &r);
    return !clean_up(&r) && status == TD_RUN_DONE ? TD_RUN_BROKEN : status;
}
