/* method.c - method `solve`: a system with one triangle, as blocks and products (solve.h). */
#include "../../routine/lower.h"
#include "../methods.h"
#include "../proven.h"
#include "solve.h"

static bool accepts(const td_question *q)
{
    const td_type type = q->called->type;
    return td_problem_is_solve(q->called) && (type == TD_BINARY64 || type == TD_COMPLEX_BINARY64);
}

static int64_t terms(const td_question *q) { return td_solve_order(q->called); }

static void predict(const td_model *model, const td_question *q, td_way_forecast *by_way)
{
    td_model_predict_solve(model, q->called, by_way);
}

static int64_t probed(const td_question *q, td_solve_cut cut)
{
    return td_solve_blocks(q->called, cut.least_terms) - 1;
}

static bool priced(const td_question *q, td_solve_cut cut, td_real_product *product)
{
    return td_solve_largest(q->called, cut.block_rows, product);
}

static td_solve_cut cut_of(const td_question *q)
{
    return (td_solve_cut){td_solve_most_rows(q->called->type), TD_SOLVE_LEAST_TERMS};
}

/* The products that are large by the rule of method `product`: m and k are alike, n are the
 * vectors. */
static bool is_large(const td_question *q, td_solve_cut *cut)
{
    const td_problem *p = q->called;
    const double vectors = (double)td_solve_vectors(p);
    int64_t terms = TD_LARGE_SIDE;
    td_real_product largest;
    while ((double)terms * (double)terms * vectors < TD_LARGE_PRODUCTS) terms *= 2;
    *cut = (td_solve_cut){td_solve_most_rows(p->type), terms};
    return vectors >= TD_LARGE_SIDE && td_solve_largest(p, cut->block_rows, &largest) &&
           largest.k >= terms;
}

static td_run_status run(const td_question *q, const td_decision *decision, td_device *device,
                         size_t workspace_limit, td_counters *counters)
{
    const td_solve_products by = {decision->engine, decision->parameter, decision->cut};
    return td_solve_run(q->called, &by, device, workspace_limit, counters);
}

static td_promise promised(const td_question *q, const td_decision *decision)
{
    if (!decision->engine) return td_promised_nothing(q, decision);
    return (td_promise){.bound = td_proven_solve(decision->engine, decision->parameter, q->called,
                                                 decision->cut.block_rows)};
}

/* op(A) X, whose C is where B has been. */
static bool sample(const td_question *q, td_product *product)
{
    td_problem residuals = *q->called;
    residuals.kind = TD_TRIANGULAR_PRODUCT;
    residuals.c = residuals.b;
    return td_lower(&residuals, product);
}

int64_t td_tiles_of_solve(const td_problem *p, td_solve_cut cut)
{
    const int64_t blocks = td_solve_blocks(p, cut.block_rows);
    int64_t tiles = 0;
    for (int64_t known = 1; known < blocks; known++) {
        const td_product update = td_solve_update(p, cut.block_rows, known);
        if (update.k >= cut.least_terms) tiles += td_tiles_of_product(&update);
    }
    return tiles;
}

static int64_t tiles(const td_question *q, const td_decision *decision)
{
    return td_tiles_of_solve(q->called, decision->cut);
}

const td_method td_method_solve = {
    .name = "solve",
    .accepts = accepts,
    .terms = terms,
    .most_bits = td_bits_of_binary64, /* blocks are solved in it */
    .has_fp64 = true,
    .predict = predict,
    .predict_one = td_predict_by_way,
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
