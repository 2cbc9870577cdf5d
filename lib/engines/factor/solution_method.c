/* solution_method.c - method `solution`: solutions and inverses by the factors of one matrix
 * (solution.h), as triangular solves by method `solve`, whose answers hold for each of them. */
#include "../../model/solution_model.h"
#include "../../routine/solution_steps.h"
#include "../methods.h"
#include "../proven.h"
#include "solution.h"

static bool accepts(const td_question *q)
{
    return td_kind_is_by_factors(q->called->kind) && !q->called->a.array;
}

static const char *refusal(const td_question *q) { return td_factor_solution_refusal(q->called); }

/* The question that one of the call's solves is; *solve is to last as long. */
static td_question solve_of(const td_question *q, td_problem *solve)
{
    *solve = td_solution_solve(q->called, 0);
    return (td_question){.entry = q->entry, .called = solve, .method = &td_method_solve};
}

static int64_t terms(const td_question *q) { return q->called->n; }

static void predict(const td_model *model, const td_question *q, td_way_forecast *by_way)
{
    td_model_predict_solution(model, q->called, by_way);
}

static double found_out(const td_model *model, const td_question *q, const td_way_forecast *by_way,
                        int way)
{
    td_problem solve;
    const td_question of = solve_of(q, &solve);
    const double by_fp64 = by_way[td_way_of_binary64()].seconds;
    return by_fp64 + (double)td_solution_solves(q->called) *
                         (td_method_solve.found_out(model, &of, by_way, way) - by_fp64);
}

static bool priced(const td_question *q, td_solve_cut cut, td_real_product *product)
{
    td_problem solve;
    const td_question of = solve_of(q, &solve);
    return td_method_solve.priced(&of, cut, product);
}

static td_solve_cut cut_of(const td_question *q)
{
    td_problem solve;
    const td_question of = solve_of(q, &solve);
    return td_method_solve.cut(&of);
}

static bool is_large(const td_question *q, td_solve_cut *cut)
{
    td_problem solve;
    const td_question of = solve_of(q, &solve);
    return td_method_solve.is_large(&of, cut);
}

static td_run_status run(const td_question *q, const td_decision *decision, td_device *device,
                         size_t workspace_limit, td_counters *counters)
{
    const td_solve_products by = {decision->engine, decision->parameter, decision->cut};
    return td_factor_solution(q->called, &by, device, workspace_limit, counters);
}

static int64_t tiles(const td_question *q, const td_decision *decision)
{
    const td_problem *p = q->called;
    int64_t tiles = 0;
    for (int i = 0; i < td_solution_solves(p); i++) {
        const td_problem solve = td_solution_solve(p, i);
        tiles += td_tiles_of_solve(&solve, decision->cut);
    }
    for (int64_t i = 0; p->kind == TD_CHOLESKY_INVERT && i < td_inverse_products(p); i++) {
        const td_product product = td_inverse_product(p, i, p->a.data, p->n);
        tiles += td_tiles_of_product(&product);
    }
    return tiles;
}

/* The first solve's solution is gone, and with it what its residual could be measured by. */
const td_method td_method_solution = {
    .name = "solution",
    .accepts = accepts,
    .refusal = refusal,
    .terms = terms,
    .most_bits = td_bits_of_binary64, /* blocks are solved in it */
    .has_fp64 = true,
    .predict = predict,
    .predict_one = td_predict_by_way,
    .found_out = found_out,
    .priced = priced,
    .cut = cut_of,
    .is_large = is_large,
    .run = run,
    .promised = td_promised_nothing,
    .sample = td_no_sample,
    .tiles = tiles,
};
