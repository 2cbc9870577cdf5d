#include "factor_model.h"

#include <math.h>
#include <string.h>

#include "../routine/real.h"
#include "../routine/sizes.h"

/* ---- figures by order ---- */

#include "factor.def"
static const double orders[] = {TD_LU_ORDERS};
enum { ORDERS = sizeof orders / sizeof *orders };

/* A row of factor.def. */
typedef struct {
    const char *cards; /* what their names begin with */
    int major;         /* the least compute capability that they have */
    td_type type;
    double figures[ORDERS];
} row;

#define NATIVE(cards, type, ...) {cards, 0, TD_##type, {__VA_ARGS__}},
static const row native_rows[] = {
#include "factor.def"
};
#define NATIVE_COLUMNS(type, ...) {"", 0, TD_##type, {__VA_ARGS__}},
static const row native_column_rows[] = {
#include "factor.def"
};
#define COLUMNS(major, type, ...) {"", major, TD_##type, {__VA_ARGS__}},
static const row column_rows[] = {
#include "factor.def"
};
#define COUNT(rows) ((int)(sizeof(rows) / sizeof *(rows)))

/* The first row that fits; NULL if there is none. */
static const row *find(const row *rows, int count, const td_model *model, td_type type)
{
    for (int i = 0; i < count; i++)
        if (rows[i].type == type && model->card.major >= rows[i].major &&
            strncmp(model->card.name, rows[i].cards, strlen(rows[i].cards)) == 0)
            return &rows[i];
    return NULL;
}

/* The figure of an order between those of the row, or beyond them, on straight lines through the
 * logarithms. */
static double figure_at(const row *r, double order)
{
    int i = 0;
    while (i < ORDERS - 2 && order > orders[i + 1]) i++;
    const double share = log(order / orders[i]) / log(orders[i + 1] / orders[i]);
    return r->figures[i] * pow(r->figures[i + 1] / r->figures[i], share);
}

/* ---- products ---- */

static int64_t order_of(const td_problem *p) { return td_smaller(p->m, p->n); }

/* Behind the last block of a square there is nothing. */
int64_t td_lu_updates(const td_problem *p)
{
    return order_of(p) > 0 ? (order_of(p) - (p->m == p->n)) / TD_FACTOR_BLOCK : 0;
}

td_product td_lu_update(const td_problem *p, int64_t i)
{
    const int64_t behind = td_smaller((i + 1) * TD_FACTOR_BLOCK, order_of(p));
    return (td_product){.routine = TD_PRODUCT,
                        .type = p->type,
                        .m = p->m - behind,
                        .n = p->n - behind,
                        .k = TD_FACTOR_BLOCK,
                        .alpha = td_scalar_of(p->type, 1.0),
                        .beta = td_scalar_of(p->type, 1.0),
                        .a = p->a,
                        .b = p->a,
                        .c = p->a,
                        .batch = 1};
}

static td_real_product real_update(const td_problem *p, int64_t i)
{
    const td_product product = td_lu_update(p, i);
    td_real_product real;
    td_to_real(&product, &real);
    return real;
}

bool td_lu_largest(const td_problem *p, td_real_product *product)
{
    if (td_lu_updates(p) == 0) return false;
    *product = real_update(p, 0);
    return product->m > 0 && product->n > 0;
}

/* Seconds of all products by every way. Of many, so many stand for all. */
static void predict_products(const td_model *model, const td_problem *p, double *seconds)
{
    enum { MOST_LOOKED_AT = 8 };
    const int64_t count = td_lu_updates(p), looked_at = td_smaller(count, MOST_LOOKED_AT);
    int ways;
    (void)td_ways(&ways);
    for (int i = 0; i < TD_MOST_WAYS; i++) seconds[i] = 0.0;
    for (int64_t at = 0; at < looked_at; at++) {
        double once[TD_MOST_WAYS];
        const td_real_product real = real_update(p, (2 * at + 1) * count / (2 * looked_at));
        if (real.m <= 0 || real.n <= 0) continue;
        td_model_predict(model, &real, once);
        for (int i = 0; i < ways; i++)
            seconds[i] = once[i] < 0.0 || seconds[i] < 0.0
                             ? -1.0
                             : seconds[i] + once[i] * (double)count / (double)looked_at;
    }
}

/* ---- factorisations ---- */

/* Seconds of all columns in panels: each has the rows from its diagonal on. */
static double seconds_of_columns(const row *r, const td_problem *p)
{
    const int64_t order = order_of(p);
    double seconds = 0.0;
    for (int64_t first = 0; first < order; first += TD_FACTOR_BLOCK)
        seconds += (double)td_smaller(TD_FACTOR_BLOCK, order - first) * 1e-6 *
                   figure_at(r, (double)(p->m - first));
    return seconds;
}

/* A matrix that is not square takes as long as a square one of as many operations. */
static double native_seconds(const td_model *model, const td_problem *p)
{
    const row *measured = find(native_rows, COUNT(native_rows), model, p->type);
    const double order = (double)order_of(p), side = cbrt((double)p->m * (double)p->n * order);
    double products[TD_MOST_WAYS];
    if (measured) return 1e-3 * figure_at(measured, side);
    const row *columns = find(native_column_rows, COUNT(native_column_rows), model, p->type);
    predict_products(model, p, products);
    return products[0] + order * 1e-6 * figure_at(columns, side);
}

/* Devices with clusters of 16 blocks; GeForce and its like (12) have smaller ones. */
static bool has_panels(const td_model *model)
{
    return model->card.major == 9 || model->card.major == 10;
}

/* A negative number if nobody can say. */
static double own_columns(const td_model *model, const td_problem *p)
{
    const row *r = find(column_rows, COUNT(column_rows), model, p->type);
    const bool fits = has_panels(model) && p->m <= TD_FACTOR_MOST_ROWS;
    return r && fits ? seconds_of_columns(r, p) : -1.0;
}

static double sum_of(double products, double columns)
{
    return products < 0.0 || columns < 0.0 ? -1.0 : products + columns;
}

double td_model_native_lu(const td_model *model, const td_problem *p)
{
    return native_seconds(model, p);
}

double td_model_lu_by_native_products(const td_model *model, const td_problem *p)
{
    double products[TD_MOST_WAYS];
    if (order_of(p) < TD_FACTOR_LEAST_ORDER) return -1.0;
    predict_products(model, p, products);
    return sum_of(products[0], own_columns(model, p));
}

void td_model_predict_lu(const td_model *model, const td_problem *p, td_way_forecast *by_way)
{
    const double columns = order_of(p) < TD_FACTOR_LEAST_ORDER ? -1.0 : own_columns(model, p);
    double products[TD_MOST_WAYS] = {0.0};
    if (columns >= 0.0) predict_products(model, p, products);
    for (int i = 0; i < TD_MOST_WAYS; i++)
        by_way[i] = (td_way_forecast){.seconds = sum_of(products[i], columns)};
    by_way[0].seconds = native_seconds(model, p);
}
