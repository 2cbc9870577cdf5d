/* costs.c - what copies of a call's matrices take: those of an emulated call, each once, and those
 * of cublasXt's own, at the least. cublasXt brings the factors of each of its tiles anew. On an
 * H200 it moved 3.4 and 4.5 GB/s of these bytes from pageable memory, 19 to 21 from pinned memory,
 * where plain copies make 9.4 and 55 (docs/results/h200x2-2026-11-28-xt): it is held to be as fast
 * as a copy. */
#include "../routine/sizes.h"
#include "../cuda/context.h"
#include "call.h"
#include "tiles.h"

/* Bytes a second. */
static const double pageable_rate = 8e9, pinned_rate = 50e9;

/* Seconds of a byte of a matrix: of one copy, and of cublasXt's copies. */
typedef struct {
    double emulated, native;
} price;

/* Where nobody knows how fast cublasXt copies, it is as if memory were pinned. */
static price price_of(const void *memory, bool may_pin)
{
    static const price of_pinned = {1.0 / pinned_rate, 1.0 / pinned_rate},
                       of_pageable = {1.0 / pageable_rate, 1.0 / pageable_rate},
                       of_other = {1.0 / pageable_rate, 1.0 / pinned_rate};
    struct cudaPointerAttributes of;
    if (!td_cuda_ok(cudaPointerGetAttributes(&of, memory))) return of_other;
    if (of.type == cudaMemoryTypeDevice) return (price){0.0, 0.0};
    if (of.type == cudaMemoryTypeHost) return of_pinned;
    return of.type == cudaMemoryTypeUnregistered && !may_pin ? of_pageable : of_other;
}

/* Of a triangle half. */
static double bytes_of(const td_tile_part *part, int64_t element_bytes)
{
    const double share = part->region == TD_REGION_ALL ? 1.0 : 0.5;
    return share * (double)part->extent.rows * (double)part->extent.columns * (double)element_bytes;
}

/* How often cublasXt copies a factor of a product of two full matrices: once for each of its tiles
 * of C along the other side. */
static double times_of(const td_product *p, int factor, int64_t block)
{
    return (double)td_ceil_div(factor == 0 ? p->n : p->m, block);
}

static void add(td_problem *p, const td_tile_part *part, int64_t element_bytes, price each,
                double times, double native_times)
{
    const double bytes = bytes_of(part, element_bytes);
    p->copying_seconds += times * bytes * each.emulated;
    p->native_copying_seconds += native_times * bytes * each.native;
}

void td_xt_price_copies(td_xt_call *x)
{
    td_problem *const p = &x->p;
    td_tile whole;
    if (!td_problem_is_valid(p) || !td_tile_whole(p, &whole)) return;
    const td_tile_memory memory = td_tile_memory_of(&whole);
    const bool may_pin = td_xt_may_pin(x), is_known = p->kind == TD_PRODUCT;
    const double times = memory.is_updated ? 2.0 : 1.0;
    const int64_t block = td_xt_block(x);
    add(p, &memory.written, memory.element_bytes,
        price_of(memory.written.extent.matrix.data, may_pin), times, is_known ? times : 0.0);
    for (int i = 0; i < TD_TILE_FACTORS; i++)
        if (memory.read[i].extent.rows > 0)
            add(p, &memory.read[i], memory.element_bytes,
                price_of(memory.read[i].extent.matrix.data, may_pin), 1.0,
                is_known ? times_of(&whole.product, i, block) : 0.0);
}
