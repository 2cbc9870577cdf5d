/* branch.h - cuBLAS's own product where data ask for it: it is the body of a conditional node of a
 * graph, which the device enters if all of C was left to binary64. */
#ifndef TD_BRANCH_H
#define TD_BRANCH_H

#include <stdbool.h>
#include <stddef.h>

#include "../../../kernels/view/target.h"
#include "../../call/problem.h"
#include "../../cuda/device.h"

/* True if the device, which must be the current one, has what td_branch_multiply64 needs. */
bool td_branch_ready(td_device *device);

/* Enqueues, in p->stream, which must not be captured: if binary64 makes all of `target` as it is
 * (TD_ROOM), p of cuBLAS, as td_cublas_multiply64 has it. False: nothing is enqueued. */
bool td_branch_multiply64(td_device *device, const td_problem *p, const td_target *target,
                          void *workspace, size_t workspace_bytes);

#endif
