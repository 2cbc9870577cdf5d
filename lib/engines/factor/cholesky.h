/* cholesky.h - A = L L', or L' of it, in place of one triangle of A: panels of columns by one
 * kernel each, and products of a mode between them. */
#ifndef TD_ENGINES_FACTOR_CHOLESKY_H
#define TD_ENGINES_FACTOR_CHOLESKY_H

#include "../../routine/cholesky_steps.h"
#include "products.h"

/* Enqueues the factorisation on p->stream; never waits. p is a valid problem of kind
 * TD_FACTOR_CHOLESKY, binary64, with elements and an info; panels of the cut have whole tiles
 * (../../../kernels/factor/cholesky.h). TD_RUN_DONE or TD_RUN_BROKEN, or, if
 * nothing of A has been touched, the reason. The rest as for td_engine_run. */
td_run_status td_factor_cholesky(const td_problem *p, const td_factor_products *products,
                                 td_cholesky_cut cut, td_device *device, size_t workspace_limit,
                                 td_counters *counters);

/* Why such a problem stays cuSOLVER's: a string that stays. NULL: it does not. */
const char *td_factor_cholesky_refusal(const td_problem *p);

#endif
