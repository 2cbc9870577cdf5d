/* binary64_repair.h - the masked elements of C, or all, in binary64: a whole tile, or two one below
 * the other, for each block. How operands come to shared memory is a passage's to say
 * (binary64_stage.h). */
#ifndef TD_BINARY64_REPAIR_H
#define TD_BINARY64_REPAIR_H

#include "nan_infinity.h"

/* Makes the sums of scaled elements. All threads take part. */
template <class passage>
TD_DEVICE void add_up_scaled(const td_repair &p, const block_place &at, shared_state &shared,
                             passage &way, bool is_idle, warp_sums &sums)
{
    enum { ALONG_A = passage::ALONG_A, ALONG_B = passage::ALONG_B };
    const int64_t k = p.operand[0].k;
    const int16_t *const shift = p.shifted[blockIdx.z] ? p.shift + blockIdx.z * k : NULL;
    const line_scales scales = {shared.scale + warp_row(), shared.scale + ROWS + warp_column(),
                                shift, k};
    if (are_near(p, at, shift, shared))
        add_up(way, td_binary64_block(k), is_idle, near_scales<ALONG_A, ALONG_B>(scales), sums);
    else
        add_up(way, td_binary64_block(k), is_idle, far_scales<ALONG_A, ALONG_B>(scales), sums);
}

/* True if the thread's warp has elements of C. */
TD_DEVICE bool has_elements(const td_target &target, const block_place &at)
{
    const int row = at.row + warp_row(), column = at.column + warp_column();
    return row < target.m && column < target.n &&
           td_region_meets(&target.region, row, column, WARP_ROWS, WARP_COLUMNS);
}

/* Makes the sums of one pass over k; returns the bits of the thread's sums that are left to the
 * next pass. All threads take part. */
template <class passage>
TD_DEVICE uint32_t make_pass(const td_repair &p, const typename passage::parameter &boxes,
                             const tile_operands &operands, const block_place &at, const pass &own,
                             shared_state &shared, double *slabs)
{
    const bool is_idle = warp_row() >= at.rows || td_skips(!has_elements(p.target, at));
    passage way(boxes, operands, shared.ring, slabs);
    warp_sums sums = {};
    if (own.is_scaled)
        add_up_scaled(p, at, shared, way, is_idle, sums);
    else
        add_up(way, td_binary64_block(p.operand[0].k), is_idle, no_scales{}, sums);
    const uint32_t left =
        store_sums<passage::ALONG_A, passage::ALONG_B>(p, at, own, shared.scale, sums);
    __syncwarp(); /* lanes store as many sums as they have, and come to the next barrier together */
    return left;
}

/* True if a pass is for any sum of the block. All threads take part. */
template <class passage>
TD_DEVICE bool is_any_wanted(const td_repair &p, const pass &own, const block_place &at)
{
    const uint32_t wanted = wanted_sums<passage::ALONG_A, passage::ALONG_B>(p, own, at);
    __syncwarp();
    return td_uniform(__syncthreads_or(wanted != 0)) != 0;
}

/* Makes one tile of C, or a share of it, and of the tile below it if `rows` reach there. */
template <class passage>
TD_DEVICE void repair_tile(const td_repair &p, const typename passage::parameter &boxes,
                           const block_place &at, shared_state &shared, double *slabs)
{
    const int64_t member = p.target.batch_first + blockIdx.z;
    if (at.rows == 0) return;
    const tile_operands operands = {p.operand[0],
                                    p.operand[1],
                                    td_member<const double>(p.operand[0].matrix, member),
                                    td_member<const double>(p.operand[1].matrix, member),
                                    at.row,
                                    at.column};
    bool has_to_scale = false, has_both = false;
    if (p.line[0] && at.room != TD_ROOM) {
        const line_summary &lines = shared.lines;
        summarise_lines(p, at, shared);
        has_to_scale = !td_uniform(has_room(lines, p.operand[0].k));
        has_both = has_to_scale && td_uniform(lines.has_special || !has_room_scaled(lines));
    }
    uint32_t left = 0;
    TD_ROLLED
    for (int scaled = has_to_scale && !has_both; scaled <= has_to_scale; scaled++) {
        const pass own = {scaled != 0, !has_both, left};
        if (!has_both || is_any_wanted<passage>(p, own, at))
            left = make_pass<passage>(p, boxes, operands, at, own, shared, slabs);
    }
    if (p.repaired && threadIdx.x == 0 && at.made)
        atomicAdd(p.repaired, (unsigned long long)at.made);
    if (p.tiles && threadIdx.x == 0 && at.tiles) atomicAdd(p.tiles, (unsigned long long)at.tiles);
}

