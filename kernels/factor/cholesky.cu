/* cholesky.cu - the Cholesky factor of a panel, by tiles of 64 columns, in one kernel: see
 * cholesky.h. Blocks of threads take tasks in an order in which each needs the results of earlier
 * ones alone, so that whoever waits, waits for a block that runs. Of each row of tiles, memory has
 * the number of its tiles that are done.
 *
 *     D 0 | D 1 | rows 0 | D 2 | rows 1 | D 3 | rows 2 ...
 *
 * D j is the diagonal tile of column j and the tile to its left, which it waits for the longest: it
 * is the chain that all else hangs on. `rows j` are the other tiles of column j, two in a task. A
 * task has its tiles as sums in registers: first all products with earlier columns are taken away,
 * as soon as these are there, then they are solved with the diagonal tile, or factored. */
#include "cholesky.h"

#include "../device/async_copy.h"
#include "cholesky_order.h"
#include "cholesky_tile.h"

namespace
{

static_assert((int)TILE == (int)TD_CHOLESKY_TILE, "tiles are those of the header");

enum {
    THREADS = 256,
    ROWS = 2 * TILE,     /* of a task */
    LINES = ROWS + TILE, /* rows of L whose columns are multiplied: those and the column's own */
    K_STEP = 16,         /* columns that are copied together */
    STAGES = 3,
    WARP_TILE = 32, /* rows, and columns, of a warp's sums */
    BLOCKS = 2      /* of threads, on a multiprocessor */
};

/* Where L's element of a line and a column is in a stage: neighbours as in memory, in different
 * banks for the tensor cores' lanes. */
template <bool is_upper> struct stage_of {
    enum {
        LINE_STEP = is_upper ? K_STEP + 4 : 1,
        K_LINE = is_upper ? 1 : LINES + 4,
        SIZE = is_upper ? LINES * (K_STEP + 4) : K_STEP * (LINES + 4)
    };
};

/* The stages of copies are where the tiles of a task will be, and the diagonal tile that they are
 * solved with. */
static_assert(STAGES * stage_of<true>::SIZE <= SHARED_SIZE &&
                  STAGES * stage_of<false>::SIZE <= SHARED_SIZE,
              "stages have too little room");

/* What is counted of a row of tiles that are done: so much for each tile, and a share for each warp
 * that has its part of a strip of a diagonal tile in memory. */
enum { PER_TILE = 16, PER_STRIP = PER_TILE / STRIPS };

/* What the threads of a block tell each other. */
struct notes_of_block {
    int ticket, done[3], failed_column;
};

struct state {
    const td_cholesky_panel &p;
    notes_of_block &notes;
    double *room;
    int *tickets, *done; /* in device memory: the next task; what is done of each row of tiles */
    int known;           /* so many tiles are done of all rows that the task multiplies */
};

/* ---- order of tasks ---- */

TD_HOST_DEVICE int tiles_of(int64_t lines) { return (int)((lines + TILE - 1) / TILE); }

/* The first row of tiles that is in no task D of column j. */
TD_DEVICE int first_row(const state &s, int j)
{
    const bool is_last = j + 1 >= tiles_of(s.p.columns);
    return min(j + (is_last ? 1 : 2), tiles_of(s.p.rows));
}

/* Tasks `rows j`. */
TD_DEVICE int row_tasks(const state &s, int j)
{
    return (tiles_of(s.p.rows) - first_row(s, j) + 1) / 2;
}

/* ---- what other blocks have done ---- */

/* Adds to what is done, after all that this thread has seen written. */
TD_DEVICE void add_done(int *to, int x)
{
#if TD_HAS_CUDA_DEVICE
    __threadfence();
    asm volatile("red.release.gpu.global.add.s32 [%0], %1;" ::"l"(to), "r"(x) : "memory");
#else
    __atomic_fetch_add(to, x, __ATOMIC_RELEASE);
#endif
}

/* Waits until tile k of three rows of tiles is done, by all threads: of row `first`, of the next
 * one, and of `last`. */
TD_DEVICE void wait_for(state &s, int k, int first, int last)
{
    const int t = (int)threadIdx.x, most = tiles_of(s.p.rows) - 1;
    if (s.known > k) return;
    if (t < 3)
        s.notes.done[t] =
            wait_until(s.done + min(t < 2 ? first + t : last, most), (k + 1) * PER_TILE);
    __syncthreads();
    s.known = min(min(s.notes.done[0], s.notes.done[1]), s.notes.done[2]) / PER_TILE;
}

/* Waits for so many strips of the diagonal tile of column j, by all threads. False: it, or one
 * before it, has a minor that is not positive. */
TD_DEVICE bool wait_for_diagonal(state &s, int j, int strips)
{
    if (threadIdx.x == 0)
        s.notes.done[0] = wait_until(s.done + j, j * PER_TILE + strips * PER_STRIP);
    __syncthreads();
    return s.notes.done[0] < IS_OVER;
}

/* ---- memory ---- */

template <bool is_upper> TD_DEVICE double *at(const state &s, int64_t row, int64_t column)
{
    return td_global(s.p.a) + (is_upper ? row * s.p.ld + column : row + column * s.p.ld);
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

/* Starts copies of K_STEP columns from column k on: of TILE rows from `first` on, of as many after
 * these and, if there are three groups, of those from `last` on; `count` neighbours in memory
 * together. */
template <bool is_upper, int count>
TD_DEVICE void fetch(const state &s, double *stage, int k, int first, int last, int groups)
{
    enum {
        ALONG = (is_upper ? (int)K_STEP : (int)TILE) / count, /* threads beside each other */
        STEP = THREADS / ALONG /* from a thread's columns, or lines, to its next */
    };
    typedef stage_of<is_upper> place;
    const int t = (int)threadIdx.x, line = is_upper ? t / ALONG : t % ALONG * count,
              l = is_upper ? t % ALONG * count : t / ALONG;
    TD_UNROLL
    for (int g = 0; g < LINES / TILE; g++) {
        const int row = (g < 2 ? first + g * TILE : last) + line;
        if (g >= groups) continue;
        TD_UNROLL
        for (int i = 0; i < TILE * K_STEP / count / THREADS; i++) {
            const int down = is_upper ? i * STEP : 0, right = is_upper ? 0 : i * STEP;
            td_async_copy_inside<count *(int)sizeof(double)>(
                stage + (g * TILE + line + down) * place::LINE_STEP + (l + right) * place::K_LINE,
                at<is_upper>(s, row + down, k + l + right), row + down < s.p.rows);
        }
    }
}

/* ---- tasks ---- */

typedef sums_of_warp<WARP_TILE, WARP_TILE> sums;

/* The matrix's elements from there on; 0 in the other triangle and outside. */
template <bool is_upper> TD_DEVICE void load_sums(const state &s, sums &c, int row0, int column0)
{
    each_sum<WARP_TILE, WARP_TILE>(c, [&](double &sum, int i, int j) {
        const int row = row0 + i, column = column0 + j;
        sum = row < s.p.rows && column < s.p.columns && row >= column
                  ? *at<is_upper>(s, row, column)
                  : 0.0;
    });
}

TD_DEVICE void put_sums(sums &c, double *x)
{
    each_sum<WARP_TILE, WARP_TILE>(
        c, [=](double &sum, int row, int column) { x[column * ROW_STRIDE + row] = sum; });
}

/* Takes the products of so many tiles' columns away. Lines are rows of tiles `first`, the next, and
 * `last`, or, if groups is 2, the first two alone; the warp's rows and columns begin at lines x and
 * y. */
template <bool is_upper, int count>
TD_DEVICE void take_columns(state &s, sums &c, int tiles, int first, int last, int groups, int x,
                            int y)
{
    typedef stage_of<is_upper> place;
    int k = 0;
    s.known = 0;
    td_async_pipeline<STAGES>(
        tiles * (TILE / K_STEP),
        [&](int stage) {
            if (k % TILE == 0) wait_for(s, k / TILE, first, last);
            double *const to = s.room + stage * place::SIZE;
            fetch<is_upper, count>(s, to, k, first * TILE, last * TILE, groups);
            k += K_STEP;
        },
        [&](int stage) {
            const double *const from = s.room + stage * place::SIZE;
            take_products<K_STEP, place::LINE_STEP, place::K_LINE, place::LINE_STEP, place::K_LINE,
                          WARP_TILE, WARP_TILE>(c, from + x * place::LINE_STEP,
                                                from + y * place::LINE_STEP);
        });
    __syncthreads();
}

/* Copies strips `from` to `to` - 1 of the diagonal tile of column j, which are done, and makes the
 * reciprocals of their diagonal. */
template <bool is_upper> TD_DEVICE void load_lower(const state &s, int j, int from, int to)
{
    double *const lower = s.room + LOWER_AT;
    const int first = j * TILE, width = min((int)TILE, (int)s.p.columns - first);
    each_element<is_upper, TILE, STRIP, THREADS>(
        (int)threadIdx.x, (to - from) * STRIP, [&](int row, int c) {
            const int column = from * STRIP + c;
            const bool is_inside = row < width && column <= row;
            const double x =
                is_inside ? *at<is_upper>(s, first + row, first + column) : (double)(row == column);
            lower[column * LOWER_STRIDE + row] = x;
            if (row == column) s.room[RECIPROCALS_AT + row] = 1.0 / x;
        });
    __syncthreads();
}

/* Solves for strip i of the STRIP rows that begin at `at`. */
TD_DEVICE void solve_strip(const state &s, int at, int i)
{
    const int lower = LOWER_AT + i * STRIP;
    take_strips<LOWER_STRIDE>(s.room + at, s.room + lower, i);
    substitute<LOWER_STRIDE>(at + i * STRIP * ROW_STRIDE, lower + i * STRIP * LOWER_STRIDE,
                             RECIPROCALS_AT + i * STRIP);
}

/* Two tiles of column j from row `first` of tiles on. */
template <bool is_upper, int count> TD_DEVICE void run_rows(state &s, int j, int first)
{
    const int warp = (int)threadIdx.x / 32, x = warp % 4 * WARP_TILE, y = warp / 4 * WARP_TILE;
    {
        sums c;
        load_sums<is_upper>(s, c, first * TILE + x, j * TILE + y);
        take_columns<is_upper, count>(s, c, j, first, j, 3, x, ROWS + y);
        put_sums(c, s.room + y * ROW_STRIDE + x);
    }
    const bool goes_on = wait_for_diagonal(s, j, STRIPS);
    if (goes_on) {
        load_lower<is_upper>(s, j, 0, STRIPS);
        TD_ROLLED
        for (int i = 0; i < STRIPS; i++) solve_strip(s, warp * STRIP, i);
        __syncthreads();
        each_element<is_upper, ROWS, TILE, THREADS>(
            (int)threadIdx.x, TILE, [&](int row, int column) {
                if (first * TILE + row < s.p.rows && j * TILE + column < s.p.columns)
                    *at<is_upper>(s, first * TILE + row, j * TILE + column) =
                        s.room[column * ROW_STRIDE + row];
            });
    }
    __syncthreads();
    const int row = first + (int)threadIdx.x;
    if (threadIdx.x < 2 && row < tiles_of(s.p.rows))
        goes_on ? add_done(s.done + row, PER_TILE) : end_row(s.done + row);
}

/* Takes the products of strip i of the tile to the left away from the diagonal tile beside it, by
 * `warps` warps of which this one has that number. */
TD_DEVICE void take_left(const state &s, int i, int number, int warps)
{
    enum { BLOCKS_IN_TRIANGLE = STRIPS * (STRIPS + 1) / 2 };
    const double *const strip = s.room + i * STRIP * ROW_STRIDE;
    TD_ROLLED
    for (int b = number; b < BLOCKS_IN_TRIANGLE; b += warps) {
        const int row = b < 1 ? 0 : b < 3 ? 1 : b < 6 ? 2 : 3, column = b - row * (row + 1) / 2;
        update_block<STRIP, ROW_STRIDE>(s.room + TILE + column * STRIP * ROW_STRIDE + row * STRIP,
                                        strip + row * STRIP, strip + column * STRIP);
    }
}

/* Solves for the tile left of the diagonal one of column j, as strips of the diagonal tile before
 * come, and takes its products away from the diagonal one. False if there is none, as a minor is
 * not positive. */
template <bool is_upper> TD_DEVICE bool solve_left(state &s, int j)
{
    const int warp = (int)threadIdx.x / 32;
    TD_ROLLED
    for (int i = 0; i < STRIPS; i++) {
        if (!wait_for_diagonal(s, j - 1, i + 1)) return false;
        load_lower<is_upper>(s, j - 1, i, i + 1);
        if (warp < STRIPS)
            solve_strip(s, warp * STRIP, i);
        else if (i > 0)
            take_left(s, i - 1, warp - STRIPS, STRIPS);
        __syncthreads();
    }
    take_left(s, STRIPS - 1, warp, THREADS / 32);
    return true;
}

/* This warp's part of what the second half of the warps have stored is there. */
TD_DEVICE void tell_part(const state &s, int j, int share)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0) add_done(s.done + j, share);
}

