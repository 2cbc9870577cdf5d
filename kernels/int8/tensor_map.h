/* tensor_map.h - panels as the tensor memory accelerator of sm_90 knows them. */
#ifndef TD_TENSOR_MAP_H
#define TD_TENSOR_MAP_H

#include <cuda.h>

#include "../portable.h"
#include "panels.h"

typedef decltype(&cuTensorMapEncodeTiled) td_encode_function;

static inline td_encode_function td_find_encode()
{
    void *function = NULL;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                               12000, cudaEnableDefault, &found);
    return error == cudaSuccess && found == cudaDriverEntryPointSuccess
               ? reinterpret_cast<td_encode_function>(function)
               : NULL;
}

/* How a panel's planes of all members become boxes of box_lines lines and box_k bytes of k; zeros past the ends. */
static inline bool td_describe_panel(const td_panels *p, const void *panel, int64_t lines,
                                     int64_t ld, int64_t member, int64_t plane, int box_k,
                                     int box_lines, CUtensorMap *map)
{
    static const td_encode_function encode = td_find_encode();
    const cuuint64_t sizes[] = {(cuuint64_t)p->k, (cuuint64_t)lines, (cuuint64_t)p->batch,
                                (cuuint64_t)p->planes};
    const cuuint64_t steps[] = {(cuuint64_t)ld, (cuuint64_t)member, (cuuint64_t)plane};
    const cuuint32_t box[] = {(cuuint32_t)box_k, (cuuint32_t)box_lines, 1, 1},
                     each[] = {1, 1, 1, 1};
    return encode && encode(map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 4, const_cast<void *>(panel), sizes,
                            steps, box, each, CU_TENSOR_MAP_INTERLEAVE_NONE,
                            CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                            CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

#endif
