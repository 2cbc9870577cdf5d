/* q.h - Q of reflectors that are there: its columns in place of them, or its product with a matrix,
 * by panels of reflectors and by products of a mode. */
#ifndef TD_ENGINES_FACTOR_Q_H
#define TD_ENGINES_FACTOR_Q_H

#include "../../routine/qr_steps.h"
#include "products.h"

/* Enqueues the call on p->stream; never waits. p is a valid problem of kind TD_FORM_Q or TD_APPLY_Q
 * with elements, tau and an info. TD_RUN_DONE or TD_RUN_BROKEN, or, if nothing of A or C has been
 * touched, the reason. From the right the cut has no blocks. The rest as for td_engine_run. */
td_run_status td_factor_q(const td_problem *p, const td_factor_products *products, td_qr_cut cut,
                          td_device *device, size_t workspace_limit, td_counters *counters);

/* Why such a problem stays cuSOLVER's: a string that stays. NULL: it does not. */
const char *td_factor_q_refusal(const td_problem *p);

#endif
