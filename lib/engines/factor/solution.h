/* solution.h - solutions and inverses by the triangular factors of one matrix: rows exchanged,
 * triangular solves, and products of a mode. */
#ifndef TD_ENGINES_FACTOR_SOLUTION_H
#define TD_ENGINES_FACTOR_SOLUTION_H

#include "../solve/solve.h"

/* Enqueues the call on p->stream; never waits. p is a valid problem of kind TD_LU_SOLVE without a
 * batch, TD_CHOLESKY_SOLVE or TD_CHOLESKY_INVERT, binary64 or complex, with elements and an info.
 * After an inverse whose info is not 0 the triangle is undefined. TD_RUN_DONE or TD_RUN_BROKEN, or,
 * if nothing of A or B has been touched, the reason. The rest as for td_engine_run. */
td_run_status td_factor_solution(const td_problem *p, const td_solve_products *products,
                                 td_device *device, size_t workspace_limit, td_counters *counters);

/* Why such a problem stays cuSOLVER's: a string that stays. NULL: it does not. */
const char *td_factor_solution_refusal(const td_problem *p);

#endif
