/* solve_model.h - predicted times of triangular solves (../solve), by cuBLAS and with the products
 * of every mode. Pure: no CUDA calls. */
#ifndef TD_SOLVE_MODEL_H
#define TD_SOLVE_MODEL_H

#include "model.h"

/* Of every way: seconds[0] is native's, the others' are those of solves whose products of at least
 * least_terms[i] terms go by way i, and the rest by mode fp64, which is the fastest there. If that
 * is the fastest for all products, least_terms[i] is INT64_MAX. seconds and least_terms have
 * TD_MOST_WAYS elements; a negative number of seconds: nobody can say. */
void td_model_predict_solve(const td_model *model, const td_problem *p, double *seconds,
                            int64_t *least_terms);

/* seconds[0] alone. */
double td_model_native_solve(const td_model *model, const td_problem *p);

/* The product with the most terms, by which a mode's prices are set (prices.h); false if all is one
 * block. */
bool td_solve_largest(const td_problem *p, td_problem *product);

#endif
