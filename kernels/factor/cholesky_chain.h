/* cholesky_chain.h - what one block of threads does to all diagonal tiles, one after the other,
 * and to the tile below each. These stay in shared memory: `tile` is diagonal tile j, `left` is
 * tile j + 1, j, and `next` diagonal tile j + 1. The last two come from whoever prepared them,
 * less their products with the columns before j.
 *
 * For each strip there are two phases. In phase A one warp factors the strip's diagonal block,
 * while all others do what else can be done; in phase B each warp solves for its own 16 rows of
 * the strip. Warp w has row block w: of `tile`, and behind its rows of `left`. */
#ifndef TD_CHOLESKY_CHAIN_H
#define TD_CHOLESKY_CHAIN_H

#include "../device/async_copy.h"
#include "cholesky_state.h"

template <class number> struct chain {
    number *room;             /* shared memory, in which all these are */
    int tile, left, next;     /* in numbers */
    int columns, reciprocals; /* for factor_block() */
    int warp;                 /* this one */
    int j;
    bool has_left;  /* there is a tile below, and a column behind */
    bool is_loaded; /* `left` and `next` are here */
    int solved;     /* strips of `left` */
    int taken;      /* strips of `left` whose products are taken away from `next` */
};

template <class number> struct chain_of : shape_of<number> {
    typedef shape_of<number> shape;
    enum {
        STRIPS = shape::STRIPS,
        ROW_BLOCKS = 2 * STRIPS,
        TRIANGLE = STRIPS * (STRIPS + 1) / 2, /* blocks of a diagonal tile */
        SHARED_SIZE = 3 * shape::TILE_SIZE + shape::COLUMNS_SIZE + shape::TILE
    };
};

TD_DEVICE int lane_of_warp() { return (int)threadIdx.x % 32; }

/* The block of a tile in these strips of rows and columns. */
template <class number> TD_DEVICE int block_of(int tile, int row, int column)
{
    return tile + column * STRIP * shape_of<number>::TILE_STRIDE + row * STRIP;
}

/* ---- what others get ---- */

/* Warps that store, of which this has such a number; negative: it is none. */
enum { STORERS = 4 };
template <class number> TD_DEVICE int storer(const chain<number> &c) { return c.warp - WARPS / 2; }

/* Stores columns of a tile, whose element 0, 0 is at `from` of shared memory and has that row and
 * column in the matrix: of rows before `limit`, but for what is above the diagonal. By all storers,
 * whose threads have neighbours in memory, and walk from these to the next ones. Some elements are
 * loaded before they are stored, and addresses are made by adding, so that no store waits. */
template <bool is_upper, int columns, class number>
TD_DEVICE void store_columns(const state<number> &s, const number *from, int row, int column,
                             int64_t limit, int number_of_storer)
{
    enum {
        TILE = shape_of<number>::TILE,
        STRIDE = shape_of<number>::TILE_STRIDE,
        ALONG = is_upper ? columns : (int)TILE, /* neighbours, and those behind each other */
        ACROSS = is_upper ? (int)TILE : columns,
        STEP = 32 * STORERS / ALONG,
        FROM_STEP = STEP * (is_upper ? 1 : (int)STRIDE),
        AT_ONCE = 8
    };
    const int thread = 32 * number_of_storer + lane_of_warp(), a = thread % ALONG,
              b = thread / ALONG, rows = (int)min(limit - row, (int64_t)TILE),
              least = is_upper ? a + column - row : 0,
              behind = is_upper   ? rows
                       : a < rows ? a + row - column + 1
                                  : 0;
    const number *x = from + (is_upper ? a * STRIDE + b : a + b * STRIDE);
    number *to = is_upper ? at<true>(s, row + b, column + a) : at<false>(s, row + a, column + b);
    TD_ROLLED
    for (int first = b; first < ACROSS; first += AT_ONCE * STEP) {
        number values[AT_ONCE];
        TD_UNROLL
        for (int i = 0; i < AT_ONCE && i * STEP < ACROSS; i++) values[i] = x[i * FROM_STEP];
        TD_UNROLL
        for (int i = 0; i < AT_ONCE && i * STEP < ACROSS; i++, to += STEP * s.p.ld)
            if (first + i * STEP >= least && first + i * STEP < behind) *to = values[i];
        x += AT_ONCE * FROM_STEP;
    }
    __syncwarp();
}

/* Stores these columns of tile j, and tells so, by the storers. */
template <bool is_upper, class number>
TD_DEVICE void tell_strip(const state<number> &s, const chain<number> &c, int strip)
{
    enum { TILE = shape_of<number>::TILE, SHARE = PER_TILE / shape_of<number>::STRIPS / STORERS };
    if (storer(c) < 0) return;
    store_columns<is_upper, STRIP>(s, s.room + block_of<number>(c.tile, 0, strip), c.j * TILE,
                                   c.j * TILE + strip * STRIP, s.p.columns, storer(c));
    if (lane_of_warp() == 0) add_done(s.done + c.j, SHARE);
}

