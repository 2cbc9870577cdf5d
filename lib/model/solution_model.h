/* solution_model.h - predicted times of solutions and inverses by the factors of one matrix, by
 * cuSOLVER and with the products of every mode. Pure: no CUDA calls. */
#ifndef TD_SOLUTION_MODEL_H
#define TD_SOLUTION_MODEL_H

#include "solve_model.h"

/* Of every way, TD_MOST_WAYS elements: the first has the seconds of cuSOLVER, the others those of
 * all solves and products by that way, cut as the solves are cut the fastest. */
void td_model_predict_solution(const td_model *model, const td_problem *p, td_way_forecast *by_way);

#endif
