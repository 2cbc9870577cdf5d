#include "factor_times.h"

#include <math.h>

#include "../routine/operations.h"
#include "../routine/real.h"
#include "../routine/sizes.h"

/* ---- figures by order ---- */

static const double orders[] = {TD_FACTOR_ORDERS};

double td_factor_figure(const td_figures_by_order *r, double order)
{
    return td_figure_at(r, orders, sizeof orders / sizeof *orders, order);
}

double td_factor_native(const td_model *model, const td_problem *p, double by_figures)
{
    return fmax(by_figures, td_operations(p) / model->rates.matrix64);
}

/* ---- panels ---- */

double td_factor_seconds_of_columns(const td_figures_by_order *r, const td_problem *p)
{
    enum { AT_ONCE = 512 }; /* columns that have one figure */
    const int64_t order = td_problem_order(p);
    double seconds = 0.0;
    for (int64_t first = 0; first < order; first += AT_ONCE)
        seconds += (double)td_smaller(AT_ONCE, order - first) * 1e-6 *
                   td_factor_figure(r, (double)(p->m - first));
    return seconds;
}

double td_factor_side(const td_problem *p)
{
    return cbrt((double)p->m * (double)p->n * (double)td_problem_order(p));
}

/* GeForce and its like (12) have smaller clusters, and less shared memory. */
bool td_factor_has_panels(const td_model *model)
{
    return model->card.major == 9 || model->card.major == 10;
}

double td_factor_sum(double products, double columns)
{
    return products < 0.0 || columns < 0.0 ? -1.0 : products + columns;
}

/* ---- products ---- */

td_real_product td_factor_real_update(const td_problem *p, td_factor_update *update, int64_t number)
{
    const td_product product = update(p, number);
    return td_real_product_of(&product);
}

/* Of all products, so many stand for all. */
static void predict(const td_model *model, const td_problem *p, td_factor_update *update,
                    int64_t count, int64_t looked_at, double *seconds)
{
    int ways;
    (void)td_ways(&ways);
    for (int i = 0; i < TD_MOST_WAYS; i++) seconds[i] = 0.0;
    for (int64_t at = 0; at < looked_at; at++) {
        double once[TD_MOST_WAYS];
        const td_real_product real =
            td_factor_real_update(p, update, (2 * at + 1) * count / (2 * looked_at));
        if (real.m <= 0 || real.n <= 0) continue;
        td_model_predict(model, &real, once);
        for (int i = 0; i < ways; i++)
            seconds[i] = once[i] < 0.0 || seconds[i] < 0.0
                             ? -1.0
                             : seconds[i] + once[i] * (double)count / (double)looked_at;
    }
}

void td_factor_predict_products(const td_model *model, const td_problem *p,
                                td_factor_update *update, int64_t count, double *seconds)
{
    enum { MOST_LOOKED_AT = 8 };
    predict(model, p, update, count, td_smaller(count, MOST_LOOKED_AT), seconds);
}

void td_factor_predict_each(const td_model *model, const td_problem *p, td_factor_update *update,
                            int64_t count, double *seconds)
{
    predict(model, p, update, count, count, seconds);
}
