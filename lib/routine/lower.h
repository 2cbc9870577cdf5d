/* lower.h - which products the routines are: what an engine has to make of a call. Pure: no CUDA
 * calls. */
#ifndef TD_LOWER_H
#define TD_LOWER_H

#include "problem.h"

/* Sets *product to the product that p is, and returns true; false if p's kind of routine is none.
 * Of a product that is p itself, be it one that was lowered before or a part of one. */
bool td_lower(const td_problem *p, td_problem *product);

#endif
