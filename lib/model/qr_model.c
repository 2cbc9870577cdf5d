#include "qr_model.h"

#include <math.h>

#include "../routine/sizes.h"

/* ---- figures by order ---- */

typedef struct {
    td_kind kind;
    td_figures_by_order of;
} row;

#define ROW(kind, cards, major, ...) {TD_##kind, {cards, major, TD_BINARY64, {__VA_ARGS__}}},
#define NATIVE(kind, cards, ...)     ROW(kind, cards, 0, __VA_ARGS__)
static const row native_rows[] = {
#include "qr.def"
};
#define NATIVE_COLUMNS(kind, ...) ROW(kind, "", 0, __VA_ARGS__)
static const row native_column_rows[] = {
#include "qr.def"
};
#define COLUMNS(kind, major, ...) ROW(kind, "", major, __VA_ARGS__)
static const row column_rows[] = {
#include "qr.def"
};

/* The first row that fits; NULL if there is none. */
static const td_figures_by_order *find(const row *rows, size_t count, const td_model *model,
                                       td_kind kind)
{
    const td_figures_by_order *found = NULL;
    for (size_t i = 0; i < count && !found; i++)
        if (rows[i].kind == kind) found = td_find_figures(&rows[i].of, 1, model, TD_BINARY64);
    return found;
}
#define FIND(rows, model, p) find(rows, sizeof(rows) / sizeof *(rows), model, (p)->kind)

/* ---- products ---- */

static int64_t order_of(const td_problem *p) { return td_problem_reflectors(p); }

int64_t td_qr_reflected(const td_problem *p)
{
    return p->kind == TD_APPLY_Q && p->side == TD_RIGHT ? p->n : p->m;
}

/* Vectors that the reflectors of a block are applied to, behind `before` of them. */
static int64_t vectors_of(const td_problem *p, int64_t before)
{
    return p->kind == TD_APPLY_Q  ? (p->side == TD_LEFT ? p->n : p->m)
           : p->kind == TD_FORM_Q ? p->n - before
                                  : p->n - before - TD_FACTOR_BLOCK;
}

/* Behind a matrix's last column there is nothing. */
static int64_t blocks_of(const td_problem *p)
{
    const int64_t order = order_of(p);
    if (p->kind != TD_FACTOR_QR) return td_ceil_div(order, TD_FACTOR_BLOCK);
    return order > 0 ? (order - (p->m >= p->n)) / TD_FACTOR_BLOCK : 0;
}

int64_t td_qr_updates(const td_problem *p) { return 2 * blocks_of(p); }

td_product td_qr_update(const td_problem *p, int64_t i)
{
    const int64_t before = i / 2 * TD_FACTOR_BLOCK, rows = td_qr_reflected(p) - before;
    const int64_t block = p->kind == TD_FACTOR_QR
                              ? TD_FACTOR_BLOCK
                              : td_smaller(TD_FACTOR_BLOCK, order_of(p) - before);
    const bool is_first = i % 2 == 0;
    return (td_product){.routine = TD_PRODUCT,
                        .type = p->type,
                        .op_a = is_first ? TD_OP_T : TD_OP_N,
                        .m = is_first ? block : rows,
                        .n = vectors_of(p, before),
                        .k = is_first ? rows : block,
                        .alpha = td_scalar_of(p->type, 1.0),
                        .beta = td_scalar_of(p->type, is_first ? 0.0 : 1.0),
                        .a = p->a,
                        .b = p->a,
                        .c = p->a,
                        .batch = 1};
}

bool td_qr_largest(const td_problem *p, td_real_product *product)
{
    if (blocks_of(p) == 0) return false;
    *product = td_factor_real_update(p, td_qr_update, 1);
    return product->m > 0 && product->n > 0;
}

static void predict_products(const td_model *model, const td_problem *p, double *seconds)
{
    td_factor_predict_products(model, p, td_qr_update, td_qr_updates(p), seconds);
}

/* ---- factorisations ---- */

/* The order of a square problem that has as many operations. */
static double side_of(const td_problem *p)
{
    return cbrt((double)td_qr_reflected(p) * (double)vectors_of(p, 0) * (double)order_of(p));
}

/* What is not square takes as long as a square problem of as many operations. */
double td_model_native_qr(const td_model *model, const td_problem *p)
{
    const td_figures_by_order *measured = FIND(native_rows, model, p);
    const double side = p->kind == TD_FACTOR_QR ? td_factor_side(p) : side_of(p);
    double products[TD_MOST_WAYS];
    if (measured) return 1e-3 * td_factor_figure(measured, side);
    const td_figures_by_order *columns = FIND(native_column_rows, model, p);
    predict_products(model, p, products);
    return products[0] + (double)order_of(p) * 1e-6 * td_factor_figure(columns, side);
}

/* Each column has the rows of the reflectors from its diagonal on. */
static double seconds_of_columns(const td_figures_by_order *r, const td_problem *p)
{
    const td_problem square = {.m = td_qr_reflected(p), .n = order_of(p)};
    return td_factor_seconds_of_columns(r, &square);
}

/* A negative number if nobody can say. */
static double own_columns(const td_model *model, const td_problem *p)
{
    const td_figures_by_order *r = FIND(column_rows, model, p);
    const bool fits = td_factor_has_panels(model) && td_qr_reflected(p) <= TD_QR_MOST_ROWS;
    return r && fits && order_of(p) >= TD_QR_LEAST_ORDER ? seconds_of_columns(r, p) : -1.0;
}

double td_model_qr_by_native_products(const td_model *model, const td_problem *p)
{
    const double columns = own_columns(model, p);
    double products[TD_MOST_WAYS];
    if (columns < 0.0) return -1.0;
    predict_products(model, p, products);
    return td_factor_sum(products[0], columns);
}

void td_model_predict_qr(const td_model *model, const td_problem *p, td_way_forecast *by_way)
{
    const double columns = own_columns(model, p);
    double products[TD_MOST_WAYS] = {0.0};
    if (columns >= 0.0) predict_products(model, p, products);
    for (int i = 0; i < TD_MOST_WAYS; i++)
        by_way[i] = (td_way_forecast){.seconds = td_factor_sum(products[i], columns)};
    by_way[0].seconds = td_model_native_qr(model, p);
}
