/* cholesky_tile.h - what a block of threads does to tiles of 64 columns of L in shared memory, in
 * strips of 16: products, the solution beside a diagonal tile, and the factor of a diagonal one. A
 * tile that begins at `at` has its elements at [at + column * ROW_STRIDE + row]. */
#ifndef TD_CHOLESKY_TILE_H
#define TD_CHOLESKY_TILE_H

#include "../arithmetic/float32.h"
#include "../device/dmma.h"
#include "../solve/quotient.h"

enum {
    TILE = 64,
    STRIP = 16,
    STRIPS = TILE / STRIP,
    ROW_STRIDE = 132,  /* of tiles with up to 128 rows */
    LOWER_STRIDE = 68, /* of the diagonal tile that others are solved with */
    LOWER_AT = TILE * ROW_STRIDE,
    RECIPROCALS_AT = LOWER_AT + TILE * LOWER_STRIDE, /* of the elements on L's diagonal */
    SHARED_SIZE = RECIPROCALS_AT + TILE
};

/* A thread's part of a warp's sums, as the tensor cores have it: element [i][j][2 h + e] is of row
 * 16 i + 8 h + lane / 4 and column 8 j + 2 (lane % 4) + e. */
template <int rows, int columns> using sums_of_warp = double[rows / 16][columns / 8][4];

/* Calls work(sum, row, column) for each of a thread's sums. */
template <int rows, int columns, class function>
TD_DEVICE void each_sum(sums_of_warp<rows, columns> &c, function work)
{
    const int row = (int)threadIdx.x % 32 / 4, column = (int)threadIdx.x % 4 * 2;
    TD_UNROLL
    for (int i = 0; i < rows / 16; i++) TD_UNROLL
    for (int j = 0; j < columns / 8; j++) TD_UNROLL
    for (int q = 0; q < 4; q++) work(c[i][j][q], 16 * i + q / 2 * 8 + row, 8 * j + q % 2 + column);
}

/* Takes `terms` products away, a multiple of 8: of a's rows, a[row * row_step + k * k_step], and
 * b's. */
template <int terms, int row_step, int k_step, int b_row_step, int b_k_step, int rows, int columns>
TD_DEVICE void take_products(sums_of_warp<rows, columns> &c, const double *a, const double *b)
{
#if TD_HAS_CUDA_DEVICE && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
    const int line = (int)threadIdx.x % 32 / 4, l = (int)threadIdx.x % 4;
    a += line * row_step + l * k_step;
    b += line * b_row_step + l * b_k_step;
    TD_UNROLL
    for (int k = 0; k < terms; k += 8) {
        double x[rows / 16][4], y[columns / 8][2];
        TD_UNROLL
        for (int i = 0; i < rows / 16; i++) TD_UNROLL
        for (int q = 0; q < 4; q++)
            x[i][q] = a[(16 * i + q % 2 * 8) * row_step + (k + q / 2 * 4) * k_step];
        TD_UNROLL
        for (int j = 0; j < columns / 8; j++) TD_UNROLL
        for (int q = 0; q < 2; q++) y[j][q] = -b[8 * j * b_row_step + (k + q * 4) * b_k_step];
        TD_UNROLL
        for (int i = 0; i < rows / 16; i++) TD_UNROLL
        for (int j = 0; j < columns / 8; j++) td_multiply64(c[i][j], x[i], y[j]);
    }
#else
    each_sum<rows, columns>(c, [=](double &sum, int row, int column) {
        for (int k = 0; k < terms; k++)
            sum = td_fma64(-b[column * b_row_step + k * b_k_step], a[row * row_step + k * k_step],
                           sum);
    });
#endif
}

/* Takes `terms` products away from a block of STRIP x STRIP elements, by a warp. */
template <int terms, int b_stride>
TD_DEVICE void update_block(double *block, const double *a, const double *b)
{
    sums_of_warp<STRIP, STRIP> c;
    each_sum<STRIP, STRIP>(
        c, [=](double &sum, int row, int column) { sum = block[column * ROW_STRIDE + row]; });
    take_products<terms, 1, ROW_STRIDE, 1, b_stride, STRIP, STRIP>(c, a, b);
    each_sum<STRIP, STRIP>(
        c, [=](double &sum, int row, int column) { block[column * ROW_STRIDE + row] = sum; });
    __syncwarp();
}