/* Stores the tile left of diagonal tile j likewise. */
template <bool is_upper, class number>
TD_DEVICE void tell_left(const state<number> &s, const chain<number> &c)
{
    enum { TILE = shape_of<number>::TILE };
    if (storer(c) < 0) return;
    store_columns<is_upper, TILE>(s, s.room + c.left, c.j * TILE, (c.j - 1) * TILE, s.p.rows,
                                  storer(c));
    if (lane_of_warp() == 0) add_done(s.done + c.j, PER_TILE / STORERS);
}

/* ---- the tile below, and the next diagonal one ---- */

/* True for the number 1 on the diagonal behind the last column. */
template <class number>
TD_DEVICE bool is_padding(const state<number> &s, int j, int row, int column)
{
    return row == column && j * shape_of<number>::TILE + row >= s.p.columns;
}

/* Copies this warp's rows of both tiles from where they are prepared. */
template <class number>
TD_DEVICE void load_prepared(const state<number> &s, const chain<number> &c, int block)
{
    enum { TILE = shape_of<number>::TILE, STRIDE = shape_of<number>::TILE_STRIDE };
    enum { TOGETHER = 16 / sizeof(number), CHUNKS = STRIP / TOGETHER, STEP = 32 / CHUNKS };
    const int first = block * STRIP, row = first + lane_of_warp() % CHUNKS * TOGETHER,
              column = lane_of_warp() / CHUNKS;
    const number *const from = s.places + (c.j + 1) % PLACES * 2 * TILE * TILE + row;
    number *const left = c.room + c.left + row, *const next = c.room + c.next + row;
    TD_UNROLL_N(8)
    for (int k = column; k < TILE; k += STEP) {
        td_async_copy16(left + k * STRIDE, from + k * TILE);
        td_async_copy16(next + k * STRIDE, from + (TILE + k) * TILE);
    }
    td_async_copy_commit();
    td_async_copy_wait<0>();
    __syncwarp();
    const int own = first + lane_of_warp();
    if (lane_of_warp() < STRIP && is_padding(s, c.j + 1, own, own))
        c.room[c.next + own * STRIDE + own] = td_number<number>(1.0);
    __syncwarp();
}

/* Takes the products of a strip of `left` away from a diagonal tile: this warp's share of blocks,
 * which are `first` and every step-th after. */
template <class number>
TD_DEVICE void take_left(const chain<number> &c, int from, int strip, int first, int step)
{
    enum { STRIDE = shape_of<number>::TILE_STRIDE };
    TD_ROLLED
    for (int b = first; b < chain_of<number>::TRIANGLE; b += step) {
        const int row = b < 1 ? 0 : b < 3 ? 1 : b < 6 ? 2 : 3, column = b - row * (row + 1) / 2;
        update_block<number, STRIP, STRIDE, STRIDE>(c.room + block_of<number>(from, row, column),
                                                    c.room + block_of<number>(c.left, row, strip),
                                                    c.room +
                                                        block_of<number>(c.left, column, strip));
    }
}

template <class number>
TD_DEVICE void take_from_next(const chain<number> &c, int to, int first, int step)
{
    TD_ROLLED
    for (int i = c.taken; i < to; i++) take_left(c, c.next, i, first, step);
}

/* Takes the strips before that one away from a block of its rows in `left`. */
template <class number> TD_DEVICE void take_in_left(const chain<number> &c, int row, int strip)
{
    enum { STRIDE = shape_of<number>::TILE_STRIDE };
    take_strips<number, STRIDE, STRIDE>(c.room + block_of<number>(c.left, row, strip),
                                        c.room + block_of<number>(c.left, row, 0),
                                        c.room + block_of<number>(c.tile, strip, 0), strip);
}

/* Where block `row` of a strip begins: of `tile`, or of `left` behind that. Negative if it is none
 * that is solved for. */
template <class number> TD_DEVICE int solved_block(const chain<number> &c, int row, int strip)
{
    enum { STRIPS = shape_of<number>::STRIPS };
    if (row < STRIPS) return row > strip ? block_of<number>(c.tile, row, strip) : -1;
    return c.is_loaded ? block_of<number>(c.left, row - STRIPS, strip) : -1;
}

/* Solves for two blocks of rows of a strip, by this warp. */
template <class number>
TD_DEVICE void solve_blocks(const chain<number> &c, int at, int behind, int strip)
{
    enum { STRIDE = shape_of<number>::TILE_STRIDE };
    if (at >= 0 || behind >= 0)
        substitute<number, STRIDE, STRIDE>(at, behind, block_of<number>(c.tile, strip, strip),
                                           c.reciprocals + strip * STRIP);
}

