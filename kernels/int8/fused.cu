/* fused.cu - products of residues for short k on sm_90a, and C from them, in one kernel. Two warpgroups share a tile of C, 64 columns
 * each, and go through its moduli one after the other, the second a little behind the first: while one reduces its sums the other
 * one multiplies. A tile's residues stay on the multiprocessor, modulo some in shared memory, modulo the others in registers; when
 * all are there, both warpgroups make C of them by crt_double.h. Binary64 arithmetic beside the tensor cores' would be slow.
 *
 * Elements that are not usual are left to the kernels of crt.cu, with their residues in memory. */
#include "fused.h"

#include "../ozaki/crt_double.h"
#include "../ozaki/finish.h"
#include "residue.h"
#include "units.h"
#if TD_HAS_CUDA_DEVICE
#include "tensor_map.h"
#include "wgmma.h"
#endif

#if TD_HAS_CUDA_DEVICE

namespace
{

enum {
    ROWS = 128,
    COLUMNS = 128,
    HALF = COLUMNS / 2, /* of a warpgroup */
    MODULI = TD_COMMON_MODULI,
    IN_REGISTERS = 8,
    IN_SHARED = MODULI - IN_REGISTERS, /* the last ones; multiplied first */
    K_STEP = 128,                      /* bytes of a line in one stage */
    PRODUCT_K = 32,                    /* of one instruction */
    STAGES = 4,
    LAG = 1, /* steps that the second warpgroup is behind */
    GROUP_THREADS = 128,
    GROUPS = 2,
    WORKERS = GROUPS * GROUP_THREADS,
    THREADS = WORKERS + GROUP_THREADS,
    CHUNKS = ROWS * HALF / GROUP_THREADS / TD_LANE_LINES, /* of neighbouring residues of a thread */
    REGISTERS = 232,
    REGISTERS_OF_COPIES = 40,
    OWN_LONG = 1 /* the modulus, 255, whose sums are not all short */
};

struct alignas(1024) stage {
    int8_t a[ROWS * K_STEP], b[COLUMNS * K_STEP];
};

/* What is known of a tile's lines; scales times 2^20. A warpgroup writes those that are its threads', and later takes turns with the other
 * one before both read them. */
struct tile_lines {
    uint32_t scale[2][ROWS];
    td_worst_line worst[2][ROWS / 32];
};

struct shared_memory {
    stage stages[STAGES];
    td_quad<uint32_t> residues[IN_SHARED][CHUNKS][WORKERS];
    tile_lines lines[2]; /* of every other tile */
    uint64_t full[STAGES], empty[STAGES];
};

TD_HOST_DEVICE int64_t tiles_of(const td_panels *p)
{
    return (p->m + ROWS - 1) / ROWS * ((p->n + COLUMNS - 1) / COLUMNS);
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

static_assert(ROWS == COLUMNS && ROWS == GROUP_THREADS, "a thread has a row, or a column");

/* Stage of the step that is next, and its parity. */
struct position {
    int stage;
    uint32_t parity;
};

TD_DEVICE void next(position &at)
{
    if (++at.stage < STAGES) return;
    at.stage = 0;
    at.parity ^= 1u;
}

struct tile {
    int row, column;
};

TD_DEVICE tile tile_of(const td_panels &p, int number)
{
    tile t;
    td_tile_of(number, (int)((p.m + ROWS - 1) / ROWS), (int)((p.n + COLUMNS - 1) / COLUMNS), &t.row,
               &t.column);
    t.row *= ROWS;
    t.column *= COLUMNS;
    return t;
}

TD_DEVICE int steps_of(const td_panels &p) { return (int)((p.k + K_STEP - 1) / K_STEP); }

/* The modulus that is multiplied at a time: those in shared memory, and both halves of those in registers, the second one first. */
TD_DEVICE int modulus_at(int time)
{
    const int half = IN_REGISTERS / 2, rest = time - IN_SHARED;
    if (time < IN_SHARED) return IN_REGISTERS + time;
    return rest < half ? half + rest : rest - half;
}

/* One thread has all copies made. */
TD_DEVICE void copy_tiles(const CUtensorMap *a, const CUtensorMap *b, const td_panels &p, int tiles,
                          shared_memory &shared)
{
    position at = {0, 1};
    const int steps = steps_of(p);
    for (int number = (int)blockIdx.x; number < tiles; number += (int)gridDim.x) {
        const tile t = tile_of(p, number);
        TD_UNROLL_N(1)
        for (int time = 0; time < MODULI; time++) {
            TD_UNROLL_N(1)
            for (int step = 0; step < steps; step++) {
                stage &to = shared.stages[at.stage];
                uint64_t *const full = &shared.full[at.stage];
                td_barrier_wait(&shared.empty[at.stage], at.parity);
                td_barrier_expect(full, (int)sizeof(stage));
                td_copy_box(to.a, a, full, step * K_STEP, t.row, 0, modulus_at(time));
                td_copy_box(to.b, b, full, step * K_STEP, t.column, 0, modulus_at(time));
                next(at);
            }
        }
    }
}

/* A warpgroup's sums modulo one modulus: those of its columns in the tensor cores' order (wgmma.h). */
typedef int32_t group_sums[ROWS / 2];

template <bool add> TD_DEVICE void multiply_stage(group_sums &sums, const stage &from, int group)
{
    const uint64_t y = td_panel_descriptor(from.a),
                   x = td_panel_descriptor(from.b + group * HALF * K_STEP);
    td_products_start();
    TD_UNROLL
    for (int k = 0; k < K_STEP / PRODUCT_K; k++) {
        const uint64_t along = (uint64_t)(k * (PRODUCT_K >> 4));
        if (k == 0 && !add)
            td_products<false>(sums, x + along, y + along);
        else
            td_products<true>(sums, x + along, y + along);
    }
    td_products_commit();
}

/* In turn: the other warpgroup begins LAG steps later. */
TD_DEVICE void multiply(group_sums &sums, int steps, position &at, int group, shared_memory &shared)
{
    const bool signals = threadIdx.x % GROUP_THREADS == 0;
    td_turn_wait(1 + group);
    td_barrier_wait(&shared.full[at.stage], at.parity);
    multiply_stage<false>(sums, shared.stages[at.stage], group);
    int last = at.stage;
    next(at);
    TD_UNROLL_N(1)
    for (int step = 1; step < steps; step++) {
        if (step == LAG) td_turn_pass(2 - group);
        td_barrier_wait(&shared.full[at.stage], at.parity);
        multiply_stage<true>(sums, shared.stages[at.stage], group);
        td_products_wait<1>();
        if (signals) td_barrier_arrive(&shared.empty[last]);
        last = at.stage;
        next(at);
    }
    if (steps <= LAG) td_turn_pass(2 - group);
    td_products_wait<0>();
    if (signals) td_barrier_arrive(&shared.empty[last]);
}

/* A thread's residues of chunk c: 16 neighbouring rows of a column. */
template <td_reduction how>
TD_DEVICE td_quad<uint32_t> residues_of_chunk(const group_sums &sums, int c,
                                              const td_sum_modulus &modulus)
{
    int32_t own[TD_LANE_LINES];
    td_quad<uint32_t> result;
    td_gather<4>(&sums[c / 2 * (TD_LINE_GROUP / 2) + c % 2 * 2], own);
    TD_UNROLL
    for (int i = 0; i < 4; i++) result.of[i] = td_residues_of<how>(&own[4 * i], modulus);
    return result;
}

TD_DEVICE void chunk_at(const tile &t, int c, int *row, int *column)
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    *row = t.row + c / 2 * TD_LINE_GROUP + lane % 4 * TD_LANE_LINES;
    *column = t.column + 16 * warp + lane / 4 + 8 * (c % 2);
}

/* ---- lines ---- */

/* The line of this thread: a row of the tile in the first warpgroup, a column in the second; a copy of the last one past the end. */
TD_DEVICE td_line line_of_thread(const td_finish &finish, const tile &t)
{
    const int which = (int)threadIdx.x / GROUP_THREADS, in_tile = (int)threadIdx.x % GROUP_THREADS;
    const int first = which ? t.column : t.row, lines = which ? finish.target.n : finish.target.m;
    return finish.line[which][min(first + in_tile, lines - 1)];
}

TD_DEVICE void share_line(const td_line &line, tile_lines &lines)
{
    const int which = (int)threadIdx.x / GROUP_THREADS, in_tile = (int)threadIdx.x % GROUP_THREADS;
    td_worst_line worst = td_worst_of(line);
    lines.scale[which][in_tile] = (uint32_t)line.scale << 20;
    worst.mean = __reduce_min_sync(~0u, worst.mean);
    worst.spread = __reduce_max_sync(~0u, worst.spread);
    worst.rounding = __reduce_min_sync(~0u, worst.rounding);
    worst.least = __reduce_min_sync(~0u, worst.least);
    worst.most = __reduce_max_sync(~0u, worst.most);
    worst.is_special = __any_sync(~0u, worst.is_special);
    if (threadIdx.x % 32 == 0) lines.worst[which][in_tile / 32] = worst;
}

TD_DEVICE bool is_usual(const tile_lines &lines, const td_choice &choice)
{
    td_worst_line all[2];
    TD_UNROLL
    for (int o = 0; o < 2; o++) {
        all[o] = lines.worst[o][0];
        TD_UNROLL
        for (int i = 1; i < ROWS / 32; i++) all[o] = td_join_worst(all[o], lines.worst[o][i]);
    }
    return td_are_usual<MODULI>(all[0], all[1], choice);
}

/* ---- masks ---- */

/* No element of the tile is left. */
TD_DEVICE void clear_masks(const td_target &target, const tile &t)
{
    const int each = (int)sizeof(uint64_t) / (int)sizeof(uint16_t), threads = TD_SUBTILES / each;
    const int part = (int)threadIdx.x / threads, in_part = (int)threadIdx.x % threads;
    const int row = t.row + part % 2 * TD_TILE, column = t.column + part / 2 * TD_TILE;
    static_assert(ROWS * COLUMNS / TD_TILE / TD_TILE * threads == WORKERS, "all masks");
    if (row < target.m && column < target.n)
        reinterpret_cast<uint64_t *>(td_target_mask(target, row, column))[in_part] = 0;
}

/* Four elements of a column, of which some are left: residues go to memory, bits to the mask. */
TD_DEVICE void leave(const td_panels &p, const td_target &target, int row, int column,
                     const uint32_t *residues, unsigned left)
{
    int8_t *to = static_cast<int8_t *>(p.c) + column * p.ld_c + row;
    TD_UNROLL
    for (int t = 0; t < MODULI; t++, to += p.plane_c)
        *reinterpret_cast<uint32_t *>(to) = residues[t];
    const uintptr_t mask = reinterpret_cast<uintptr_t>(td_target_mask(target, row, column));
    const int at = column % TD_SUBTILE * TD_SUBTILE + (mask & 2 ? 16 : 0);
    atomicOr(reinterpret_cast<unsigned *>(mask & ~(uintptr_t)3), left << at);
}

/* ---- C ---- */

struct scalars {
    double alpha, beta;
};

/* Four elements of a column in memory. */
TD_DEVICE td_column word_at(const td_target &target, double *c, int row, int column)
{
    const int count = column < target.n ? min((int)TD_SUBTILE, target.m - row) : 0;
    return {c + (int64_t)column * target.c.ld + row, count};
}

/* A thread's residues modulo those of IN_REGISTERS. */
typedef uint32_t kept_residues[IN_REGISTERS][4 * CHUNKS];

/* The next chunk's become the first: a loop over chunks fits the caches of instructions. */
TD_DEVICE void next_chunk(kept_residues &kept)
{
    TD_UNROLL
    for (int i = 0; i < IN_REGISTERS; i++) {
        TD_UNROLL
        for (int j = 0; j < 4 * (CHUNKS - 1); j++) kept[i][j] = kept[i][j + 4];
    }
}

/* Words from one modulus to the next in shared memory. */
enum { PARKED_STEP = CHUNKS * WORKERS * 4 };

/* A word's residues, of the first chunk of `kept`. */
TD_DEVICE void residues_of_word(const kept_residues &kept, const uint32_t *parked, int w,
                                uint32_t (&residues)[MODULI])
{
    TD_UNROLL
    for (int i = 0; i < MODULI; i++)
        residues[i] = i < IN_REGISTERS ? kept[i < IN_REGISTERS ? i : 0][w]
                                       : parked[(i - IN_REGISTERS) * PARKED_STEP + w];
}

/* What is in C, scaled, is added to alpha X; bits of `left` for what stays as it is. */
TD_DEVICE void store_word(const scalars &s, const td_column &word, const double *x, unsigned left)
{
    double c0[TD_SUBTILE] = {}, result[TD_SUBTILE];
    if (s.beta != 0.0) td_column::load(word, c0);
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) result[i] = td_axpby(s.alpha, x[i], s.beta, &c0[i]);
    td_column::store(word, result, left);
}

