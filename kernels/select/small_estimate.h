/* small_estimate.h - the estimate of a product that is not large, by the blocks that have chosen by lines: together they make the
 * magnitudes, then each multiplies and ranks tiles. For kernels of TD_FINISH_THREADS threads. */
#ifndef TD_SMALL_ESTIMATE_H
#define TD_SMALL_ESTIMATE_H

#include "../device/async_copy.h"
#include "../igemm/epilogue.h"
#include "../igemm/warp_products.h"
#include "../device/work_queue.h"
#include "magnitudes.h"
#include "certify.h"

/* A block multiplies one tile, or two, one beside the other. Half of its warps have one stage, half the next, each 64 rows by 16 columns of
 * each tile; two such pairs of stages have room. */
enum { COLUMN_WARPS = 4, MOST_TILES = 2 };
template <int tiles>
using tiles_shape = shape<1, COLUMN_WARPS, tiles * TD_TILE / COLUMN_WARPS, TILE_K, 4, 2>;
static_assert((int)tiles_shape<1>::rows == TD_TILE && (int)tiles_shape<1>::columns == TD_TILE,
              "a tile of ranks");
static_assert(2 * (int)tiles_shape<1>::threads == TD_FINISH_THREADS, "two halves");
static_assert((int)TD_FINISH_THREADS == (int)TD_FIXED_THREADS, "one block for all steps");

/* Logarithms of a column's sums, four rows a word. */
typedef uint32_t logs_of_column[TD_TILE / TD_SUBTILE + 1];

/* One after the other: stages of [columns, then rows][TILE_K]; sums; logarithms. */
union alignas(128) small_estimate_shared {
    int8_t panels[tiles_shape<MOST_TILES>::shared_bytes];
    int32_t sums[sizeof(warp_sums<tiles_shape<MOST_TILES>>) / 4][TD_FINISH_THREADS / 2];
    struct {
        logs_of_column logs[MOST_TILES * TD_TILE];
        rank_state ranks;
    };
};

/* Blocks of a product, all members together, of which two have places on a multiprocessor. */
enum { MOST_BLOCKS = 256 };

/* For so many tiles a block, it has two at a time. */
enum { MANY_TURNS = 4 };

/* ---- magnitudes ---- */

TD_HOST_DEVICE int strips_of(int lines) { return (lines + TD_FIXED_LINES - 1) / TD_FIXED_LINES; }

/* Units are TD_FIXED_LINES lines by TILE_K elements of k: of op(A), then of op(B). */
TD_DEVICE int magnitude_units(const td_magnitudes &p)
{
    const td_view *const o = p.fixed.operand;
    return (strips_of(o[0].lines) + strips_of(o[1].lines)) * stages_of(p.fixed.k_count);
}

TD_DEVICE void make_magnitudes(const td_magnitudes &p, int unit)
{
    const int stages = stages_of(p.fixed.k_count), strips = strips_of(p.fixed.operand[0].lines),
              strip = unit / stages, which = strip >= strips;
    const td_view &o = p.fixed.operand[which];
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
    const bool any =
        store_magnitudes(p.fixed, p.k_padded, at, exponents, p.fixed.shifted[blockIdx.z] != 0, x,
                         [&](int line, int64_t l) { return plane + line * p.k_padded + l; });
    if (__syncthreads_or(any) && threadIdx.x == 0) mark_nonzero(p, at);
}

/* ---- tiles ---- */