/* Stores the tile left of the diagonal one of column j, by the second half of the warps. */
template <bool is_upper> TD_DEVICE void store_left(const state &s, int j)
{
    each_element<is_upper, TILE, TILE, THREADS / 2>(
        (int)threadIdx.x - THREADS / 2, TILE, [&](int row, int column) {
            if (j * TILE + row < s.p.rows)
                *at<is_upper>(s, j * TILE + row, (j - 1) * TILE + column) =
                    s.room[column * ROW_STRIDE + row];
        });
    tell_part(s, j, PER_TILE / STRIPS);
}

/* Factors the diagonal tile of column j. */
template <bool is_upper> TD_DEVICE bool run_diagonal_tile(state &s, int j)
{
    const int width = min((int)TILE, (int)s.p.columns - j * TILE);
    const int failed = factor_tile(TILE, s.notes.failed_column, width, [&](int strip) {
        each_element<is_upper, TILE, STRIP, THREADS / 2>(
            (int)threadIdx.x - THREADS / 2, STRIP, [&](int row, int c) {
                const int column = strip * STRIP + c;
                if (row < width && column <= row)
                    *at<is_upper>(s, j * TILE + row, j * TILE + column) =
                        s.room[TILE + column * ROW_STRIDE + row];
            });
        tell_part(s, j, PER_STRIP / STRIPS);
    });
    if (failed && threadIdx.x == 0) *s.p.info = (int)(s.p.before + j * TILE + failed);
    return failed == 0;
}

