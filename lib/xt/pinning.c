#include "pinning.h"

#include <stdint.h>
#include <unistd.h>

#include "../cuda/context.h"

static td_xt_pages pages_of(const td_extent *x, int64_t element_bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)x->matrix.data,
                    bytes =
                        (uintptr_t)(((x->columns - 1) * x->matrix.ld + x->rows) * element_bytes);
    return (td_xt_pages){(char *)(first / page * page),
                         (char *)((first + bytes + page - 1) / page * page)};
}

static bool is_unknown(const void *p)
{
    struct cudaPointerAttributes of;
    return td_cuda_ok(cudaPointerGetAttributes(&of, p)) && of.type == cudaMemoryTypeUnregistered;
}

/* True of what has elements, and whose first and last byte CUDA does not know. */
static bool is_pageable(const td_extent *x, td_xt_pages pages)
{
    return x->rows > 0 && x->columns > 0 && is_unknown(x->matrix.data) && is_unknown(pages.end - 1);
}

void td_xt_pin(const td_xt_call *x, int devices, const td_tile_memory *memory, td_xt_pins *pins)
{
    const td_extent *extents[TD_XT_MOST_PINS] = {&memory->written.extent};
    td_xt_pages pages[TD_XT_MOST_PINS];
    int count = 0;
    pins->count = 0;
    if (devices > 1 || !td_xt_may_pin(x)) return;
    for (int i = 0; i < TD_TILE_FACTORS; i++) extents[i + 1] = &memory->read[i].extent;
    for (int i = 0; i < TD_XT_MOST_PINS; i++) {
        pages[count] = pages_of(extents[i], memory->element_bytes);
        if (is_pageable(extents[i], pages[count])) count++;
    }
    count = td_xt_merge_pages(pages, count);
    for (int i = 0; i < count; i++)
        if (td_cuda_ok(cudaHostRegister(pages[i].start, (size_t)(pages[i].end - pages[i].start),
                                        cudaHostRegisterPortable)))
            pins->pages[pins->count++] = pages[i];
}

void td_xt_unpin(const td_xt_pins *pins)
{
    for (int i = 0; i < pins->count; i++) td_cuda_ok(cudaHostUnregister(pins->pages[i].start));
}
