/* condition.h - asks, for a conditional node of a graph, whether the data make native products the
 * better way. For host C. */
#ifndef TD_CONDITION_H
#define TD_CONDITION_H

#include <cuda_runtime_api.h>

#include "../device/counts.h"
#include "../view/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/* True if a td_verdict is `wanted`; or, where that is NULL, if binary64 makes every element of C of
 * the first member from the operands as they are (TD_ROOM). */
typedef struct {
    const int32_t *verdict;
    td_verdict wanted;
    td_target target;

    /* Counted where the verdict is the wanted one: what cuBLAS makes then, elements and tiles of C.
     * NULL: nowhere. */
    td_counters *counters;
    unsigned long long elements, tiles;
} td_condition;

/* Sets the condition of a node to 1 or 0. */
cudaError_t td_condition_run(cudaGraphConditionalHandle node, const td_condition *condition,
                             cudaStream_t stream);

/* Loads the kernel on the current device: once, before the first launch. */
cudaError_t td_condition_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
