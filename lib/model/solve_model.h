/* solve_model.h - predicted times of triangular solves (../solve), by cuBLAS and with the products
 * of every mode. Pure: no CUDA calls. */
#ifndef TD_SOLVE_MODEL_H
#define TD_SOLVE_MODEL_H

#include "model.h"

/* Of every way, TD_MOST_WAYS elements: the first has the seconds of native, the others are solves
 * whose products go by that way or, below cut.least_terms, by mode fp64, which is the fastest
 * there, and which are cut as is fastest; least_terms is INT64_MAX if mode fp64 is the fastest for
 * all. */
void td_model_predict_solve(const td_model *model, const td_problem *p, td_way_forecast *by_way);

/* Native's seconds alone. */
double td_model_native_solve(const td_model *model, const td_problem *p);

/* Seconds of all blocks of so many rows, without the products between them. */
double td_model_solve_blocks(const td_model *model, const td_problem *p, int64_t block_rows);

/* The product with the most terms, by which a mode's prices are set (prices.h); false if all is one
 * block of so many rows. */
bool td_solve_largest(const td_problem *p, int64_t block_rows, td_real_product *product);

#endif
