/* wgmma.cu - products of residues on the tensor cores of sm_90a, by warpgroups that take turns: while one waits for its last
 * products, reduces its sums and stores them, the next one multiplies. Another warpgroup finds what to multiply and has the copies
 * made, of K_STEP of k of both panels at a time, as many stages ahead as shared memory holds. Blocks stay, one on each
 * multiprocessor.
 *
 * Of the two operands of the tensor cores the first is B: then each lane has neighbouring rows of C, which is column-major. */
#include "panels.h"

#include "residue.h"
#include "stages.h"
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
    COLUMNS = 64 * HALVES,
    QUEUE = 8 /* units that warpgroups may be apart */
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
};

/* A unit's number, or the count of all if none is left; its steps. */
struct queued {
    int index, steps;
};

/* One whose copies come next, and the stages of k that it goes through. */
struct found_unit {
    queued unit;
    td_unit tile;
    td_stages list[TD_MOST_RUNS];
};
enum {
    FOUND = 2, /* that of which copies are made, and the next one, */
    AHEAD = 4  /* which is taken so many steps before: late, for the L2 and the last units */
};

template <class s> struct barriers {
    ring<s::stages> stage;
    ring<QUEUE> unit;
    uint64_t found[FOUND], wanted;
    queued of[QUEUE];
    found_unit next[FOUND];
};

/* ---- units ---- */

/* The unit after `index`. Blocks take it when most copies of that one are under way, the first ones by their own numbers: so those
 * that run at a time have neighbouring tiles, which the L2 holds, however long they have run. Every unit has been followed by one
 * when the last of them leaves 0. Where units may be passed over, they are dealt out in turn: to ask for each takes longer. */
TD_DEVICE int following_unit(const td_panels &p, int index, int count)
{
    if (p.batch > 1 || p.wanted.of) return index + (int)gridDim.x;
    return (int)(atomicInc(p.next_unit, (unsigned)count - 1u) + gridDim.x);
}

/* One thread takes all units when they are wanted, and finds what stages they go through. */
template <class s>
TD_DEVICE void find_units(const td_panels &p, const td_units<s::rows, s::columns> &units,
                          barriers<s> &barrier)
{
    uint32_t turn = 0;
    int index = (int)blockIdx.x;
    for (;;) {
        while (index < units.count && !td_is_wanted(p, units, index))
            index = following_unit(p, index, units.count);
        found_unit &found = barrier.next[turn % FOUND];
        found.unit = {index, 0};
        if (index < units.count) {
            const td_unit tile = found.tile = td_unit_of(p, units, index);
            found.unit.steps =
                td_list_stages<s::rows, s::columns>(
                    p, tile.member, tile.row, tile.column, td_first_of_piece(&p, tile.piece),
                    td_first_of_piece(&p, tile.piece + 1), found.list)
                    .count;
        }
        td_barrier_arrive(&barrier.found[turn % FOUND]);
        if (index >= units.count) return;
        td_barrier_wait(&barrier.wanted, turn++ % 2);
        index = following_unit(p, index, units.count);
    }
}

/* ---- copies ---- */

template <class s>
TD_DEVICE void enqueue(const queued &unit, position<QUEUE> &to, barriers<s> &barrier)
{
    td_barrier_wait(&barrier.unit.empty[to.place], to.parity);
    barrier.of[to.place] = unit;
    td_barrier_arrive(&barrier.unit.full[to.place]);
    next(to);
}

template <class s>
TD_DEVICE void copy_unit(const CUtensorMap *a, const CUtensorMap *b, const found_unit &found,
                         int8_t *shared, position<s::stages> &at, barriers<s> &barrier)
{
    const td_unit tile = found.tile;
    const td_stages *run = found.list;
    const int steps = found.unit.steps;
    int k = run->passed * K_STEP, left = run->count;
    TD_UNROLL_N(1)
    for (int step = 0; step < steps; step++, left--, k += K_STEP) {
        if (left == 0) run++, k += run->passed * K_STEP, left = run->count;
        if (step == max(steps - AHEAD, 0)) td_barrier_arrive(&barrier.wanted);
        int8_t *const stage = shared + at.place * s::stage_bytes;
        uint64_t *const full = &barrier.stage.full[at.place];
        td_barrier_wait(&barrier.stage.empty[at.place], at.parity);
        td_barrier_expect(full, s::stage_bytes);
        td_copy_box(stage, a, full, k, tile.row, tile.member, tile.plane);
        td_copy_box(stage + s::row_bytes, b, full, k, tile.column, tile.member, tile.plane);
        next(at);
    }
}

/* Another thread has all copies made. */
template <class s>
TD_DEVICE void copy_units(const CUtensorMap *a, const CUtensorMap *b, int count, int8_t *shared,
                          barriers<s> &barrier)
{
    position<s::stages> at = {0, 1};
    position<FOUND> from = {0, 0};
    position<QUEUE> to = {0, 1};
    for (;; next(from)) {
        td_barrier_wait(&barrier.found[from.place], from.parity);
        const found_unit &found = barrier.next[from.place];
        enqueue<s>(found.unit, to, barrier);
        if (found.unit.index >= count) return;
        copy_unit<s>(a, b, found, shared, at, barrier);
    }
}

