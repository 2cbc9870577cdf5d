/* small_estimate.h - the estimate of a small product by blocks that have other things to do, too, or nothing: together they make the
 * magnitudes, then each multiplies and ranks tiles. For kernels of TD_FINISH_THREADS threads. */
#ifndef TD_SMALL_ESTIMATE_H
#define TD_SMALL_ESTIMATE_H

#include "../async_copy.h"
#include "../int8/residue.h"
#include "../int8/warp_products.h"
#include "../shared_steps.h"
#include "magnitudes.h"
#include "ranks.h"

/* Four of a block's warps multiply: 64 rows by 16 columns each, two stages. */
typedef shape<1, TD_TILE / MMA_COLUMNS, MMA_COLUMNS, TILE_K, 2, 2> small_shape;
static_assert((int)small_shape::rows == TD_TILE && (int)small_shape::columns == TD_TILE,
              "a tile of ranks");
static_assert((int)TD_FINISH_THREADS == (int)TD_FIXED_THREADS, "one block for all steps");

/* Logarithms of a tile's sums, four rows a word: [column][rows]. */
typedef uint32_t logs_of_tile[TD_TILE][TD_TILE / TD_SUBTILE + 1];

struct alignas(128) small_estimate_shared {
    int8_t panels[small_shape::shared_bytes]; /* stages of [columns, then rows][TILE_K] */
    logs_of_tile logs;
    rank_state ranks;
};

/* ---- magnitudes ---- */

TD_HOST_DEVICE int strips_of(int lines) { return (lines + TD_FIXED_LINES - 1) / TD_FIXED_LINES; }

/* Units are TD_FIXED_LINES lines by TILE_K elements of k: of op(A), then of op(B). */
TD_DEVICE int magnitude_units(const td_magnitudes &p)
{
    const td_operand *const o = p.fixed.operand;
    return (strips_of(o[0].lines) + strips_of(o[1].lines)) * stages_of(p.fixed.k_count);
}

TD_DEVICE void make_magnitudes(const td_magnitudes &p, int unit)
{
    const int stages = stages_of(p.fixed.k_count), strips = strips_of(p.fixed.operand[0].lines),
              strip = unit / stages, which = strip >= strips;
    const td_operand &o = p.fixed.operand[which];
    const td_fixed_place at = {which,
                               (int)blockIdx.z,
                               (which ? strip - strips : strip) * TD_FIXED_LINES,
                               o.lines,
                               0,
                               p.fixed.k_count,
                               (int64_t)(unit % stages) * TILE_K,
                               o.k_step == 1};
    int exponents[OWN_LINES] = {};
    own_numbers x;
    TD_UNROLL
    for (int i = 0; i < OWN_LINES; i++)
        if (at.along || i == 0)
            exponents[i] = exponent_of(p.fixed, at, at.line0 + own_line(at.along) + i);
    load_numbers(p.fixed, at, x);
    int8_t *const plane = p.plane[which] + (int64_t)blockIdx.z * o.lines * p.k_padded;
    const uint32_t any =
        store_magnitudes(p.fixed, p.k_padded, at, exponents, p.fixed.shifted[blockIdx.z] != 0, x,
                         [&](int line, int64_t l) { return plane + line * p.k_padded + l; });
    if (__syncthreads_or(any != 0) && threadIdx.x == 0) mark_nonzero(p, at);
}

/* ---- tiles ---- */

/* What a block multiplies and ranks. */
struct tile_of_magnitudes {
    const td_magnitudes &p;
    int row, column;

    TD_INSIDE tile_of_magnitudes(const td_magnitudes &of, int tile) : p(of)
    {
        const int tiles = td_tiles(of.fixed.operand[0].lines);
        row = tile % tiles * TD_TILE;
        column = tile / tiles * TD_TILE;
    }

    /* The first stage from `stage` on in which rows and columns have magnitudes that are not 0. */
    TD_INSIDE int next_stage(int stage) const
    {
        const int stages = stages_of(p.fixed.k_count), first[2] = {row, column};
        for (; stage < stages; stage++) {
            uint32_t both = td_nonzero_bit(stage);
            for (int o = 0; o < 2; o++)
                both &= p.nonzero[o][td_nonzero_place(p.fixed.operand[o].lines, p.k_padded,
                                                      (int)blockIdx.z, first[o] / TD_LINE_GROUP,
                                                      stage)];
            if (both) break;
        }
        return stage;
    }

