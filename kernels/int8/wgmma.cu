/* wgmma.cu - products of residues on the tensor cores of sm_90a, by warpgroups that take turns: while one waits for its last
 * products, reduces its sums and stores them, the next one multiplies. Another warpgroup has the copies made, of K_STEP of k of
 * both panels at a time, as many stages ahead as shared memory holds. Blocks stay, one on each multiprocessor.
 *
 * Of the two operands of the tensor cores the first is B: then each lane has neighbouring rows of C, which is column-major. */
#include "panels.h"

#include "residue.h"
#include "units.h"
#if TD_HAS_CUDA_DEVICE
#include "wgmma.h"
#endif

#if TD_HAS_CUDA_DEVICE

namespace
{

enum {
    K_STEP = TD_PIECE_K, /* bytes of a line in one stage */
    PRODUCT_K = 32,      /* of one instruction */
    GROUP_THREADS = 128,
    HALVES = 2, /* of a tile's columns: 64 are what one instruction takes */
    COLUMNS = 64 * HALVES
};

/* 65536 registers are what all threads have. */
template <int tile_rows, int warpgroups, int stage_count> struct schedule {
    enum {
        rows = tile_rows,
        columns = COLUMNS,
        groups = warpgroups,
        stages = stage_count,
        threads = GROUP_THREADS * (groups + 1),
        row_bytes = rows * K_STEP,
        stage_bytes = (rows + columns) * K_STEP,
        shared_bytes = stages * stage_bytes + 1024, /* to align */
        registers = groups == 2 ? 232 : 160,
        registers_of_copies = groups == 2 ? 40 : 32
    };
};

/* The large tile needs least of shared memory's and the L2's bandwidth; small ones fill the device. */
using large = schedule<192, 2, 5>;
using small = schedule<128, 3, 6>;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <class s> struct barriers {
    uint64_t full[s::stages], empty[s::stages];
};

/* Stage of the step that is next, and its parity. */
template <class s> struct position {
    int stage;
    uint32_t parity;
};

template <class s> TD_DEVICE void advance(position<s> &at, int steps)
{
    at.stage += steps;
    at.parity ^= (uint32_t)(at.stage / s::stages) & 1u;
    at.stage %= s::stages;
}

template <class s> TD_DEVICE void next(position<s> &at)
{
    if (++at.stage < s::stages) return;
    at.stage = 0;
    at.parity ^= 1u;
}

/* One thread has all copies made. */
template <class s>
TD_DEVICE void copy_units(const CUtensorMap *a, const CUtensorMap *b, const td_panels &p,
                          const td_units<s::rows, s::columns> &units, int8_t *shared,
                          barriers<s> &barrier)
{
    position<s> at = {0, 1};
    for (int index = (int)blockIdx.x; index < units.count; index += (int)gridDim.x) {
        if (!td_is_wanted(p, units, index)) continue;
        const td_unit unit = td_unit_of(p, units, index);
        const int end = td_first_of_piece(&p, unit.piece + 1);
        TD_UNROLL_N(1)
        for (int step = td_first_of_piece(&p, unit.piece); step < end; step++) {
            int8_t *const stage = shared + at.stage * s::stage_bytes;
            uint64_t *const full = &barrier.full[at.stage];
            td_barrier_wait(&barrier.empty[at.stage], at.parity);
            td_barrier_expect(full, s::stage_bytes);
            td_copy_box(stage, a, full, step * K_STEP, unit.row, unit.member, unit.plane);
            td_copy_box(stage + s::row_bytes, b, full, step * K_STEP, unit.column, unit.member,
                        unit.plane);
            next(at);
        }
    }
}

template <class s> using unit_sums = int32_t[HALVES][s::rows / 2];

template <bool add, class s> TD_DEVICE void multiply_stage(unit_sums<s> &sums, const int8_t *stage)
{
    const uint64_t y = td_panel_descriptor(stage), x = td_panel_descriptor(stage + s::row_bytes);
    const int along = PRODUCT_K >> 4, half = 64 * K_STEP >> 4;
    td_products_start();
    TD_UNROLL
    for (int k = 0; k < K_STEP / PRODUCT_K; k++) {
        TD_UNROLL
        for (int i = 0; i < HALVES; i++) {
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

/* Starts all products of a unit; those of its last stage, which is returned, are under way. */
template <class s>
TD_DEVICE int multiply_unit(unit_sums<s> &sums, int steps, position<s> &at, const int8_t *shared,
                            barriers<s> &barrier)
{
    const bool signals = threadIdx.x % GROUP_THREADS == 0;
    td_barrier_wait(&barrier.full[at.stage], at.parity);
    multiply_stage<false, s>(sums, shared + at.stage * s::stage_bytes);
    int last = at.stage;
    next(at);
    TD_UNROLL_N(1)
    for (int step = 1; step < steps; step++) {
        td_barrier_wait(&barrier.full[at.stage], at.parity);
        multiply_stage<true, s>(sums, shared + at.stage * s::stage_bytes);
        td_products_wait<1>();
        if (signals) td_barrier_arrive(&barrier.empty[last]);
        last = at.stage;
        next(at);
    }
    return last;
}

/* Calls work(sums, place in C, is it in C) for each of this lane's groups of TD_LANE_LINES. */
template <class s, class function>
TD_DEVICE void each_group(const td_panels &p, const td_unit &unit, unit_sums<s> &sums,
                          function work)
{
    const int warp = (int)threadIdx.x % GROUP_THREADS / 32, lane = (int)threadIdx.x % 32;
    const int row = unit.row + lane % 4 * TD_LANE_LINES,
              column = unit.column + 16 * warp + lane / 4;
    int8_t *const c = static_cast<int8_t *>(p.c) + unit.plane * p.plane_c +
                      unit.member * p.member_c + unit.piece * p.piece_c + column * p.ld_c + row;
    TD_UNROLL
    for (int i = 0; i < HALVES; i++) {
        TD_UNROLL
        for (int g = 0; g < s::rows / TD_LINE_GROUP; g++) {
            TD_UNROLL
            for (int h = 0; h < 2; h++)
                work(&sums[i][g * TD_LINE_GROUP / 2 + 2 * h],
                     c + (64 * i + 8 * h) * p.ld_c + g * TD_LINE_GROUP,
                     column + 64 * i + 8 * h < p.n && row + g * TD_LINE_GROUP < p.m);
        }
    }
}

template <td_reduction how, class s>
TD_DEVICE void store_unit(const td_panels &p, const td_unit &unit, unit_sums<s> &sums,
                          const td_sum_modulus &modulus)
{
    if (p.accumulate)
        each_group<s>(p, unit, sums, [](int32_t *own, const int8_t *at, bool inside) {
            if (inside) td_add_residues<4>(own, at);
        });
    each_group<s>(p, unit, sums, [&](const int32_t *own, int8_t *at, bool inside) {
        const td_quad<uint32_t> residues = td_residues_of_lane<how, 4>(own, modulus);
        if (inside) *reinterpret_cast<td_quad<uint32_t> *>(at) = residues;
    });
}

template <class s>
TD_DEVICE void reduce_unit(const td_panels &p, const td_units<s::rows, s::columns> &units,
                           int index, unit_sums<s> &sums)
{
    const td_unit unit = td_unit_of(p, units, index);
    if (p.type == TD_PANEL_LOGARITHM) {
        store_unit<TD_LOGARITHM_OF_SUM, s>(p, unit, sums, {});
        return;
    }
    const td_sum_modulus modulus = td_moduli_of_sums.of[unit.plane];
    if (p.k <= modulus.short_k)
        store_unit<TD_SHORT_SUM, s>(p, unit, sums, modulus);
    else
        store_unit<TD_LONG_SUM, s>(p, unit, sums, modulus);
}

/* Every `groups`-th unit; the steps of the others are passed over. */
template <class s>
TD_DEVICE void multiply_units(const td_panels &p, const td_units<s::rows, s::columns> &units,
                              int group, const int8_t *shared, barriers<s> &barrier)
{
    const int following = group + 1 == s::groups ? 0 : group + 1;
    position<s> at = {0, 0};
    int turn = 0;
    if (group == s::groups - 1) td_turn_pass(1);
    for (int index = (int)blockIdx.x; index < units.count; index += (int)gridDim.x) {
        if (!td_is_wanted(p, units, index)) continue;
        const int piece = td_piece_of(p, units, index);
        const int steps = td_first_of_piece(&p, piece + 1) - td_first_of_piece(&p, piece);
        if (turn == group) {
            unit_sums<s> sums;
            td_turn_wait(1 + group);
            const int last = multiply_unit<s>(sums, steps, at, shared, barrier);
            td_turn_pass(1 + following);
            td_products_wait<0>();
            if (threadIdx.x % GROUP_THREADS == 0) td_barrier_arrive(&barrier.empty[last]);
            reduce_unit<s>(p, units, index, sums);
        } else {
            advance(at, steps);
        }
        turn = turn + 1 == s::groups ? 0 : turn + 1;
    }
}

#endif

/* Grid: as many blocks as there are places. Does nothing on other devices, where it has no static shared memory. */
template <class s>
__global__ void __launch_bounds__(s::threads, 1)
    residue_products_kernel(const __grid_constant__ CUtensorMap a,
                            const __grid_constant__ CUtensorMap b, const td_panels p)
{
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    TD_DYNAMIC_SHARED(int8_t, dynamic);
    TD_SHARED(barriers<s>, barrier, );
    int8_t *const shared = dynamic + (-td_shared_address(dynamic) & 1023u);
    const td_units<s::rows, s::columns> units = td_units_of<s::rows, s::columns>(p);
    const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / GROUP_THREADS, 0);
    if (threadIdx.x < s::stages) {
        td_barrier_start(&barrier.full[threadIdx.x], 1);
        td_barrier_start(&barrier.empty[threadIdx.x], 1);
        td_barriers_started();
    }
    __syncthreads();
    if (group == s::groups) {
        td_registers_less<s::registers_of_copies>();
        if (threadIdx.x % GROUP_THREADS == 0) copy_units<s>(&a, &b, p, units, shared, barrier);
    } else {
        td_registers_more<s::registers>();
        multiply_units<s>(p, units, group, shared, barrier);
    }
#endif
}

/* ---- tensors ---- */

/* How a panel's planes of all members become boxes of box_lines lines; zeros past the ends. */
bool describe(const td_panels *p, const void *panel, int64_t lines, int64_t ld, int64_t member,
              int64_t plane, int box_lines, CUtensorMap *map)
{
    return td_describe_boxes(
        map, CU_TENSOR_MAP_DATA_TYPE_UINT8, panel,
        {(cuuint64_t)p->k, (cuuint64_t)lines, (cuuint64_t)p->batch, (cuuint64_t)p->planes},
        {(cuuint64_t)ld, (cuuint64_t)member, (cuuint64_t)plane},
        {K_STEP, (cuuint32_t)box_lines, 1, 1});
}

/* ---- launches ---- */

template <class s> int64_t units_of(const td_panels *p)
{
    return (p->m + s::rows - 1) / s::rows * ((p->n + s::columns - 1) / s::columns) * p->planes *
           p->batch * p->pieces;
}

template <class s> cudaError_t launch(const td_panels *p, int multiprocessors, cudaStream_t stream)
{
    CUtensorMap a, b;
    if (!describe(p, p->a, p->m, p->ld_a, p->member_a, p->plane_a, s::rows, &a) ||
        !describe(p, p->b, p->n, p->ld_b, p->member_b, p->plane_b, s::columns, &b))
        return cudaErrorNotSupported;
    const unsigned blocks = (unsigned)min((int64_t)multiprocessors, units_of<s>(p));
    return TD_LAUNCH(residue_products_kernel<s>, blocks, s::threads, s::shared_bytes, stream, a, b,
                     *p);
}

/* Time of the block that has most to do. A small tile takes a twentieth more of the tensor cores than its elements do. */
template <class s> int64_t cost(const td_panels *p, int multiprocessors)
{
    return (units_of<s>(p) + multiprocessors - 1) / multiprocessors * s::rows *
           (s::groups == 2 ? 20 : 21);
}

} // namespace

bool td_wgmma_exists(void)
{
    cudaFuncAttributes attributes;
    if (cudaFuncGetAttributes(&attributes, residue_products_kernel<large>) == cudaSuccess)
        return attributes.sharedSizeBytes > 0;
    (void)cudaGetLastError();
    return false;
}

cudaError_t td_wgmma_run(const td_panels *panels, cudaStream_t stream)
{
    int multiprocessors = 0;
    const cudaError_t error = td_multiprocessors(&multiprocessors);
    if (error != cudaSuccess) return error;
    return cost<large>(panels, multiprocessors) <= cost<small>(panels, multiprocessors)
               ? launch<large>(panels, multiprocessors, stream)
               : launch<small>(panels, multiprocessors, stream);
}

cudaError_t td_wgmma_prepare(void)
{
    cudaError_t error =
        td_load(cudaSuccess, residue_products_kernel<large>, residue_products_kernel<small>);
    if (error != cudaSuccess || !td_wgmma_exists()) return error;
    error = td_allow_shared(error, residue_products_kernel<large>, large::shared_bytes);
    return td_allow_shared(error, residue_products_kernel<small>, small::shared_bytes);
}

#else

bool td_wgmma_exists(void) { return false; }

cudaError_t td_wgmma_run(const td_panels *panels, cudaStream_t stream)
{
    (void)panels, (void)stream;
    return cudaErrorNotSupported;
}

cudaError_t td_wgmma_prepare(void) { return cudaSuccess; }

#endif