/* ---- products ---- */

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
TD_DEVICE int multiply_unit(unit_sums<s> &sums, int steps, position<s::stages> &at,
                            const int8_t *shared, ring<s::stages> &barrier)
{
    const bool signals = threadIdx.x % GROUP_THREADS == 0;
    td_barrier_wait(&barrier.full[at.place], at.parity);
    multiply_stage<false, s>(sums, shared + at.place * s::stage_bytes);
    int last = at.place;
    next(at);
    TD_UNROLL_N(1)
    for (int step = 1; step < steps; step++) {
        td_barrier_wait(&barrier.full[at.place], at.parity);
        multiply_stage<true, s>(sums, shared + at.place * s::stage_bytes);
        td_products_wait<1>();
        if (signals) td_barrier_arrive(&barrier.empty[last]);
        last = at.place;
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

/* The next unit; every warp tells that it knows it. */
template <class s> TD_DEVICE queued next_unit(position<QUEUE> &from, barriers<s> &barrier)
{
    td_barrier_wait(&barrier.unit.full[from.place], from.parity);
    const queued unit = {td_uniform(barrier.of[from.place].index),
                         td_uniform(barrier.of[from.place].steps)};
    if (threadIdx.x % 32 == 0) td_barrier_arrive(&barrier.unit.empty[from.place]);
    next(from);
    return unit;
}

/* Every `groups`-th unit; the steps of the others are passed over. */
template <class s>
TD_DEVICE void multiply_units(const td_panels &p, const td_units<s::rows, s::columns> &units,
                              int group, const int8_t *shared, barriers<s> &barrier)
{
    const int following = group + 1 == s::groups ? 0 : group + 1;
    position<s::stages> at = {0, 0};
    position<QUEUE> from = {0, 0};
    int turn = 0;
    if (group == s::groups - 1) td_turn_pass(1);
    for (;;) {
        const queued unit = next_unit<s>(from, barrier);
        if (unit.index >= units.count) return;
        if (turn == group) {
            unit_sums<s> sums;
            td_turn_wait(1 + group);
            const int last = multiply_unit<s>(sums, unit.steps, at, shared, barrier.stage);
            td_turn_pass(1 + following);
            td_products_wait<0>();
            if (threadIdx.x % GROUP_THREADS == 0) td_barrier_arrive(&barrier.stage.empty[last]);
            reduce_unit<s>(p, units, unit.index, sums);
        } else {
            advance(at, unit.steps);
        }
        turn = turn + 1 == s::groups ? 0 : turn + 1;
    }
}

template <int size> TD_DEVICE void start(ring<size> &barrier, int users)
{
    if (threadIdx.x >= size) return;
    td_barrier_start(&barrier.full[threadIdx.x], 1);
    td_barrier_start(&barrier.empty[threadIdx.x], users);
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
    td_let_next_begin();
    int8_t *const shared = dynamic + (-td_shared_address(dynamic) & 1023u);
    const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / GROUP_THREADS, 0);
    start(barrier.stage, 1);
    start(barrier.unit, s::groups * GROUP_THREADS / 32);
    if (threadIdx.x < FOUND) td_barrier_start(&barrier.found[threadIdx.x], 1);
    if (threadIdx.x == FOUND) td_barrier_start(&barrier.wanted, 1);
    if (threadIdx.x < max((int)s::stages, (int)QUEUE)) td_barriers_started();
    __syncthreads();
    td_wait_for_last();
    const td_units<s::rows, s::columns> units = td_units_of<s::rows, s::columns>(p);
    if (group == s::groups) {
        td_registers_less<s::registers_of_copies>();
        if (threadIdx.x % GROUP_THREADS == 0) find_units<s>(p, units, barrier);
        if (threadIdx.x % GROUP_THREADS == 32) copy_units<s>(&a, &b, units.count, shared, barrier);
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
    /* The estimate's are not put in place early: mostly they end at once, and blocks of the kernels after them, which stay, would get
     * their places beside them. */
    if (p->type == TD_PANEL_LOGARITHM)
        return TD_LAUNCH(residue_products_kernel<s>, blocks, s::threads, s::shared_bytes, stream, a,
                         b, *p);
    return TD_LAUNCH_NEXT(residue_products_kernel<s>, blocks, s::threads, s::shared_bytes, stream,
                          a, b, *p);
}

/* Time of the block that has most to do. The end of one tile and the start of the next take as long as so many elements of k. */
enum { REST_OF_LARGE = 100, REST_OF_SMALL = 600 };
template <class s> int64_t cost(const td_panels *p, int multiprocessors)
{
    const int64_t rounds = (units_of<s>(p) + multiprocessors - 1) / multiprocessors;
    return rounds * s::rows * (p->k / p->pieces + (s::groups == 2 ? REST_OF_LARGE : REST_OF_SMALL));
}

} // namespace

bool td_wgmma_exists(void) { return td_has_code<residue_products_kernel<large>>(); }

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
