/* shared_steps.h - steps that some blocks of a kernel do together, one after the other, without a launch for each. A block takes the next
 * unit of a step that nobody has; when there is none it waits for those that others have. These blocks run already, so that none
 * waits for one that has no place. For kernels. */
#ifndef TD_SHARED_STEPS_H
#define TD_SHARED_STEPS_H

#include "portable.h"
#include "product.h"

/* Calls work(unit) for the units that the block takes. All threads take part. */
template <class function> TD_DEVICE void td_take_units(td_step *step, int units, function work)
{
    TD_SHARED(int, next, );
    TD_ROLLED
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) next = atomicAdd(&step->taken, 1);
        __syncthreads();
        const int unit = td_uniform(next);
        if (unit >= units) return;
        work(unit);
        __syncthreads();
        if (threadIdx.x > 0) continue;
        __threadfence();
        atomicAdd(&step->done, 1);
    }
}

/* The same; returns when all units are done, and what they wrote is there. */
template <class function> TD_DEVICE void td_do_step(td_step *step, int units, function work)
{
    td_take_units(step, units, work);
    if (threadIdx.x == 0) {
        while (atomicAdd(&step->done, 0) < units) __nanosleep(100);
        __threadfence();
    }
    __syncthreads();
}

#endif
