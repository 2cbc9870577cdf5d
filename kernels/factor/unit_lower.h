/* unit_lower.h - solutions with a panel's unit lower triangle, real or complex, by warps: what U's
 * rows are. Each element is one chain of fused multiply-adds over ascending columns of the
 * triangle. */
#ifndef TD_UNIT_LOWER_H
#define TD_UNIT_LOWER_H

#include "../arithmetic/float32.h"
#include "embedding.h"

#if TD_HAS_CUDA_DEVICE

enum { LOWER_BLOCK = 16 /* rows that a warp solves at a time */ };

template <class number> struct td_lower {
    enum {
        LD = 128 /
             td_embedded<number>::PARTS, /* the triangle's leading dimension, and its most rows */
        VECTORS = 8 / td_embedded<number>::PARTS, /* columns of X of a warp */
        PADDING = 4 / td_embedded<number>::PARTS  /* of rows in shared memory */
    };
};

/* The diagonal block from row i on, without its diagonal: what lane's row has in its columns. Rows
 * from `rows` on are not there. */
template <class number>
TD_DEVICE void td_load_diagonal(const number *lower, int i, int rows, number (&l)[LOWER_BLOCK])
{
    const int row = (int)threadIdx.x % LOWER_BLOCK;
    TD_UNROLL
    for (int k = 0; k < LOWER_BLOCK; k++)
        l[k] = row > k && i + row < rows ? lower[(i + k) * td_lower<number>::LD + i + row]
                                         : td_number<number>(0.0);
}

TD_DEVICE double td_from_lane(double x, int lane) { return __shfl_sync(~0u, x, lane); }
TD_DEVICE td_complex<double> td_from_lane(td_complex<double> x, int lane)
{
    return {__shfl_sync(~0u, x.re, lane), __shfl_sync(~0u, x.im, lane)};
}

/* Rows i to i + LOWER_BLOCK - 1 of X, which a warp has as x[row * stride + column]: lanes have a
 * row and every second column each. */
template <class number>
TD_DEVICE void td_solve_diagonal(number *x, int stride, int i, const number (&l)[LOWER_BLOCK])
{
    enum { VECTORS = td_lower<number>::VECTORS };
    const int lane = (int)threadIdx.x % 32, row = lane % LOWER_BLOCK, half = lane / LOWER_BLOCK;
    number v[VECTORS / 2];
    number *const at = x + (i + row) * stride + half;
    TD_UNROLL
    for (int q = 0; q < VECTORS / 2; q++) v[q] = at[2 * q];
    TD_UNROLL
    for (int k = 0; k < LOWER_BLOCK - 1; k++) {
        TD_UNROLL
        for (int q = 0; q < VECTORS / 2; q++) {
            const number known = td_from_lane(v[q], half * LOWER_BLOCK + k);
            if (row > k) v[q] = td_minus(v[q], l[k], known);
        }
    }
    TD_UNROLL
    for (int q = 0; q < VECTORS / 2; q++) at[2 * q] = v[q];
    __syncwarp();
}

/* Takes the products of rows i to i + LOWER_BLOCK - 1 away from the LOWER_BLOCK rows from `row`
 * on. */
template <class number>
TD_DEVICE void td_take_products(number *x, int stride, const number *lower, int i, int row)
{
    enum { LD = td_lower<number>::LD, COLUMNS = td_embedded<number>::COLUMNS, HALF = COLUMNS / 2 };
    const int lane = (int)threadIdx.x % 32, quad = lane / 4, at = lane % 4,
              column = td_embedded_column<number>();
    double *const upper = reinterpret_cast<double *>(x + (row + quad) * stride) + 2 * at,
                  *const under = upper + 8 * stride * td_embedded<number>::PARTS;
    double c[4] = {upper[0], upper[1], under[0], under[1]};
    TD_UNROLL
    for (int k = 0; k < LOWER_BLOCK; k += COLUMNS) {
        const number *l = lower + (i + k + column) * LD + row + quad,
                     *rest = x + (i + k + column) * stride;
        const double *known = reinterpret_cast<const double *>(rest) + td_embedded_place<number>();
        const double a[4] = {td_embedded_left(l), td_embedded_left(l + 8),
                             td_embedded_left(l + HALF * LD), td_embedded_left(l + HALF * LD + 8)},
                     b[2] = {
                         td_minus_right<number>(known[0]),
                         td_minus_right<number>(known[HALF * stride * td_embedded<number>::PARTS])};
        td_multiply64(c, a, b);
    }
    upper[0] = c[0], upper[1] = c[1], under[0] = c[2], under[1] = c[3];
}

/* X <- L^-1 X for td_lower::VECTORS columns, by a warp: x[row * stride + column] in shared memory,
 * with room for whole blocks of rows. L has `rows` rows. */
template <class number>
TD_DEVICE void td_solve_unit_lower(number *x, int stride, int rows, const number *lower)
{
    number l[LOWER_BLOCK];
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