/* Solves for these strips of this warp's rows of `left`, once all products are due. */
template <class number> TD_DEVICE void solve_left(const chain<number> &c, int row, int from, int to)
{
    TD_ROLLED
    for (int i = from; i < to; i++) {
        take_in_left(c, row, i);
        solve_blocks(c, block_of<number>(c.left, row, i), -1, i);
    }
}

/* ---- phases ---- */

/* Which rows of `left` a warp has, in blocks; negative: none. Warps 0 and 4 take no products, which
 * would keep the operations of the chain waiting. */
template <class number> TD_DEVICE int row_of_left(int warp)
{
    enum { STRIPS = shape_of<number>::STRIPS };
    const int row = warp == 1 ? 3 : warp - 5;
    return row < (int)STRIPS ? row : -1;
}

/* The number of a warp among those that take products away; negative: it does not. */
TD_DEVICE int worker(int warp) { return warp % 4 == 0 ? -1 : warp < 4 ? warp - 1 : warp - 2; }
enum { WORKERS = 6 };

/* Phase A of a strip by warp 0: its diagonal block. */
template <class number>
TD_DEVICE void factor_strip(const state<number> &s, const chain<number> &c, int strip)
{
    enum { STRIDE = shape_of<number>::TILE_STRIDE };
    const int block = block_of<number>(c.tile, strip, strip);
    if (strip > 0) {
        const number *const before = c.room + block_of<number>(c.tile, strip, strip - 1);
        update_block<number, STRIP, STRIDE, STRIDE>(c.room + block, before, before);
    } else if (c.j > 0) {
        take_left(c, c.tile, shape_of<number>::STRIPS - 1, 0, (int)chain_of<number>::TRIANGLE);
    }
    const int failed =
        factor_block<number, STRIDE>(block, c.columns, c.reciprocals + strip * STRIP);
    if (failed && lane_of_warp() == 0) s.notes.failed_column = strip * STRIP + failed;
}

/* Phase A of a strip by another warp: products that are due, and what others wait for. */
template <bool is_upper, class number>
TD_DEVICE void work_beside(const state<number> &s, const chain<number> &c, int strip, bool loads)
{
    enum { STRIDE = shape_of<number>::TILE_STRIDE, STRIPS = shape_of<number>::STRIPS };
    const int warp = c.warp, number_of_worker = worker(warp), left = row_of_left<number>(warp);
    if (strip > 0) tell_strip<is_upper>(s, c, strip - 1);
    if (strip == 0 && c.j > 0) tell_left<is_upper>(s, c);
    if (strip == 0 && c.j > 0 && number_of_worker >= 0)
        take_left(c, c.tile, STRIPS - 1, 1 + number_of_worker, (int)WORKERS);
    if (warp < STRIPS && warp > strip)
        take_strips<number, STRIDE, STRIDE>(c.room + block_of<number>(c.tile, warp, strip),
                                            c.room + block_of<number>(c.tile, warp, 0),
                                            c.room + block_of<number>(c.tile, strip, 0), strip);
    if (warp < STRIPS && warp == strip + 1)
        take_strips<number, STRIDE, STRIDE>(c.room + block_of<number>(c.tile, warp, warp),
                                            c.room + block_of<number>(c.tile, warp, 0),
                                            c.room + block_of<number>(c.tile, warp, 0), strip);
    if (left >= 0 && (c.is_loaded || loads)) {
        if (loads) load_prepared(s, c, left);
        solve_left(c, left, c.solved, strip);
        take_in_left(c, left, strip);
    }
    if (number_of_worker >= 0) take_from_next(c, c.solved, number_of_worker, (int)WORKERS);
}

/* Both phases of a strip, by all threads. False: its diagonal has a minor that is not positive. */
template <bool is_upper, class number>
TD_DEVICE bool run_strip(const state<number> &s, chain<number> &c, int strip)
{
    const bool loads = strip > 0 && !c.is_loaded && c.has_left && s.notes.is_ready;
    if (c.warp == 0)
        factor_strip(s, c, strip);
    else
        work_beside<is_upper>(s, c, strip, loads);
    c.taken = c.solved;
    c.is_loaded = c.is_loaded || loads;
    __syncthreads();
    if (s.notes.failed_column) return false;
    if (2 * c.warp < (int)chain_of<number>::ROW_BLOCKS)
        solve_blocks(c, solved_block(c, 2 * c.warp, strip), solved_block(c, 2 * c.warp + 1, strip),
                     strip);
    if (strip == shape_of<number>::STRIPS - 1)
        tell_strip<is_upper>(s, c, strip);
    else if (c.has_left && !c.is_loaded && (int)threadIdx.x == THREADS - 1)
        s.notes.is_ready = read_done(s.prepared + c.j + 1);
    if (c.is_loaded) c.solved = strip + 1;
    __syncthreads();
    return true;
}