/* The words of a chunk of which something is not sure: bits of all its elements. Returns those that are left. */
TD_DEVICE unsigned leave_words(const td_panels &p, const td_target &target, int row, int column,
                               const kept_residues &kept, const uint32_t *parked, unsigned unsure,
                               bool usual, double *x)
{
    unsigned all = 0;
    TD_UNROLL
    for (int w = 0; w < 4; w++) {
        const int exist =
            column < target.n ? max(0, min((int)TD_SUBTILE, target.m - row - TD_SUBTILE * w)) : 0;
        unsigned left = unsure >> (TD_SUBTILE * w) & ((1u << exist) - 1);
        uint32_t residues[MODULI];
        if (left == 0) continue;
        residues_of_word(kept, parked, w, residues);
        if (usual) left = td_without_zeros<MODULI>(residues, left, x + TD_SUBTILE * w);
        if (left) leave(p, target, row + TD_SUBTILE * w, column, residues, left);
        all |= left << (TD_SUBTILE * w);
    }
    return all;
}

/* A chunk, whose residues are the first of `kept`: all of it is put together before any is stored, so that much is under way. */
TD_DEVICE void finish_chunk(const td_panels &p, const td_target &target, const scalars &s,
                            double *c, int row, int column, const kept_residues &kept,
                            const uint32_t *parked, const uint32_t *scale_a, uint32_t scale_b,
                            bool usual)
{
    double x[TD_LANE_LINES];
    unsigned unsure = 0;
    TD_UNROLL
    for (int w = 0; w < 4; w++) {
        const td_quad<uint32_t> scales =
            *reinterpret_cast<const td_quad<uint32_t> *>(scale_a + TD_SUBTILE * w);
        uint32_t residues[MODULI], scale[TD_SUBTILE];
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++) scale[i] = scales.of[i] + scale_b;
        residues_of_word(kept, parked, w, residues);
        unsure |= td_round_residues<MODULI>(residues, scale, x + TD_SUBTILE * w)
                  << (TD_SUBTILE * w);
    }
    if (!usual) unsure = (1u << TD_LANE_LINES) - 1;
    const unsigned left =
        unsure ? leave_words(p, target, row, column, kept, parked, unsure, usual, x) : 0;
    TD_UNROLL
    for (int w = 0; w < 4; w++)
        store_word(s, word_at(target, c, row + TD_SUBTILE * w, column), x + TD_SUBTILE * w,
                   left >> (TD_SUBTILE * w) & 15);
}

