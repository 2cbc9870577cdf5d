/* fused.cu - products of residues and C by one kernel, on the tensor cores of sm_90a: a block makes
 * a tile's products modulo one modulus after the other. Their residues stay with the threads that
 * have made them, in shared memory and in registers; when all are there the same threads put C
 * together by binary64 arithmetic (../crt/pairs.h). Nothing is multiplied meanwhile: binary64
 * arithmetic beside the tensor cores takes twelve times as long.
 *
 * Two warpgroups multiply, with half of a tile's columns each. A third one copies: one of its
 * threads asks for what is multiplied, and a warp looks at the lines of the next tile. Blocks stay,
 * one on each multiprocessor. */
#include "fused.h"

#include "../device/warp.h"
#include "epilogue.h"
#include "planes.h"

static int64_t tiles_of(int64_t m, int64_t n, int64_t batch)
{
    return (int64_t)fused_tiles_along(m) * fused_tiles_along(n) * batch;
}

size_t td_deferred_bytes(int64_t m, int64_t n, int64_t batch)
{
    return (size_t)tiles_of(m, n, batch) * (OCTET_WORDS * sizeof(uint32_t) + sizeof(uint8_t));
}

td_deferred td_deferred_in(void *memory, int64_t m, int64_t n, int64_t batch)
{
    uint32_t *const word = static_cast<uint32_t *>(memory);
    return {word, reinterpret_cast<uint8_t *>(word + tiles_of(m, n, batch) * OCTET_WORDS)};
}

#if TD_HAS_CUDA_DEVICE

namespace
{

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/* ---- tiles ---- */

/* What members there are: a bit for each number of moduli of such, and one for all others. */
enum { OTHER_MEMBERS = 1 << (TD_MOST_FUSED + 1 - TD_COMMON_MODULI) };
TD_DEVICE unsigned kind_of_moduli(int moduli) { return 1u << (moduli - TD_COMMON_MODULI); }
TD_DEVICE unsigned kind_of(const td_choice &choice)
{
    return td_is_fused(&choice) ? kind_of_moduli(choice.parameter) : (unsigned)OTHER_MEMBERS;
}

/* Calls work(number, member) for the block's tiles of members of so many moduli, which all have if
 * they are alike. */
template <int moduli, class function>
TD_DEVICE void each_number(const block_task &task, function work)
{
    const td_panels &p = task.p;
    const int of_member = task.order.count;
    const bool are_alike = task.are_alike();
    TD_UNROLL_N(1)
    for (int i = (int)blockIdx.x; i < of_member * p.batch; i += (int)gridDim.x) {
        const int member = p.batch == 1 ? 0 : i / of_member;
        if (are_alike || kind_of(p.choice[member]) == kind_of_moduli(moduli)) work(i, member);
    }
}

/* Calls work(place) for each tile of C that this block makes with so many moduli; the place has
 * the tile's number, member, first row and first column. */
template <int moduli, class function>
TD_DEVICE void each_tile(const block_task &task, function work)
{
    const tile_order &order = task.order;
    each_number<moduli>(task, [&](int number, int member) {
        const tile_index at = index_of(order, number - member * order.count);
        work({(member * order.columns + at.column) * order.rows + at.row, member, at.row * SIDE,
              at.column * SIDE});
    });
}

/* How many these are. */
template <int moduli> TD_DEVICE int count_tiles(const block_task &task)
{
    int count = 0;
    each_number<moduli>(task, [&](int, int) { count++; });
    return count;
}

template <class s> struct barriers {
    ring<s::stages> stage;
    ring<1> tile;
    uint64_t met; /* by all warps that have something to do, when their members are done */
};

/* ---- copies ---- */

template <class s> TD_DEVICE void copy_tiles(const block_task &task, ring<s::stages> &barrier)
{
    position<s::stages> to = {0, 1};
    each_tile<s::moduli>(task, [&](const tile_place &at) {
        TD_UNROLL_N(1)
        for (int turn = 0; turn < s::moduli; turn++) {
            const int plane = plane_of_turn<s>(turn);
            TD_UNROLL_N(1)
            for (int k = 0; k < (int)task.p.k; k += K_STEP, next(to)) {
                int8_t *const stage = task.shared + to.place * s::stage_bytes;
                uint64_t *const full = &barrier.full[to.place];
                td_barrier_wait(&barrier.empty[to.place], to.parity);
                td_barrier_expect(full, s::stage_bytes);
                td_copy_box(stage, &task.a, full, k, at.row, at.member, plane);
                td_copy_box(stage + s::row_bytes, &task.b, full, k, at.column, at.member, plane);
            }
        }
    });
}

/* ---- lines ---- */

TD_DEVICE td_worst_line worst_of_warp(const td_worst_line &own)
{
    return {-td_warp_max(-own.mean),     td_warp_max(own.spread),
            -td_warp_max(-own.rounding), -td_warp_max(-own.least),
            td_warp_max(own.most),       __any_sync(0xffffffffu, own.is_special) != 0};
}

/* Leaves the scales of a tile's rows or columns; returns the worst that they are. By a warp. */
TD_DEVICE td_worst_line look_at_lines(const td_line *line, int first, int count, uint32_t *scale)
{
    const int lane = (int)threadIdx.x % 32;
    td_worst_line worst = td_worst_of(line[min(first + lane, count - 1)]);
    TD_ROLLED
    for (int i = lane; i < SIDE; i += 32) {
        const td_line own = line[min(first + i, count - 1)];
        scale[i] = (uint32_t)own.scale << 20;
        worst = td_join_worst(worst, td_worst_of(own));
    }
    return worst_of_warp(worst);
}

/* Has the L2 fetch what a tile of C was. By a warp. */
TD_DEVICE void fetch_early(const td_target &target, const tile_place &at, const double *c)
{
    enum { FETCHED = 16 }; /* elements, by one instruction */
    const int lane = (int)threadIdx.x % 32, rows = min((int)SIDE, target.m - at.row),
              columns = min((int)SIDE, target.n - at.column);
    TD_UNROLL_N(1)
    for (int i = lane; i < columns * (SIDE / FETCHED); i += 32) {
        const int row = i % (SIDE / FETCHED) * FETCHED, column = i / (SIDE / FETCHED);
        if (row < rows)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(c + row + (int64_t)column * target.c.ld));
    }
}

