/* verify.cu - norms of columns, scaled columns, the identity, and faults of a symmetric matrix. */
#include "verify.h"

#include "../arithmetic/join.h"
#include "../device/warp.h"

enum { WARP = 32, NORM_WARPS = 4, FILL_THREADS = 256 };

/* ---- norms ---- */

TD_DEVICE uint64_t magnitude_of(double x) { return td_bits64(x) & 0x7fffffffffffffffull; }

/* The bits of the largest magnitude, those of infinity or above if an element is not finite. */
TD_DEVICE uint64_t largest_of_column(const double *x, int rows, int lane)
{
    uint64_t largest = 0;
    for (int i = lane; i < rows; i += WARP) largest = max(largest, magnitude_of(x[i]));
    return td_warp_join<td_largest>(largest);
}

/* Elements times 2^-exponent are below 2; what underflows then is off by 2^-1074 at most. */
TD_DEVICE double squares_of_column(const double *x, int rows, int exponent, int lane)
{
    const int half = -exponent / 2;
    const double first = td_exp2_64(half), second = td_exp2_64(-exponent - half);
    double sum = 0.0;
    for (int i = lane; i < rows; i += WARP) {
        const double scaled = td_mul64(td_mul64(x[i], first), second);
        sum = td_fma64(scaled, scaled, sum);
    }
    return td_warp_join<td_sum64>(sum);
}

/* A warp has a column; spare warps compute the last one again, and write nothing. */
static __global__ void __launch_bounds__(WARP *NORM_WARPS)
    norms_kernel(const double *m, int64_t ld, int rows, int cols, td_norm *norm)
{
    const int column = (int)blockIdx.x * NORM_WARPS + (int)threadIdx.x / WARP;
    const int lane = (int)threadIdx.x % WARP;
    const double *const x = m + min(column, cols - 1) * ld;
    const uint64_t largest = largest_of_column(x, rows, lane);
    const bool is_finite = (largest >> 52) < 0x7ff;
    const int exponent = largest && is_finite ? td_exponent64(largest) : 0;
    const double squares = squares_of_column(x, rows, exponent, lane);
    if (lane != 0 || column >= cols) return;
    norm[column].squares = is_finite ? squares : td_from_bits64(0x7ff8000000000000ull);
    norm[column].exponent = exponent;
}

cudaError_t td_norms_run(const double *m, int64_t ld, int rows, int cols, td_norm *norm,
                         cudaStream_t stream)
{
    const dim3 grid((unsigned)((cols + NORM_WARPS - 1) / NORM_WARPS));
    return TD_LAUNCH(norms_kernel, grid, dim3(WARP * NORM_WARPS), 0, stream, m, ld, rows, cols,
                     norm);
}

/* ---- faults ---- */

enum { FAULT_TILE = 32, FAULT_THREADS = 256, FAULT_COLUMNS = FAULT_THREADS / FAULT_TILE };

TD_DEVICE void note_first(unsigned long long *first, int row, int col, int n)
{
    atomicMin(first, (unsigned long long)(row + (int64_t)col * n));
}

/* A block has a tile on or below the diagonal, and puts the tile that mirrors it into shared
 * memory: columns of 33 elements, so that reading it by rows meets different banks. Grid: rows of
 * tiles, columns of tiles. */
static __global__ void __launch_bounds__(FAULT_THREADS)
    faults_kernel(const double *a, int64_t lda, int n, td_faults *faults)
{
    TD_SHARED(double, mirror, [FAULT_TILE][FAULT_TILE + 1]);
    const int row0 = (int)blockIdx.x * FAULT_TILE, col0 = (int)blockIdx.y * FAULT_TILE;
    const int in_row = (int)threadIdx.x % FAULT_TILE, in_col = (int)threadIdx.x / FAULT_TILE;
    const bool is_used = row0 >= col0;
    for (int j = in_col; j < FAULT_TILE && is_used; j += FAULT_COLUMNS) {
        const int row = col0 + in_row, col = row0 + j;
        if (row < n && col < n) {
            mirror[j][in_row] = a[row + col * lda];
            if ((magnitude_of(mirror[j][in_row]) >> 52) == 0x7ff)
                note_first(&faults->not_finite, row, col, n);
        }
    }
    __syncthreads();
    for (int j = in_col; j < FAULT_TILE && is_used; j += FAULT_COLUMNS) {
        const int row = row0 + in_row, col = col0 + j;
        if (row < n && col < n) {
            const double x = a[row + col * lda];
            if ((magnitude_of(x) >> 52) == 0x7ff) note_first(&faults->not_finite, row, col, n);
            if (row > col && !(x == mirror[in_row][j]))
                note_first(&faults->not_symmetric, row, col, n);
        }
    }
}

cudaError_t td_faults_run(const double *a, int64_t lda, int n, td_faults *faults,
                          cudaStream_t stream)
{
    const unsigned tiles = (unsigned)((n + FAULT_TILE - 1) / FAULT_TILE);
    return TD_LAUNCH(faults_kernel, dim3(tiles, tiles), dim3(FAULT_THREADS), 0, stream, a, lda, n,
                     faults);
}

/* ---- what a product's C is before it ---- */

/* Grid: columns, blocks of rows. */
static dim3 grid_of_columns(int n)
{
    return dim3((unsigned)n, (unsigned)((n + FILL_THREADS - 1) / FILL_THREADS));
}

static __global__ void __launch_bounds__(FILL_THREADS)
    scale_kernel(const double *p, int64_t ldp, const double *d, int n, double *w)
{
    const int row = (int)(blockIdx.y * FILL_THREADS + threadIdx.x);
    const int64_t col = blockIdx.x;
    if (row < n) w[row + col * n] = td_mul64(p[row + col * ldp], d[col]);
}

cudaError_t td_columns_scale_run(const double *p, int64_t ldp, const double *d, int n, double *w,
                                 cudaStream_t stream)
{
    return TD_LAUNCH(scale_kernel, grid_of_columns(n), dim3(FILL_THREADS), 0, stream, p, ldp, d, n,
                     w);
}

static __global__ void __launch_bounds__(FILL_THREADS) identity_kernel(int n, double *c)
{
    const int row = (int)(blockIdx.y * FILL_THREADS + threadIdx.x);
    const int64_t col = blockIdx.x;
    if (row < n) c[row + col * n] = row == col ? 1.0 : 0.0;
}

cudaError_t td_identity_run(int n, double *c, cudaStream_t stream)
{
    return TD_LAUNCH(identity_kernel, grid_of_columns(n), dim3(FILL_THREADS), 0, stream, n, c);
}

cudaError_t td_verify_prepare(int which)
{
    (void)which;
    return td_load(cudaSuccess, norms_kernel, faults_kernel, scale_kernel, identity_kernel);
}
