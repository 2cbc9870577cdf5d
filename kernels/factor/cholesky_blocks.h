/* cholesky_blocks.h - what warps do to tiles of L in shared memory, in strips of 16 columns:
 * products, the solution beside a diagonal block, and the factor of a diagonal block. Numbers are
 * real or complex; a tile has as many columns as 64 real numbers lie beside each other. Element
 * (row, column) of a tile is at [column * stride + row]. */
#ifndef TD_CHOLESKY_BLOCKS_H
#define TD_CHOLESKY_BLOCKS_H

#include "../solve/quotient.h"
#include "warp_products.h"

enum { STRIP = 16 };

template <class number> struct shape_of {
    enum {
        PARTS = td_parts_of<number>(),
        TILE = 64 / PARTS,
        STRIPS = TILE / STRIP,
        TILE_STRIDE = TILE + 4,
        TILE_SIZE = TILE * TILE_STRIDE,
        COLUMN_STRIDE = STRIP + 2, /* of a diagonal block's columns, for factor_block() */
        COLUMNS_SIZE = STRIP * COLUMN_STRIDE
    };
};

/* Takes `terms` products away from a block of STRIP rows and so many columns, by a warp. */
template <class number, int terms, int stride, int b_stride, int columns = STRIP>
TD_DEVICE void update_block(number *block, const number *a, const number *b)
{
    enum { COLUMNS = columns * shape_of<number>::PARTS };
    sums_of_warp<STRIP, COLUMNS> c;
    set_sums<number, STRIP, COLUMNS>(
        c, [=](int row, int column) { return block[column * stride + row]; });
    take_products<number, terms, 1, stride, 1, b_stride, STRIP, COLUMNS>(c, a, b);
    use_sums<number, STRIP, COLUMNS>(
        c, [=](number sum, int row, int column) { block[column * stride + row] = sum; });
    __syncwarp();
}

/* Takes the products of the strips before strip s away from a block, by a warp; a and b begin in
 * its rows. */
template <class number, int stride, int b_stride>
TD_DEVICE void take_strips(number *block, const number *a, const number *b, int s)
{
    if (s == 1) update_block<number, STRIP, stride, b_stride>(block, a, b);
    if (s == 2) update_block<number, 2 * STRIP, stride, b_stride>(block, a, b);
    if (s == 3) update_block<number, 3 * STRIP, stride, b_stride>(block, a, b);
}

/* Half of a strip, in which a row is solved for in registers. */
enum { HALF = STRIP / 2 };

/* Solves for half a strip of a row, at x, with the triangle at l. */
template <class number, int stride, int l_stride>
TD_DEVICE void substitute_half(number *x, const number *l, const double *reciprocals)
{
    number v[HALF];
    TD_UNROLL
    for (int c = 0; c < HALF; c++) v[c] = x[c * stride];
    TD_UNROLL
    for (int c = 0; c < HALF; c++) {
        v[c] = td_scaled(v[c], reciprocals[c]);
        TD_UNROLL
        for (int k = c + 1; k < HALF; k++)
            v[k] = td_minus(v[k], v[c], td_conjugate(l[c * l_stride + k]));
    }
    TD_UNROLL
    for (int c = 0; c < HALF; c++) x[c * stride] = v[c];
}

/* Solves for rows of a strip with the triangle at `l_at` of shared memory and the reciprocals of
 * its diagonal, by a warp: a row for each lane, of which half begin at `at` and the others at
 * `behind`; a negative place: there are none. Between halves of the strip the tensor cores take
 * products away, which waits less for shared memory than a whole row in registers does. */
template <class number, int stride, int l_stride>
TD_DEVICE_CALL void substitute(int at, int behind, int l_at, int reciprocals_at)
{
    TD_DYNAMIC_SHARED(number, room);
    enum { NEXT = HALF * stride }; /* from a half to the other */
    const int lane = (int)threadIdx.x % 32, first = lane < STRIP ? at : behind;
    number *const x = room + first + lane % STRIP;
    const number *const l = room + l_at;
    const double *const reciprocals = reinterpret_cast<const double *>(room) + reciprocals_at;
    if (first >= 0) substitute_half<number, stride, l_stride>(x, l, reciprocals);
    __syncwarp();
    if (at >= 0)
        update_block<number, HALF, stride, l_stride, HALF>(room + at + NEXT, room + at, l + HALF);
    if (behind >= 0)
        update_block<number, HALF, stride, l_stride, HALF>(room + behind + NEXT, room + behind,
                                                           l + HALF);
    if (first >= 0)
        substitute_half<number, stride, l_stride>(x + NEXT, l + HALF * l_stride + HALF,
                                                  reciprocals + HALF);
    __syncwarp();
}