/* Tells of the block's tiles, each when the one before is finished. By a warp. */
template <class s> TD_DEVICE void tell_tiles(const block_task &task, ring<1> &barrier)
{
    const td_finish &finish = task.finish;
    const td_target &target = finish.target;
    told_tile &tile = task.tile;
    position<1> to = {0, 1};
    int rest = count_tiles<s::moduli>(task);
    each_tile<s::moduli>(task, [&](const tile_place &at) {
        double *const c = td_member<double>(target.c, target.batch_first + at.member) +
                          target.c_offset + at.row + (int64_t)at.column * target.c.ld;
        const double alpha = td_scalar_value(target.alpha), beta = td_scalar_value(target.beta);
        const bool is_wide = (reinterpret_cast<uintptr_t>(c) & 15) == 0 && (target.c.ld & 1) == 0 &&
                             at.row + SIDE <= target.m && at.column + SIDE <= target.n &&
                             td_region_holds(&target.region, at.row, at.column, SIDE, SIDE);
        td_worst_line worst[2];
        td_barrier_wait(&barrier.empty[0], to.parity);
        if (beta != 0.0) fetch_early(target, at, c);
        TD_UNROLL
        for (int o = 0; o < 2; o++)
            worst[o] =
                look_at_lines(finish.line[o] + at.member * finish.lines_of_member[o],
                              o ? at.column : at.row, o ? target.n : target.m, tile.scale[o]);
        const bool is_usual = alpha != 0.0 && td_are_usual<td_first_moduli<s::moduli>>(
                                                  worst[0], worst[1], finish.choice[at.member]);
        if (threadIdx.x % 32 == 0) {
            tile.at = at;
            tile.c = c;
            tile.is_usual = is_usual;
            tile.way = !is_wide                      ? TOLD_ELEMENTS
                       : alpha == 1.0 && beta == 0.0 ? TOLD_PLAIN
                                                     : TOLD_WIDE;
            tile.is_last = --rest == 0;
            task.product.deferred.tile[at.number] = !is_usual;
        }
        __syncwarp();
        if (threadIdx.x % 32 == 0) td_barrier_arrive(&barrier.full[0]);
        next(to);
    });
}

/* ---- all of it ---- */

/* Before members of other moduli, which have the stages elsewhere. By whole warps. */
TD_DEVICE void meet(const block_task &task, uint64_t &met)
{
    if (task.are_alike()) return;
    __syncwarp();
    if (threadIdx.x % 32 == 0) td_barrier_arrive(&met);
    td_barrier_wait(&met, 0);
}

template <class s> TD_DEVICE bool has_members(const block_task &task)
{
    return (task.kinds & kind_of_moduli(s::moduli)) != 0;
}

/* The part of the threads that multiply in members of one number of moduli, and that of the
 * others. */
template <class s> TD_DEVICE void multiply_members(const block_task &task, barriers<s> &barrier)
{
    if (!has_members<s>(task)) return;
    plane_walk<s> walk = begin_walk<s>(task, barrier.stage);
    bool is_last = count_tiles<s::moduli>(task) == 0;
    TD_UNROLL_N(1)
    for (uint32_t number = 0; !is_last; number++) {
        held_residues held;
        multiply_tile<s>(task, walk, held);
        td_turn_wait<TEAM>(1); /* binary64 arithmetic begins when nothing is multiplied */
        td_barrier_wait(&barrier.tile.full[0], number & 1);
        finish_tile<s>(task, held);
        is_last = task.tile.is_last;
        __syncwarp();
        if (threadIdx.x % 32 == 0) td_barrier_arrive(&barrier.tile.empty[0]);
    }
    meet(task, barrier.met);
}