/* Makes the block's tiles where alpha is 0; no operand is read. */
TD_DEVICE void scale_tile(const td_target &target, int tile, int tiles)
{
    const block_place at = place_of_all(target, tile, tiles);
    const double beta = td_scalar_value(target.beta);
    double *const first = td_target_c<double>(target) + at.row + at.column * target.c.ld;
    const int rows = min(at.rows, target.m - at.row),
              columns = min((int)TD_TILE, target.n - at.column);
    for (int e = (int)threadIdx.x; e < at.rows * columns; e += THREADS) {
        double *const c = first + e % at.rows + e / at.rows * target.c.ld;
        const bool is_inside =
            e % at.rows < rows &&
            td_region_has(&target.region, at.row + e % at.rows, at.column + e / at.rows);
        if (is_inside) *c = td_scaled(beta, c);
    }
}

/* True if all elements of a member are made as they are: then no tile needs to know its lines. */
TD_DEVICE bool makes_all(const td_repair &p)
{
    return p.makes_all || td_uniform(td_room_for_all(p.target)) == TD_ROOM;
}

/* Counts all of a member, which somebody else has made. */
TD_DEVICE void count_member(const td_repair &p)
{
    const td_target &target = p.target;
    if (blockIdx.x > 0 || threadIdx.x > 0) return;
    if (p.repaired)
        atomicAdd(p.repaired,
                  (unsigned long long)td_region_blocks(&target.region, target.m, target.n, 1, 1));
    if (p.tiles)
        atomicAdd(p.tiles, (unsigned long long)td_region_blocks(&target.region, target.m, target.n,
                                                                TD_TILE, TD_TILE));
}

/* Grid: blocks over open tiles, 1, batch member; clusters of passage::BLOCKS. Does nothing where
 * the device has no such copies: it has no static shared memory there. */
template <class passage>
static __global__ void __launch_bounds__(THREADS, 1)
    binary64_kernel(TD_PARAMETER td_repair p, TD_PARAMETER typename passage::parameter boxes)
{
    if constexpr (passage::EXISTS) {
        TD_SHARED(shared_state, shared, );
        TD_DYNAMIC_SHARED(double, dynamic);
        td_begin_kernel();
        double *const slabs = td_first_box(dynamic);
        const int tiles = p.binary64.tiles;
        const int room = td_uniform(td_room_for_all(p.target));
        if (p.open == TD_OPEN_FEW && room != TD_ROOM_UNKNOWN) return;
        if (room == TD_MADE || (p.has_whole && room == TD_ROOM))
            count_member(p);
        else if (p.makes_all && td_scalar_value(p.target.alpha) == 0.0)
            each_tile<1>(p.target, tiles, 1,
                         [&](int tile, const tile_share &) { scale_tile(p.target, tile, tiles); });
        else if (makes_all(p))
            each_tile<passage::BLOCKS>(
                p.target, tiles, p.binary64.shares, [&](int tile, const tile_share &share) {
                    const block_place at = share_of(place_of_all(p.target, tile, tiles), share);
                    repair_tile<passage>(p, boxes, at, shared, slabs);
                });
        else
            each_masked_tile(
                p.target, p.open, p.binary64.shares, [&](int tile, const tile_share &share) {
                    const block_place at = share_of(place_of(p.target, tile, shared.masked), share);
                    repair_tile<typename passage::single>(p, boxes, at, shared, slabs);
                });
    }
}

/* ---- launches ---- */

enum { FEW_STAGES = 2, MANY_STAGES = TD_RING_STAGES };
static_assert(bytes_of_stages(MANY_STAGES) == TD_BINARY64_BYTES, "what routes know");

template <template <int, bool, bool> class passage, int stages>
static auto kernel_for(bool along_a, bool along_b)
{
    return along_a   ? along_b ? binary64_kernel<passage<stages, true, true>>
                               : binary64_kernel<passage<stages, true, false>>
             : along_b ? binary64_kernel<passage<stages, false, true>>
                     : binary64_kernel<passage<stages, false, false>>;
}

template <template <int, bool, bool> class passage, int stages, class parameter>
static cudaError_t launch(const td_repair *p, const parameter &boxes, dim3 grid,
                          cudaStream_t stream)
{
    const auto kernel =
        kernel_for<passage, stages>(p->operand[0].k_step == 1, p->operand[1].k_step == 1);
#if TD_HAS_CUDA_DEVICE
    if (passage<stages, true, true>::BLOCKS > 1)
        return TD_LAUNCH_CLUSTERS(kernel, grid, (passage<stages, true, true>::BLOCKS), THREADS,
                                  bytes_of_stages(stages), stream, *p, boxes);
#endif
    return TD_LAUNCH_NEXT(kernel, grid, THREADS, bytes_of_stages(stages), stream, *p, boxes);
}

template <template <int, bool, bool> class passage, int stages>
static cudaError_t allow_shared(cudaError_t error)
{
    for (int i = 0; i < 4; i++)
        error = td_allow_shared(error, kernel_for<passage, stages>(i % 2 != 0, i / 2 != 0),
                                bytes_of_stages(stages));
    return error;
}

#endif
