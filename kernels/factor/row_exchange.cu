/* row_exchange.cu - exchanges of rows of right-hand sides, a unit matrix, and the first zero of a
 * diagonal: see row_exchange.h.
 *
 * Exchanges come one after another, so that they are turned into where each row comes from first:
 * a warp follows a row from the last exchange back to the first, many of them at a time. Then each
 * block of threads collects whole columns in memory of its own, and puts them back. Few exchanges
 * need no such memory: each thread follows a row itself. */
#include "row_exchange.h"

#include "../batched_lu/number.h"
#include "../view/access.h"
#include "row_steps.h"

enum {
    THREADS = 256,
    COLLECTING_THREADS = TD_HAS_CUDA_DEVICE ? 1024 : 64, /* on the host each takes its own time */
    WARP = 32,
    GROUP = 4,          /* exchanges that a lane looks at together */
    MOST_BLOCKS = 264,  /* two on each multiprocessor of an H100 */
    LEAST_ROWS = 2048,  /* rows of all columns that a block collects at a time */
    INT_ALIGNMENT = 256 /* bytes */
};

/* ---- where rows come from ---- */

/* An exchange of a lane; rows -1: none. */
struct exchange_of_rows {
    int row, pivot;

    TD_INSIDE bool meets(int at) const { return row == at || pivot == at; }
};

TD_DEVICE exchange_of_rows load_exchange(const td_row_exchange &x, int64_t i)
{
    if (i >= x.exchanges) return {-1, -1};
    return {(int)i, load_pivot(x, i)};
}

/* Where the row that is at `at` after a warp's exchanges, of rows from `first` on, was before
 * them. */
TD_DEVICE int go_back(const exchange_of_rows &own, int first, int at)
{
    unsigned before = ~0u; /* the exchanges that are still to be looked at */
    for (;;) {
        const unsigned meet = __ballot_sync(~0u, own.meets(at)) & before;
        if (meet == 0) return at;
        const int last = WARP - 1 - __clz((int)meet), row = first + last,
                  pivot = __shfl_sync(~0u, own.pivot, last);
        at = at == row ? pivot : row;
        before = (1u << last) - 1;
    }
}

/* The row of B as it was that exchanges from the first to the last bring to row `at`. All lanes of
 * a warp take part. */
TD_DEVICE int find_source(const td_row_exchange &x, int at)
{
    const int lane = (int)threadIdx.x % WARP, step = GROUP * WARP;
    for (int64_t first = (x.exchanges - 1) / step * step; first >= 0; first -= step) {
        exchange_of_rows own[GROUP];
        bool meets = false;
        TD_UNROLL
        for (int g = 0; g < GROUP; g++) {
            own[g] = load_exchange(x, first + g * WARP + lane);
            meets = meets || own[g].meets(at);
        }
        if (!__any_sync(~0u, meets)) continue;
        TD_UNROLL
        for (int g = GROUP - 1; g >= 0; g--)
            if (!td_skips(first + g * WARP >= x.exchanges))
                at = go_back(own[g], (int)first + g * WARP, at);
    }
    return at;
}

/* Grid: blocks over rows, a warp for each. */
static __global__ void __launch_bounds__(THREADS)
    source_kernel(TD_PARAMETER td_row_exchange x, int *source)
{
    const int64_t row = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
    if (row >= x.rows) return;
    const int from = find_source(x, (int)row);
    if (threadIdx.x % WARP == 0) source[row] = from;
}

/* ---- exchanges ---- */

/* Columns that a block collects at a time. */
TD_HOST_DEVICE int64_t columns_at_a_time(const td_row_exchange &x)
{
    const int64_t columns = (LEAST_ROWS + x.rows - 1) / x.rows;
    return min(columns, x.columns);
}

static int64_t blocks_of(const td_row_exchange &x)
{
    const int64_t at_a_time = columns_at_a_time(x);
    return min((x.columns + at_a_time - 1) / at_a_time, (int64_t)MOST_BLOCKS);
}

