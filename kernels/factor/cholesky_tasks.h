/* cholesky_tasks.h - the kernel that factors a panel of real or complex numbers, by tiles: see
 * cholesky.h. One block of threads makes the chain that all else hangs on (cholesky_chain.h):
 * diagonal tiles, and the tile below each. All others take tasks in an order in which each needs
 * the chain and earlier ones alone, so that whoever waits, waits for a block that runs. Of each row
 * of tiles, memory has how many are done.
 *
 *     next 1 | rows 0 | next 2 | rows 1 | next 3 | rows 2 ...
 *
 * `next j` is for the chain: tile j, j - 1 and diagonal tile j, less their products with the
 * columns of tiles before j - 1. `rows j` are the other tiles of column j, 128 rows of L in a
 * task: first all products with earlier columns are taken away, in registers and as soon as these
 * are there, then they are solved with the diagonal tile. */
#ifndef TD_CHOLESKY_TASKS_H
#define TD_CHOLESKY_TASKS_H

#include "../device/async_copy.h"
#include "cholesky_chain.h"

enum {
    ROWS = 128,            /* of a task */
    STAGES_BYTES = 104000, /* of shared memory for stages, at most: the chain of real numbers has
                            * more */
    WARP_TILE = 32         /* rows, and real columns, of a warp's sums */
};

template <class number> struct task_of : shape_of<number> {
    typedef shape_of<number> shape;
    enum {
        PARTS = shape::PARTS,
        TILE = shape::TILE,
        TILES = ROWS / TILE, /* of rows, in a task */
        LINES = ROWS + TILE, /* rows of L that are multiplied: those and the column's own */
        GROUPS = LINES / TILE,
        K_STEP = 16 / PARTS,          /* columns that are copied together: a stage */
        ROW_STRIDE = ROWS + 4,        /* of a task's rows in shared memory */
        LOWER_AT = TILE * ROW_STRIDE, /* the diagonal tile, and its diagonal's reciprocals */
        RECIPROCALS_AT = LOWER_AT + shape::TILE_SIZE,
        SHARED_SIZE = RECIPROCALS_AT + TILE
    };
};

/* Where the element of a line and a column is in a stage: neighbours as in memory, in different
 * banks for the tensor cores' lanes. */
template <bool is_upper, class number> struct stage_of {
    typedef task_of<number> task;
    enum {
        LINE_STEP = is_upper ? task::K_STEP + 4 / task::PARTS : 1,
        K_LINE = is_upper ? 1 : task::LINES + 4,
        SIZE = is_upper ? task::LINES * LINE_STEP : task::K_STEP * K_LINE,
        STAGES = STAGES_BYTES / (SIZE * (int)sizeof(number)),
        ALL = STAGES * SIZE
    };
};

template <class number> constexpr int shared_size()
{
    const int sizes[] = {task_of<number>::SHARED_SIZE, chain_of<number>::SHARED_SIZE,
                         stage_of<true, number>::ALL, stage_of<false, number>::ALL};
    int most = 0;
    for (int size : sizes) most = size > most ? size : most;
    return most * (int)sizeof(number);
}

/* ---- order of tasks ---- */

/* The first row of tiles of column j that the chain does not make. */
template <class number> TD_DEVICE int first_row(const state<number> &s, int j)
{
    return min(j + (j + 1 < tile_columns(s) ? 2 : 1), tile_rows(s));
}

/* Tasks `rows j`. */
template <class number> TD_DEVICE int row_tasks(const state<number> &s, int j)
{
    enum { TILES = task_of<number>::TILES };
    return (tile_rows(s) - first_row(s, j) + TILES - 1) / TILES;
}

/* ---- what other blocks have done ---- */

/* True if tile k is done of all rows of tiles that a task multiplies, by all threads: of so many
 * from `first` on, and of `last`; waits for it if it is to. */
template <class number>
TD_DEVICE bool is_done(state<number> &s, int k, int first, int last, bool waits)
{
    enum { GROUPS = task_of<number>::GROUPS };
    const int t = (int)threadIdx.x, most = tile_rows(s) - 1;
    if (s.known > k) return true;
    if (t < GROUPS)
        s.notes.done[t] = wait_until(s.done + min(t < GROUPS - 1 ? first + t : last, most),
                                     waits ? (k + 1) * PER_TILE : 0);
    __syncthreads();
    int least = s.notes.done[0];
    TD_UNROLL
    for (int g = 1; g < GROUPS; g++) least = min(least, s.notes.done[g]);
    s.known = least / PER_TILE;
    if (!waits) __syncthreads(); /* before anybody asks again */
    return s.known > k;
}

/* Waits for so many strips of the diagonal tile of column j, by all threads. Returns how many are
 * there; 0: it, or one before it, has a minor that is not positive. */
