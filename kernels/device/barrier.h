/* barrier.h - barriers in shared memory, of sm_80 and later: counters of arrivals, on which some
 * threads wait while others go on. (PTX ISA 8.0: mbarrier.) */
#ifndef TD_BARRIER_H
#define TD_BARRIER_H

#include <stdint.h>

#include "portable.h"

#if TD_HAS_CUDA_DEVICE

TD_DEVICE uint32_t td_shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

TD_DEVICE void td_barrier_start(uint64_t *barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(td_shared_address(barrier)),
                 "r"(arrivals));
}

/* Its memory may be used for something else. */
TD_DEVICE void td_barrier_end(uint64_t *barrier)
{
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(td_shared_address(barrier))
                 : "memory");
}

/* One is named by a pointer, or by its address in shared memory. */
TD_DEVICE void td_barrier_arrive(uint32_t address)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
}
TD_DEVICE void td_barrier_arrive(uint64_t *barrier)
{
    td_barrier_arrive(td_shared_address(barrier));
}

/* Has the thread arrive as soon as its asynchronous copies up to here are done (async_copy.h). */
TD_DEVICE void td_barrier_arrive_with_copies(uint64_t *barrier)
{
    asm volatile(
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(td_shared_address(barrier))
        : "memory");
}

/* Sets `over` to whether the phase of that parity is over, by an instruction. */
#define TD_ASK_BARRIER(instruction, over, address, parity)                                         \
    asm volatile("{\n"                                                                             \
                 ".reg .pred over;\n"                                                              \
                 "mbarrier." instruction ".shared::cta.b64 over, [%1], %2;\n"                      \
                 "selp.u32 %0, 1, 0, over;\n"                                                      \
                 "}"                                                                               \
                 : "=r"(over)                                                                      \
                 : "r"(address), "r"(parity)                                                       \
                 : "memory")

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define TD_WAITING "try_wait.parity"
#else
#define TD_WAITING "test_wait.parity"
#endif

/* True if the phase of that parity is over; that before the first one is. */
TD_DEVICE bool td_barrier_is_over(uint32_t address, uint32_t parity)
{
    uint32_t over;
    TD_ASK_BARRIER("test_wait.parity", over, address, parity);
    return over != 0;
}

/* Until it is. */
TD_DEVICE void td_barrier_wait(uint32_t address, uint32_t parity)
{
    uint32_t over = 0;
    while (!over) TD_ASK_BARRIER(TD_WAITING, over, address, parity);
}
TD_DEVICE void td_barrier_wait(uint64_t *barrier, uint32_t parity)
{
    td_barrier_wait(td_shared_address(barrier), parity);
}

#endif

#endif