/* Grid: blocks over columns. Each has `collected` numbers of its own. */
template <class number>
static __global__ void __launch_bounds__(COLLECTING_THREADS)
    exchange_kernel(TD_PARAMETER td_row_exchange x, const int *source, number *collected)
{
    const int64_t at_a_time = columns_at_a_time(x);
    number *const own = collected + blockIdx.x * at_a_time * x.rows;
    for (int64_t first = blockIdx.x * at_a_time; first < x.columns;
         first += gridDim.x * at_a_time) {
        number *const b = td_global(static_cast<number *>(x.b)) + first * x.ld;
        const int count = (int)(min(at_a_time, x.columns - first) * x.rows), rows = (int)x.rows;
        TD_UNROLL_N(4)
        for (int e = (int)threadIdx.x; e < count; e += COLLECTING_THREADS)
            own[e] = b[(x.is_backward ? e % rows : source[e % rows]) + e / rows * x.ld];
        __syncthreads();
        TD_UNROLL_N(4)
        for (int e = (int)threadIdx.x; e < count; e += COLLECTING_THREADS)
            b[(x.is_backward ? source[e % rows] : e % rows) + e / rows * x.ld] = own[e];
        __syncthreads();
    }
}

static size_t source_bytes(const td_row_exchange *x)
{
    const size_t bytes = (size_t)x->rows * sizeof(int);
    return (bytes + INT_ALIGNMENT - 1) / INT_ALIGNMENT * INT_ALIGNMENT;
}

size_t td_row_exchange_bytes(const td_row_exchange *x)
{
    const size_t number = x->is_complex ? sizeof(td_complex<double>) : sizeof(double);
    return source_bytes(x) +
           (size_t)blocks_of(*x) * (size_t)columns_at_a_time(*x) * (size_t)x->rows * number;
}

template <class number>
static cudaError_t exchange_run(const td_row_exchange *x, void *work, cudaStream_t stream)
{
    number *const collected =
        reinterpret_cast<number *>(static_cast<char *>(work) + source_bytes(x));
    return TD_LAUNCH(exchange_kernel<number>, dim3((unsigned)blocks_of(*x)),
                     dim3(COLLECTING_THREADS), 0, stream, *x, static_cast<const int *>(work),
                     collected);
}

/* ---- few exchanges ---- */

/* Grid: blocks over columns, some at a time. A thread has the row of each of the first places on
 * its way there, and the first row of the same number on its way down. */
template <class number>
static __global__ void __launch_bounds__(TD_FEW_EXCHANGES)
    few_kernel(TD_PARAMETER td_row_exchange x)
{
    enum { COLUMNS = row_piece<number>::COLUMNS };
    TD_SHARED(int, pivot, [TD_FEW_EXCHANGES]);
    const int t = (int)threadIdx.x, count = (int)x.exchanges;
    if (t < count) pivot[t] = load_pivot(x, t);
    __syncthreads();
    const way_of_row way = way_of(pivot, count, t);
    const bool comes = t < count && way.source != t, goes = t < count && way.target >= count;
    for (int64_t first = (int64_t)blockIdx.x * COLUMNS; first < x.columns;
         first += (int64_t)gridDim.x * COLUMNS) {
        const int columns = (int)min((int64_t)COLUMNS, x.columns - first);
        number *const b = td_global(static_cast<number *>(x.b)) + first * x.ld;
        number up[COLUMNS] = {}, down[COLUMNS] = {};
        if (comes) read_row(b + way.source, x.ld, columns, up);
        if (goes) read_row(b + t, x.ld, columns, down);
        __syncthreads();
        if (comes) write_row(b + t, x.ld, columns, up);
        if (goes) write_row(b + way.target, x.ld, columns, down);
    }
}

