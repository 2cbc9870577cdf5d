#include "factor_model.h"

#include <math.h>

#include "../routine/operations.h"
#include "../routine/real.h"
#include "../routine/sizes.h"
#include "solve_model.h"

/* ---- figures by order ---- */

#define NATIVE(cards, type, ...) {cards, 0, TD_##type, {__VA_ARGS__}},
static const td_figures_by_order native_rows[] = {
#include "factor.def"
};
#define NATIVE_COLUMNS(type, ...) {"", 0, TD_##type, {__VA_ARGS__}},
static const td_figures_by_order native_column_rows[] = {
#include "factor.def"
};
#define COLUMNS(major, type, ...) {"", major, TD_##type, {__VA_ARGS__}},
static const td_figures_by_order column_rows[] = {
#include "factor.def"
};
#define COUNT(rows) ((int)(sizeof(rows) / sizeof *(rows)))

/* ---- products ---- */

bool td_lu_largest(const td_problem *p, td_real_product *product)
{
    const td_lu_cut cut = td_lu_cut_of(p);
    if (td_problem_order(p) == 0 || td_lu_blocks(p, &cut) == 1) return false;
    const td_product first = td_lu_block_product(p, &cut, 0);
    *product = td_real_product_of(&first);
    return product->m > 0 && product->n > 0;
}

/* Adds what a part takes by every way: negative numbers stay. */
static void add(double seconds[TD_MOST_WAYS], const double part[TD_MOST_WAYS], double times)
{
    int ways;
    (void)td_ways(&ways);
    for (int i = 0; i < ways; i++)
        seconds[i] = seconds[i] < 0.0 || part[i] < 0.0 ? -1.0 : seconds[i] + times * part[i];
}

/* Seconds of all products between blocks by every way. */
static void predict_between(const td_model *model, const td_problem *p,
                            double seconds[TD_MOST_WAYS])
{
    const td_lu_cut cut = td_lu_cut_of(p);
    double part[TD_MOST_WAYS];
    for (int i = 0; i < TD_MOST_WAYS; i++) seconds[i] = 0.0;
    for (int64_t i = 0; i + 1 < td_lu_blocks(p, &cut); i++) {
        const td_product product = td_lu_block_product(p, &cut, i);
        const td_real_product real = td_real_product_of(&product);
        if (real.n <= 0 || real.m <= 0) continue;
        td_model_predict(model, &real, part);
        add(seconds, part, 1.0);
    }
}

/* Seconds of the solves between blocks by every way. */
static void predict_solves(const td_model *model, const td_problem *p, double seconds[TD_MOST_WAYS])
{
    const td_lu_cut cut = td_lu_cut_of(p);
    double part[TD_MOST_WAYS];
    td_way_forecast solves[TD_MOST_WAYS];
    for (int i = 0; i < TD_MOST_WAYS; i++) seconds[i] = 0.0;
    for (int64_t i = 0; i + 1 < td_lu_blocks(p, &cut); i++) {
        const td_problem solve = td_lu_block_solve(p, &cut, i);
        if (solve.n <= 0) continue;
        td_model_predict_solve(model, &solve, solves);
        for (int way = 0; way < TD_MOST_WAYS; way++) part[way] = solves[way].seconds;
        add(seconds, part, 1.0);
    }
}

/* Seconds of the products that panels make within their blocks, by every way. Of many columns a few
 * stand for all. */
static void predict_within(const td_model *model, const td_problem *p, double seconds[TD_MOST_WAYS])
{
    enum { LOOKED_AT = 16 };
    const td_lu_cut cut = td_lu_cut_of(p);
    const int64_t order = td_problem_order(p), least = td_lu_least_piece(&cut),
                  looked_at = td_smaller(td_ceil_div(order, least), LOOKED_AT);
    double part[TD_MOST_WAYS];
    for (int i = 0; i < TD_MOST_WAYS; i++) seconds[i] = 0.0;
    for (int64_t at = 0; at < looked_at; at++) {
        const int64_t first = (2 * at + 1) * order / (2 * looked_at) / least * least,
                      block = first / cut.block, behind = td_lu_block_at(p, &cut, block + 1);
        const bool is_last = block + 1 == td_lu_blocks(p, &cut);
        const int64_t columns =
            td_smaller(td_lu_panel_cut_of(&cut, p->m - first).panel, behind - first);
        const td_product product =
            td_lu_panel_product(p, first, columns, first + columns, is_last ? p->n : behind);
        const td_real_product real = td_real_product_of(&product);
        if (real.m <= 0 || real.n <= 0) continue;
        td_model_predict(model, &real, part);
        add(seconds, part, (double)order / (double)(looked_at * columns));
    }
}

