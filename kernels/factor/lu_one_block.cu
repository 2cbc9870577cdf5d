/* lu_one_block.cu - a panel's LU factors by one block of threads: see lu_one_block.h. Every element
 * is one chain of fused multiply-adds in the order of columns. */
#include "lu_one_block.h"

#include "../solve/quotient.h"
#include "../view/access.h"

enum { THREADS = 256, MOST_BLOCKS = 1024 };

/* ---- pivots ---- */

/* NaN counts as 0. */
TD_DEVICE double number_or_zero(double x) { return x == x ? x : 0.0; }
TD_DEVICE double size_of(double x) { return number_or_zero(fabs(x)); }
TD_DEVICE double size_of(td_complex<double> x) { return number_or_zero(td_sum_of_parts(x)); }

TD_DEVICE int64_t load_pivot(const td_one_block_panel &p, int64_t i)
{
    return (p.has_wide_pivots ? static_cast<const int64_t *>(p.pivots)[i]
                              : (int64_t) static_cast<const int *>(p.pivots)[i]) -
           1 - p.before;
}

TD_DEVICE void store_pivot(const td_one_block_panel &p, int64_t i, int64_t row)
{
    if (p.has_wide_pivots)
        static_cast<int64_t *>(p.pivots)[i] = row + 1 + p.before;
    else
        static_cast<int *>(p.pivots)[i] = (int)(row + 1 + p.before);
}

/* A candidate for the pivot; size -1: none. */
struct candidate {
    double size;
    int64_t row;
};

TD_DEVICE bool is_better(const candidate &x, const candidate &y)
{
    return x.size > y.size || (x.size == y.size && x.row < y.row);
}

struct panel_shared {
    candidate best[THREADS];
    int64_t row;
};

/* The row of the first of the largest elements of a column from its diagonal on: that of the
 * diagonal if there is no number. All threads take part. */
template <class number>
TD_DEVICE int64_t find_row(const td_one_block_panel &p, const number *column, int64_t from,
                           panel_shared &shared)
{
    candidate own = {-1.0, from};
    for (int64_t i = from + threadIdx.x; i < p.rows; i += THREADS) {
        const candidate other = {size_of(column[i]), i};
        if (is_better(other, own)) own = other;
    }
    shared.best[threadIdx.x] = own;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 1; t < THREADS; t++)
            if (is_better(shared.best[t], own)) own = shared.best[t];
        shared.row = own.row;
    }
    __syncthreads();
    return shared.row;
}

template <class number> TD_DEVICE void exchange(number &x, number &y)
{
    const number kept = x;
    x = y;
    y = kept;
}

/* ---- the panel ---- */

/* Divides column j by its pivot, if that is not 0, and takes its products away from the columns
 * behind it, as LAPACK does. */
template <class number> TD_DEVICE void eliminate(const td_one_block_panel &p, number *a, int64_t j)
{
    const number pivot = a[j + j * p.ld], divisor = td_divisor(pivot);
    const bool divides = !td_is_zero(pivot);
    for (int64_t i = j + 1 + threadIdx.x; i < p.rows; i += THREADS) {
        const number x = a[i + j * p.ld], factor = divides ? td_quotient(x, pivot, divisor) : x;
        a[i + j * p.ld] = factor;
        for (int64_t c = j + 1; c < p.columns; c++)
            a[i + c * p.ld] = td_minus(a[i + c * p.ld], factor, a[j + c * p.ld]);
    }
}

template <class number> TD_DEVICE void factor(const td_one_block_panel &p, panel_shared &shared)
{
    number *const a = td_global(static_cast<number *>(p.a));
    const int64_t count = p.rows < p.columns ? p.rows : p.columns;
    for (int64_t j = 0; j < count; j++) {
        const int64_t row = p.pivots ? find_row(p, a + j * p.ld, j, shared) : j;
        if (threadIdx.x == 0 && p.pivots) store_pivot(p, j, row);
        for (int64_t c = threadIdx.x; row != j && c < p.columns; c += THREADS)
            exchange(a[j + c * p.ld], a[row + c * p.ld]);
        __syncthreads();
        if (threadIdx.x == 0 && td_is_zero(a[j + j * p.ld]) && *p.info == 0)
            *p.info = (int)(p.before + j + 1);
        eliminate(p, a, j);
        __syncthreads();
    }
}

bool td_one_block_fits(void) { return !TD_HAS_CUDA_DEVICE; }

/* Grid: one block. */
static __global__ void __launch_bounds__(THREADS) factor_kernel(TD_PARAMETER td_one_block_panel p)
{
    TD_SHARED(panel_shared, shared, );
    if (p.is_complex)
        factor<td_complex<double>>(p, shared);
    else
        factor<double>(p, shared);
}

cudaError_t td_one_block_factor_run(const td_one_block_panel *panel, cudaStream_t stream)
{
    return TD_LAUNCH(factor_kernel, dim3(1), dim3(THREADS), 0, stream, *panel);
}

/* ---- other columns ---- */

template <class number>
TD_DEVICE void exchange_column(const td_one_block_panel &p, number *column, bool solves)
{
    const number *const a = td_global(static_cast<const number *>(p.a));
    const int64_t count = p.rows < p.columns ? p.rows : p.columns;
    for (int64_t j = 0; p.pivots && j < count; j++) exchange(column[j], column[load_pivot(p, j)]);
    for (int64_t j = 0; solves && j < count; j++)
        for (int64_t i = j + 1; i < count; i++)
            column[i] = td_minus(column[i], a[i + j * p.ld], column[j]);
}

/* Grid: blocks over columns, a thread for each. */
static __global__ void exchange_kernel(TD_PARAMETER td_one_block_panel p, void *to, int64_t columns,
                                       bool solves)
{
    for (int64_t c = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; c < columns;
         c += (int64_t)gridDim.x * blockDim.x)
        if (p.is_complex)
            exchange_column(p, td_global(static_cast<td_complex<double> *>(to)) + c * p.ld, solves);
        else
            exchange_column(p, td_global(static_cast<double *>(to)) + c * p.ld, solves);
}

cudaError_t td_one_block_exchange_run(const td_one_block_panel *panel, void *to, int64_t columns,
                                      bool solves, cudaStream_t stream)
{
    const int64_t blocks = (columns + THREADS - 1) / THREADS;
    return TD_LAUNCH(exchange_kernel, dim3((unsigned)min(blocks, (int64_t)MOST_BLOCKS)),
                     dim3(THREADS), 0, stream, *panel, to, columns, solves);
}

cudaError_t td_one_block_prepare(void)
{
    return td_load(cudaSuccess, factor_kernel, exchange_kernel);
}
