/* operations.h - additions and multiplications of real numbers that a routine stands for, whatever
 * makes them. Pure: no CUDA calls. */
#ifndef TD_OPERATIONS_H
#define TD_OPERATIONS_H

#include "problem.h"

/* Of one member of a call, as BLAS and LAPACK count them, to the leading terms; a complex
 * multiply-add is eight. Of eigenvectors those of LAPACK's reduction, divide and conquer, and
 * reflectors. */
double td_operations(const td_problem *p);

#endif
