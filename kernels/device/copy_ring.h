/* copy_ring.h - stages of shared memory that all threads of a block fill by asynchronous copies,
 * and all of its warps read, each at its own pace: a warp waits for the copies that it reads, and
 * for the readers of what it copies over. Where a device has no barriers in shared memory, the
 * block's threads meet instead.
 *
 * Fills, and reads, are numbered from 0 on; fill f goes to stage f % stages. All threads take part
 * in all of them, and fill at most td_ring_ahead<stages>() of them before they release one. A fill
 * is done by all of the block's threads, who call td_ring_fill, or by one, who copies boxes
 * (tma_copy.h) that arrive at full[f % stages]. */
#ifndef TD_COPY_RING_H
#define TD_COPY_RING_H

#include "async_copy.h"
#include "tma_copy.h"

enum { TD_RING_STAGES = 4 };

/* In shared memory. */
struct td_copy_ring {
    uint64_t full[TD_RING_STAGES], empty[TD_RING_STAGES];
};

/* With more than two stages, warps may be a step apart. */
template <int stages> TD_HOST_DEVICE constexpr int td_ring_ahead()
{
    static_assert(stages == 2 || stages == 4, "a step's stage and phase are some of its bits");
    return stages > 2 ? stages - 2 : 1;
}

#if TD_HAS_CUDA_DEVICE && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)

/* Before all else, and after all else; a fill is done by so many threads. */
template <int stages> TD_DEVICE void td_ring_start(td_copy_ring &ring, int fillers)
{
    if ((int)threadIdx.x < stages) {
        td_barrier_start(&ring.full[threadIdx.x], fillers);
        td_barrier_start(&ring.empty[threadIdx.x], (int)blockDim.x);
        if (fillers != (int)blockDim.x) td_barriers_started();
    }
    __syncthreads();
}

template <int stages> TD_DEVICE void td_ring_end(td_copy_ring &ring)
{
    __syncthreads();
    if ((int)threadIdx.x < stages) {
        td_barrier_end(&ring.full[threadIdx.x]);
        td_barrier_end(&ring.empty[threadIdx.x]);
    }
}

/* Before the copies of fill f. */
template <int stages> TD_DEVICE void td_ring_claim(td_copy_ring &ring, uint32_t f)
{
    td_barrier_wait(&ring.empty[f % stages], (f / stages & 1) ^ 1);
}

/* After them. */
template <int stages> TD_DEVICE void td_ring_fill(td_copy_ring &ring, uint32_t f)
{
    td_barrier_arrive_with_copies(&ring.full[f % stages]);
}

/* Before reading what fill f copied. */
template <int stages> TD_DEVICE void td_ring_wait(td_copy_ring &ring, uint32_t f)
{
    td_barrier_wait(&ring.full[f % stages], f / stages & 1);
}

/* After it; by each thread for itself, as compute-sanitizer's racecheck believes a barrier only
 * those that arrive. */
template <int stages> TD_DEVICE void td_ring_release(td_copy_ring &ring, uint32_t f)
{
    td_barrier_arrive(&ring.empty[f % stages]);
}

#else

template <int stages> TD_DEVICE void td_ring_start(td_copy_ring &, int) {}
template <int stages> TD_DEVICE void td_ring_end(td_copy_ring &) { __syncthreads(); }

template <int stages> TD_DEVICE void td_ring_claim(td_copy_ring &, uint32_t)
{
    if (td_ring_ahead<stages>() > stages - 2) __syncthreads();
}

template <int stages> TD_DEVICE void td_ring_fill(td_copy_ring &, uint32_t) {}
template <int stages> TD_DEVICE void td_ring_wait(td_copy_ring &, uint32_t) { __syncthreads(); }
template <int stages> TD_DEVICE void td_ring_release(td_copy_ring &, uint32_t) {}

#endif

#endif
