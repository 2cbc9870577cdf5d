/* last_block.h - how blocks of a kernel go on with what the others leave, without a launch of its
 * own: the last one does. */
#ifndef TD_LAST_BLOCK_H
#define TD_LAST_BLOCK_H

#include "portable.h"

/* Adds 1 to a counter that is 0 before the kernel. Returns true in the block that makes it
 * `blocks`: that block sees all that the other blocks wrote before they called. All threads of the
 * block take part. */
TD_DEVICE bool td_is_last(int32_t *counter, int blocks)
{
    TD_SHARED(int, is_last, );
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        is_last = atomicAdd(counter, 1) + 1 == blocks;
        __threadfence();
    }
    __syncthreads();
    return is_last;
}

#endif
