/* last_block.h - how blocks of a kernel go on with what the others leave, without a launch of its own: the last one does. */
#ifndef TD_LAST_BLOCK_H
#define TD_LAST_BLOCK_H

#include "portable.h"

/* Adds `share` to a counter; true for the block that makes it `all`, which then sees what the others wrote before they added
 * theirs. All threads of the block take part. */
TD_DEVICE bool td_is_last(int32_t *counter, int share, int all)
{
    TD_SHARED(int, is_last, );
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        is_last = atomicAdd(counter, share) + share == all;
        __threadfence();
    }
    __syncthreads();
    return is_last;
}

#endif
