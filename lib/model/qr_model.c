#include "qr_model.h"

#include <math.h>

#include "../routine/operations.h"

/* ---- figures by order ---- */

typedef struct {
    td_kind kind;
    td_figures_by_order of;
} row;

#define ROW(kind, type, cards, major, ...) {TD_##kind, {cards, major, TD_##type, {__VA_ARGS__}}},
#define NATIVE(kind, type, cards, ...)     ROW(kind, type, cards, 0, __VA_ARGS__)
static const row native_rows[] = {
#include "qr.def"
};
#define NATIVE_COLUMNS(kind, type, ...) ROW(kind, type, "", 0, __VA_ARGS__)
static const row native_column_rows[] = {
#include "qr.def"
};
#define COLUMNS(kind, type, major, ...) ROW(kind, type, "", major, __VA_ARGS__)
static const row column_rows[] = {
#include "qr.def"
};

/* The first row that fits; NULL if there is none. */
static const td_figures_by_order *find(const row *rows, size_t count, const td_model *model,
                                       const td_problem *p)
{
    const td_figures_by_order *found = NULL;
    for (size_t i = 0; i < count && !found; i++)
        if (rows[i].kind == p->kind) found = td_find_figures(&rows[i].of, 1, model, p->type);
    return found;
}
#define FIND(rows, model, p) find(rows, sizeof(rows) / sizeof *(rows), model, p)

/* ---- products ---- */

bool td_qr_largest(const td_problem *p, td_real_product *product)
{
    if (td_qr_updates(p) == 0) return false;
    *product = td_factor_real_update(p, td_qr_update, 1);
    return product->m > 0 && product->n > 0;
}

/* Updates by blocks but the last, which come first. */
static int64_t updates_by_blocks(const td_problem *p)
{
    const td_qr_cut cut = td_qr_cut_of(p);
    return 2 * (td_qr_blocks(&cut, td_problem_reflectors(p)) - 1);
}

/* The updates behind these. A td_factor_update. */
static td_product update_by_panel(const td_problem *p, int64_t number)
{
    return td_qr_update(p, updates_by_blocks(p) + number);
}

/* Seconds of all products by every way; of the panels' products, too. */
typedef struct {
    double of_blocks[TD_MOST_WAYS], of_panels[TD_MOST_WAYS], within[TD_MOST_WAYS];
} products;

static void predict_products(const td_model *model, const td_problem *p, products *seconds)
{
    const int64_t by_blocks = updates_by_blocks(p);
    td_factor_predict_products(model, p, td_qr_update, by_blocks, seconds->of_blocks);
    td_factor_predict_products(model, p, update_by_panel, td_qr_updates(p) - by_blocks,
                               seconds->of_panels);
    td_factor_predict_products(model, p, td_qr_update_within, td_qr_updates_within(p),
                               seconds->within);
}

/* Columns have the time of cuBLAS's products within blocks. */
static double seconds_by(const products *of, int way, bool makes_all)
{
    const double by_panels = of->of_panels[makes_all ? way : 0];
    const double within = makes_all ? of->within[way] - of->within[0] : 0.0;
    const bool is_known = !makes_all || of->within[way] >= 0.0;
    return is_known ? td_factor_sum(td_factor_sum(of->of_blocks[way], by_panels), fmax(0.0, within))
                    : -1.0;
}

/* ---- factorisations ---- */

/* The order of a square problem that has as many operations. */
static double side_of(const td_problem *p)
{
    const bool is_right = p->kind == TD_APPLY_Q && p->side == TD_RIGHT;
    const int64_t vectors = is_right ? p->m : p->n;
    return cbrt((double)td_qr_reflected(p) * (double)vectors * (double)td_problem_reflectors(p));
}

/* What is not square takes as long as a square problem of as many operations. */
double td_model_native_qr(const td_model *model, const td_problem *p)
{
    const td_figures_by_order *measured = FIND(native_rows, model, p);
    const double side = p->kind == TD_FACTOR_QR ? td_factor_side(p) : side_of(p);
    if (measured) return td_factor_native(model, p, 1e-3 * td_factor_figure(measured, side));
    const td_figures_by_order *columns = FIND(native_column_rows, model, p);
    return td_operations(p) / model->rates.matrix64 +
           (double)td_problem_reflectors(p) * 1e-6 * td_factor_figure(columns, side);
}

/* Each column has the rows of the reflectors from its diagonal on. */
static double seconds_of_columns(const td_figures_by_order *r, const td_problem *p)
{
    const td_problem square = {.m = td_qr_reflected(p), .n = td_problem_reflectors(p)};
    return td_factor_seconds_of_columns(r, &square);
}

/* A negative number if nobody can say. */
static double own_columns(const td_model *model, const td_problem *p)
{
    const td_figures_by_order *r = FIND(column_rows, model, p);
    const bool fits = td_factor_has_panels(model) && td_qr_reflected(p) <= TD_QR_MOST_ROWS;
    return r && fits && td_problem_reflectors(p) >= TD_QR_LEAST_ORDER ? seconds_of_columns(r, p)
                                                                      : -1.0;
}

/* Behind blocks cuBLAS's products take longer than alone: geqrf of order 16384 takes 166 ms by
 * these on an H200, 139 by emulated ones (docs/factor.md). */
static const double native_behind_blocks = 1.1;

double td_model_qr_by_native_products(const td_model *model, const td_problem *p)
{
    const double columns = own_columns(model, p);
    products of;
    if (columns < 0.0) return -1.0;
    predict_products(model, p, &of);
    of.of_blocks[0] *= native_behind_blocks;
    return td_factor_sum(seconds_by(&of, 0, true), columns);
}

/* Without blocks a way makes all products. */
static void predict(const td_model *model, const td_problem *p, bool makes_all,
                    td_way_forecast *by_way)
{
    const double columns = own_columns(model, p);
    const bool has_blocks = updates_by_blocks(p) > 0;
    const td_solve_cut cut = {.least_terms = has_blocks && !makes_all ? TD_QR_LEAST_TERMS : 0};
    products of = {{0.0}, {0.0}, {0.0}};
    if (columns >= 0.0) predict_products(model, p, &of);
    for (int i = 0; i < TD_MOST_WAYS; i++)
        by_way[i] = (td_way_forecast){
            td_factor_sum(seconds_by(&of, i, makes_all || !has_blocks), columns), cut};
    by_way[0].seconds = td_model_native_qr(model, p);
}

void td_model_predict_qr(const td_model *model, const td_problem *p, td_way_forecast *by_way)
{
    predict(model, p, false, by_way);
}

double td_model_qr_by_one_way(const td_model *model, const td_problem *p, int way)
{
    td_way_forecast by_way[TD_MOST_WAYS];
    predict(model, p, true, by_way);
    return by_way[way].seconds;
}
