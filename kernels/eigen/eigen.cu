/* eigen.cu - how a symmetric matrix comes in and its eigenvectors go out, and what is off in
 * between: one block a column, or a thread an element. */
#include "eigen.h"

#include "../arithmetic/join.h"
#include "../device/warp.h"

enum { THREADS = 256, MOST_BLOCKS = 2048, TILE = 32 };

static dim3 blocks_of(int64_t elements)
{
    const int64_t blocks = (elements + THREADS - 1) / THREADS;
    return dim3((unsigned)min(blocks, (int64_t)MOST_BLOCKS));
}

/* ---- one triangle ---- */

/* Element (i, j), j <= i, of the lower triangle or of the upper one's transpose. */
TD_DEVICE double element_of(const td_eigen_source &a, int64_t i, int64_t j)
{
    return a.is_upper ? a.data[j + i * a.ld] : a.data[i + j * a.ld];
}

/* Grid: columns as they are stored. */
static __global__ void __launch_bounds__(THREADS)
    largest_kernel(TD_PARAMETER td_eigen_source a, unsigned long long *bits)
{
    const int64_t column = blockIdx.x, first = a.is_upper ? 0 : column,
                  end = a.is_upper ? column + 1 : a.n;
    unsigned long long largest = 0;
    for (int64_t i = first + threadIdx.x; i < end; i += THREADS) {
        const uint64_t one = td_bits64(td_abs64(a.data[i + column * a.ld]));
        if (one > largest) largest = one;
    }
    largest = td_warp_join<td_largest>(largest);
    if (threadIdx.x % 32 == 0) atomicMax(bits, largest);
}

cudaError_t td_eigen_largest_run(const td_eigen_source *a, unsigned long long *bits,
                                 cudaStream_t stream)
{
    const cudaError_t error = cudaMemsetAsync(bits, 0, sizeof *bits, stream);
    if (error != cudaSuccess) return error;
    return TD_LAUNCH(largest_kernel, dim3((unsigned)a->n), dim3(THREADS), 0, stream, *a, bits);
}

/* A block has a tile on or below the diagonal, which it reads by columns, and writes it and its
 * mirror image. Grid: rows and columns of tiles. */
static __global__ void __launch_bounds__(THREADS)
    take_kernel(TD_PARAMETER td_eigen_source a, int exponent, double *whole, float *narrow)
{
    TD_SHARED(double, tile, [TILE][TILE + 1]); /* tile[j][i]: row i, column j, j <= i */
    const int64_t row = (int64_t)blockIdx.x * TILE, column = (int64_t)blockIdx.y * TILE;
    const int in = (int)threadIdx.x % TILE, first = (int)threadIdx.x / TILE, step = THREADS / TILE;
    const bool is_used = row >= column;
    for (int at = first; at < TILE && is_used; at += step) {
        const int64_t i = row + (a.is_upper ? at : in), j = column + (a.is_upper ? in : at);
        if (i < a.n && j <= i)
            tile[j - column][i - row] = td_scale64(element_of(a, i, j), -exponent);
    }
    __syncthreads();
    for (int at = first; at < 2 * TILE && is_used; at += step) {
        const int64_t i = at < TILE ? row + in : column + in,
                      j = at < TILE ? column + at : row + at - TILE;
        const bool is_mirror = at >= TILE, is_there = is_mirror ? i < j : j <= i;
        if (i >= a.n || j >= a.n || !is_there) continue;
        const double x = is_mirror ? tile[in][at - TILE] : tile[at][in];
        if (whole) whole[i + j * a.n] = x;
        narrow[i + j * a.n] = (float)x;
    }
}

cudaError_t td_eigen_take_run(const td_eigen_source *a, int exponent, double *whole, float *narrow,
                              cudaStream_t stream)
{
    const unsigned tiles = (unsigned)((a->n + TILE - 1) / TILE);
    return TD_LAUNCH(take_kernel, dim3(tiles, tiles), dim3(THREADS), 0, stream, *a, exponent, whole,
                     narrow);
}