/* Task D of column j. */
template <bool is_upper, int count> TD_DEVICE void run_diagonal(state &s, int j)
{
    const int warp = (int)threadIdx.x / 32, x = warp % 2 * WARP_TILE, y = warp / 2 % 2 * WARP_TILE;
    const bool is_left = warp < STRIPS;
    {
        const int column = max(is_left ? j - 1 : j, 0);
        sums c;
        load_sums<is_upper>(s, c, j * TILE + x, column * TILE + y);
        if (j > 0)
            take_columns<is_upper, count>(s, c, j - 1, j - 1, j, 2, TILE + x,
                                          (is_left ? 0 : TILE) + y);
        put_sums(c, s.room + (is_left ? 0 : TILE) + y * ROW_STRIDE + x);
    }
    bool goes_on = j > 0 ? solve_left<is_upper>(s, j) : read_done(s.p.info) == 0;
    __syncthreads();
    if (goes_on && j > 0 && !is_left) store_left<is_upper>(s, j);
    if (goes_on) goes_on = run_diagonal_tile<is_upper>(s, j);
    if (!goes_on && threadIdx.x == 0) end_row(s.done + j);
}

/* Takes the next task; all threads of the block do. */
TD_DEVICE int take_ticket(const state &s)
{
    if (threadIdx.x == 0) s.notes.ticket = atomicAdd(s.tickets, 1);
    __syncthreads();
    const int ticket = s.notes.ticket;
    __syncthreads();
    return ticket;
}

