/* branch.h - cuBLAS's own routine where data ask for it: it is the body of a conditional node of a
 * graph, which the device enters if the probe says so, or if all of C was left to binary64. */
#ifndef TD_BRANCH_H
#define TD_BRANCH_H

#include <stdbool.h>
#include <stddef.h>

#include "../../../kernels/repair/condition.h"
#include "../../routine/problem.h"
#include "../../cuda/device.h"

/* True if the device, which must be the current one, has what td_branch_run needs. */
bool td_branch_ready(td_device *device);

/* Enqueues, in p->stream, which must not be captured: p of cuBLAS, as td_cublas_run has it, where
 * the answer is yes. False: nothing is enqueued. */
bool td_branch_run(td_device *device, const td_problem *p, const td_condition *condition,
                   void *workspace, size_t workspace_bytes);

#endif