template <class number> TD_DEVICE int wait_for_diagonal(const state<number> &s, int j, int strips)
{
    enum { SHARE = PER_TILE / shape_of<number>::STRIPS };
    if (threadIdx.x == 0) s.notes.done[0] = wait_until(s.done + j, j * PER_TILE + strips * SHARE);
    __syncthreads();
    const int done = s.notes.done[0];
    return done >= IS_OVER ? 0 : (done - j * PER_TILE) / SHARE;
}

/* ---- tasks ---- */

typedef sums_of_warp<WARP_TILE, WARP_TILE> sums;

/* How a thread copies its part of K_STEP columns: of groups of TILE rows, of which the last one is
 * elsewhere; `count` neighbours in memory together. */
template <bool is_upper, int count, class number> struct copier {
    typedef task_of<number> task;
    typedef stage_of<is_upper, number> place;
    enum {
        TILE = task::TILE,
        K_STEP = task::K_STEP,
        ALONG = (is_upper ? (int)K_STEP : (int)TILE) / count, /* threads beside each other */
        AT_ONCE = THREADS / ALONG,               /* columns, or lines, of all threads */
        COPIES = TILE * K_STEP / count / THREADS /* of a thread, of a group */
    };
    const number *from, *from_last; /* the thread's first element of both */
    int64_t line_step, k_step;      /* in memory */
    int to, rows, last_rows;        /* those of the matrix from the thread's own on */

    TD_INSIDE void begin(const state<number> &s, int first, int last)
    {
        const int t = (int)threadIdx.x, line = is_upper ? t / ALONG : t % ALONG * count,
                  l = is_upper ? t % ALONG * count : t / ALONG;
        line_step = is_upper ? s.p.ld : 1;
        k_step = is_upper ? 1 : s.p.ld;
        from = at<is_upper>(s, first + line, l);
        from_last = at<is_upper>(s, last + line, l);
        to = line * place::LINE_STEP + l * place::K_LINE;
        rows = (int)s.p.rows - first - line;
        last_rows = (int)s.p.rows - last - line;
    }

    TD_INSIDE void advance() { from += K_STEP * k_step, from_last += K_STEP * k_step; }

    /* Of group g. */
    TD_INSIDE void copy(number *stage, int g) const
    {
        const bool is_last = g + 1 == (int)task::GROUPS;
        TD_UNROLL
        for (int i = 0; i < COPIES; i++) {
            const int down = is_upper ? i * AT_ONCE : 0, l = is_upper ? 0 : i * AT_ONCE,
                      line = (is_last ? 0 : g * TILE) + down;
            td_async_copy_inside<count *(int)sizeof(number)>(
                stage + to + (g * TILE + down) * place::LINE_STEP + l * place::K_LINE,
                (is_last ? from_last : from) + line * line_step + l * k_step,
                line < (is_last ? last_rows : rows));
        }
    }
};

/* The matrix's elements from there on; 0 in the other triangle and outside. */
template <bool is_upper, class number>
TD_DEVICE void load_sums(const state<number> &s, sums &c, int row0, int column0)
{
    set_sums<number, WARP_TILE, WARP_TILE>(c, [&](int i, int j) {
        const int row = row0 + i, column = column0 + j;
        return row < s.p.rows && column < s.p.columns && row >= column
                   ? given<is_upper>(s, row, column)
                   : td_number<number>(0.0);
    });
}

/* Takes the products of so many tiles' columns away. Lines are rows of tiles from `first` on, and
 * of `last` if all groups are asked for; the warp's rows and columns begin at lines x and y. */
template <bool is_upper, int count, class number>
TD_DEVICE void take_columns(state<number> &s, sums &c, int tiles, int first, int last, int groups,
                            int x, int y)
{
    typedef task_of<number> task;
    typedef stage_of<is_upper, number> place;
    enum {
        TILE = task::TILE,
        K_STEP = task::K_STEP,
        GROUPS = task::GROUPS,
        SHARES = K_STEP * task::PARTS / FRAGMENT_TERMS
    };
    copier<is_upper, count, number> from;
    from.begin(s, first * TILE, last * TILE);
    int k = 0;
    s.known = 0;
    take_stages<place::STAGES, SHARES, GROUPS, number, WARP_TILE, WARP_TILE>(
        c, tiles * (TILE / K_STEP),
        [&](bool waits) {
            if (k % TILE > 0 || is_done(s, k / TILE, first, last, waits)) {
                k += K_STEP;
                return true;
            }
            return false;
        },
        [&](int stage, int g) {
            if (g < groups) from.copy(s.room + stage * place::SIZE, g);
            if (g + 1 == GROUPS) from.advance();
        },
        [&](fragments<number, WARP_TILE, WARP_TILE> &f, int stage, int share) {
            const number *const in =
                s.room + stage * place::SIZE + share * FRAGMENT_TERMS / task::PARTS * place::K_LINE;
            load_fragments<place::LINE_STEP, place::K_LINE>(f, in + x * place::LINE_STEP,
                                                            in + y * place::LINE_STEP);
        });
    __syncthreads();
}

