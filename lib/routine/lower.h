/* lower.h - which products the routines are: what an engine has to make of a call. Pure: no CUDA
 * calls. */
#ifndef TD_LOWER_H
#define TD_LOWER_H

#include "product.h"

/* Sets *product to the product that p is, and returns true; false if p's kind of routine is none:
 * then *product has p's type, operations and sizes alone. */
bool td_lower(const td_problem *p, td_product *product);

#endif