TD_DEVICE void finish_tile(const td_panels &p, const td_finish &finish, const scalars &s,
                           const tile &t, kept_residues &kept, const tile_lines &lines,
                           const shared_memory &shared)
{
    double *const c = td_target_c<double>(finish.target);
    const bool usual = is_usual(lines, finish.choice[0]);
    TD_UNROLL_N(1)
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        int row, column;
        chunk_at(t, chunk, &row, &column);
        finish_chunk(p, finish.target, s, c, row, column, kept,
                     shared.residues[0][chunk][threadIdx.x].of, &lines.scale[0][row - t.row],
                     lines.scale[1][column - t.column], usual);
        next_chunk(kept);
    }
}

/* ---- tiles ---- */

/* C of the tile, on its way to the L2. */
TD_DEVICE void fetch_ahead(const td_target &target, const scalars &s, const tile &t)
{
    const double *const c = td_target_c<double>(target);
    const int in_line = 16, lines = ROWS / in_line; /* of the caches */
    if (s.beta == 0.0) return;
    TD_UNROLL_N(1)
    for (int i = (int)threadIdx.x; i < COLUMNS * lines; i += WORKERS) {
        const int row = t.row + i % lines * in_line, column = t.column + i / lines;
        if (row < target.m && column < target.n)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(c + (int64_t)column * target.c.ld + row));
    }
}

