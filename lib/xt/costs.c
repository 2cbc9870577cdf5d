/* costs.c - what copies of a call's matrices take: those of an emulated call, each once, and those
 * of cublasXt's own, at the least. */
#include "../cuda/context.h"
#include "call.h"
#include "native_copies.h"
#include "tiles.h"

/* Bytes a second between the host and one device. On an H200 plain copies make 9.4e9 from pageable
 * memory and 55e9 from pinned memory, and pinning with unpinning 12.8e9
 * (docs/results/h200x2-2026-11-28-xt/bus.txt). The bytes that native_copies.h counts make 5.4e9 to
 * 7.7e9 and 33e9 to 39e9 in cublasXt's calls there: it is held to be as fast as a copy. */
static const double pageable_rate = 8e9, pinned_rate = 50e9, pinning_rate = 12.8e9;

/* Seconds of a byte of a matrix: of each copy, and before the first. */
typedef struct {
    double copy, pin;
} price;
typedef struct {
    price emulated, native;
} prices;

/* Memory that cublasXt may pin is pinned for an emulated call on one device, too. Where nobody
 * knows how fast cublasXt copies, it is as if memory were pinned. */
static prices prices_of(const void *memory, bool may_pin, int devices)
{
    static const price none = {0.0, 0.0}, pageable = {1.0 / pageable_rate, 0.0},
                       pinned = {1.0 / pinned_rate, 0.0},
                       pinned_first = {1.0 / pinned_rate, 1.0 / pinning_rate};
    struct cudaPointerAttributes of;
    if (!td_cuda_ok(cudaPointerGetAttributes(&of, memory))) return (prices){pageable, pinned};
    switch (of.type) {
    case cudaMemoryTypeDevice:
        return (prices){none, none};
    case cudaMemoryTypeHost:
        return (prices){pinned, pinned};
    case cudaMemoryTypeUnregistered:
        if (!may_pin) return (prices){pageable, pageable};
        return (prices){devices == 1 ? pinned_first : pageable, pinned_first};
    default:
        return (prices){pageable, pinned};
    }
}

/* Of a triangle half. */
static double bytes_of(const td_tile_part *part, int64_t element_bytes)
{
    const double share = part->region == TD_REGION_ALL ? 1.0 : 0.5;
    return share * (double)part->extent.rows * (double)part->extent.columns * (double)element_bytes;
}

static double seconds_of(price each, double bytes, double times)
{
    return bytes * (each.pin + times * each.copy);
}

/* True if devices can copy from one another, and so share the copies of a call that one of them
 * makes. */
static bool are_peers(const td_xt_selection *devices)
{
    bool are = true;
    for (int i = 0; i < devices->count && are; i++)
        for (int j = 0; j < devices->count && are; j++)
            are = i == j || td_device_sees(devices->ordinal[i], devices->ordinal[j]);
    return are;
}

/* Devices that copy parts of a matrix at the same time. */
typedef struct {
    int emulated, native;
} sharers;

static void add(td_xt_call *x, const td_tile_part *part, int64_t element_bytes, double times,
                double native_times, sharers by)
{
    td_problem *const p = &x->p;
    const prices own = prices_of(part->extent.matrix.data, td_xt_may_pin(x), by.native);
    const double bytes = bytes_of(part, element_bytes);
    p->copying_seconds += seconds_of(own.emulated, bytes, times / by.emulated);
    p->native_copying_seconds += seconds_of(own.native, bytes, native_times / by.native);
}

void td_xt_price_copies(td_xt_call *x, const td_xt_selection *devices)
{
    td_tile whole;
    if (!td_problem_is_valid(&x->p) || !td_problem_is_countable(&x->p) ||
        !td_tile_whole(&x->p, &whole))
        return;
    const td_tile_memory memory = td_tile_memory_of(&whole);
    const td_native_copies native = td_native_copies_of(&whole, td_xt_block(x));
    const bool has_one = whole.is_solve && !are_peers(devices); /* one device with all copies */
    const sharers by = {has_one ? 1 : devices->count, devices->count};
    add(x, &memory.written, memory.element_bytes, memory.is_updated ? 2.0 : 1.0, native.written,
        by);
    for (int i = 0; i < TD_TILE_FACTORS; i++)
        if (memory.read[i].extent.rows > 0 && td_tile_first_copy(&memory, i) == i)
            add(x, &memory.read[i], memory.element_bytes, 1.0, native.read[i], by);
}
