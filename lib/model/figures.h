/* figures.h - figures of factorisations by the order of the matrix, as factor.def and qr.def have
 * them. */
#ifndef TD_FIGURES_H
#define TD_FIGURES_H

#include <math.h>
#include <string.h>

#include "model.h"

/* Most orders that were measured. */
enum { TD_MEASURED_ORDERS = 9 };

/* A row: what was measured of such cards. The last figures may be left out. */
typedef struct {
    const char *cards; /* what their names begin with */
    int major;         /* the least compute capability that they have */
    td_type type;
    double figures[TD_MEASURED_ORDERS];
} td_figures_by_order;

/* The first row that fits; NULL if there is none. */
static inline const td_figures_by_order *
td_find_figures(const td_figures_by_order *rows, size_t count, const td_model *model, td_type type)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].type == type && model->card.major >= rows[i].major &&
            strncmp(model->card.name, rows[i].cards, strlen(rows[i].cards)) == 0)
            return &rows[i];
    return NULL;
}

/* The figure of an order between those of the first `count` orders that the row has, or beyond
 * them, on straight lines through the logarithms. */
static inline double td_figure_at(const td_figures_by_order *r, const double *orders, int count,
                                  double order)
{
    int i = 0;
    while (r->figures[count - 1] == 0.0) count--;
    while (i < count - 2 && order > orders[i + 1]) i++;
    const double share = log(order / orders[i]) / log(orders[i + 1] / orders[i]);
    return r->figures[i] * pow(r->figures[i + 1] / r->figures[i], share);
}

#endif