/* Grid: blocks over the elements. */
static __global__ void __launch_bounds__(THREADS)
    widen_kernel(const float *narrow, int64_t n, double *to, int64_t ld)
{
    const int64_t step = (int64_t)gridDim.x * THREADS;
    for (int64_t e = (int64_t)blockIdx.x * THREADS + threadIdx.x; e < n * n; e += step)
        to[e % n + e / n * ld] = narrow[e];
}

cudaError_t td_eigen_widen_run(const float *narrow, int64_t n, double *to, int64_t ld,
                               cudaStream_t stream)
{
    return TD_LAUNCH(widen_kernel, blocks_of(n * n), dim3(THREADS), 0, stream, narrow, n, to, ld);
}

/* ---- what is off ---- */

/* The sum over a block, in all of its threads. */
TD_DEVICE double sum_of_block(double x, double (&sums)[THREADS])
{
    __syncthreads();
    sums[threadIdx.x] = x;
    for (int half = THREADS / 2; half >= 32; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half)
            sums[threadIdx.x] = td_add64(sums[threadIdx.x], sums[threadIdx.x + half]);
    }
    if (threadIdx.x < 32) {
        const double sum = td_warp_join<td_sum64>(sums[threadIdx.x]);
        if (threadIdx.x == 0) sums[0] = sum;
    }
    __syncthreads();
    return sums[0];
}

/* Grid: columns. */
static __global__ void __launch_bounds__(THREADS)
    measure_kernel(int64_t n, const double *x, const double *ax, const double *r,
                   td_eigen_measured to)
{
    TD_SHARED(double, sums, [THREADS]);
    const int64_t j = blockIdx.x;
    double dot = 0.0, departure = 0.0, residual = 0.0;
    for (int64_t i = threadIdx.x; i < n; i += THREADS) {
        const double d = i >= j ? r[i + j * n] : r[j + i * n];
        dot = td_fma64(x[i + j * n], ax[i + j * n], dot);
        departure = td_fma64(d, d, departure);
    }
    dot = sum_of_block(dot, sums);
    departure = sum_of_block(departure, sums);
    const double value = dot / td_sub64(1.0, r[j + j * n]);
    for (int64_t i = threadIdx.x; i < n; i += THREADS) {
        const double off = td_fma64(-value, x[i + j * n], ax[i + j * n]);
        residual = td_fma64(off, off, residual);
    }
    residual = sum_of_block(residual, sums);
    if (threadIdx.x != 0) return;
    to.values[j] = value;
    to.residuals[j] = sqrt(residual);
    to.departures[j] = sqrt(departure);
}

cudaError_t td_eigen_measure_run(int64_t n, const double *x, const double *ax, const double *r,
                                 td_eigen_measured to, cudaStream_t stream)
{
    return TD_LAUNCH(measure_kernel, dim3((unsigned)n), dim3(THREADS), 0, stream, n, x, ax, r, to);
}

/* ---- results ---- */

/* Grid: columns. */
static __global__ void __launch_bounds__(THREADS) put_kernel(TD_PARAMETER td_eigen_result r)
{
    const int64_t j = blockIdx.x, from = r.from[j];
    for (int64_t i = threadIdx.x; i < r.n; i += THREADS) r.a[i + j * r.ld] = r.x[i + from * r.n];
    if (threadIdx.x == 0) r.w[j] = td_scale64(r.values[from], r.exponent);
    if (threadIdx.x == 0 && j == 0) *r.info = 0;
}

cudaError_t td_eigen_put_run(const td_eigen_result *r, cudaStream_t stream)
{
    return TD_LAUNCH(put_kernel, dim3((unsigned)r->n), dim3(THREADS), 0, stream, *r);
}

/* ---- loading ---- */

cudaError_t td_eigen_prepare(int which)
{
    (void)which;
    return td_load(td_eigen_prepare_steps(), largest_kernel, take_kernel, widen_kernel,
                   measure_kernel, put_kernel);
}
