/* condition.cu - asks, for a conditional node of a graph, what the data decided. */
#include "../view/access.h"
#include "condition.h"

TD_DEVICE bool holds(const td_condition &asked)
{
    return asked.verdict ? td_verdict_of(asked.verdict) == asked.wanted
                         : td_room_for_all(asked.target) == TD_ROOM;
}

/* Grid: one thread. */
static __global__ void condition_kernel(cudaGraphConditionalHandle node, const td_condition asked)
{
    const bool is_native = holds(asked);
    cudaGraphSetConditional(node, is_native);
    if (!is_native || !asked.counters) return;
    atomicAdd(&asked.counters->repaired, asked.elements);
    atomicAdd(&asked.counters->tiles, asked.tiles);
}

cudaError_t td_condition_run(cudaGraphConditionalHandle node, const td_condition *condition,
                             cudaStream_t stream)
{
    return TD_LAUNCH(condition_kernel, dim3(1), dim3(1), 0, stream, node, *condition);
}

cudaError_t td_condition_prepare(void) { return td_load(cudaSuccess, condition_kernel); }
