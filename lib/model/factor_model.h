/* factor_model.h - predicted times of LU factorisations of one matrix, by cuSOLVER and with the
 * products of every mode (factor.def). Pure: no CUDA calls. */
#ifndef TD_FACTOR_MODEL_H
#define TD_FACTOR_MODEL_H

#include "model.h"

/* Columns between two products: those of a block take the panels' time, all behind them a
 * product's. */
enum { TD_FACTOR_BLOCK = 512 };

/* Most rows of a matrix that panels have a time for; and the least order: smaller matrices take
 * cuSOLVER less time than most of them would gain. */
enum { TD_FACTOR_MOST_ROWS = 16384, TD_FACTOR_LEAST_ORDER = 128 };

/* Of every way, TD_MOST_WAYS elements: the first has the seconds of cuSOLVER, the others are
 * factorisations whose products go by that way; negative ones if nobody can say. Nothing is cut. */
void td_model_predict_lu(const td_model *model, const td_problem *p, td_way_forecast *by_way);

/* cuSOLVER's seconds alone. */
double td_model_native_lu(const td_model *model, const td_problem *p);

/* Seconds with cuBLAS's own products; negative if nobody can say. */
double td_model_lu_by_native_products(const td_model *model, const td_problem *p);

/* The product of real lines that is the largest, by which a mode's prices are set (prices.h); false
 * if one block has all columns or rows. */
bool td_lu_largest(const td_problem *p, td_real_product *product);

/* The number of products. */
int64_t td_lu_updates(const td_problem *p);

/* Product number i of these, by the sizes alone. */
td_product td_lu_update(const td_problem *p, int64_t i);

#endif