/* ---- diagonal blocks ---- */

/* True of a number whose reciprocal and root the functions below compute: far from the ends of the
 * range, and not the one mantissa in 2^32 or so for which the last step may round wrongly. */
TD_DEVICE bool is_plain(double x)
{
    const int exponent = __double2hiint(x) >> 20, least = td_width<double>::BIAS - (int)TD_MILD;
    return ((unsigned)(exponent - least) <= 2 * TD_MILD) & (__double2loint(x) != -1);
}

/* 1 / x but for some 2^-20 of it. */
TD_DEVICE double seed_of(double x)
{
#if TD_HAS_CUDA_DEVICE
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return y;
#else
    return 1.0 / x;
#endif
}

/* What 1 / x is less than so much of it away from, for the functions below. */
#define MOST_OFF 0x1p-18

/* 1 / x but for a unit in the last place, for a y that is that but for MOST_OFF of it, and
 * off = 1 - x y. */
TD_DEVICE double near_reciprocal(double y, double off)
{
    return td_fma64(y, td_fma64(off, off, off), y);
}

/* 1 / x, correctly rounded, for a y that is that but for a unit in the last place. */
TD_DEVICE double rounded_reciprocal(double x, double y)
{
    return td_fma64(y, td_fma64(-x, y, 1.0), y);
}

/* The root of x and its reciprocal, both correctly rounded, without a branch; the second one if the
 * root is plain. */
TD_DEVICE double root_of_plain(double x, double &reciprocal)
{
#if TD_HAS_CUDA_DEVICE
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const double e = td_fma64(-td_mul64(y, y), x, 1.0);
    y = td_fma64(td_fma64(e, 0.375, 0.5), td_mul64(y, e), y);
    const double near = td_mul64(y, x);
    const double root = td_fma64(td_fma64(-near, near, x), 0.5 * y, near);
    reciprocal = rounded_reciprocal(root, near_reciprocal(y, td_fma64(-root, y, 1.0)));
    return root;
#else
    reciprocal = 1.0 / sqrt(x);
    return sqrt(x);
#endif
}

/* |x|^2, but for its last bits. */
TD_DEVICE double square_of(double x) { return td_mul64(x, x); }
TD_DEVICE double square_of(td_complex<double> x)
{
    return td_fma64(x.re, x.re, td_mul64(x.im, x.im));
}

/* A lane's part of a block of 16 x 16: element [i][j] is of row lane % 8 + 8 i and of column
 * lane / 8 + 4 j. */
enum { LANE_ROWS = 2, LANE_COLUMNS = 4 };
template <class number> using part_of_block = number[LANE_ROWS][LANE_COLUMNS];

/* Where a row's element of a column is in memory that is for one: a lane's two rows lie beside each
 * other, and so do the four that belong to its columns, those of even j first. */
TD_DEVICE int place_of_row(int row) { return row % 4 * 4 + row / 8 + row / 4 % 2 * 2; }

/* Takes the columns of a block on the diagonal, at x, away from each other, by a warp; the result
 * is in a then. Every lane computes the next pivot as soon as one's reciprocal is known, and a seed
 * of its reciprocal before; lane l has pivot l % 16 at last. `columns` is memory for COLUMNS_SIZE
 * numbers. False, in all lanes, if a pivot is not plain, or so much smaller than what it was before
 * a column was taken away that its seed is off: the result is of no use then. */
