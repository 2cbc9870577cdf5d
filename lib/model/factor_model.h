/* factor_model.h - predicted times of LU factorisations of one matrix, by cuSOLVER and with the
 * products of every mode (factor.def). Pure: no CUDA calls. */
#ifndef TD_FACTOR_MODEL_H
#define TD_FACTOR_MODEL_H

#include "../routine/lu_steps.h"
#include "factor_times.h"

/* Under mode auto products of fewer terms are cuBLAS's own: those of panels. */
enum { TD_FACTOR_LEAST_TERMS = 1024 };

/* Most rows of a matrix that panels have a time for; and the least order: smaller matrices take
 * cuSOLVER less time than most of them would gain. */
enum { TD_FACTOR_MOST_ROWS = 65536, TD_FACTOR_LEAST_ORDER = 128 };

/* Of every way, TD_MOST_WAYS elements: the first has the seconds of cuSOLVER, the others are
 * factorisations whose products between blocks (../routine/lu_steps.h) go by that way, and all
 * others by cuBLAS; negative ones if nobody can say. */
void td_model_predict_lu(const td_model *model, const td_problem *p, td_way_forecast *by_way);

/* Seconds if that way makes all products, and the solves between blocks: a mode by name. */
double td_model_lu_by_one_way(const td_model *model, const td_problem *p, int way);

/* cuSOLVER's seconds alone. */
double td_model_native_lu(const td_model *model, const td_problem *p);

/* Seconds of a matrix of one block, whose products are all cuBLAS's own; negative if it has more,
 * or nobody can say. */
double td_model_lu_by_native_products(const td_model *model, const td_problem *p);

/* The product of real lines that is the largest, by which a mode's prices are set (prices.h); false
 * if one block has all columns. */
bool td_lu_largest(const td_problem *p, td_real_product *product);

#endif