/* Takes the products of the strips before strip s away from STRIP rows of it, by a warp; x begins
 * in the first of these rows, and l in that of the strip's own rows. */
template <int stride> TD_DEVICE void take_strips(double *x, const double *l, int s)
{
    double *const own = x + s * STRIP * ROW_STRIDE;
    if (s == 1) update_block<STRIP, stride>(own, x, l);
    if (s == 2) update_block<2 * STRIP, stride>(own, x, l);
    if (s == 3) update_block<3 * STRIP, stride>(own, x, l);
}

/* Solves for STRIP rows of a strip, which begin at `at`, with the triangle at l, by a warp: a row
 * for each lane of half of them. */
template <int stride> TD_DEVICE_CALL void substitute(int at, int l_at, int reciprocals_at)
{
    TD_DYNAMIC_SHARED(double, room);
    const int row = (int)threadIdx.x % 32;
    double *const x = room + at + row;
    const double *const l = room + l_at, *const reciprocals = room + reciprocals_at;
    if (row < STRIP) {
        double v[STRIP];
        TD_UNROLL
        for (int c = 0; c < STRIP; c++) v[c] = x[c * ROW_STRIDE];
        TD_UNROLL
        for (int c = 0; c < STRIP; c++) {
            v[c] = td_mul64(v[c], reciprocals[c]);
            TD_UNROLL
            for (int k = c + 1; k < STRIP; k++) v[k] = td_fma64(-v[c], l[c * stride + k], v[k]);
        }
        TD_UNROLL
        for (int c = 0; c < STRIP; c++) x[c * ROW_STRIDE] = v[c];
    }
    __syncwarp();
}

/* ---- diagonal blocks ---- */

/* True of a number whose reciprocal the functions below compute: far from the ends of the range,
 * and not the one mantissa in 2^32 or so for which the last step may round wrongly. */
TD_DEVICE bool is_plain(double x)
{
    return x > 0.0 && td_is_mild(x) && (uint32_t)td_bits64(x) != 0xffffffffu;
}

/* 1 / x, correctly rounded, without a branch. */
TD_DEVICE double reciprocal_of_plain(double x)
{
#if TD_HAS_CUDA_DEVICE
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    double e = td_fma64(-x, y, 1.0);
    e = td_fma64(e, e, e);
    y = td_fma64(y, e, y); /* within a unit in the last place */
    e = td_fma64(-x, y, 1.0);
    return td_fma64(y, e, y);
#else
    return 1.0 / x;
#endif
}

/* Takes the columns of a block on the diagonal away from each other, by a warp: a row for each
 * lane, twice. As soon as a pivot's reciprocal is known every lane computes the next pivot. Returns
 * false, in all lanes, if a pivot is not plain: then nothing of the block has changed. */
TD_DEVICE bool factor_plain(double *x, double &pivot_of_row)
{
    const int row = (int)threadIdx.x % STRIP;
    double a[STRIP];
    TD_UNROLL
    for (int c = 0; c < STRIP; c++) a[c] = c <= row ? x[c * ROW_STRIDE + row] : 0.0;
    double pivot = x[0];
    bool are_plain = true;
    TD_UNROLL
    for (int c = 0; c < STRIP; c++) {
        double beside[STRIP + 1];
        TD_UNROLL
        for (int k = c + 1; k < STRIP; k++) beside[k] = __shfl_sync(~0u, a[c], k);
        const double next =
            c + 1 < STRIP ? __shfl_sync(~0u, a[c + 1 < STRIP ? c + 1 : c], c + 1) : 0.0;
        const double reciprocal = reciprocal_of_plain(pivot), factor = td_mul64(a[c], reciprocal);
        are_plain = are_plain && is_plain(pivot);
        pivot_of_row = c == row ? pivot : pivot_of_row;
        if (c + 1 < STRIP)
            pivot = td_fma64(-td_mul64(beside[c + 1], reciprocal), beside[c + 1], next);
        TD_UNROLL
        for (int k = c + 1; k < STRIP; k++) a[k] = td_fma64(-factor, beside[k], a[k]);
    }
    __syncwarp();
    if (!are_plain) return false;
    TD_UNROLL
    for (int c = 0; c < STRIP; c++)
        if ((int)threadIdx.x % 32 == row && c < row) x[c * ROW_STRIDE + row] = a[c];
    __syncwarp();
    return true;
}

