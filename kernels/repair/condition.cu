/* condition.cu - asks, for a conditional node of a graph, whether the data left all of C to
 * binary64. */
#include "../view/access.h"
#include "condition.h"

/* Grid: one thread. */
static __global__ void condition_kernel(cudaGraphConditionalHandle condition,
                                        const td_target target)
{
    cudaGraphSetConditional(condition, td_room_for_all(target) == TD_ROOM);
}

cudaError_t td_condition_run(cudaGraphConditionalHandle condition, const td_target *target,
                             cudaStream_t stream)
{
    return TD_LAUNCH(condition_kernel, dim3(1), dim3(1), 0, stream, condition, *target);
}

cudaError_t td_condition_prepare(void) { return td_load(cudaSuccess, condition_kernel); }