/* Copies strips `from` to `to` - 1 of the diagonal tile of column j, which are done, and makes the
 * reciprocals of their diagonal. */
template <bool is_upper, class number>
TD_DEVICE void load_lower(const state<number> &s, double *reciprocals, int j, int from, int to)
{
    typedef task_of<number> task;
    number *const lower = s.room + task::LOWER_AT;
    const int first = j * task::TILE, width = min((int)task::TILE, (int)s.p.columns - first);
    each_element<is_upper, task::TILE, STRIP, THREADS>(
        (int)threadIdx.x, (to - from) * STRIP, [&](int row, int c) {
            const int column = from * STRIP + c;
            const bool is_inside = row < width && column <= row;
            const number x = is_inside ? *at<is_upper>(s, first + row, first + column)
                                       : td_number<number>((double)(row == column));
            lower[column * task::TILE_STRIDE + row] = x;
        });
    const int row = from * STRIP + (int)threadIdx.x;
    if (row < to * STRIP)
        reciprocals[row] =
            row < width ? 1.0 / td_real_part(*at<is_upper>(s, first + row, first + row)) : 1.0;
    __syncthreads();
}

/* Solves for a task's rows, this warp for its own, as strips of the diagonal tile of column j come.
 * False: there is none. */
template <bool is_upper, class number> TD_DEVICE bool solve_task(const state<number> &s, int j)
{
    typedef task_of<number> task;
    enum { ROW_STRIDE = task::ROW_STRIDE, LOWER_STRIDE = task::TILE_STRIDE };
    enum { RECIPROCALS_AT = task::RECIPROCALS_AT * task::PARTS };
    double *const reciprocals = reinterpret_cast<double *>(s.room) + (int)RECIPROCALS_AT;
    const int x = (int)threadIdx.x / 32 * STRIP;
    int i = 0;
    while (i < task::STRIPS) {
        const int strips = wait_for_diagonal(s, j, i + 1);
        if (strips == 0) return false;
        load_lower<is_upper>(s, reciprocals, j, i, strips);
        TD_ROLLED
        for (; i < strips; i++) {
            const int strip = i * STRIP * ROW_STRIDE, lower = task::LOWER_AT + i * STRIP;
            take_strips<number, ROW_STRIDE, LOWER_STRIDE>(s.room + strip + x, s.room + x,
                                                          s.room + lower, i);
            __syncthreads();
            if (x < ROWS / 2)
                substitute<number, ROW_STRIDE, LOWER_STRIDE>(strip + 2 * x, strip + 2 * x + STRIP,
                                                             lower + i * STRIP * LOWER_STRIDE,
                                                             RECIPROCALS_AT + i * STRIP);
            __syncthreads();
        }
    }
    __syncthreads();
    return true;
}

/* Tiles of column j from row `first` of tiles on. */
template <bool is_upper, int count, class number>
TD_DEVICE void run_rows(state<number> &s, int j, int first)
{
    typedef task_of<number> task;
    enum { TILE = task::TILE, ROW_STRIDE = task::ROW_STRIDE };
    const int warp = (int)threadIdx.x / 32, x = warp % 4 * WARP_TILE,
              y = warp / 4 * (WARP_TILE / (int)task::PARTS);
    {
        sums c;
        load_sums<is_upper>(s, c, first * TILE + x, j * TILE + y);
        take_columns<is_upper, count>(s, c, j, first, j, task::GROUPS, x, ROWS + y);
        number *const to = s.room + y * ROW_STRIDE + x;
        use_sums<number, WARP_TILE, WARP_TILE>(
            c, [=](number sum, int row, int column) { to[column * ROW_STRIDE + row] = sum; });
    }
    const bool is_made = solve_task<is_upper>(s, j);
    if (is_made)
        each_element<is_upper, ROWS, TILE, THREADS>(
            (int)threadIdx.x, TILE, [&](int row, int column) {
                if (first * TILE + row < s.p.rows && j * TILE + column < s.p.columns)
                    *at<is_upper>(s, first * TILE + row, j * TILE + column) =
                        s.room[column * ROW_STRIDE + row];
            });
    __syncthreads();
    const int row = first + (int)threadIdx.x;
    if (threadIdx.x < task::TILES && row < tile_rows(s))
        is_made ? add_done(s.done + row, PER_TILE) : end_row(s.done + row);
}

/* Prepares tile j, j - 1 and diagonal tile j for the chain; a warp has a part of the one or of the
 * other, or of none. */