template <class s> TD_DEVICE void copy_members(const block_task &task, barriers<s> &barrier)
{
    const int thread = (int)threadIdx.x - TEAM;
    if (thread >= COPYING || !has_members<s>(task)) return;
    if (thread == 0) copy_tiles<s>(task, barrier.stage);
    if (thread >= 32) tell_tiles<s>(task, barrier.tile);
    meet(task, barrier.met);
}

template <class s> TD_DEVICE void start_barriers(barriers<s> &barrier)
{
    start(barrier.stage, GROUPS);
    start(barrier.tile, TEAM / 32);
    if (threadIdx.x == 0) td_barrier_start(&barrier.met, (TEAM + COPYING) / 32);
}

struct all_barriers {
    barriers<schedule<TD_COMMON_MODULI>> of_14;
    barriers<schedule<TD_COMMON_MODULI + 1>> of_15;
    barriers<schedule<TD_COMMON_MODULI + 2>> of_16;
};

#endif

/* Grid: as many blocks as there are places. Does nothing on other devices, where it has no static
 * shared memory. */
__global__ void __launch_bounds__(THREADS, 1)
    fused_kernel(TD_PARAMETER CUtensorMap a, TD_PARAMETER CUtensorMap b, TD_PARAMETER td_panels p,
                 TD_PARAMETER tile_order order, TD_PARAMETER td_residue_product product,
                 TD_PARAMETER td_finish finish)
{
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    TD_DYNAMIC_SHARED(int8_t, dynamic);
    TD_SHARED(all_barriers, barrier, );
    TD_SHARED(told_tile, tile, );
    TD_SHARED(unsigned, kinds, );
    td_let_next_begin();
    if (threadIdx.x == 0) kinds = 0;
    start_barriers(barrier.of_14);
    start_barriers(barrier.of_15);
    start_barriers(barrier.of_16);
    if (threadIdx.x < 32) td_barriers_started();
    if (threadIdx.x == 0) td_prefetch_map(&a), td_prefetch_map(&b);
    __syncthreads();
    td_wait_for_last();
    unsigned own = 0;
    for (int z = (int)threadIdx.x; z < p.batch; z += THREADS) own |= kind_of(p.choice[z]);
    if (own) atomicOr(&kinds, own);
    __syncthreads();
    int8_t *const shared = dynamic + (-td_shared_address(dynamic) & 1023u);
    const block_task task = {
        a, b, p, order, product, finish, shared, tile, (unsigned)td_uniform((int)kinds)};
    if (__shfl_sync(0xffffffffu, (int)threadIdx.x / GROUP_THREADS, 0) == GROUPS) {
        td_registers_less<REGISTERS_OF_COPIES>();
        copy_members(task, barrier.of_14);
        copy_members(task, barrier.of_15);
        copy_members(task, barrier.of_16);
    } else {
        td_registers_more<REGISTERS>();
        multiply_members(task, barrier.of_14);
        multiply_members(task, barrier.of_15);
        multiply_members(task, barrier.of_16);
    }
#endif
}

} // namespace

cudaError_t td_fused_run(const td_panels *p, const td_residue_product *product,
                         const td_finish *finish, int most_blocks, cudaStream_t stream)
{
    CUtensorMap a, b;
    int multiprocessors = 0;
    const cudaError_t error = td_multiprocessors(&multiprocessors);
    if (error != cudaSuccess) return error;
    if (!describe_panel(p, p->a, p->m, p->layout.ld_a, p->layout.member_a, p->layout.plane_a, SIDE,
                        &a) ||
        !describe_panel(p, p->b, p->n, p->layout.ld_b, p->layout.member_b, p->layout.plane_b, SIDE,
                        &b))
        return cudaErrorNotSupported;
    const tile_order order = order_of(*p);
    const int64_t tiles = (int64_t)order.count * p->batch,
                  places = most_blocks ? min(most_blocks, multiprocessors) : multiprocessors;
    return TD_LAUNCH_NEXT(fused_kernel, (unsigned)min(places, tiles), THREADS, SHARED, stream, a, b,
                          *p, order, *product, *finish);
}

cudaError_t td_fused_prepare(void)
{
    const cudaError_t error = td_load(cudaSuccess, fused_kernel);
    if (error != cudaSuccess || !td_has_code<fused_kernel>()) return error;
    return td_allow_shared(error, fused_kernel, SHARED);
}

#else

cudaError_t td_fused_run(const td_panels *, const td_residue_product *, const td_finish *, int,
                         cudaStream_t)
{
    return cudaErrorNotSupported;
}

cudaError_t td_fused_prepare(void) { return cudaSuccess; }

#endif
