/* cluster.h - clusters of sm_90 and later: blocks that have places at the same time, wait for each
 * other, and reach each other's shared memory. An address of a block's own is also that of the same
 * variable of another one, once that block's number is put in. (PTX ISA 8.0: mapa, barrier.cluster,
 * mbarrier, cp.async.bulk.tensor.) */
#ifndef TD_CLUSTER_H
#define TD_CLUSTER_H

#include "tma_copy.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

/* The block's number in clusters of so many neighbours along x. */
template <int blocks> TD_DEVICE int td_block_of_cluster() { return (int)blockIdx.x % blocks; }

/* Until all threads of the cluster that have not ended are here. */
TD_DEVICE void td_cluster_meet()
{
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;" ::
                     : "memory");
}

/* The address in another block. */
TD_DEVICE uint32_t td_address_in_block(uint32_t own, int block)
{
    uint32_t address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(own), "r"(block));
    return address;
}

/* At another block's barrier. */
TD_DEVICE void td_barrier_arrive_in_block(uint32_t own, int block)
{
    asm volatile(
        "mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(td_address_in_block(own, block))
        : "memory");
}

/* Leaves a number in another block, and arrives at its barrier; who waits for that by
 * td_barrier_wait_for_block sees the number. */
TD_DEVICE void td_tell_block(int *place, uint64_t *barrier, int block, int number)
{
    asm volatile("st.shared::cluster.s32 [%0], %2;\n"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%1];" ::"r"(
                     td_address_in_block(td_shared_address(place), block)),
                 "r"(td_address_in_block(td_shared_address(barrier), block)), "r"(number)
                 : "memory");
}
TD_DEVICE void td_barrier_wait_for_block(uint64_t *barrier, uint32_t parity)
{
    uint32_t over = 0;
    while (!over)
        TD_ASK_BARRIER("try_wait.parity.acquire.cluster", over, td_shared_address(barrier), parity);
}

/* td_copy_box to the same place of all of so many blocks, each of whose barriers waits for its
 * bytes. */
template <int blocks>
TD_DEVICE void td_copy_box_to_all(void *shared, const CUtensorMap *map, uint64_t *barrier, int x,
                                  int y, int z, int w)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(
                     td_shared_address(shared)),
                 "l"(map), "r"(td_shared_address(barrier)), "r"(x), "r"(y), "r"(z), "r"(w),
                 "h"((uint16_t)((1 << blocks) - 1))
                 : "memory");
}

#endif

#endif
