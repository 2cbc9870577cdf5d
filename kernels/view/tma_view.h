/* tma_view.h - boxes of an operand for the tensor memory accelerator (../device/tma_copy.h): rows
 * of TD_BOX elements that are neighbours in memory, of k of a line where the operand stands along
 * k, else of lines at one k. */
#ifndef TD_TMA_VIEW_H
#define TD_TMA_VIEW_H

#include "../device/tma_copy.h"
#include "../device/portable.h"
#include "view.h"

/* 1 in code for devices that copy boxes. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define TD_HAS_BOXES 1
#else
#define TD_HAS_BOXES 0
#endif

/* Elements of a row, 128 bytes; stages of boxes begin at multiples of so many bytes. */
enum { TD_BOX = 16, TD_BOX_ALIGNMENT = 1024 };

/* Where the first stage begins in memory that is TD_BOX_ALIGNMENT bytes larger. */
template <class number> TD_DEVICE number *td_first_box(number *shared)
{
#if TD_HAS_CUDA_DEVICE
    return shared + (-td_shared_address(shared) & (TD_BOX_ALIGNMENT - 1)) / sizeof(number);
#else
    return shared;
#endif
}

#if TD_HAS_CUDA_DEVICE

struct td_view_boxes {
    CUtensorMap of[2];
};

/* The member's place in a tensor of the operand. */
TD_DEVICE int td_box_member(const td_view &o, int batch) { return o.matrix.stride ? batch : 0; }

/* Boxes of so many rows of the first `end` elements of k of all lines, of `batch` members. False if
 * the operand's elements cannot be copied in boxes. */
static inline bool td_describe_view(CUtensorMap *map, const td_view &o, int64_t end,
                                    int64_t batch_first, int batch, int rows, td_box_use use)
{
    const bool along = o.k_step == 1;
    const int64_t across = 8 * (along ? o.line_step : o.k_step),
                  member = batch > 1 && o.matrix.stride ? 8 * o.matrix.stride : across;
    const double *const first =
        static_cast<const double *>(o.matrix.data) + batch_first * o.matrix.stride + o.offset;
    if (o.matrix.array || member < 0 || o.k > INT32_MAX - TD_BOX_ALIGNMENT ||
        ((reinterpret_cast<uintptr_t>(first) | (uint64_t)across | (uint64_t)member) & 15) != 0)
        return false;
    const cuuint64_t lines = (cuuint64_t)o.lines, k = (cuuint64_t)end;
    return td_describe_boxes(
        map, CU_TENSOR_MAP_DATA_TYPE_FLOAT64, first,
        {along ? k : lines, along ? lines : k, (cuuint64_t)(o.matrix.stride ? batch : 1), 1},
        {(cuuint64_t)across, (cuuint64_t)member, (cuuint64_t)member},
        {TD_BOX, (cuuint32_t)rows, 1, 1}, use);
}

#endif

#endif