/* Residues modulo `modulus`, chunk by chunk. */
TD_DEVICE void multiply_to_shared(int modulus, int steps, position &at, int group,
                                  shared_memory &shared)
{
    const td_sum_modulus own = td_moduli_of_sums.of[modulus];
    group_sums sums;
    multiply(sums, steps, at, group, shared);
    TD_UNROLL
    for (int c = 0; c < CHUNKS; c++)
        shared.residues[modulus - IN_REGISTERS][c][threadIdx.x] =
            residues_of_chunk<TD_SHORT_SUM>(sums, c, own);
}

TD_DEVICE void multiply_to_registers(int modulus, int steps, position &at, int group,
                                     shared_memory &shared, uint32_t (&kept)[4 * CHUNKS])
{
    const td_sum_modulus own = td_moduli_of_sums.of[modulus];
    group_sums sums;
    multiply(sums, steps, at, group, shared);
    TD_UNROLL
    for (int c = 0; c < CHUNKS; c++) {
        const td_quad<uint32_t> quad = modulus == OWN_LONG
                                           ? residues_of_chunk<TD_LONG_SUM>(sums, c, own)
                                           : residues_of_chunk<TD_SHORT_SUM>(sums, c, own);
        TD_UNROLL
        for (int w = 0; w < 4; w++) kept[4 * c + w] = quad.of[w];
    }
}