template <bool is_upper, int count>
__global__ void __launch_bounds__(THREADS, BLOCKS) cholesky_kernel(TD_PARAMETER td_cholesky_panel p)
{
    TD_SHARED(notes_of_block, notes, );
    TD_DYNAMIC_SHARED(double, room);
    int *const counts = td_global(static_cast<int *>(p.notes));
    state s = {p, notes, room, counts, counts + 1, 0};
    const int columns = tiles_of(p.columns);
    int ticket = take_ticket(s), before = min(2, columns); /* tasks before those of column j */
    TD_ROLLED
    for (; ticket < before; ticket = take_ticket(s)) run_diagonal<is_upper, count>(s, ticket);
    TD_ROLLED
    for (int j = 0; j < columns; j++) {
        const int rows = row_tasks(s, j), all = before + rows + (j + 2 < columns);
        TD_ROLLED
        for (; ticket < all; ticket = take_ticket(s))
            if (ticket - before < rows)
                run_rows<is_upper, count>(s, j, first_row(s, j) + 2 * (ticket - before));
            else
                run_diagonal<is_upper, count>(s, j + 2);
        before = all;
    }
}

/* True if neighbours can be copied in pairs: both ends of each pair are there, and aligned. */
bool has_pairs(const td_cholesky_panel *p)
{
    return reinterpret_cast<uintptr_t>(p->a) % (2 * sizeof(double)) == 0 && p->ld % 2 == 0 &&
           (p->is_upper || p->rows % 2 == 0);
}

