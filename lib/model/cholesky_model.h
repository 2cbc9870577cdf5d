/* cholesky_model.h - predicted times of Cholesky factorisations of one matrix, by cuSOLVER and with
 * the products of every mode (factor.def). Pure: no CUDA calls. */
#ifndef TD_CHOLESKY_MODEL_H
#define TD_CHOLESKY_MODEL_H

#include "model.h"

/* Smaller matrices take cuSOLVER less time than most of them would gain. */
enum { TD_CHOLESKY_LEAST_ORDER = 96 };

/* True if the table has times of smaller matrices, too, or of the same order. */
bool td_model_times_cholesky(int64_t n);

/* The product of real lines that is the largest, by which a mode's prices are set (prices.h); false
 * if there is none. */
bool td_cholesky_largest(const td_problem *p, td_real_product *product);

/* Of every way, TD_MOST_WAYS elements: the first has the seconds of cuSOLVER, the others are
 * factorisations whose products go by that way; negative ones if nobody can say. */
void td_model_predict_cholesky(const td_model *model, const td_problem *p, td_way_forecast *by_way);

/* cuSOLVER's seconds alone. */
double td_model_native_cholesky(const td_model *model, const td_problem *p);

/* Seconds with cuBLAS's own products; negative if nobody can say. */
double td_model_cholesky_by_native_products(const td_model *model, const td_problem *p);

#endif