/* What is left to do for `left` and `next`, but for the products of the last strip: these come
 * with the next diagonal tile. By all threads. */
template <class number> TD_DEVICE void finish_left(const state<number> &s, chain<number> &c)
{
    enum { STRIPS = shape_of<number>::STRIPS };
    if (!c.is_loaded) {
        if (threadIdx.x == 0) wait_until(s.prepared + c.j + 1, 1);
        __syncthreads();
        const int left = row_of_left<number>(c.warp);
        if (left >= 0) {
            load_prepared(s, c, left);
            solve_left(c, left, 0, STRIPS);
        }
        c.is_loaded = true;
        c.solved = STRIPS;
        __syncthreads();
    }
    if (c.taken < STRIPS - 1) {
        take_from_next(c, STRIPS - 1, c.warp, WARPS);
        __syncthreads();
    }
}

/* Diagonal tile j, and the tile below. */
template <bool is_upper, class number>
TD_DEVICE bool run_link(const state<number> &s, chain<number> &c)
{
    c.has_left = c.j + 1 < tile_columns(s);
    c.is_loaded = false;
    c.solved = c.taken = 0;
    TD_ROLLED
    for (int strip = 0; strip < shape_of<number>::STRIPS; strip++)
        if (!run_strip<is_upper>(s, c, strip)) return false;
    if (c.has_left) finish_left(s, c);
    return true;
}

template <bool is_upper, class number> TD_DEVICE void load_first(const state<number> &s, int tile)
{
    enum { TILE = shape_of<number>::TILE };
    each_element<is_upper, TILE, TILE, THREADS>((int)threadIdx.x, TILE, [&](int row, int column) {
        const bool is_inside = row >= column && row < s.p.columns;
        s.room[tile + column * shape_of<number>::TILE_STRIDE + row] =
            is_inside ? given<is_upper>(s, row, column)
                      : td_number<number>((double)is_padding(s, 0, row, column));
    });
}

/* The chain ended at column j, with that minor of the tile: nobody waits for the rest. */
template <class number> TD_DEVICE void end_chain(const state<number> &s, int j, int failed)
{
    if (threadIdx.x > 0) return;
    if (failed) *s.p.info = (int)(s.p.before + j * shape_of<number>::TILE + failed);
    end_row(s.done + j);
    if (j + 1 == tile_columns(s)) return;
    wait_until(s.prepared + j + 1, 1); /* all tiles of the next row that others make are done */
    end_row(s.done + j + 1);
}

/* The address of a panel, which the compiler takes for unknown. If it saw that the chain changes no
 * panel, the kernel would keep all of it in registers while it takes tasks, and spill others. */
TD_DEVICE const td_cholesky_panel *unknown(const td_cholesky_panel *panel)
{
#if TD_HAS_CUDA_DEVICE
    asm volatile("" : "+l"(panel));
#endif
    return panel;
}

/* By its own block, from the first diagonal tile to the last: a call, so that it has registers of
 * its own. */
template <bool is_upper, class number>
TD_DEVICE_CALL void run_chain(const td_cholesky_panel &panel, notes_of_block &notes)
{
    TD_DYNAMIC_SHARED(number, room);
    const td_cholesky_panel p = *unknown(&panel); /* no store to memory changes it */
    const state<number> s = state_of(p, notes, room);
    enum {
        SIZE = shape_of<number>::TILE_SIZE,
        STRIPS = shape_of<number>::STRIPS,
        RECIPROCALS_AT = 3 * SIZE + shape_of<number>::COLUMNS_SIZE
    };
    chain<number> c = {
        s.room, 0, SIZE, 2 * SIZE, 3 * SIZE, RECIPROCALS_AT * shape_of<number>::PARTS,
        0,      0, 0,    0,        0,        0};
    c.warp = td_uniform((int)threadIdx.x / 32);
    if (threadIdx.x == 0) {
        s.notes.failed_column = 0;
        s.notes.is_ready = read_done(s.p.info);
    }
    load_first<is_upper>(s, c.tile);
    __syncthreads();
    if (s.notes.is_ready) return end_chain(s, 0, 0);
    TD_ROLLED
    for (; c.j < tile_columns(s); c.j++) {
        if (!run_link<is_upper>(s, c)) return end_chain(s, c.j, s.notes.failed_column);
        const int done = c.tile;
        c.tile = c.next;
        c.next = done;
    }
}

#endif