/* By is_upper, then by has_pairs(). */
void (*const kernels[2][2])(td_cholesky_panel) = {
    {cholesky_kernel<false, 1>, cholesky_kernel<false, 2>},
    {cholesky_kernel<true, 1>, cholesky_kernel<true, 2>}};

int64_t tasks_of(const td_cholesky_panel *p)
{
    const int64_t columns = tiles_of(p->columns), rows = tiles_of(p->rows);
    return columns * (rows + 3) / 2 + columns;
}

} // namespace

bool td_cholesky_fits(void)
{
    int bytes = 0;
    return td_block_shared_bytes(&bytes) == cudaSuccess &&
           bytes >= (int)(SHARED_SIZE * sizeof(double) + sizeof(notes_of_block));
}

size_t td_cholesky_bytes(int64_t rows) { return (size_t)(1 + tiles_of(rows)) * sizeof(int); }

cudaError_t td_cholesky_run(const td_cholesky_panel *panel, cudaStream_t stream)
{
    int multiprocessors = 0;
    cudaError_t error = td_multiprocessors(&multiprocessors);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(panel->notes, 0, td_cholesky_bytes(panel->rows), stream);
    if (error != cudaSuccess) return error;
    const int64_t blocks = min(tasks_of(panel), (int64_t)BLOCKS * multiprocessors);
    return TD_LAUNCH(kernels[panel->is_upper][has_pairs(panel)], dim3((unsigned)blocks),
                     dim3(THREADS), SHARED_SIZE * sizeof(double), stream, *panel);
}

cudaError_t td_cholesky_prepare(void)
{
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < 4; i++)
        error = td_allow_shared(error, kernels[i / 2][i % 2], (int)(SHARED_SIZE * sizeof(double)));
    return error;
}
