/* solution_steps.h - solutions and inverses by the triangular factors of one matrix, as triangular
 * solves and products. Pure: no CUDA calls. */
#ifndef TD_SOLUTION_STEPS_H
#define TD_SOLUTION_STEPS_H

#include "solve_steps.h"

/* How many triangular solves the call consists of, one after the other. An inverse has one, L Y = I
 * or the like, and is Y' Y. */
int td_solution_solves(const td_problem *p);

/* Solve number `number`, from 0 on. Its B is the call's, or, of an inverse, has no data: a unit
 * matrix is to be there. */
td_problem td_solution_solve(const td_problem *p, int number);

/* True if rows of B are exchanged, as A's were; and true if that is before the solves, not after
 * them. */
bool td_solution_exchanges(const td_problem *p);
bool td_solution_exchanges_first(const td_problem *p);

/* Products that an inverse is the sum of, and number `number` of them, by rows of Y, which has the
 * leading dimension ld: those that begin with 0 write, all others add. */
int64_t td_inverse_products(const td_problem *p);
td_product td_inverse_product(const td_problem *p, int64_t number, void *y, int64_t ld);

#endif
