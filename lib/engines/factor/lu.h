/* lu.h - P A = L U in place of A, by panels of columns, and by products of a mode between them. */
#ifndef TD_ENGINES_FACTOR_LU_H
#define TD_ENGINES_FACTOR_LU_H

#include "products.h"

/* Enqueues the factorisation on p->stream; never waits. p is a valid problem of kind TD_FACTOR_LU,
 * binary64 or complex, with elements and an info. TD_RUN_DONE or TD_RUN_BROKEN, or, if nothing of A
 * has been touched, the reason. The rest as for td_engine_run. */
td_run_status td_factor_lu(const td_problem *p, const td_factor_products *products,
                           td_device *device, size_t workspace_limit, td_counters *counters);

#endif
