/* condition.h - asks, for a conditional node of a graph, whether data left all of C to binary64.
 * For host C. */
#ifndef TD_CONDITION_H
#define TD_CONDITION_H

#include <cuda_runtime_api.h>

#include "../view/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the condition to 1 if binary64 makes every element of C from the operands as they are
 * (TD_ROOM), else to 0. Of a batch the first member alone. */
cudaError_t td_condition_run(cudaGraphConditionalHandle condition, const td_target *target,
                             cudaStream_t stream);

/* Loads the kernel on the current device: once, before the first launch. */
cudaError_t td_condition_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