    /* Starts the copies of a stage; the last line in the place of those beyond, zeros past the end of k. */
    TD_INSIDE void copy(int stage, int8_t *to) const
    {
        enum { APART = TD_FINISH_THREADS / small_shape::chunks };
        const int chunk = (int)threadIdx.x % small_shape::chunks;
        const int64_t l = (int64_t)stage * TILE_K + chunk * CHUNK;
        TD_UNROLL
        for (int i = 0; i < small_shape::lines; i += APART) {
            const int own = i + (int)threadIdx.x / small_shape::chunks, which = own < TD_TILE,
                      lines = p.fixed.operand[which].lines,
                      line = min(which ? column + own : row + own - TD_TILE, lines - 1);
            td_async_copy_inside<16>(to + place<small_shape>(own, chunk),
                                     p.plane[which] +
                                         ((int64_t)blockIdx.z * lines + line) * p.k_padded + l,
                                     l < p.k_padded);
        }
    }
};

/* The sums of a tile's elements, as warps have them; returns how many blocks of k have magnitudes of both operands. */
TD_DEVICE unsigned multiply_tile(const td_magnitudes &p, int number, int8_t *panels,
                                 warp_sums<small_shape> &sums)
{
    const tile_of_magnitudes tile(p, number);
    const int warp = td_uniform((int)threadIdx.x / 32), stages = stages_of(p.fixed.k_count);
    int stage = tile.next_stage(0);
    unsigned met = 0;
    int8_t *at = panels, *other = panels + small_shape::stage_bytes;
    if (stage < stages) tile.copy(stage, at);
    td_async_copy_commit();
    TD_ROLLED
    for (; stage < stages; met++) {
        stage = tile.next_stage(stage + 1);
        if (stage < stages) tile.copy(stage, other);
        td_async_copy_commit();
        td_async_copy_wait<1>();
        __syncthreads();
        if (warp < small_shape::threads / 32) {
            warp_products<small_shape> products(sums, at + warp * MMA_COLUMNS * TILE_K,
                                                at + TD_TILE * TILE_K);
            products.read(0);
            products.finish(0);
        }
        __syncthreads();
        int8_t *const read = at;
        at = other;
        other = read;
    }
    td_async_copy_wait<0>();
    return met;
}

TD_DEVICE void store_logs(const warp_sums<small_shape> &sums, logs_of_tile &logs)
{
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    if (warp < small_shape::threads / 32) {
        TD_UNROLL
        for (int j = 0; j < ROW_MMAS; j++) {
            TD_UNROLL
            for (int s = 0; s < 4; s++) {
                const int column = warp * MMA_COLUMNS + s / 2 * 8 + lane / 4,
                          row = j * MMA_ROWS + 2 * (lane % 4) + s % 2;
                reinterpret_cast<uint8_t *>(logs[column])[row] =
                    (uint8_t)td_logarithm_of(sums[0][j][s]);
            }
        }
    }
    __syncthreads();
}

TD_DEVICE void rank_tile(const td_small_estimate &p, int tile, td_room room,
                         small_estimate_shared &shared)
{
    const int tid = (int)threadIdx.x, quads = TD_TILE / TD_SUBTILE;
    const td_estimate &estimate = p.estimate;
    warp_sums<small_shape> sums = {};
    const unsigned met = multiply_tile(p.magnitudes, tile, shared.panels, sums);
    store_logs(sums, shared.logs);
    ranked_subtile subtile = place_subtile(estimate, tile);
    TD_UNROLL
    for (int j = 0; j < TD_SUBTILE; j++)
        subtile.bytes[j] = shared.logs[tid / quads * TD_SUBTILE + j][tid % quads];
    if (tid < 2 * TD_TILE)
        summarise_line(estimate, *place_line(estimate, tile), shared.ranks.lines);
    __syncthreads();
    count_open(shared.ranks, rank_subtile(estimate, shared.ranks.lines, subtile));
    __syncthreads();
    if (met && tid == 0 && estimate.blocks > 0)
        atomicAdd(&estimate.met[blockIdx.z], (unsigned long long)met);
    close_ranks(estimate, open_of_tile(shared.ranks), room);
}

/* All of a member's, by all of its blocks. room: of what lines chose. */
TD_DEVICE void estimate_member(const td_small_estimate &p, td_room room,
                               small_estimate_shared &shared)
{
    td_step *const steps = p.steps + blockIdx.z * TD_STEPS;
    td_do_step(&steps[TD_STEP_MAGNITUDES], magnitude_units(p.magnitudes),
               [&](int unit) { make_magnitudes(p.magnitudes, unit); });
    td_take_units(&steps[TD_STEP_TILES],
                  td_tiles(p.estimate.finish.target.m) * td_tiles(p.estimate.finish.target.n),
                  [&](int tile) { rank_tile(p, tile, room, shared); });
}

#endif
