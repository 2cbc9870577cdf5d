/* async_copy.h - copies from global to shared memory that run while the multiprocessor computes; direct ones where the
 * device has none. */
#ifndef TD_ASYNC_COPY_H
#define TD_ASYNC_COPY_H

#include "portable.h"

/* 16 bytes, both ends aligned to as many. */
TD_DEVICE void td_async_copy16(void *shared, const void *global)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     (unsigned)__cvta_generic_to_shared(shared)),
                 "l"(global));
#else
    *static_cast<int4 *>(shared) = *static_cast<const int4 *>(global);
#endif
}

/* Ends a group of this thread's copies, which may be empty. */
TD_DEVICE void td_async_copy_commit()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;");
#endif
}

/* Waits until no more than the last `groups` groups of this thread are under way. */
template <int groups> TD_DEVICE void td_async_copy_wait()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(groups));
#endif
}

#endif
