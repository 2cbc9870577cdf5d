/* factor_times.h - times of factorisations of one matrix, of whichever kind: figures by order that
 * were measured, and products between panels. Pure: no CUDA calls. */
#ifndef TD_FACTOR_TIMES_H
#define TD_FACTOR_TIMES_H

#include "figures.h"

/* Orders for which figures are given. */
#define TD_FACTOR_ORDERS 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536

/* The figure of an order between those of the row, or beyond them. */
double td_factor_figure(const td_figures_by_order *r, double order);

/* Seconds of a call in cuSOLVER by figures, which go on on straight lines beyond what was measured:
 * no fewer than its operations take at the rate of cuBLAS's products. */
double td_factor_native(const td_model *model, const td_problem *p, double by_figures);

/* Seconds of all columns in panels, by microseconds a column by the rows from its diagonal on. */
double td_factor_seconds_of_columns(const td_figures_by_order *r, const td_problem *p);

/* The order of a square matrix that has as many elements times steps as a matrix that is none. */
double td_factor_side(const td_problem *p);

/* Product number `number` of a factorisation. */
typedef td_product td_factor_update(const td_problem *p, int64_t number);

/* The product as one of real lines; what it makes may have no elements. */
td_real_product td_factor_real_update(const td_problem *p, td_factor_update *update,
                                      int64_t number);

/* Sets `seconds`, TD_MOST_WAYS elements, to those of all `count` products by every way; negative
 * where nobody can say. Of many, some stand for all. */
void td_factor_predict_products(const td_model *model, const td_problem *p,
                                td_factor_update *update, int64_t count, double *seconds);

/* As td_factor_predict_products, where neighbours differ much: each product is predicted. */
void td_factor_predict_each(const td_model *model, const td_problem *p, td_factor_update *update,
                            int64_t count, double *seconds);

/* True of devices with clusters of 16 blocks, which have the shared memory of Cholesky's panels,
 * too. */
bool td_factor_has_panels(const td_model *model);

/* The sum; a negative number if one of the two is. */
double td_factor_sum(double products, double columns);

#endif
