/* async_copy.h - copies from global to shared memory that run while the multiprocessor computes,
 * and a loop that does both; direct copies where the device has no others. */
#ifndef TD_ASYNC_COPY_H
#define TD_ASYNC_COPY_H

#include <stdint.h>

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

/* 4, 8 or 16 bytes, both ends aligned to as many. */
template <int bytes> TD_DEVICE void td_async_copy(void *shared, const void *global)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(
                     (unsigned)__cvta_generic_to_shared(shared)),
                 "l"(global), "n"(bytes));
#else
    memcpy(shared, global, bytes);
#endif
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/* Starts a copy of `bytes` to shared memory, at an address as the instructions have it. */
template <int bytes> TD_DEVICE void td_async_copy(uint32_t shared, const void *global)
{
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(global),
                     "n"(bytes));
}
#endif

/* 8 or 16 bytes, both ends aligned to as many; zeros if `inside` is false. */
template <int bytes>
TD_DEVICE void td_async_copy_inside(void *shared, const void *global, bool inside)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const unsigned to = (unsigned)__cvta_generic_to_shared(shared);
    const int count = inside ? bytes : 0;
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global),
                     "r"(count));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global),
                     "n"(bytes), "r"(count));
#else
    struct alignas(bytes) chunk {
        unsigned char of[bytes];
    };
    *static_cast<chunk *>(shared) = inside ? *static_cast<const chunk *>(global) : chunk{};
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

/* Stages of kernels that want so many blocks on a multiprocessor and `bytes` of shared memory a
 * stage: `wanted` where they fit. */
static inline cudaError_t td_stages_of_blocks(int blocks, int bytes, int wanted, int *stages)
{
    int most = 0;
    const cudaError_t error = td_block_shared_bytes(&most);
    *stages = most >= blocks * wanted * bytes ? wanted : 1;
    return error;
}

/* Who shares a pipeline: all threads of a block, or of a warp. */
enum td_team { TD_BY_BLOCK, TD_BY_WARP };
template <td_team team> TD_DEVICE void td_meet()
{
    if (team == TD_BY_BLOCK)
        __syncthreads();
    else
        __syncwarp();
}

/* How many of `count` tiles a block of the grid's has: that of its own number, and every
 * gridDim.x-th after. */
TD_DEVICE int td_tiles_of_block(int count)
{
    return (count - (int)blockIdx.x + (int)gridDim.x - 1) / (int)gridDim.x;
}

/* Calls work(stage) for step after step, whose copies fetch(stage) has started stages - 1 steps
 * before. All threads of the team take part. Copies of an earlier pipeline are done, and all
 * threads have read them. */
template <int stages, td_team team = TD_BY_BLOCK, class number, class fetch_function,
          class work_function>
TD_DEVICE void td_async_pipeline(number steps, fetch_function fetch, work_function work)
{
    TD_UNROLL
    for (int s = 0; s < stages - 1; s++) {
        if (s < steps) fetch(s);
        td_async_copy_commit();
    }
    int read = 0;
    for (number left = steps; left > 0; left--) {
        if (stages > 1) td_async_copy_wait<(stages > 1 ? stages - 2 : 0)>();
        td_meet<team>(); /* this stage is there, and nobody reads the one before any more */
        if (left > stages - 1) fetch(read == 0 ? stages - 1 : read - 1);
        td_async_copy_commit();
        if (stages == 1) {
            td_async_copy_wait<0>();
            td_meet<team>();
        }
        work(read);
        read = read + 1 == stages ? 0 : read + 1;
    }
}

#endif