/* The same for any pivots, in place. Returns the number of the first pivot that is not positive,
 * from 1; 0: all are. */
TD_DEVICE int factor_any(double *x, double &pivot_of_row)
{
    const int row = (int)threadIdx.x % STRIP;
    TD_ROLLED
    for (int c = 0; c < STRIP; c++) {
        const double *const column = x + c * ROW_STRIDE;
        const double pivot = column[c];
        if (!(pivot > 0.0)) return c + 1;
        if (c == row) pivot_of_row = pivot;
        if ((int)threadIdx.x % 32 == row && row > c) {
            const double factor = td_quotient(column[row], pivot, td_divisor(pivot));
            TD_ROLLED
            for (int k = c + 1; k <= row; k++)
                x[k * ROW_STRIDE + row] = td_fma64(-factor, column[k], x[k * ROW_STRIDE + row]);
        }
        __syncwarp();
    }
    return 0;
}

/* Factors a block on the diagonal that begins at `at`, by a warp, as L D L'; then its columns are
 * multiplied by the reciprocals of roots. Returns what factor_any() does. */
TD_DEVICE_CALL int factor_block(int at, int reciprocals_at)
{
    TD_DYNAMIC_SHARED(double, room);
    const int row = (int)threadIdx.x % STRIP;
    double *const x = room + at, *const reciprocals = room + reciprocals_at;
    double pivot = 1.0;
    if (!factor_plain(x, pivot)) {
        const int failed = factor_any(x, pivot);
        if (failed) return failed;
    }
    const double root = sqrt(pivot);
    const bool is_first = (int)threadIdx.x % 32 == row;
    if (is_first) reciprocals[row] = 1.0 / root;
    __syncwarp();
    TD_UNROLL
    for (int c = 0; c < STRIP; c++)
        if (is_first && c <= row)
            x[c * ROW_STRIDE + row] =
                c == row ? root : td_mul64(x[c * ROW_STRIDE + row], reciprocals[c]);
    __syncwarp();
    return 0;
}

/* Factors a diagonal tile of so many columns, which begins at `at`, by all threads of a block;
 * calls publish(strip), in the threads of the second half of warps, once a strip is done, while the
 * next one is made. Returns the number of the first column whose pivot is not positive, from 1; 0:
 * all are. */
template <class function>
TD_DEVICE int factor_tile(int at, int &failed_column, int width, function publish)
{
    TD_DYNAMIC_SHARED(double, room);
    const int t = (int)threadIdx.x, warp = t / 32;
    double *const x = room + at;
    if (t == 0) failed_column = 0;
    if (t >= width && t < TILE) x[t * ROW_STRIDE + t] = 1.0; /* as in the unit matrix */
    __syncthreads();
    TD_ROLLED
    for (int s = 0; s < STRIPS; s++) {
        const int first = s * STRIP, other = s + warp, column = first * ROW_STRIDE;
        if (other < STRIPS) take_strips<ROW_STRIDE>(x + other * STRIP, x + first, s);
        if (warp == 0) {
            const int failed = factor_block(at + column + first, RECIPROCALS_AT + first);
            if (t == 0 && failed) failed_column = first + failed;
        }
        __syncthreads();
        if (failed_column) break;
        if (warp > 0 && other < STRIPS)
            substitute<ROW_STRIDE>(at + column + other * STRIP, at + column + first,
                                   RECIPROCALS_AT + first);
        __syncthreads();
        if (warp >= STRIPS) publish(s);
    }
    return failed_column;
}

#endif
