/* cholesky_order.h - how blocks of threads that factor a panel wait for each other: of each row of
 * tiles, memory has what is done. */
#ifndef TD_CHOLESKY_ORDER_H
#define TD_CHOLESKY_ORDER_H

#include "../device/portable.h"

/* What a row's count becomes if a minor is not positive, so that nobody waits for the others. */
enum { IS_OVER = 1 << 30 };

/* A read that comes before all later ones of the block. */
TD_DEVICE int read_done(const int *from)
{
#if TD_HAS_CUDA_DEVICE
    int x;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(x) : "l"(from) : "memory");
    return x;
#else
    return __atomic_load_n(from, __ATOMIC_ACQUIRE);
#endif
}

/* Nobody waits any more for what depends on a minor that is not positive. */
TD_DEVICE void end_row(int *done)
{
    __threadfence();
    atomicOr(done, (int)IS_OVER);
}

/* Waits until so much is done; returns how much is. */
TD_DEVICE int wait_until(const int *done, int count)
{
    int seen = read_done(done);
    while (seen < count) {
        __nanosleep(20);
        seen = read_done(done);
    }
    return seen;
}

#endif
