/* late_rows.cu - exchanges of rows in columns that do not need them at once: see late_rows.h. */
#include "late_rows.h"

#include "../batched_lu/number.h"
#include "../view/access.h"
#include "row_steps.h"

enum {
    THREADS = 256,
    PASS_THREADS = TD_HAS_CUDA_DEVICE ? 1024 : 64, /* on the host each takes its own time */
    PASS_BLOCKS = 264,                             /* two on each multiprocessor of an H100 */
    MOST_BLOCKS = 1024
};

TD_DEVICE int *order_of(const td_late_rows &x, int stage) { return x.order + stage * x.rows; }

/* ---- notes ---- */

/* Grid: blocks over the rows. */
static __global__ void __launch_bounds__(THREADS) begin_kernel(int *order, int rows)
{
    const int row = (int)(blockIdx.x * THREADS + threadIdx.x);
    if (row < rows) order[row] = row;
}

cudaError_t td_late_begin(const td_late_rows *x, int stage, cudaStream_t stream)
{
    const unsigned blocks = (unsigned)((x->rows + THREADS - 1) / THREADS);
    return TD_LAUNCH(begin_kernel, dim3(blocks), dim3(THREADS), 0, stream,
                     x->order + stage * x->rows, (int)x->rows);
}

/* Grid: stages. A thread follows the row of one of the first places. */
static __global__ void __launch_bounds__(TD_FEW_EXCHANGES)
    note_kernel(TD_PARAMETER td_row_exchange x, int *order, int64_t rows)
{
    TD_SHARED(int, pivot, [TD_FEW_EXCHANGES]);
    const int t = (int)threadIdx.x, count = (int)x.exchanges;
    int *const own = order + blockIdx.x * rows + x.before;
    if (t < count) pivot[t] = load_pivot(x, t);
    __syncthreads();
    const way_of_row way = way_of(pivot, count, t);
    const int up = t < count ? own[way.source] : 0, down = t < count ? own[t] : 0;
    __syncthreads();
    if (t < count) own[t] = up;
    if (t < count && way.target >= count) own[way.target] = down;
}

cudaError_t td_late_exchange(const td_late_rows *late, const td_row_exchange *x,
                             cudaStream_t stream)
{
    if (late->stages == 0) return cudaSuccess;
    return TD_LAUNCH(note_kernel, dim3((unsigned)late->stages), dim3(TD_FEW_EXCHANGES), 0, stream,
                     *x, late->order, late->rows);
}

/* ---- rows that are needed ---- */

/* The address of a row that may have been kept, in columns from `column` on, and how far the next
 * column is. */
template <class number> struct place_of_row {
    const number *at;
    int64_t ld;
};
template <class number>
TD_DEVICE place_of_row<number> find_row(const td_late_rows &x, int row, int64_t raised, int column)
{
    const number *const a = td_global(static_cast<const number *>(x.a)),
                        *const kept = td_global(static_cast<const number *>(x.kept));
    if (row < raised)
        return {kept + (row - x.kept_row) + (column - x.kept_column) * x.kept_ld, x.kept_ld};
    return {a + row + column * x.ld, x.ld};
}

/* Grid: blocks over a stage's columns, some at a time; stages from `from` on. A thread has a
 * place. */
template <class number>
static __global__ void __launch_bounds__(TD_FEW_EXCHANGES)
    raise_kernel(TD_PARAMETER td_late_rows x, int first, int count, int from)
{
    enum { COLUMNS = row_piece<number>::COLUMNS };
    const int stage = from + (int)blockIdx.y, place = first + (int)threadIdx.x;
    const td_late_stage s = x.stage[stage];
    const int row = (int)threadIdx.x < count ? order_of(x, stage)[place] : place;
    for (int column = s.from + (int)blockIdx.x * COLUMNS; column < s.to;
         column += (int)gridDim.x * COLUMNS) {
        const int columns = min((int)COLUMNS, s.to - column);
        number up[COLUMNS] = {}, down[COLUMNS] = {};
        if (row != place) {
            const place_of_row<number> other = find_row<number>(x, row, first, column),
                                       here = find_row<number>(x, place, first, column);
            read_row(other.at, other.ld, columns, up);
            read_row(here.at, here.ld, columns, down);
        }
        __syncthreads();
        if (row != place) {
            number *const a = td_global(static_cast<number *>(x.a));
            number *const kept = td_global(static_cast<number *>(x.kept));
            write_row(a + place + column * x.ld, x.ld, columns, up);
            write_row(kept + (place - x.kept_row) + (column - x.kept_column) * x.kept_ld, x.kept_ld,
                      columns, down);
        }
    }
}

/* Blocks that columns of the widest of some stages fill, some columns for each. */
static unsigned blocks_of(const td_late_rows *x, int from, int to, int columns)
{
    int most = 1;
    for (int i = from; i < to; i++) most = max(most, x->stage[i].to - x->stage[i].from);
    return (unsigned)min((most + columns - 1) / columns, (int)MOST_BLOCKS);
}

