/* condition.cu - asks, for a conditional node of a graph, what the data decided. */
#include "../view/access.h"
#include "condition.h"

/* Grid: one thread. */
static __global__ void condition_kernel(cudaGraphConditionalHandle node, const td_condition asked)
{
    cudaGraphSetConditional(node, asked.verdict ? td_verdict_of(asked.verdict) == asked.wanted
                                                : td_room_for_all(asked.target) == TD_ROOM);
}

cudaError_t td_condition_run(cudaGraphConditionalHandle node, const td_condition *condition,
                             cudaStream_t stream)
{
    return TD_LAUNCH(condition_kernel, dim3(1), dim3(1), 0, stream, node, *condition);
}

cudaError_t td_condition_prepare(void) { return td_load(cudaSuccess, condition_kernel); }