TD_DEVICE void work_on_tiles(const td_panels &p, const td_finish &finish, int tiles, int group,
                             shared_memory &shared)
{
    const scalars s = {td_scalar_value(finish.target.alpha), td_scalar_value(finish.target.beta)};
    const int steps = steps_of(p), half = IN_REGISTERS / 2;
    position at = {0, 0};
    int parity = 0;
    if (group == 1) td_turn_pass(1);
    TD_UNROLL_N(1)
    for (int number = (int)blockIdx.x; number < tiles; number += (int)gridDim.x, parity ^= 1) {
        const tile t = tile_of(p, number);
        const td_line line = line_of_thread(finish, t);
        clear_masks(finish.target, t);
        TD_UNROLL_N(1)
        for (int i = IN_REGISTERS; i < MODULI; i++) multiply_to_shared(i, steps, at, group, shared);
        share_line(line, shared.lines[parity]);
        fetch_ahead(finish.target, s, t);
        kept_residues kept;
        TD_UNROLL_N(1)
        for (int first = half; first >= 0; first -= half) {
            TD_UNROLL
            for (int i = 0; i < half; i++) {
                TD_UNROLL
                for (int j = 0; j < 4 * CHUNKS; j++) kept[half + i][j] = kept[i][j];
                multiply_to_registers(first + i, steps, at, group, shared, kept[i]);
            }
        }
        finish_tile(p, finish, s, t, kept, shared.lines[parity], shared);
    }
}

#endif

/* Grid: as many blocks as there are places. Does nothing on other devices. */
__global__ void __launch_bounds__(THREADS, 1)
    fused_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                 const __grid_constant__ td_panels p, const __grid_constant__ td_finish finish)
{
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    extern __shared__ __align__(1024) unsigned char td_fused_shared[];
    shared_memory &shared = *reinterpret_cast<shared_memory *>(td_fused_shared);
    td_begin_kernel();
    if (!td_is_fused(p.choice[0], finish.target.alpha)) return;
    const int tiles = (int)tiles_of(&p);
    const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / GROUP_THREADS, 0);
    if (threadIdx.x < STAGES) {
        td_barrier_start(&shared.full[threadIdx.x], 1);
        td_barrier_start(&shared.empty[threadIdx.x], GROUPS);
        td_barriers_started();
    }
    __syncthreads();
    if (group == GROUPS) {
        td_registers_less<REGISTERS_OF_COPIES>();
        if (threadIdx.x == WORKERS) copy_tiles(&a, &b, p, tiles, shared);
    } else {
        td_registers_more<REGISTERS>();
        work_on_tiles(p, finish, tiles, group, shared);
    }
#endif
}

} // namespace

/* Few tiles leave multiprocessors idle. */
enum { LEAST_ROUNDS = 4 };

bool td_fused_suits(const td_panels *p)
{
    int multiprocessors = 0;
    return p->k <= TD_FUSED_K && p->pieces == 1 && p->batch == 1 && !p->accumulate &&
           p->planes >= MODULI && td_wgmma_exists() &&
           td_multiprocessors(&multiprocessors) == cudaSuccess &&
           tiles_of(p) >= LEAST_ROUNDS * multiprocessors;
}

cudaError_t td_fused_run(const td_panels *p, const td_finish *finish, cudaStream_t stream)
{
    CUtensorMap a, b;
    int multiprocessors = 0;
    const cudaError_t error = td_multiprocessors(&multiprocessors);
    if (error != cudaSuccess) return error;
    if (!td_describe_panel(p, p->a, p->m, p->ld_a, p->member_a, p->plane_a, K_STEP, ROWS, &a) ||
        !td_describe_panel(p, p->b, p->n, p->ld_b, p->member_b, p->plane_b, K_STEP, COLUMNS, &b))
        return cudaErrorNotSupported;
    const unsigned blocks = (unsigned)min((int64_t)multiprocessors, tiles_of(p));
    return TD_LAUNCH(fused_kernel, blocks, THREADS, sizeof(shared_memory), stream, a, b, *p,
                     *finish);
}

cudaError_t td_fused_prepare(void)
{
    const cudaError_t error = td_load(cudaSuccess, fused_kernel);
    if (error != cudaSuccess || !td_wgmma_exists()) return error;
    return td_allow_shared(error, fused_kernel, (int)sizeof(shared_memory));
}

#else

bool td_fused_suits(const td_panels *p)
{
    (void)p;
    return false;
}

cudaError_t td_fused_run(const td_panels *p, const td_finish *finish, cudaStream_t stream)
{
    (void)p, (void)finish, (void)stream;
    return cudaErrorNotSupported;
}

cudaError_t td_fused_prepare(void) { return cudaSuccess; }

#endif
