/* cholesky_state.h - what the blocks of threads that factor a panel know of each other, and their
 * way to its elements in memory. */
#ifndef TD_CHOLESKY_STATE_H
#define TD_CHOLESKY_STATE_H

#include "cholesky.h"
#include "cholesky_blocks.h"
#include "cholesky_order.h"

enum { THREADS = 256, WARPS = THREADS / 32 };

/* What is counted of a row of tiles that are done: so much for each tile, a share for each strip of
 * a diagonal one. */
enum { PER_TILE = 16 };

/* Places for what is prepared for the chain: whoever fills one again waits for what the chain made
 * of it before. */
enum { PLACES = 4 };

/* In device memory, zero at first: the next task, and how many blocks of threads have begun. Then,
 * as panel_bytes() has room for, come what is done of each row of tiles, what is prepared for the
 * chain (1: it is) and the places for that. */
struct notes_of_panel {
    int tickets, arrived;
};

/* What the threads of a block tell each other. */
struct notes_of_block {
    int ticket, done[8], failed_column;
    bool has_chain;
    int is_ready; /* what the chain waits for, as seen in the strip before */
};

template <class number> struct state {
    const td_cholesky_panel &p;
    notes_of_block &notes;
    number *room;           /* shared memory */
    notes_of_panel *shared; /* by all blocks */
    int *done, *prepared;
    number *places;
    int known; /* so many tiles are done of all rows that the task multiplies */
};

TD_HOST_DEVICE int tiles_of(int64_t lines, int tile) { return (int)((lines + tile - 1) / tile); }

/* Ints of notes of so many rows of tiles, to a whole number of complex numbers: places come after
 * them. */
TD_HOST_DEVICE int64_t notes_of(int tiles)
{
    return ((int64_t)sizeof(notes_of_panel) / 4 + 2 * tiles + 3) / 4 * 4;
}

template <class number>
TD_DEVICE state<number> state_of(const td_cholesky_panel &p, notes_of_block &notes, number *room)
{
    const int tiles = tiles_of(p.rows, shape_of<number>::TILE);
    int *const counts = td_global(static_cast<int *>(p.notes)), *const done =
                                                                    counts +
                                                                    sizeof(notes_of_panel) / 4;
    return {p,
            notes,
            room,
            reinterpret_cast<notes_of_panel *>(counts),
            done,
            done + tiles,
            reinterpret_cast<number *>(counts + notes_of(tiles)),
            0};
}

template <class number> TD_DEVICE int tile_rows(const state<number> &s)
{
    return tiles_of(s.p.rows, shape_of<number>::TILE);
}
template <class number> TD_DEVICE int tile_columns(const state<number> &s)
{
    return tiles_of(s.p.columns, shape_of<number>::TILE);
}

/* ---- what other blocks have done ---- */

/* Adds to what is done, after all that this thread wrote, or knows of by a barrier. */
TD_DEVICE void add_done(int *to, int x)
{
#if TD_HAS_CUDA_DEVICE
    asm volatile("red.release.gpu.global.add.s32 [%0], %1;" ::"l"(to), "r"(x) : "memory");
#else
    __atomic_fetch_add(to, x, __ATOMIC_RELEASE);
#endif
}

/* ---- memory ---- */

template <bool is_upper, class number>
TD_DEVICE number *at(const state<number> &s, int64_t row, int64_t column)
{
    return td_global(reinterpret_cast<number *>(s.p.a)) +
           (is_upper ? row * s.p.ld + column : row + column * s.p.ld);
}

/* An element of the matrix: of its diagonal the real part. The upper triangle's are those of the
 * conjugate matrix's lower one, and so is the factor. */
template <bool is_upper, class number>
TD_DEVICE number given(const state<number> &s, int64_t row, int64_t column)
{
    const number x = *at<is_upper>(s, row, column);
    return row == column ? td_number<number>(td_real_part(x)) : x;
}

/* Calls work(row, column) for each element of so many rows and columns, a multiple of `together`,
 * neighbours in memory by neighbouring threads. */
template <bool is_upper, int rows, int together, int threads, class function>
TD_DEVICE void each_element(int thread, int columns, function work)
{
    TD_UNROLL_N(4)
    for (int e = thread; e < rows * columns; e += threads)
        is_upper ? work(e / together % rows, e % together + e / (together * rows) * together)
                 : work(e % rows, e / rows);
}

#endif