template <class number, int stride>
TD_DEVICE bool factor_plain(const number *x, number *columns, part_of_block<number> &a,
                            double &pivot_of_lane)
{
    const int lane = (int)threadIdx.x % 32, row = lane % 8, of = lane / 8;
    const int own = place_of_row(row);
    TD_UNROLL
    for (int i = 0; i < LANE_ROWS; i++) TD_UNROLL
    for (int j = 0; j < LANE_COLUMNS; j++) a[i][j] = x[(of + 4 * j) * stride + row + 8 * i];
    double pivot = td_real_part(x[0]), seed = seed_of(pivot);
    bool are_plain = true;
    TD_UNROLL
    for (int c = 0; c < STRIP; c++) {
        number *const column = columns + c * shape_of<number>::COLUMN_STRIDE;
        if (of == c % 4) {
            column[own] = a[0][c / 4];
            column[own + 1] = a[1][c / 4];
        }
        if (c + 1 < STRIP && of == (c + 1) % 4 && row == (c + 1) % 8)
            column[STRIP] = a[(c + 1) / 8][(c + 1) / 4];
        __syncwarp();
        const double off = td_fma64(-pivot, seed, 1.0), near = near_reciprocal(seed, off);
        are_plain &= is_plain(pivot) & (fabs(off) < MOST_OFF);
        pivot_of_lane = lane % STRIP == c ? pivot : pivot_of_lane;
        if (c + 1 == STRIP) break;
        const number next = column[STRIP], beside = column[place_of_row(c + 1)];
        const number left[LANE_ROWS] = {column[own], column[own + 1]};
        number right[LANE_COLUMNS];
        TD_UNROLL
        for (int j = 0; j < LANE_COLUMNS; j++) right[j] = column[4 * of + j / 2 + j % 2 * 2];
        seed = seed_of(td_fma64(-near, square_of(beside), td_real_part(next)));
        const double reciprocal = rounded_reciprocal(pivot, near);
        pivot = td_real_part(td_minus(next, td_scaled(beside, reciprocal), td_conjugate(beside)));
        TD_UNROLL
        for (int i = 0; i < LANE_ROWS; i++) {
            const number factor = td_scaled(left[i], reciprocal);
            TD_UNROLL
            for (int j = c / 4; j < LANE_COLUMNS; j++)
                if (4 * j + 3 > c) {
                    const number less = td_minus(a[i][j], factor, td_conjugate(right[j]));
                    a[i][j] = j > c / 4 || of > c % 4 ? less : a[i][j];
                }
        }
    }
    return __all_sync(~0u, are_plain);
}

/* a / pivot as td_quotient() has it. */
TD_DEVICE double quotient(double a, double pivot)
{
    return td_quotient(a, pivot, td_divisor(pivot));
}
TD_DEVICE td_complex<double> quotient(td_complex<double> a, double pivot)
{
    return {quotient(a.re, pivot), quotient(a.im, pivot)};
}

/* What factor_plain() does, for any pivots, in place. Returns the number of the first pivot that is
 * not positive, from 1; 0: all are. */
template <class number, int stride> TD_DEVICE int factor_any(number *x, double &pivot_of_row)
{
    const int row = (int)threadIdx.x % STRIP;
    TD_ROLLED
    for (int c = 0; c < STRIP; c++) {
        const number *const column = x + c * stride;
        const double pivot = td_real_part(column[c]);
        if (!(pivot > 0.0)) return c + 1;
        if (c == row) pivot_of_row = pivot;
        if ((int)threadIdx.x % 32 == row && row > c) {
            const number factor = quotient(column[row], pivot);
            TD_ROLLED
            for (int k = c + 1; k <= row; k++)
                x[k * stride + row] =
                    td_minus(x[k * stride + row], factor, td_conjugate(column[k]));
        }
        __syncwarp();
    }
    return 0;
}

/* Factors a block on the diagonal, at `at` of shared memory, by a warp, as L D L^H; then its
 * columns are multiplied by the reciprocals of roots. Returns what factor_any() does. */
template <class number, int stride>
TD_DEVICE_CALL int factor_block(int at, int columns_at, int reciprocals_at)
{
    TD_DYNAMIC_SHARED(number, room);
    number *const x = room + at;
    double *const reciprocals = reinterpret_cast<double *>(room) + reciprocals_at;
    const int lane = (int)threadIdx.x % 32, row = lane % 8, of = lane / 8;
    part_of_block<number> a;
    double pivot = 1.0, reciprocal;
    bool is_done = factor_plain<number, stride>(x, room + columns_at, a, pivot);
    double root = root_of_plain(pivot, reciprocal);
    is_done = __all_sync(~0u, is_done && is_plain(root));
    if (!is_done) {
        const int failed = factor_any<number, stride>(x, pivot);
        if (failed) return failed;
        root = sqrt(pivot);
        reciprocal = 1.0 / root;
        TD_UNROLL
        for (int i = 0; i < LANE_ROWS; i++) TD_UNROLL
        for (int j = 0; j < LANE_COLUMNS; j++) a[i][j] = x[(of + 4 * j) * stride + row + 8 * i];
    }
    if (lane < STRIP) reciprocals[lane] = reciprocal;
    __syncwarp();
    TD_UNROLL
    for (int j = 0; j < LANE_COLUMNS; j++) {
        const int column = of + 4 * j;
        const double scale = reciprocals[column];
        TD_UNROLL
        for (int i = 0; i < LANE_ROWS; i++)
            if (column != row + 8 * i) /* above the diagonal, too: of no use */
                x[column * stride + row + 8 * i] = td_scaled(a[i][j], scale);
    }
    if (lane < STRIP) x[lane * stride + lane] = td_number<number>(root);
    __syncwarp();
    return 0;
}

#endif
