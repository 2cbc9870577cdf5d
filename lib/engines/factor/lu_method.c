/* lu_method.c - method `lu`: the LU factors of one matrix (lu.h), with the products of a mode. */
#include "../../model/factor_model.h"
#include "../../routine/sizes.h"
#include "../methods.h"
#include "../proven.h"
#include "lu.h"

static bool accepts(const td_question *q) { return q->called->kind == TD_FACTOR_LU; }

static const char *refusal(const td_question *q)
{
    return q->called->info ? td_factor_size_refusal(q->called) : td_reason_invalid;
}

static int64_t terms(const td_question *q) { return td_problem_order(q->called); }

static void predict(const td_model *model, const td_question *q, td_way_forecast *by_way)
{
    td_model_predict_lu(model, q->called, by_way);
}

/* A mode by name makes all products. */
static td_solve_cut cut_of(const td_question *q)
{
    return (td_solve_cut){td_solve_most_rows(q->called->type), 0};
}

static td_way_forecast predict_one(const td_model *model, const td_question *q,
                                   const td_engine *engine, td_parameter parameter)
{
    if (engine == td_engines[0])
        return (td_way_forecast){.seconds = td_model_native_lu(model, q->called)};
    const int way = td_way_of(engine, parameter);
    return (td_way_forecast){td_model_lu_by_one_way(model, q->called, way), cut_of(q)};
}

static double by_native_products(const td_model *model, const td_question *q)
{
    return td_model_lu_by_native_products(model, q->called);
}

static int64_t probed(const td_question *q, td_solve_cut by)
{
    const td_lu_cut cut = td_lu_cut_of(q->called);
    return (td_lu_blocks(q->called, &cut) - 1) * td_ceil_div(cut.block, by.least_terms);
}

static bool priced(const td_question *q, td_solve_cut cut, td_real_product *product)
{
    (void)cut;
    return td_lu_largest(q->called, product);
}

/* Where the largest product is large by the rule of method `product`; but complex blocks are so
 * narrow that residues lose more within them than they gain between. */
static bool is_large(const td_question *q, td_solve_cut *cut)
{
    td_real_product largest;
    *cut = cut_of(q);
    return q->called->type == TD_BINARY64 && td_lu_largest(q->called, &largest) &&
           td_is_large_product(&largest);
}

/* Engine `dgemm` stands for cuBLAS's own products. */
static bool is_native(const td_decision *decision) { return decision->engine == &td_engine_dgemm; }

static td_solve_cut cut_by(const td_question *q, const td_decision *decision)
{
    return is_native(decision) ? cut_of(q) : decision->cut;
}

static td_run_status run(const td_question *q, const td_decision *decision, td_device *device,
                         size_t workspace_limit, td_counters *counters)
{
    const td_factor_products by = {is_native(decision) ? NULL : decision->engine,
                                   decision->parameter, cut_by(q, decision),
                                   td_lu_cut_of(q->called)};
    return td_factor_lu(q->called, &by, device, workspace_limit, counters);
}

/* cuSOLVER promises nothing. */
static td_promise promised(const td_question *q, const td_decision *decision)
{
    const td_lu_cut cut = td_lu_cut_of(q->called);
    if (!decision->engine) return td_promised_nothing(q, decision);
    const td_engine *engine = is_native(decision) ? td_engines[0] : decision->engine;
    return (td_promise){
        .bound = td_proven_lu(engine, decision->parameter, q->called, &cut, cut_by(q, decision))};
}

/* L U, of which both factors are where A has been. */
static bool sample(const td_question *q, td_product *product)
{
    const td_problem *p = q->called;
    *product = (td_product){.routine = TD_PRODUCT,
                            .type = p->type,
                            .form_a = {TD_STORED_TRIANGULAR, .triangle = TD_LOWER, .is_unit = true},
                            .form_b = {TD_STORED_TRIANGULAR, .triangle = TD_UPPER},
                            .m = p->m,
                            .n = p->n,
                            .k = terms(q),
                            .alpha = td_scalar_of(p->type, 1.0),
                            .a = p->a,
                            .b = p->a,
                            .c = p->a,
                            .batch = 1,
                            .stream = p->stream};
    return true;
}

/* Products of fewer terms are cuBLAS's. */
static int64_t tiles_of(const td_product *product, td_solve_cut by)
{
    return product->k < by.least_terms ? 0 : td_tiles_of_product(product);
}

/* Of the products that the pieces of a panel make within it. */
static int64_t tiles_of_pieces(const td_problem *p, int64_t first, int64_t behind, int64_t piece,
                               td_solve_cut by)
{
    int64_t tiles = 0;
    for (int64_t at = first + piece; at < behind; at += piece) {
        const td_product within = td_lu_panel_product(p, at - piece, piece, at, behind);
        tiles += tiles_of(&within, by);
    }
    return tiles;
}

/* Of all products within a block: of pieces, of the next panel's columns, and of all others. */
static int64_t tiles_within(const td_problem *p, const td_lu_cut *cut, int64_t block,
                            td_solve_cut by)
{
    const int64_t end = td_lu_block_at(p, cut, block + 1),
                  to = block + 1 == td_lu_blocks(p, cut) ? p->n : end;
    int64_t tiles = 0;
    for (int64_t first = td_lu_block_at(p, cut, block), behind; first < end; first = behind) {
        const td_lu_panel_cut panel = td_lu_panel_cut_of(cut, p->m - first);
        behind = td_smaller(first + panel.panel, end);
        const int64_t width = td_lu_panel_cut_of(cut, p->m - behind).panel,
                      next = td_smaller(behind + width, to);
        const td_product ahead = td_lu_panel_product(p, first, behind - first, behind, next),
                         others = td_lu_panel_product(p, first, behind - first, next, to);
        tiles += tiles_of_pieces(p, first, behind, panel.piece, by) + tiles_of(&ahead, by) +
                 tiles_of(&others, by);
    }
    return tiles;
}

static int64_t tiles(const td_question *q, const td_decision *decision)
{
    const td_problem *p = q->called;
    const td_lu_cut cut = td_lu_cut_of(p);
    const td_solve_cut by = cut_by(q, decision);
    const int64_t blocks = td_lu_blocks(p, &cut);
    int64_t tiles = 0;
    for (int64_t i = 0; i < blocks; i++) {
        tiles += tiles_within(p, &cut, i, by);
        if (i + 1 == blocks) continue;
        const td_problem solve = td_lu_block_solve(p, &cut, i);
        const td_product product = td_lu_block_product(p, &cut, i);
        tiles += td_tiles_of_product(&product);
        if (cut.of_many.panel >= by.least_terms) tiles += td_tiles_of_solve(&solve, by);
    }
    return tiles;
}

const td_method td_method_lu = {
    .name = "lu",
    .accepts = accepts,
    .refusal = refusal,
    .terms = terms,
    .most_bits = td_bits_of_binary64, /* panels are factored in it */
    .predict = predict,
    .predict_one = predict_one,
    .by_native_products = by_native_products,
    .found_out = td_found_out_by_fp64,
    .probed = probed,
    .priced = priced,
    .cut = cut_of,
    .is_large = is_large,
    .run = run,
    .promised = promised,
    .sample = sample,
    .has_residuals = true,
    .tiles = tiles,
};
