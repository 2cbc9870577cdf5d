/* work_queue.h - steps that some blocks of a kernel do together, one after the other, without a launch for each. A block takes the next
 * unit of a step that nobody has; when there is none it waits for those that others have. These blocks run already, so that none
 * waits for one that has no place. For kernels. */
#ifndef TD_WORK_QUEUE_H
#define TD_WORK_QUEUE_H

#include "portable.h"
#include "step.h"

/* How soon a block takes its next unit: in time for the end of this one, where units are short, or then. */
typedef enum { TD_TAKEN_AHEAD, TD_TAKEN_LATE } td_taken;

/* Calls work(unit) for the units that the block takes. All threads take part. */
template <td_taken when, class function>
TD_DEVICE void td_take_units(td_step *step, int units, function work)
{
    TD_SHARED(int, next, );
    const bool takes = threadIdx.x == 0;
    int own = 0, ended = 0;
    if (takes) own = atomicAdd(&step->taken, 1);
    TD_ROLLED
    for (;; ended++) {
        if (takes) next = own;
        __syncthreads();
        const int unit = td_uniform(next);
        if (unit >= units) break;
        if (takes && when == TD_TAKEN_AHEAD) own = atomicAdd(&step->taken, 1);
        work(unit);
        __syncthreads();
        if (takes && when == TD_TAKEN_LATE) own = atomicAdd(&step->taken, 1);
    }
    if (!takes || ended == 0) return;
    __threadfence();
    atomicAdd(&step->done, ended);
}

/* The same of short units; returns when all are done, and what they wrote is there. */
template <class function> TD_DEVICE void td_do_step(td_step *step, int units, function work)
{
    td_take_units<TD_TAKEN_AHEAD>(step, units, work);
    if (threadIdx.x == 0) {
        while (atomicAdd(&step->done, 0) < units) __nanosleep(100);
        __threadfence();
    }
    __syncthreads();
}

#endif