/* ---- factorisations ---- */

/* A matrix that is not square takes as long as a square one of as many operations. */
double td_model_native_lu(const td_model *model, const td_problem *p)
{
    const td_figures_by_order *measured =
        td_find_figures(native_rows, COUNT(native_rows), model, p->type);
    const double order = (double)td_problem_order(p), side = td_factor_side(p);
    if (measured) return td_factor_native(model, p, 1e-3 * td_factor_figure(measured, side));
    const td_figures_by_order *columns =
        td_find_figures(native_column_rows, COUNT(native_column_rows), model, p->type);
    return td_operations(p) / model->rates.matrix64 +
           order * 1e-6 * td_factor_figure(columns, side);
}

/* Seconds of cuBLAS's products in the last block of columns that a square matrix does not have, of
 * which each takes half of that block's rows squared. */
static double seconds_beyond_square(const td_model *model, const td_problem *p)
{
    const td_lu_cut cut = td_lu_cut_of(p);
    const double rows = (double)(td_problem_order(p) -
                                 td_lu_block_at(p, &cut, td_lu_blocks(p, &cut) - 1)),
                 real = p->type == TD_COMPLEX_BINARY64 ? 4.0 : 1.0,
                 columns = (double)td_larger(p->n - p->m, 0);
    return real * rows * rows * columns / model->rates.matrix64;
}

/* A negative number if nobody can say. */
static double own_columns(const td_model *model, const td_problem *p)
{
    const td_figures_by_order *r = td_find_figures(column_rows, COUNT(column_rows), model, p->type);
    const bool fits = td_factor_has_panels(model) && p->m <= TD_FACTOR_MOST_ROWS;
    return r && fits ? td_factor_seconds_of_columns(r, p) + seconds_beyond_square(model, p) : -1.0;
}

/* Of a matrix that is large enough. */
static double columns_worth_it(const td_model *model, const td_problem *p)
{
    return td_problem_order(p) < TD_FACTOR_LEAST_ORDER ? -1.0 : own_columns(model, p);
}

double td_model_lu_by_native_products(const td_model *model, const td_problem *p)
{
    const td_lu_cut cut = td_lu_cut_of(p);
    return td_lu_blocks(p, &cut) == 1 ? columns_worth_it(model, p) : -1.0;
}

void td_model_predict_lu(const td_model *model, const td_problem *p, td_way_forecast *by_way)
{
    const td_solve_cut cut = {td_solve_most_rows(p->type), TD_FACTOR_LEAST_TERMS};
    const double columns = columns_worth_it(model, p);
    double between[TD_MOST_WAYS] = {0.0};
    if (columns >= 0.0) predict_between(model, p, between);
    for (int i = 0; i < TD_MOST_WAYS; i++)
        by_way[i] = (td_way_forecast){td_factor_sum(between[i], columns), cut};
    by_way[0].seconds = td_model_native_lu(model, p);
}

/* Columns have cuBLAS's products in their time. */
double td_model_lu_by_one_way(const td_model *model, const td_problem *p, int way)
{
    td_way_forecast by_way[TD_MOST_WAYS];
    double within[TD_MOST_WAYS], solves[TD_MOST_WAYS];
    td_model_predict_lu(model, p, by_way);
    predict_within(model, p, within);
    predict_solves(model, p, solves);
    if (by_way[way].seconds < 0.0 || within[way] < 0.0 || solves[way] < 0.0) return -1.0;
    return by_way[way].seconds + solves[way] + fmax(0.0, within[way] - within[0]);
}