template <bool is_upper, int count, class number> TD_DEVICE void run_next(state<number> &s, int j)
{
    typedef task_of<number> task;
    enum {
        TILE = task::TILE,
        ALONG = TILE / WARP_TILE, /* warps along a tile's rows, and of the whole tile */
        OF_TILE = ALONG * task::PARTS * ALONG
    };
    const int warp = (int)threadIdx.x / 32, part = warp / OF_TILE,
              x = warp % OF_TILE % ALONG * WARP_TILE,
              y = warp % OF_TILE / ALONG * (WARP_TILE / (int)task::PARTS) + part * TILE;
    sums c;
    load_sums<is_upper>(s, c, j * TILE + x, part < 2 ? (j - 1) * TILE + y : (int)s.p.columns);
    take_columns<is_upper, count>(s, c, j - 1, j - 1, j, 2, TILE + x, part < 2 ? y : 0);
    number *const to = s.places + (j % PLACES * 2 * TILE + y) * TILE + x;
    if (part < 2)
        use_sums<number, WARP_TILE, WARP_TILE>(
            c, [=](number sum, int row, int column) { to[column * TILE + row] = sum; });
    __syncthreads();
    if (threadIdx.x == 0) add_done(s.prepared + j, 1);
}

/* Takes the next task; all threads of the block do. */
template <class number> TD_DEVICE int take_ticket(const state<number> &s)
{
    if (threadIdx.x == 0) s.notes.ticket = atomicAdd(&s.shared->tickets, 1);
    __syncthreads();
    const int ticket = s.notes.ticket;
    __syncthreads();
    return ticket;
}

/* All tasks but the chain. */
template <bool is_upper, int count, class number> TD_DEVICE void run_tasks(state<number> &s)
{
    const int columns = tile_columns(s);
    int ticket = take_ticket(s), before = 0; /* tasks before those of column j */
    TD_ROLLED
    for (int j = 0; j < columns; j++) {
        const int rows = row_tasks(s, j), nexts = j + 1 < columns;
        TD_ROLLED
        for (; ticket < before + nexts + rows; ticket = take_ticket(s))
            if (ticket < before + nexts)
                run_next<is_upper, count>(s, j + 1);
            else
                run_rows<is_upper, count>(s, j,
                                          first_row(s, j) + (int)task_of<number>::TILES *
                                                                (ticket - before - nexts));
        before += nexts + rows;
    }
}

/* ---- the kernel ---- */

/* One block of threads on a multiprocessor: so a thread keeps all that it needs in registers, and
 * nobody's products delay those that the chain waits for. The first block has the chain. */
template <bool is_upper, int count, class number>
__global__ void __launch_bounds__(THREADS, 1) cholesky_kernel(TD_PARAMETER td_cholesky_panel p)
{
    TD_SHARED(notes_of_block, notes, );
    TD_DYNAMIC_SHARED(number, room);
    state<number> s = state_of(p, notes, room);
    if (threadIdx.x == 0) notes.has_chain = atomicAdd(&s.shared->arrived, 1) == 0;
    __syncthreads();
    if (notes.has_chain)
        run_chain<is_upper, number>(p, notes);
    else
        run_tasks<is_upper, count>(s);
}

/* ---- for the host ---- */

typedef void cholesky_of_panel(td_cholesky_panel);

template <class number> size_t notes_bytes(int64_t rows)
{
    return (size_t)notes_of(tiles_of(rows, shape_of<number>::TILE)) * sizeof(int);
}

/* Bytes of notes of a panel of so many rows. */
template <class number> size_t panel_bytes(int64_t rows)
{
    enum { TILE = shape_of<number>::TILE };
    return notes_bytes<number>(rows) + sizeof(number) * PLACES * 2 * TILE * TILE;
}

/* Blocks for all tasks and the chain, and more. */
template <class number> int64_t blocks_of(const td_cholesky_panel *p)
{
    enum { TILE = shape_of<number>::TILE, TILES = ROWS / TILE };
    const int64_t columns = tiles_of(p->columns, TILE), rows = tiles_of(p->rows, TILE);
    return columns * (rows + 2 * TILES) / TILES + 3;
}

template <class number>
cudaError_t run_panel(cholesky_of_panel *kernel, const td_cholesky_panel *panel,
                      cudaStream_t stream)
{
    int multiprocessors = 0;
    cudaError_t error = td_multiprocessors(&multiprocessors);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(panel->notes, 0, notes_bytes<number>(panel->rows), stream);
    if (error != cudaSuccess) return error;
    const int64_t places = max(multiprocessors, 2), blocks = min(blocks_of<number>(panel), places);
    return TD_LAUNCH(kernel, dim3((unsigned)blocks), dim3(THREADS), shared_size<number>(), stream,
                     *panel);
}

#endif