/* What a block multiplies at a time: TD_TILE rows, as many columns for each of its tiles. */
template <int most> struct own_tiles {
    typedef tiles_shape<most> shape_of_tiles;
    const td_magnitudes &p;
    int row, column, count, first; /* the first tile of C, as td_target counts them */

    TD_INSIDE own_tiles(const td_small_estimate &of, int unit) : p(of.magnitudes)
    {
        const td_target &target = of.estimate.finish.target;
        const int m_tiles = td_tiles(target.m), right = unit / m_tiles * most;
        row = unit % m_tiles * TD_TILE;
        column = right * TD_TILE;
        count = min(most, td_tiles(target.n) - right);
        first = unit % m_tiles + right * m_tiles;
    }

    /* Of stages 32 w to 32 w + 31, those in which the lines have numbers that are not 0. */
    TD_INSIDE uint32_t nonzero_stages(int which, int line, int w) const
    {
        return p.nonzero[which][td_nonzero_place(p.fixed.operand[which].lines, p.k_padded,
                                                 (int)blockIdx.z, line / TD_LINE_GROUP, 32 * w)];
    }

    /* Those of rows and of any columns; counts in how many blocks both have. */
    TD_INSIDE uint32_t stages_in_word(int w, unsigned *met) const
    {
        const uint32_t rows = nonzero_stages(0, row, w);
        uint32_t any = 0;
        TD_ROLLED
        for (int i = 0; i < count; i++) {
            const uint32_t both = rows & nonzero_stages(1, column + i * TD_TILE, w);
            *met += (unsigned)__popc(both);
            any |= both;
        }
        return any;
    }

    /* Starts the copies of a stage; the last line in the place of those beyond, zeros past the end of k. Of tiles that are not there
     * panels hold anything, and sums are not used. */
    TD_INSIDE void copy(int stage, int8_t *to) const
    {
        enum {
            APART = TD_FINISH_THREADS / shape_of_tiles::chunks,
            COLUMNS = shape_of_tiles::columns
        };
        const int chunk = (int)threadIdx.x % shape_of_tiles::chunks;
        const int64_t l = (int64_t)stage * TILE_K + chunk * CHUNK;
        TD_UNROLL
        for (int i = 0; i < shape_of_tiles::lines; i += APART) {
            const int own = i + (int)threadIdx.x / shape_of_tiles::chunks, which = own < COLUMNS,
                      lines = p.fixed.operand[which].lines,
                      line = min(which ? column + own : row + own - COLUMNS, lines - 1);
            if (which && own >= count * TD_TILE) continue;
            td_async_copy_inside<16>(to + place<shape_of_tiles>(own, chunk),
                                     p.plane[which] +
                                         ((int64_t)blockIdx.z * lines + line) * p.k_padded + l,
                                     l < p.k_padded);
        }
    }
};

/* Adds the sums of the upper half of the warps to those of the lower half. */
template <class tile>
TD_DEVICE void join_halves(warp_sums<tile> &sums, small_estimate_shared &shared)
{
    const int own = (int)threadIdx.x % tile::threads;
    const bool is_upper = threadIdx.x >= tile::threads;
    TD_UNROLL
    for (int i = 0; i < tile::column_mmas; i++) TD_UNROLL
    for (int j = 0; j < 4 * ROW_MMAS && is_upper; j++)
        shared.sums[4 * ROW_MMAS * i + j][own] = sums[i][j / 4][j % 4];
    __syncthreads();
    TD_UNROLL
    for (int i = 0; i < tile::column_mmas; i++) TD_UNROLL
    for (int j = 0; j < 4 * ROW_MMAS && !is_upper; j++)
        sums[i][j / 4][j % 4] += shared.sums[4 * ROW_MMAS * i + j][own];
    __syncthreads();
}

/* The sums of a block's elements, as the lower half of the warps have them; returns how many blocks of k have numbers other than 0
 * of both operands. */
template <int most, class tile = tiles_shape<most>>
TD_DEVICE unsigned multiply_tiles(const own_tiles<most> &tiles, small_estimate_shared &shared,
                                  warp_sums<tile> &sums)
{
    enum { BYTES = tile::stage_bytes };
    const int warp = td_uniform((int)threadIdx.x / 32), half = warp / COLUMN_WARPS,
              own = warp % COLUMN_WARPS, words = td_nonzero_words(tiles.p.k_padded);
    int w = 0;
    unsigned met = 0;
    uint32_t left = tiles.stages_in_word(0, &met);
    const auto fetch = [&](int8_t *to) -> int {
        int count = 0; /* up to two stages */
        TD_ROLLED
        while (count < 2) {
            while (!left && w + 1 < words) left = tiles.stages_in_word(++w, &met);
            if (!left) break;
            tiles.copy(32 * w + __ffs((int)left) - 1, to + count++ * BYTES);
            left &= left - 1;
        }
        td_async_copy_commit();
        return count;
    };
    int8_t *at = shared.panels, *other = at + 2 * BYTES;
    TD_ROLLED
    for (int here = fetch(at), next; here; here = next) {
        next = fetch(other);
        td_async_copy_wait<1>();
        __syncthreads();
        if (half < here) {
            const int8_t *const columns = at + half * BYTES;
            warp_products<tile> products(
                sums, columns + own * (tile::columns / COLUMN_WARPS) * TILE_K,
                columns + tile::columns * TILE_K, tile::columns / COLUMN_WARPS, WARP_ROWS);
            products.read(0);
            products.finish(0);
        }
        __syncthreads();
        int8_t *const read = at;
        at = other;
        other = read;
    }
    td_async_copy_wait<0>();
    join_halves<tile>(sums, shared);
    return met;
}

