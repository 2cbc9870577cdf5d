/* wgmma_sm90a.cu - products of residues on the tensor cores of sm_90a, by two teams of warpgroups
 * that take turns: while one waits for its last products, reduces its sums and stores them, the
 * other one multiplies. Another warpgroup finds what to multiply and has the copies made, of K_STEP
 * of k of both panels at a time, as many stages ahead as shared memory holds. Blocks stay, one on
 * each multiprocessor. In pairs two blocks have neighbouring tiles of the same rows, and each
 * copies half of these to both.
 *
 * Of the two operands of the tensor cores the first is B: then each lane has neighbouring rows of
 * C, which is column-major. */
#include "plane_gemm.h"

#include "epilogue.h"
#include "skip.h"
#include "work_tiles.h"
#include "warpgroups.h"

#if TD_HAS_CUDA_DEVICE

namespace
{

enum {
    HALVES = 2, /* of a tile's columns: 64 are what one instruction takes */
    COLUMNS = 64 * HALVES,
    TEAMS = 2,
    QUEUE = 8 /* units that teams may be apart */
};

/* ahead: steps left of copies when the next unit is wanted: late, for the L2's sake, but the second
 * block of a pair hears of it later. A team of two warpgroups has half of the columns each. It
 * needs no more registers than all threads may have: one of one warpgroup takes some of those of
 * the threads that copy. */
template <int tile_rows, int warpgroups, int stage_count, int cluster_blocks> struct schedule {
    enum {
        cluster = cluster_blocks,
        rows = tile_rows,
        columns = COLUMNS,
        groups = warpgroups, /* of a team */
        halves = HALVES / groups,
        stages = stage_count,
        team_threads = GROUP_THREADS * groups,
        threads = TEAMS * team_threads + GROUP_THREADS,
        row_bytes = rows * K_STEP,
        stage_bytes = (rows + columns) * K_STEP,
        shared_bytes = stages * stage_bytes + 1024, /* to align */
        moves_registers = groups == 1,
        registers = 224,
        registers_of_copies = 56,
        ahead = cluster > 1 ? 8 : 4
    };
};

/* Large tiles need least of shared memory's and the L2's bandwidth, and still less of the L2's two
 * beside each other, whose rows are the same; small ones fill the device. */
using large = schedule<TD_WGMMA_LARGE_ROWS, 1, 5, 1>;
using small = schedule<TD_WGMMA_SMALL_ROWS, 2, 6, 1>;
using large_pair = schedule<TD_WGMMA_LARGE_ROWS, 1, 5, 2>;
using small_pair = schedule<TD_WGMMA_SMALL_ROWS, 2, 6, 2>;
static_assert((int)COLUMNS == (int)TD_WGMMA_COLUMNS, "those that routes count with");

/* A work tile of a cluster is one tile of C for each of its blocks. */
template <class s> using units_of_clusters = td_units<s::rows, s::cluster * s::columns>;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/* What warpgroups are told of a unit: its steps, NONE_LEFT if there is no unit, 0 of one that is
 * passed over. */
enum { NONE_LEFT = -1 };
struct queued {
    int steps;
    td_unit tile;
};

/* Units whose copies come next are found ahead, by one lane of a warp, or, where units are short,
 * by a few at a time, each another one: what a lane loads takes longer than such a unit. The places
 * of what was found are a ring, and share the memory for stages. */
enum {
    LANES = 4,
    PLACES = 2 * LANES,
    SHORT_STAGES = 4, /* of a unit that is short where units are many; otherwise twice as many */
    FEW_UNITS = 16,   /* of a cluster */
    LONG_K = 2048     /* of units of a triangle that are asked for */
};
struct found_ring {
    uint64_t full[PLACES], wanted[PLACES];
    queued unit[PLACES];
    td_stages list[2 * TD_MOST_RUNS];
};

/* What the first block of a cluster tells the other ones of their next unit. They are fewer units
 * apart than there are places: no block copies to a stage before all have multiplied what was
 * there, so that they are as many units apart as there are stages, and two more, at most; and
 * before each of these a triangle has less than a group's rows of units that are passed over. */
struct told_ring {
    enum { TOLD = 128 };
    uint64_t told[TOLD];
    int index[TOLD];
};

template <class s> struct barriers {
    told_ring told;
    ring<s::stages> stage;
    ring<QUEUE> unit;
    queued of[QUEUE];
    found_ring found;
};

/* The cluster's number, and how many there are. */
template <class s> TD_DEVICE int own_cluster() { return (int)blockIdx.x / s::cluster; }
template <class s> TD_DEVICE int clusters() { return (int)gridDim.x / s::cluster; }

/* Lanes that find units: that what is found in one step of theirs stays in order, these are dealt
 * out in turn. */
template <class s> TD_DEVICE int lanes_of(const td_panels &p, const units_of_clusters<s> &units)
{
    const int stages = (int)((p.k / p.pieces + TD_PIECE_K - 1) / TD_PIECE_K),
              most = units.count > FEW_UNITS * clusters<s>() ? SHORT_STAGES : 2 * SHORT_STAGES;
    return td_leaves_tiles(&p) || stages > most ? 1 : LANES;
}

/* The place of the unit with that turn, whether it is its place's first, third, ..., and its
 * stages. */
struct found_place {
    int place;
    uint32_t parity;
};
TD_DEVICE found_place place_of_turn(int turn, int lanes)
{
    return {turn & (2 * lanes - 1), (uint32_t)(turn / (2 * lanes)) & 1u};
}
TD_DEVICE td_stages *stages_of(found_ring &found, int place, int lanes)
{
    return found.list + place * (TD_MOST_RUNS / lanes);
}

/* ---- units ---- */

/* Takes the next unit that no cluster has. Its first block does, and tells the others: all call
 * this as often. */
template <class s> TD_DEVICE int take_unit(const td_panels &p, int turn, int count, told_ring &told)
{
    const int place = turn % told_ring::TOLD;
    if (s::cluster > 1 && td_block_of_cluster<s::cluster>() > 0) {
        td_barrier_wait_for_block(&told.told[place], (uint32_t)(turn / told_ring::TOLD) & 1u);
        return told.index[place];
    }
    const int index = (int)atomicInc(p.next_unit, (unsigned)count - 1u) + clusters<s>();
    TD_UNROLL
    for (int block = 1; block < s::cluster; block++)
        td_tell_block(&told.index[place], &told.told[place], block, index);
    return index;
}

/* The unit after `index`. Clusters take it when most copies of that one are under way, the first
 * ones by their own numbers: so those that run at a time have neighbouring tiles, which the L2
 * holds, however long they have run. Every unit has been followed by one when the last of them
 * leaves 0. Where only listed tiles are wanted, or units are short, they are dealt out in turn: to
 * ask for each takes longer. Of a triangle few are passed over, and clusters that drifted apart
 * would each read their own part of the operands from memory. */
template <class s>
TD_DEVICE int following_unit(const td_panels &p, int index, int turn, int lanes, int count,
                             told_ring &told)
{
    const bool is_short = td_leaves_tiles(&p) && p.k < LONG_K;
    return p.batch > 1 || p.wanted.of || is_short || lanes > 1 ? index + lanes * clusters<s>()
                                                               : take_unit<s>(p, turn, count, told);
}

template <class s>
TD_DEVICE queued find_unit(const td_panels &p, const units_of_clusters<s> &units, int index,
                           td_stages *list)
{
    td_unit tile = td_unit_of(p, units, index);
    const int count = td_list_stages<s::rows, s::cluster * s::columns>(
                          p, tile.member, tile.row, tile.column, td_first_of_piece(&p, tile.piece),
                          td_first_of_piece(&p, tile.piece + 1), list)
                          .count;
    tile.column += td_block_of_cluster<s::cluster>() * s::columns;
    return {count, tile};
}

struct candidate {
    int index;
    bool exists, is_wanted;
};

template <class s>
TD_DEVICE candidate candidate_of(const td_panels &p, const units_of_clusters<s> &units, int index)
{
    const bool exists = index < units.count;
    return {index, exists, exists && td_is_wanted(p, units, index)};
}

/* Waits until a turn's place is free: until the unit that is as many turns before as there are
 * places, less one, is nearly copied. */
TD_DEVICE void wait_for_place(found_ring &found, int turn, int lanes)
{
    const int before = turn - (2 * lanes - 1);
    if (before < 0) return;
    const found_place last = place_of_turn(before, lanes);
    td_barrier_wait(&found.wanted[last.place], last.parity);
}

/* Moves all lanes on to units that follow theirs, until one of them is to be made, or there are no
 * more for any lane. */
template <class s>
TD_DEVICE void find_wanted(const td_panels &p, const units_of_clusters<s> &units, int lanes,
                           candidate &own, int &asked, told_ring &told)
{
    const unsigned all = (1u << lanes) - 1;
    while (!__any_sync(all, own.is_wanted) && __any_sync(all, own.exists)) {
        const int next = following_unit<s>(p, own.index, asked++, lanes, units.count, told);
        own = candidate_of<s>(p, units, next);
    }
}

/* Leaves a lane's unit in its turn's place: one without steps if it is not to be made, but another
 * lane's is. */
template <class s>
TD_DEVICE void leave_unit(const td_panels &p, const units_of_clusters<s> &units,
                          const candidate &own, int turn, int lanes, found_ring &found)
{
    const int place = place_of_turn(turn, lanes).place;
    found.unit[place] = own.is_wanted
                            ? find_unit<s>(p, units, own.index, stages_of(found, place, lanes))
                            : queued{own.exists ? 0 : NONE_LEFT, {}};
    td_barrier_arrive(&found.full[place]);
}

/* Finds all units that are to be made, by the first `lanes` lanes of a warp. Each lane has every
 * `lanes`-th turn; the turns of all lanes together are one round, with at least one unit unless it
 * is the last. */
template <class s>
TD_DEVICE void find_units(const td_panels &p, const units_of_clusters<s> &units, int lanes,
                          barriers<s> &barrier)
{
    const int lane = (int)threadIdx.x % 32;
    const unsigned all = (1u << lanes) - 1;
    int asked = 0;
    if (lane >= lanes) return;
    candidate own = candidate_of<s>(p, units, own_cluster<s>() + lane * clusters<s>());
    for (int turn = lane;; turn += lanes) {
        wait_for_place(barrier.found, turn, lanes);
        find_wanted<s>(p, units, lanes, own, asked, barrier.told);
        leave_unit<s>(p, units, own, turn, lanes, barrier.found);
        if (!__any_sync(all, own.exists)) return;
        own.is_wanted = false;
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

/* Each block of a cluster copies some of the rows, to all of its blocks. */
template <class s>
TD_DEVICE void copy_rows(int8_t *stage, const CUtensorMap *a, uint64_t *full, int k,
                         const td_unit &tile)
{
    const int first = td_block_of_cluster<s::cluster>() * (s::rows / s::cluster);
    if constexpr (s::cluster > 1)
        td_copy_box_to_all<s::cluster>(stage + first * K_STEP, a, full, k, tile.row + first,
                                       tile.member, tile.plane);
    else
        td_copy_box(stage, a, full, k, tile.row, tile.member, tile.plane);
}

/* The copies of a unit; says when the next one is wanted. */
template <class s>
TD_DEVICE void copy_unit(const CUtensorMap *a, const CUtensorMap *b, const queued &unit,
                         const td_stages *run, uint64_t *wanted, int8_t *shared,
                         position<s::stages> &at, barriers<s> &barrier)
{
    const td_unit tile = unit.tile;
    const int steps = unit.steps;
    int k = run->passed * K_STEP, left = run->count;
    TD_UNROLL_N(1)
    for (int step = 0; step < steps; step++, left--, k += K_STEP) {
        if (left == 0) run++, k += run->passed * K_STEP, left = run->count;
        if (step == max(steps - s::ahead, 0)) td_barrier_arrive(wanted);
        int8_t *const stage = shared + at.place * s::stage_bytes;
        uint64_t *const full = &barrier.stage.full[at.place];
        td_barrier_wait(&barrier.stage.empty[at.place], at.parity);
        td_barrier_expect(full, s::stage_bytes);
        copy_rows<s>(stage, a, full, k, tile);
        td_copy_box(stage + s::row_bytes, b, full, k, tile.column, tile.member, tile.plane);
        next(at);
    }
}

/* Another thread has all copies made. */
template <class s>
TD_DEVICE void copy_units(const CUtensorMap *a, const CUtensorMap *b, int lanes, int8_t *shared,
                          barriers<s> &barrier)
{
    position<s::stages> at = {0, 1};
    position<QUEUE> to = {0, 1};
    for (int turn = 0;; turn++) {
        const found_place from = place_of_turn(turn, lanes);
        td_barrier_wait(&barrier.found.full[from.place], from.parity);
        const queued &unit = barrier.found.unit[from.place];
        uint64_t *const wanted = &barrier.found.wanted[from.place];
        if (unit.steps == 0) {
            td_barrier_arrive(wanted);
            continue;
        }
        enqueue<s>(unit, to, barrier);
        if (unit.steps == NONE_LEFT) return;
        copy_unit<s>(a, b, unit, stages_of(barrier.found, from.place, lanes), wanted, shared, at,
                     barrier);
    }
}

/* ---- products ---- */

/* Calls work(sums, place in C, is it in C) for each of this lane's groups of TD_LANE_LINES. */
template <class s, class function>
TD_DEVICE void each_group(const td_panels &p, const td_unit &unit, unit_sums<s> &sums,
                          function work)
{
    const int warp = (int)threadIdx.x % s::team_threads / 32, lane = (int)threadIdx.x % 32;
    const int row = unit.row + lane % 4 * TD_LANE_LINES,
              column = unit.column + 16 * warp + lane / 4;
    int8_t *const c = static_cast<int8_t *>(p.c) + unit.plane * p.plane_c +
                      unit.member * p.member_c + unit.piece * p.piece_c + column * p.ld_c + row;
    TD_UNROLL
    for (int i = 0; i < s::halves; i++) {
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
TD_DEVICE void reduce_unit(const td_panels &p, const td_unit &unit, unit_sums<s> &sums)
{
    if (p.type == TD_PANEL_LOGARITHM) {
        store_unit<TD_LOGARITHM_OF_SUM, s>(p, unit, sums, {});
        return;
    }
    const td_sum_modulus modulus = td_modulus_of_plane(p, unit.plane);
    if (p.k <= modulus.short_k)
        store_unit<TD_SHORT_SUM, s>(p, unit, sums, modulus);
    else
        store_unit<TD_LONG_SUM, s>(p, unit, sums, modulus);
}

/* What one lane of each warp reads of a place in the queue, for all of them: the lane that tells
 * that it was read. */
TD_DEVICE int read_once(const int &queued)
{
    return td_uniform(threadIdx.x % 32 == 0 ? queued : 0);
}
TD_DEVICE td_unit read_once(const td_unit &queued)
{
    return {read_once(queued.plane), read_once(queued.member), read_once(queued.piece),
            read_once(queued.row), read_once(queued.column)};
}

/* Every warp tells that it knows what is in a place of the queue. */
template <class s> TD_DEVICE void leave(const position<QUEUE> &from, barriers<s> &barrier)
{
    if (threadIdx.x % 32 == 0) td_barrier_arrive(&barrier.unit.empty[from.place]);
}

/* Multiplies the team's work tiles, which are every other one, and passes over the steps of
 * those between. */
template <class s>
TD_DEVICE void multiply_units(const td_panels &p, int team, const int8_t *shared,
                              barriers<s> &barrier)
{
    position<s::stages> at = {0, 0};
    position<QUEUE> from = {0, 0};
    const unit_operands operands = operands_of<s>(shared, barrier.stage);
    if (team == TEAMS - 1) td_turn_pass<TEAMS * s::team_threads>(1);
    for (int turn = 0;; turn = 1 - turn, next(from)) {
        td_barrier_wait(&barrier.unit.full[from.place], from.parity);
        const int steps = read_once(barrier.of[from.place].steps);
        if (steps == NONE_LEFT) return;
        if (turn == team) {
            unit_sums<s> sums;
            td_turn_wait<TEAMS * s::team_threads>(1 + team);
            const int last = multiply_unit<s>(sums, steps, at, operands);
            td_turn_pass<TEAMS * s::team_threads>(TEAMS - team);
            const td_unit unit = read_once(barrier.of[from.place].tile);
            leave<s>(from, barrier);
            end_unit<s>(operands, last);
            reduce_unit<s>(p, unit, sums);
        } else {
            leave<s>(from, barrier);
            advance(at, steps);
        }
    }
}

#endif

/* True if any plane of any member is wanted. By all threads of a block. */
[[maybe_unused]] TD_DEVICE bool wants_planes(const td_panels &p)
{
    bool wants = false;
    for (int z = (int)threadIdx.x; z < p.batch; z += (int)blockDim.x)
        wants |= td_planes_wanted(&p, z) > 0;
    return __syncthreads_or(wants) != 0;
}

/* Grid: as many blocks as there are places. Does nothing on other devices, where it has no static
 * shared memory. */
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
    start(barrier.stage, s::groups * s::cluster);
    static_assert((s::stages + 2) * (int)units_of_clusters<s>::GROUP <= (int)told_ring::TOLD &&
                      (int)told_ring::TOLD <= (int)s::threads,
                  "blocks of a cluster are told of all their units");
    if (s::cluster > 1 && threadIdx.x < told_ring::TOLD)
        td_barrier_start(&barrier.told.told[threadIdx.x], 1);
    start(barrier.unit, TEAMS * s::team_threads / 32);
    if (threadIdx.x < PLACES) {
        td_barrier_start(&barrier.found.full[threadIdx.x], 1);
        td_barrier_start(&barrier.found.wanted[threadIdx.x], 1);
    }
    if (threadIdx.x < 32) td_barriers_started();
    if (threadIdx.x == 0) td_prefetch_map(&a), td_prefetch_map(&b);
    __syncthreads();
    if (s::cluster > 1) td_cluster_meet();
    td_wait_for_last();
    /* What mostly ends at once, or where it costs little to ask. */
    const bool may_end = p.leaves_resident || p.type == TD_PANEL_LOGARITHM || p.batch == 1;
    if (may_end && !wants_planes(p)) return;
    const units_of_clusters<s> units = td_units_of<s::rows, s::cluster * s::columns>(p);
    if (group == TEAMS * s::groups) {
        if constexpr (s::moves_registers) td_registers_less<s::registers_of_copies>();
        const int lanes = lanes_of<s>(p, units);
        if (threadIdx.x % GROUP_THREADS < 32) find_units<s>(p, units, lanes, barrier);
        if (threadIdx.x % GROUP_THREADS == 32) copy_units<s>(&a, &b, lanes, shared, barrier);
    } else {
        if constexpr (s::moves_registers) td_registers_more<s::registers>();
        multiply_units<s>(p, group / s::groups, shared, barrier);
    }
    if (s::cluster > 1) td_cluster_meet(); /* no block ends while another one copies to it */
#endif
}

/* ---- launches ---- */

template <class s> int64_t units_of(const td_panels *p, int planes)
{
    const int columns = s::cluster * s::columns;
    return td_region_blocks(&p->region, p->m, p->n, s::rows, columns) * planes * p->batch *
           p->pieces;
}

template <class s> cudaError_t launch(const td_panels *p, int multiprocessors, cudaStream_t stream)
{
    CUtensorMap a, b;
    if (!describe_panel(p, p->a, p->m, p->ld_a, p->member_a, p->plane_a, s::rows / s::cluster,
                        &a) ||
        !describe_panel(p, p->b, p->n, p->ld_b, p->member_b, p->plane_b, s::columns, &b))
        return cudaErrorNotSupported;
    const unsigned blocks = s::cluster * (unsigned)min((int64_t)multiprocessors / s::cluster,
                                                       units_of<s>(p, p->planes));
    /* Products of the bound's magnitudes are not put in place early. Mostly they end at once,
     * and the blocks of the next kernels, which stay, would get their places beside them. */
    if (p->type == TD_PANEL_LOGARITHM)
        return TD_LAUNCH(residue_products_kernel<s>, blocks, s::threads, s::shared_bytes, stream, a,
                         b, *p);
    return TD_LAUNCH_CLUSTERS(residue_products_kernel<s>, blocks, s::cluster, s::threads,
                              s::shared_bytes, stream, a, b, *p);
}

template <class s> cudaError_t prepare(cudaError_t error)
{
    error = td_load(error, residue_products_kernel<s>);
    if (error != cudaSuccess || !td_wgmma_exists()) return error;
    return td_allow_shared(error, residue_products_kernel<s>, s::shared_bytes);
}

} // namespace

bool td_wgmma_exists(void) { return td_has_code<residue_products_kernel<large>>(); }

cudaError_t td_wgmma_run(const td_panels *panels, cudaStream_t stream)
{
    int multiprocessors = 0;
    const cudaError_t error = td_multiprocessors(&multiprocessors);
    if (error != cudaSuccess) return error;
    switch (panels->gemm) {
    case TD_GEMM_WGMMA_LARGE:
        return launch<large>(panels, multiprocessors, stream);
    case TD_GEMM_WGMMA_SMALL:
        return launch<small>(panels, multiprocessors, stream);
    case TD_GEMM_WGMMA_LARGE_PAIR:
        return launch<large_pair>(panels, multiprocessors, stream);
    case TD_GEMM_WGMMA_SMALL_PAIR:
        return launch<small_pair>(panels, multiprocessors, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t td_wgmma_prepare(void)
{
    cudaError_t error = prepare<large>(cudaSuccess);
    error = prepare<small>(error);
    error = prepare<large_pair>(error);
    return prepare<small_pair>(error);
}

#else

bool td_wgmma_exists(void) { return false; }

cudaError_t td_wgmma_run(const td_panels *, cudaStream_t) { return cudaErrorNotSupported; }

cudaError_t td_wgmma_prepare(void) { return cudaSuccess; }

#endif
