/* warpgroups.h - what kernels of warpgroups are made of, on sm_90a: a ring of stages of shared
 * memory that one thread has filled by copies, and the products of a unit, by one or two
 * warpgroups, of the stages that they wait for. Of the two operands of the tensor cores the first
 * is B: then each lane has neighbouring rows of C, which is column-major. A template argument s has
 *   rows, columns          of a tile of C
 *   groups, halves         warpgroups that share its columns, and the 64 columns that each of them
 *                          has
 *   stages                 of the ring: K_STEP elements of k, the rows' first
 *   row_bytes, stage_bytes the rows' share of a stage, and all of it
 *   cluster                blocks that have the same rows, and share the copies of these */
#ifndef TD_WARPGROUPS_H
#define TD_WARPGROUPS_H

#if TD_HAS_CUDA_DEVICE

#include "../device/cluster.h"
#include "wgmma.h"

namespace
{

enum {
    K_STEP = TD_SLICE_K, /* bytes of a line in one stage */
    PRODUCT_K = 32,      /* of one instruction */
    GROUP_THREADS = 128
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/* ---- rings ---- */

/* A place in a ring of barriers, and its parity: of a stage of copies, or of a unit. */
template <int size> struct position {
    int place;
    uint32_t parity;
};

template <int size> TD_DEVICE void advance(position<size> &at, int places)
{
    at.place += places;
    at.parity ^= (uint32_t)(at.place / size) & 1u;
    at.place %= size;
}

template <int size> TD_DEVICE void next(position<size> &at)
{
    if (++at.place < size) return;
    at.place = 0;
    at.parity ^= 1u;
}

template <int size> struct ring {
    uint64_t full[size], empty[size];

    /* Addresses of a place's barriers, of a ring that begins at an address of shared memory. */
    TD_DEVICE uint32_t full_at(uint32_t ring, int place) { return ring + 8 * (uint32_t)place; }
    TD_DEVICE uint32_t empty_at(uint32_t ring, int place) { return full_at(ring, size + place); }
};

template <int size> TD_DEVICE void start(ring<size> &barrier, int users)
{
    if (threadIdx.x >= size) return;
    td_barrier_start(&barrier.full[threadIdx.x], 1);
    td_barrier_start(&barrier.empty[threadIdx.x], users);
}

/* ---- products ---- */

template <class s> using unit_sums = int32_t[s::halves][s::rows / 2];

/* Where a warpgroup finds its operands in the first stage, and the ring of barriers: kept, as it
 * takes a while to find them. */
struct unit_operands {
    uint64_t rows, columns; /* descriptors: of all rows, of the group's columns */
    uint32_t ring;
};

template <class s> TD_DEVICE unit_operands operands_of(const int8_t *shared, ring<s::stages> &ring)
{
    const uint32_t stages = td_shared_address(shared),
                   group = (uint32_t)td_uniform((int)threadIdx.x / GROUP_THREADS) % s::groups;
    return {td_panel_descriptor(stages),
            td_panel_descriptor(stages + s::row_bytes + group * 64 * K_STEP),
            (uint32_t)td_uniform((int)td_shared_address(&ring))};
}

template <bool add, class s>
TD_DEVICE void multiply_stage(unit_sums<s> &sums, const unit_operands &from, int stage)
{
    const uint32_t at = (uint32_t)stage * (s::stage_bytes >> 4);
    const uint64_t y = from.rows + at, x = from.columns + at;
    const int along = PRODUCT_K >> 4, half = 64 * K_STEP >> 4;
    td_products_start();
    TD_UNROLL
    for (int k = 0; k < K_STEP / PRODUCT_K; k++) {
        TD_UNROLL
        for (int i = 0; i < s::halves; i++) {
            const uint64_t from_x = x + (uint64_t)(k * along + i * half),
                           from_y = y + (uint64_t)(k * along);
            if (k == 0 && !add)
                td_products<false>(sums[i], from_x, from_y);
            else
                td_products<true>(sums[i], from_x, from_y);
        }
    }
    td_products_commit();
}

/* Tells all blocks that copy to a stage that its products are made: by a thread for each of
 * them. */
template <class s> TD_DEVICE void leave_stage(const unit_operands &from, int stage)
{
    const int thread = (int)threadIdx.x % GROUP_THREADS;
    const uint32_t empty = ring<s::stages>::empty_at(from.ring, stage);
    if (thread >= s::cluster) return;
    if constexpr (s::cluster > 1)
        td_barrier_arrive_in_block(empty, thread);
    else
        td_barrier_arrive(empty);
}

/* True if the stage that comes next is there. */
template <class s>
TD_DEVICE bool is_stage_full(const position<s::stages> &at, const unit_operands &from)
{
    return td_barrier_is_over(ring<s::stages>::full_at(from.ring, at.place), at.parity);
}

/* Starts all products of a unit; those of its last stage, which is returned, are under way.
 * is_full: its first one is known to be there. */
template <class s>
TD_DEVICE int multiply_unit(unit_sums<s> &sums, int steps, position<s::stages> &at,
                            const unit_operands &from, bool is_full = false)
{
    if (!is_full) td_barrier_wait(ring<s::stages>::full_at(from.ring, at.place), at.parity);
    multiply_stage<false, s>(sums, from, at.place);
    int last = at.place;
    next(at);
    TD_UNROLL_N(1)
    for (int step = 1; step < steps; step++) {
        td_barrier_wait(ring<s::stages>::full_at(from.ring, at.place), at.parity);
        multiply_stage<true, s>(sums, from, at.place);
        td_products_wait<1>();
        leave_stage<s>(from, last);
        last = at.place;
        next(at);
    }
    return last;
}

/* Waits until the products of the last stage are made, and releases it. */
template <class s> TD_DEVICE void end_unit(const unit_operands &from, int last)
{
    td_products_wait<0>();
    leave_stage<s>(from, last);
}

#endif

/* ---- tensors ---- */

/* How a panel's planes of all members become boxes of box_lines lines; zeros past the ends. */
bool describe_panel(const td_panels *p, const void *panel, int64_t lines, int64_t ld,
                    int64_t member, int64_t plane, int box_lines, CUtensorMap *map)
{
    return td_describe_boxes(
        map, CU_TENSOR_MAP_DATA_TYPE_UINT8, panel,
        {(cuuint64_t)p->k, (cuuint64_t)lines, (cuuint64_t)p->batch, (cuuint64_t)p->planes},
        {(cuuint64_t)ld, (cuuint64_t)member, (cuuint64_t)plane},
        {K_STEP, (cuuint32_t)box_lines, 1, 1});
}

} // namespace

#endif

#endif
