/* mark.h - how the first block of a kernel tells the others that something is ready, in memory that nobody has cleared: it leaves a mark that
 * was never left there before. The others wait for a block that has a place before them: blocks get theirs in the order of the grid, which
 * prefix sums in one pass count on as well (Merrill, Garland, Single-pass parallel prefix scan with decoupled look-back, 2016). For kernels. */
#ifndef TD_MARK_H
#define TD_MARK_H

#include <stdint.h>

#include "portable.h"

/* What all threads of the block wrote before is there for who has waited. All take part. */
TD_DEVICE void td_leave_mark(uint64_t *place, uint64_t mark)
{
    __syncthreads();
    if (threadIdx.x != 0) return;
#if defined(__CUDA_ARCH__)
    asm volatile("st.release.gpu.global.b64 [%0], %1;" ::"l"(place), "l"(mark) : "memory");
#else
    __atomic_store_n(place, mark, __ATOMIC_RELEASE);
#endif
}

TD_DEVICE bool td_has_mark(const uint64_t *place, uint64_t mark)
{
    uint64_t seen;
#if defined(__CUDA_ARCH__)
    asm volatile("ld.acquire.gpu.global.b64 %0, [%1];" : "=l"(seen) : "l"(place) : "memory");
#else
    seen = __atomic_load_n(place, __ATOMIC_ACQUIRE);
#endif
    return seen == mark;
}

/* By each thread that goes on with it. */
TD_DEVICE void td_wait_for_mark(const uint64_t *place, uint64_t mark)
{
    while (!td_has_mark(place, mark)) __nanosleep(20);
}

#endif
