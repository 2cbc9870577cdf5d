/* solve.h - op(A) X = alpha B and X op(A) = alpha B for a triangular A, in place of B: diagonal
 * blocks by substitution in binary64, all else by products of a mode. */
#ifndef TD_ENGINES_SOLVE_H
#define TD_ENGINES_SOLVE_H

#include "../../cuda/device.h"
#include "../engine.h"
#include "../../routine/solve_steps.h"

/* What makes the products, and how the solve is cut. */
typedef struct {
    const td_engine *engine;
    td_parameter parameter;
    td_solve_cut cut;
} td_solve_products;

/* The least_terms of a mode that was asked for by name: smaller products take longer to launch than
 * to compute in any arithmetic. */
enum { TD_SOLVE_LEAST_TERMS = 128 };

/* Enqueues the solution on p->stream; never waits. p is a valid problem of kind
 * TD_TRIANGULAR_SOLVE, binary64 or complex, without a batch. Its bits follow from p's sizes, data
 * and `products`; a product for which there is no device memory becomes one of mode fp64, unless
 * nothing has been enqueued yet. The rest as for td_engine_run. */
td_run_status td_solve_run(const td_problem *p, const td_solve_products *products,
                           td_device *device, size_t workspace_limit, td_counters *counters);

#endif
