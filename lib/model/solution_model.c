#include "solution_model.h"

#include "../routine/sizes.h"
#include "../routine/solution_steps.h"
#include "factor_times.h"
#include "tuning.h"

#define INVERSE(type, ...) {"", 0, TD_##type, {__VA_ARGS__}},
static const td_figures_by_order inverse_rows[] = {
#include "factor.def"
};

/* ---- solutions ---- */

/* Rows of B are collected and put back, after every row has been followed through all exchanges. */
static double of_exchanges(const td_model *model, const td_problem *p)
{
    if (!td_solution_exchanges(p)) return 0.0;
    const double rows = (double)p->n, moved = 4.0 * td_types[p->type].size * rows * (double)p->k;
    return 2.0 * model->rates.launch + td_tuned_exchange_rows * 1e-12 * rows * rows +
           moved / model->rates.bytes;
}

/* cuSOLVER exchanges one row after another. */
static double of_native_exchanges(const td_problem *p)
{
    return td_solution_exchanges(p) ? td_tuned_native_exchange_row * 1e-6 * (double)p->n : 0.0;
}

static double of_native_solves(const td_model *model, const td_problem *p)
{
    double seconds = 0.0;
    for (int i = 0; i < td_solution_solves(p); i++) {
        const td_problem solve = td_solution_solve(p, i);
        seconds += td_model_native_solve(model, &solve);
    }
    return seconds;
}

/* cuSOLVER's solves are cuBLAS's. */
static void predict_solves(const td_model *model, const td_problem *p, td_way_forecast *by_way)
{
    const td_problem solve = td_solution_solve(p, 0);
    const double beside = of_exchanges(model, p), solves = (double)td_solution_solves(p);
    td_model_predict_solve(model, &solve, by_way);
    for (int i = 0; i < TD_MOST_WAYS; i++)
        if (by_way[i].seconds >= 0.0) by_way[i].seconds = solves * by_way[i].seconds + beside;
    by_way[0].seconds = of_native_solves(model, p) + of_native_exchanges(p);
}

/* ---- inverses ---- */

/* A td_factor_update, of sizes alone. */
static td_product product_of(const td_problem *p, int64_t number)
{
    return td_inverse_product(p, number, p->a.data, p->n);
}

/* The figures are those of a card with much binary64: on others the operations alone may take
 * longer. */
static double of_native_inverse(const td_model *model, const td_problem *p)
{
    const td_figures_by_order *figures =
        td_find_figures(inverse_rows, sizeof inverse_rows / sizeof *inverse_rows, model, p->type);
    return td_factor_native(model, p, 1e-3 * td_factor_figure(figures, (double)p->n));
}

/* Half of the unit matrix's vectors are taken to be solved for, as the others are 0. */
static void predict_inverse(const td_model *model, const td_problem *p, td_way_forecast *by_way)
{
    td_problem solve = td_solution_solve(p, 0);
    double products[TD_MOST_WAYS];
    solve.n = td_ceil_div(p->n, 2);
    solve.is_lower_b = false;
    td_model_predict_solve(model, &solve, by_way);
    td_factor_predict_products(model, p, product_of, td_inverse_products(p), products);
    for (int i = 0; i < TD_MOST_WAYS; i++)
        by_way[i].seconds = td_factor_sum(products[i], by_way[i].seconds);
    by_way[0].seconds = of_native_inverse(model, p);
}

void td_model_predict_solution(const td_model *model, const td_problem *p, td_way_forecast *by_way)
{
    (p->kind == TD_CHOLESKY_INVERT ? predict_inverse : predict_solves)(model, p, by_way);
}