template <class number>
static cudaError_t raise(const td_late_rows *x, int first, int count, int from, int to,
                         cudaStream_t stream)
{
    const dim3 grid(blocks_of(x, from, to, row_piece<number>::COLUMNS), (unsigned)(to - from));
    return TD_LAUNCH(raise_kernel<number>, grid, dim3(TD_FEW_EXCHANGES), 0, stream, *x, first,
                     count, from);
}

cudaError_t td_late_raise(const td_late_rows *x, int64_t first, int64_t behind, int from, int to,
                          cudaStream_t stream)
{
    const int at = (int)first, count = (int)(behind - first);
    if (from >= to) return cudaSuccess;
    return x->is_complex ? raise<td_complex<double>>(x, at, count, from, to, stream)
                         : raise<double>(x, at, count, from, to, stream);
}

/* ---- all others ---- */

/* Grid: blocks over a stage's columns; stages from `from` on. */
template <class number>
static __global__ void __launch_bounds__(THREADS)
    settle_kernel(TD_PARAMETER td_late_rows x, int behind, int from)
{
    const int stage = from + (int)blockIdx.y;
    const td_late_stage s = x.stage[stage];
    const int *const order = order_of(x, stage);
    for (int column = s.from + (int)blockIdx.x; column < s.to; column += (int)gridDim.x) {
        number *const a = td_global(static_cast<number *>(x.a)) + column * x.ld;
        TD_UNROLL_N(4)
        for (int place = behind + (int)threadIdx.x; place < x.rows; place += THREADS) {
            const int row = order[place];
            if (row < behind) a[place] = *find_row<number>(x, row, behind, column).at;
        }
    }
}

template <class number>
static cudaError_t settle(const td_late_rows *x, int behind, int from, int to, cudaStream_t stream)
{
    const dim3 grid(blocks_of(x, from, to, 1), (unsigned)(to - from));
    return TD_LAUNCH(settle_kernel<number>, grid, dim3(THREADS), 0, stream, *x, behind, from);
}

cudaError_t td_late_settle(const td_late_rows *x, int64_t behind, int from, int to,
                           cudaStream_t stream)
{
    if (from >= to || behind >= x->rows) return cudaSuccess;
    return x->is_complex ? settle<td_complex<double>>(x, (int)behind, from, to, stream)
                         : settle<double>(x, (int)behind, from, to, stream);
}

/* Grid: blocks over the columns of stages from..to - 1, each with memory for a column. */
template <class number>
static __global__ void __launch_bounds__(PASS_THREADS)
    pass_kernel(TD_PARAMETER td_late_rows x, int from, int to)
{
    number *const own = static_cast<number *>(x.work) + blockIdx.x * x.rows;
    const int rows = (int)x.rows;
    int stage = from;
    for (int column = x.stage[from].from + (int)blockIdx.x; column < x.stage[to - 1].to;
         column += (int)gridDim.x) {
        while (column >= x.stage[stage].to) stage++;
        const int *const order = order_of(x, stage);
        number *const a = td_global(static_cast<number *>(x.a)) + column * x.ld;
        const int first = x.stage[stage].least + (int)threadIdx.x;
        TD_UNROLL_N(4)
        for (int place = first; place < rows; place += PASS_THREADS) own[place] = a[order[place]];
        __syncthreads();
        TD_UNROLL_N(4)
        for (int place = first; place < rows; place += PASS_THREADS) a[place] = own[place];
        __syncthreads();
    }
}

size_t td_late_bytes(bool is_complex, int64_t rows)
{
    return PASS_BLOCKS * (size_t)rows * (is_complex ? sizeof(td_complex<double>) : sizeof(double));
}

template <class number>
static cudaError_t pass(const td_late_rows *x, int from, int to, cudaStream_t stream)
{
    const int columns = x->stage[to - 1].to - x->stage[from].from;
    return TD_LAUNCH(pass_kernel<number>, dim3((unsigned)min(columns, (int)PASS_BLOCKS)),
                     dim3(PASS_THREADS), 0, stream, *x, from, to);
}

cudaError_t td_late_pass(const td_late_rows *x, int from, int to, cudaStream_t stream)
{
    if (from >= to || x->stage[from].from >= x->stage[to - 1].to) return cudaSuccess;
    return x->is_complex ? pass<td_complex<double>>(x, from, to, stream)
                         : pass<double>(x, from, to, stream);
}

cudaError_t td_late_prepare(void)
{
    return td_load(cudaSuccess, begin_kernel, note_kernel, raise_kernel<double>,
                   raise_kernel<td_complex<double>>, settle_kernel<double>,
                   settle_kernel<td_complex<double>>, pass_kernel<double>,
                   pass_kernel<td_complex<double>>);
}