template <class tile> TD_DEVICE void store_logs(const warp_sums<tile> &sums, logs_of_column *logs)
{
    enum { COLUMNS = tile::columns / COLUMN_WARPS };
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    TD_UNROLL
    for (int i = 0; i < tile::column_mmas && warp < COLUMN_WARPS; i++) {
        TD_UNROLL
        for (int j = 0; j < 4 * ROW_MMAS; j++) {
            const int column = warp * COLUMNS + i * MMA_COLUMNS + j % 4 / 2 * 8 + lane / 4,
                      row = j / 4 * MMA_ROWS + 2 * (lane % 4) + j % 2;
            reinterpret_cast<uint8_t *>(logs[column])[row] =
                (uint8_t)td_logarithm_of(sums[i][j / 4][j % 4]);
        }
    }
    __syncthreads();
}

/* Ranks a tile, whose logarithms begin at `logs`; returns what it leaves open, as open_of_tile. */
TD_DEVICE unsigned rank_tile(const td_estimate &p, int tile, const td_line &line,
                             const logs_of_column *logs, rank_state &state)
{
    const int tid = (int)threadIdx.x, quads = TD_TILE / TD_SUBTILE;
    ranked_subtile subtile = place_subtile(p, tile);
    TD_UNROLL
    for (int j = 0; j < TD_SUBTILE; j++)
        subtile.bytes[j] = logs[tid / quads * TD_SUBTILE + j][tid % quads];
    if (tid < 2 * TD_TILE) summarise_line(p, line, state.lines);
    __syncthreads();
    count_open(state, rank_subtile(p, state.lines, subtile));
    __syncthreads();
    return open_of_tile(state);
}

/* The thread's line of a tile, if it has one. */
TD_DEVICE td_line line_of_tile(const td_estimate &p, int tile)
{
    return threadIdx.x < 2 * TD_TILE ? *place_line(p, tile) : td_line{};
}

template <int most>
TD_DEVICE void rank_tiles(const td_small_estimate &p, int unit, td_room room,
                          small_estimate_shared &shared)
{
    const td_estimate &estimate = p.estimate;
    const own_tiles<most> tiles(p, unit);
    td_line line = line_of_tile(estimate, tiles.first);
    warp_sums<tiles_shape<most>> sums = {};
    const unsigned met = multiply_tiles<most>(tiles, shared, sums);
    store_logs<tiles_shape<most>>(sums, shared.logs);
    unsigned open = 0;
    TD_ROLLED
    for (int i = 0; i < tiles.count; i++) {
        const int m_tiles = td_tiles(estimate.finish.target.m), tile = tiles.first + i * m_tiles;
        const td_line own = line;
        if (i + 1 < tiles.count) line = line_of_tile(estimate, tile + m_tiles);
        open += rank_tile(estimate, tile, own, &shared.logs[i * TD_TILE], shared.ranks);
    }
    if (met && threadIdx.x == 0 && estimate.blocks > 0)
        atomicAdd(&estimate.met[blockIdx.z], (unsigned long long)met);
    close_ranks(estimate, open, room, tiles.count);
}

/* The tiles of a member, up to so many at a time. */
template <int most>
TD_DEVICE void rank_member(const td_small_estimate &p, td_room room, small_estimate_shared &shared)
{
    const td_target &target = p.estimate.finish.target;
    const int units = td_tiles(target.m) * ((td_tiles(target.n) + most - 1) / most);
    td_take_units<TD_TAKEN_LATE>(p.steps + blockIdx.z * TD_STEPS + TD_STEP_TILES, units,
                                 [&](int unit) { rank_tiles<most>(p, unit, room, shared); });
}

/* All of a member's, by all of its blocks. room: of what lines chose. */
TD_DEVICE void estimate_member(const td_small_estimate &p, td_room room,
                               small_estimate_shared &shared)
{
    const td_target &target = p.estimate.finish.target;
    td_do_step(p.steps + blockIdx.z * TD_STEPS + TD_STEP_MAGNITUDES, magnitude_units(p.magnitudes),
               [&](int unit) { make_magnitudes(p.magnitudes, unit); });
    if (td_tiles(target.m) * td_tiles(target.n) >= MANY_TURNS * (int)gridDim.x)
        rank_member<MOST_TILES>(p, room, shared);
    else
        rank_member<1>(p, room, shared);
}

#endif
