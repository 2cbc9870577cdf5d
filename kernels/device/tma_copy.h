/* tma_copy.h - copies of boxes of a tensor to shared memory by the tensor memory accelerator of
 * sm_90 and later, and barriers that wait for their bytes. One thread starts a copy; what is past
 * the tensor's ends becomes zeros. (PTX ISA 8.0: cp.async.bulk.tensor, mbarrier.) */
#ifndef TD_TMA_COPY_H
#define TD_TMA_COPY_H

#include "barrier.h"

#if TD_HAS_CUDA_DEVICE

#include <cuda.h>

/* What was started is seen by the copies as well, once the block's threads have met. */
TD_DEVICE void td_barriers_started()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

/* Arrives, and the barrier waits for so many bytes of copies too. */
TD_DEVICE void td_barrier_expect(uint64_t *barrier, int bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(td_shared_address(barrier)),
        "r"(bytes)
        : "memory");
}

/* The first copy by a map need not wait for it. */
TD_DEVICE void td_prefetch_map(const CUtensorMap *map)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
#endif
}

/* A box of a tensor of four dimensions from its element x, y, z, w on; x is to be a multiple of 16
 * bytes: others are an illegal instruction. */
TD_DEVICE void td_copy_box(void *shared, const CUtensorMap *map, uint64_t *barrier, int x, int y,
                           int z, int w)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(td_shared_address(shared)),
                 "l"(map), "r"(td_shared_address(barrier)), "r"(x), "r"(y), "r"(z), "r"(w)
                 : "memory");
}

/* True in one lane of a warp, all of whose lanes take part. */
TD_DEVICE bool td_is_elected()
{
    uint32_t elected = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("{\n"
                 ".reg .pred one;\n"
                 "elect.sync _|one, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, one;\n"
                 "}"
                 : "=r"(elected));
#endif
    return elected != 0;
}

/* ---- host ---- */

static inline decltype(&cuTensorMapEncodeTiled) td_find_encode()
{
    void *function = NULL;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                               12000, cudaEnableDefault, &found);
    return error == cudaSuccess && found == cudaDriverEntryPointSuccess
               ? reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function)
               : NULL;
}

/* Whether other blocks soon want what is near a box: then the L2 fetches some more from memory,
 * which makes memory itself slower. */
typedef enum { TD_BOX_USED_ONCE, TD_BOX_SHARED } td_box_use;

/* Boxes, lines of which have at most 128 bytes, of a tensor of so many elements along its
 * dimensions, whose first element is 16-byte aligned, as all are that are steps[i], in bytes, apart
 * along dimension i + 1. In shared memory, 1024-byte aligned, chunks of 16 bytes of line i are
 * swapped by exclusive-or with i mod 8. False if the driver does not have it. */
static inline bool td_describe_boxes(CUtensorMap *map, CUtensorMapDataType type, const void *first,
                                     const cuuint64_t (&sizes)[4], const cuuint64_t (&steps)[3],
                                     const cuuint32_t (&box)[4], td_box_use use = TD_BOX_SHARED)
{
    static const auto encode = td_find_encode();
    const cuuint32_t each[] = {1, 1, 1, 1};
    return encode && encode(map, type, 4, const_cast<void *>(first), sizes, steps, box, each,
                            CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                            use == TD_BOX_SHARED ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B
                                                 : CU_TENSOR_MAP_L2_PROMOTION_NONE,
                            CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

#endif

#endif
