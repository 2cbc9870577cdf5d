/* unit_lower.h - solutions with a panel's unit lower triangle, by warps: what U's rows are. Each
 * element is one chain of fused multiply-adds over ascending columns of the triangle. */
#ifndef TD_UNIT_LOWER_H
#define TD_UNIT_LOWER_H

#include "../arithmetic/float32.h"
#include "../device/dmma.h"

#if TD_HAS_CUDA_DEVICE

enum {
    LOWER_LD = 128,   /* the triangle's leading dimension, and its most rows */
    LOWER_BLOCK = 16, /* rows that a warp solves at a time */
    LOWER_VECTORS = 8 /* columns of X of a warp */
};

/* The diagonal block from row i on, without its diagonal: what lane's row has in its columns. Rows
 * from `rows` on are not there. */
TD_DEVICE void td_load_diagonal(const double *lower, int i, int rows, double (&l)[LOWER_BLOCK])
{
    const int row = (int)threadIdx.x % LOWER_BLOCK;
    TD_UNROLL
    for (int k = 0; k < LOWER_BLOCK; k++)
        l[k] = row > k && i + row < rows ? lower[(i + k) * LOWER_LD + i + row] : 0.0;
}

/* Rows i to i + LOWER_BLOCK - 1 of X, which a warp has as x[row * stride + column]: lanes have a
 * row and every second column each. */
TD_DEVICE void td_solve_diagonal(double *x, int stride, int i, const double (&l)[LOWER_BLOCK])
{
    const int lane = (int)threadIdx.x % 32, row = lane % LOWER_BLOCK, half = lane / LOWER_BLOCK;
    double v[LOWER_VECTORS / 2];
    double *const at = x + (i + row) * stride + half;
    TD_UNROLL
    for (int q = 0; q < LOWER_VECTORS / 2; q++) v[q] = at[2 * q];
    TD_UNROLL
    for (int k = 0; k < LOWER_BLOCK - 1; k++) {
        TD_UNROLL
        for (int q = 0; q < LOWER_VECTORS / 2; q++) {
            const double known = __shfl_sync(~0u, v[q], half * LOWER_BLOCK + k);
            if (row > k) v[q] = td_fma64(-l[k], known, v[q]);
        }
    }
    TD_UNROLL
    for (int q = 0; q < LOWER_VECTORS / 2; q++) at[2 * q] = v[q];
    __syncwarp();
}

/* Takes the products of rows i to i + LOWER_BLOCK - 1 away from the LOWER_BLOCK rows from `row`
 * on. */
TD_DEVICE void td_take_products(double *x, int stride, const double *lower, int i, int row)
{
    const int lane = (int)threadIdx.x % 32, quad = lane / 4, at = lane % 4;
    double *const upper = x + (row + quad) * stride + 2 * at, *const under = upper + 8 * stride;
    double c[4] = {upper[0], upper[1], under[0], under[1]};
    TD_UNROLL
    for (int k = 0; k < LOWER_BLOCK; k += 8) {
        const double *l = lower + (i + k + at) * LOWER_LD + row + quad,
                     *known = x + (i + k + at) * stride + quad;
        const double a[4] = {-l[0], -l[8], -l[4 * LOWER_LD], -l[4 * LOWER_LD + 8]},
                     b[2] = {known[0], known[4 * stride]};
        td_multiply64(c, a, b);
    }
    upper[0] = c[0], upper[1] = c[1], under[0] = c[2], under[1] = c[3];
}

/* X <- L^-1 X for LOWER_VECTORS columns, by a warp: x[row * stride + column] in shared memory, with
 * room for whole blocks of rows. L has `rows` rows. */
TD_DEVICE void td_solve_unit_lower(double *x, int stride, int rows, const double *lower)
{
    double l[LOWER_BLOCK];
    td_load_diagonal(lower, 0, rows, l);
    for (int i = 0; i < rows; i += LOWER_BLOCK) {
        td_solve_diagonal(x, stride, i, l);
        td_load_diagonal(lower, i + LOWER_BLOCK, rows, l);
        TD_UNROLL_N(2)
        for (int row = i + LOWER_BLOCK; row < rows; row += LOWER_BLOCK)
            td_take_products(x, stride, lower, i, row);
        __syncwarp();
    }
}

#endif

#endif
