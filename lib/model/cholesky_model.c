#include "cholesky_model.h"

#include "../routine/cholesky_steps.h"
#include "factor_times.h"
#include "dgemm_model.h"

/* A td_factor_update. */
static td_product update(const td_problem *p, int64_t number)
{
    return td_cholesky_product(td_cholesky_cut_of(p), p, number);
}

bool td_cholesky_largest(const td_problem *p, td_real_product *product)
{
    const td_cholesky_cut cut = td_cholesky_cut_of(p);
    if (td_cholesky_panels(cut, p->n) == 0) return false;
    *product = td_factor_real_update(p, update, td_cholesky_largest_product(cut, p));
    return true;
}

/* ---- figures ---- */

#include "factor.def"
static const double orders[] = {TD_CHOLESKY_ORDERS};
enum { ORDERS = sizeof orders / sizeof *orders };

bool td_model_times_cholesky(int64_t n) { return (double)n >= orders[0]; }

#define CHOLESKY_LOWER(cards, type, ...) {cards, 0, TD_##type, {__VA_ARGS__}},
static const td_figures_by_order lower_rows[] = {
#include "factor.def"
};
#define CHOLESKY_UPPER(cards, type, ...) {cards, 0, TD_##type, {__VA_ARGS__}},
static const td_figures_by_order upper_rows[] = {
#include "factor.def"
};
#define CHOLESKY_NATIVE_COLUMN(type, lower, upper) {"", 0, TD_##type, {lower, upper}},
static const td_figures_by_order native_column_rows[] = {
#include "factor.def"
};
#define CHOLESKY_COLUMNS(major, type, ...) {"", major, TD_##type, {__VA_ARGS__}},
static const td_figures_by_order column_rows[] = {
#include "factor.def"
};
#define FIND(rows, model, type) td_find_figures(rows, sizeof(rows) / sizeof *(rows), model, type)

/* ---- factorisations ---- */

/* Seconds of all panels; a negative number if nobody can say, or the matrix is small: launches take
 * longer than cuSOLVER then. */
static double own_panels(const td_model *model, const td_problem *p)
{
    const td_figures_by_order *r = FIND(column_rows, model, p->type);
    double seconds = 0.0;
    if (!r || !td_factor_has_panels(model) || p->n < TD_CHOLESKY_LEAST_ORDER) return -1.0;
    for (int64_t first = 0; first < p->n;) {
        const int64_t columns = td_cholesky_columns(td_cholesky_cut_of(p), p->n, first);
        seconds += (double)columns * 1e-6 * td_figure_at(r, orders, ORDERS, (double)(p->n - first));
        first += columns;
    }
    return seconds;
}

double td_model_native_cholesky(const td_model *model, const td_problem *p)
{
    const bool is_upper = p->triangle == TD_UPPER;
    const td_figures_by_order *measured =
        is_upper ? FIND(upper_rows, model, p->type) : FIND(lower_rows, model, p->type);
    const double n = (double)p->n, of_a_term = p->type == TD_COMPLEX_BINARY64 ? 8.0 : 2.0;
    if (measured)
        return td_factor_native(model, p, 1e-3 * td_figure_at(measured, orders, ORDERS, n));
    const td_figures_by_order *columns = FIND(native_column_rows, model, p->type);
    return of_a_term * n * n * n / 6.0 / model->rates.matrix64 +
           n * 1e-6 * columns->figures[is_upper];
}

double td_model_cholesky_by_native_products(const td_model *model, const td_problem *p)
{
    double products = 0.0;
    for (int64_t i = 0; i < td_cholesky_products(td_cholesky_cut_of(p), p->n); i++) {
        const td_real_product real = td_factor_real_update(p, update, i);
        products = td_factor_sum(td_model_dgemm(model, &real), products);
    }
    return td_factor_sum(products, own_panels(model, p));
}

void td_model_predict_cholesky(const td_model *model, const td_problem *p, td_way_forecast *by_way)
{
    const int64_t count = td_cholesky_products(td_cholesky_cut_of(p), p->n);
    const double panels = own_panels(model, p);
    double products[TD_MOST_WAYS] = {0.0};
    if (panels >= 0.0) td_factor_predict_each(model, p, update, count, products);
    for (int i = 0; i < TD_MOST_WAYS; i++)
        by_way[i] = (td_way_forecast){.seconds = td_factor_sum(products[i], panels)};
    by_way[0].seconds = td_model_native_cholesky(model, p);
}