template <class number> static cudaError_t few_run(const td_row_exchange *x, cudaStream_t stream)
{
    enum { COLUMNS = row_piece<number>::COLUMNS, MOST = 1024 };
    const int64_t blocks = min((x->columns + COLUMNS - 1) / COLUMNS, (int64_t)MOST);
    return TD_LAUNCH(few_kernel<number>, dim3((unsigned)blocks), dim3(TD_FEW_EXCHANGES), 0, stream,
                     *x);
}

cudaError_t td_few_exchanges_run(const td_row_exchange *x, cudaStream_t stream)
{
    return x->is_complex ? few_run<td_complex<double>>(x, stream) : few_run<double>(x, stream);
}

cudaError_t td_row_exchange_run(const td_row_exchange *x, void *work, cudaStream_t stream)
{
    const int64_t blocks = (x->rows * WARP + THREADS - 1) / THREADS;
    const cudaError_t error = TD_LAUNCH(source_kernel, dim3((unsigned)blocks), dim3(THREADS), 0,
                                        stream, *x, static_cast<int *>(work));
    if (error != cudaSuccess) return error;
    return x->is_complex ? exchange_run<td_complex<double>>(x, work, stream)
                         : exchange_run<double>(x, work, stream);
}

/* ---- the unit matrix ---- */

/* Grid: blocks over the elements. */
template <class number>
static __global__ void __launch_bounds__(THREADS) unit_kernel(number *a, int64_t ld, int64_t n)
{
    const int64_t step = (int64_t)gridDim.x * THREADS, count = n * n;
    for (int64_t e = (int64_t)blockIdx.x * THREADS + threadIdx.x; e < count; e += step)
        a[e % n + e / n * ld] = td_number<number>(e % n == e / n ? 1.0 : 0.0);
}

template <class number>
static cudaError_t unit_run(void *a, int64_t ld, int64_t n, cudaStream_t stream)
{
    enum { MOST = 1024 };
    const int64_t blocks = min((n * n + THREADS - 1) / THREADS, (int64_t)MOST);
    return TD_LAUNCH(unit_kernel<number>, dim3((unsigned)blocks), dim3(THREADS), 0, stream,
                     static_cast<number *>(a), ld, n);
}

cudaError_t td_unit_matrix_run(bool is_complex, void *a, int64_t ld, int64_t n, cudaStream_t stream)
{
    return is_complex ? unit_run<td_complex<double>>(a, ld, n, stream)
                      : unit_run<double>(a, ld, n, stream);
}

/* ---- zeros of a diagonal ---- */

/* Grid: one block. */
template <class number>
static __global__ void __launch_bounds__(THREADS)
    zero_kernel(const number *a, int64_t ld, int64_t n, int *info)
{
    TD_SHARED(int64_t, firsts, [THREADS]);
    int64_t first = n;
    for (int64_t i = threadIdx.x; i < n && first == n; i += THREADS)
        if (td_is_zero(a[i + i * ld])) first = i;
    firsts[threadIdx.x] = first;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int t = 1; t < THREADS; t++) first = min(first, firsts[t]);
    *info = first < n ? (int)(first + 1) : 0;
}

template <class number>
static cudaError_t zero_run(const void *a, int64_t ld, int64_t n, int *info, cudaStream_t stream)
{
    return TD_LAUNCH(zero_kernel<number>, dim3(1), dim3(THREADS), 0, stream,
                     static_cast<const number *>(a), ld, n, info);
}

cudaError_t td_first_zero_run(bool is_complex, const void *a, int64_t ld, int64_t n, int *info,
                              cudaStream_t stream)
{
    return is_complex ? zero_run<td_complex<double>>(a, ld, n, info, stream)
                      : zero_run<double>(a, ld, n, info, stream);
}

cudaError_t td_rows_prepare(void)
{
    return td_load(
        cudaSuccess, source_kernel, exchange_kernel<double>, exchange_kernel<td_complex<double>>,
        few_kernel<double>, few_kernel<td_complex<double>>, unit_kernel<double>,
        unit_kernel<td_complex<double>>, zero_kernel<double>, zero_kernel<td_complex<double>>);
}
