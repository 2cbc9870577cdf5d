/* cholesky_blocks.h - what warps do to tiles of L in shared memory, in strips of 16 columns:
 * products, the solution beside a diagonal block, and the factor of a diagonal block. Numbers are
 * real or complex; a tile has as many columns as 64 real numbers lie beside each other. Element
 * (row, column) of a tile is at [column * stride + row]. */
#ifndef TD_CHOLESKY_BLOCKS_H
#define TD_CHOLESKY_BLOCKS_H

#include "../device/dmma.h"
#include "../solve/quotient.h"

enum { STRIP = 16 };

template <class number> struct shape_of {
    enum {
        PARTS = td_is_complex<number>::value ? 2 : 1, /* real numbers of one */
        TILE = 64 / PARTS,
        STRIPS = TILE / STRIP,
        TILE_STRIDE = TILE + 4,
        TILE_SIZE = TILE * TILE_STRIDE,
        COLUMN_STRIDE = STRIP + 2, /* of a diagonal block's columns, for factor_block() */
        COLUMNS_SIZE = STRIP * COLUMN_STRIDE
    };
};

/* A thread's part of a warp's sums, as the tensor cores have it, of real columns: element [i][j][2
 * h + e] is of row 16 i + 8 h + lane / 4 and column 8 j + 2 (lane % 4) + e. Two neighbours of a
 * row are the parts of a complex number. */
template <int rows, int columns> using sums_of_warp = double[rows / 16][columns / 8][4];

TD_DEVICE double number_at(const double *x, double) { return *x; }
TD_DEVICE td_complex<double> number_at(const double *x, td_complex<double>) { return {x[0], x[1]}; }
TD_DEVICE void put_number(double *x, double y) { *x = y; }
TD_DEVICE void put_number(double *x, td_complex<double> y) { x[0] = y.re, x[1] = y.im; }

/* Calls work(x, row, column) with the parts of each number of a thread's sums. */
template <class number, int rows, int columns, class function>
TD_DEVICE void each_place(sums_of_warp<rows, columns> &c, function work)
{
    constexpr int parts = shape_of<number>::PARTS;
    const int row = (int)threadIdx.x % 32 / 4, column = (int)threadIdx.x % 4 * 2 / parts;
    TD_UNROLL
    for (int i = 0; i < rows / 16; i++) TD_UNROLL
    for (int j = 0; j < columns / 8; j++) TD_UNROLL
    for (int q = 0; q < 4; q += parts)
        work(&c[i][j][q], 16 * i + q / 2 * 8 + row, (8 * j + q % 2) / parts + column);
}

/* Each number of a thread's sums is made by make(row, column). */
template <class number, int rows, int columns, class function>
TD_DEVICE void set_sums(sums_of_warp<rows, columns> &c, function make)
{
    each_place<number, rows, columns>(
        c, [&](double *x, int row, int column) { put_number(x, make(row, column)); });
}

/* Calls use(sum, row, column) for each number of a thread's sums. */
template <class number, int rows, int columns, class function>
TD_DEVICE void use_sums(sums_of_warp<rows, columns> &c, function use)
{
    each_place<number, rows, columns>(
        c, [&](double *x, int row, int column) { use(number_at(x, number()), row, column); });
}

/* What a lane multiplies for -x, a part of an element of b: that of a row of the matrix
 *
 *     [re -im]
 *     [im  re] transposed, for complex numbers; the real part of a comes first. */
template <class number> TD_DEVICE double minus_right(double x)
{
#if TD_HAS_CUDA_DEVICE
    if constexpr (td_is_complex<number>::value) {
        const int sign = (threadIdx.x & 5) == 4 ? 0 : INT_MIN;
        return __hiloint2double(__double2hiint(x) ^ sign, __double2loint(x));
    }
#endif
    return -x;
}

/* c -= a b^H, of so many terms: a's rows, a[row * row_step + k * k_step], and b's. Each sum is the
 * chain of td_minus() over k. */
template <class number, int terms, int row_step, int k_step, int b_row_step, int b_k_step, int rows,
          int columns>
TD_DEVICE void take_products(sums_of_warp<rows, columns> &c, const number *a, const number *b)
{
#if TD_HAS_CUDA_DEVICE && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
    constexpr int parts = shape_of<number>::PARTS;
    const int line = (int)threadIdx.x % 32 / 4, l = (int)threadIdx.x % 4;
    const double *const left =
        reinterpret_cast<const double *>(a + line * row_step + l / parts * k_step) + l % parts;
    const double *const right =
        reinterpret_cast<const double *>(b + line / parts * b_row_step + l / parts * b_k_step) +
        (line ^ l) % parts;
    TD_UNROLL
    for (int k = 0; k < terms * parts; k += 8) {
        double x[rows / 16][4], y[columns / 8][2];
        TD_UNROLL
        for (int i = 0; i < rows / 16; i++) TD_UNROLL
        for (int q = 0; q < 4; q++)
            x[i][q] = left[(16 * i + q % 2 * 8) * parts * row_step + (k + q / 2 * 4) * k_step];
        TD_UNROLL
        for (int j = 0; j < columns / 8; j++) TD_UNROLL
        for (int q = 0; q < 2; q++)
            y[j][q] = minus_right<number>(right[8 * j * b_row_step + (k + q * 4) * b_k_step]);
        TD_UNROLL
        for (int i = 0; i < rows / 16; i++) TD_UNROLL
        for (int j = 0; j < columns / 8; j++) td_multiply64(c[i][j], x[i], y[j]);
    }
#else
    each_place<number, rows, columns>(c, [=](double *x, int row, int column) {
        number sum = number_at(x, number());
        for (int k = 0; k < terms; k++)
            sum = td_minus(sum, a[row * row_step + k * k_step],
                           td_conjugate(b[column * b_row_step + k * b_k_step]));
        put_number(x, sum);
    });
#endif
}

/* Takes `terms` products away from a block of STRIP x STRIP elements, by a warp. */
template <class number, int terms, int stride, int b_stride>
TD_DEVICE void update_block(number *block, const number *a, const number *b)
{
    enum { COLUMNS = STRIP * shape_of<number>::PARTS };
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

/* Column c of a triangle at l, from row c + 1 on. */
template <class number, int l_stride>
TD_DEVICE void load_below(number (&to)[STRIP], const number *l, int c)
{
    TD_UNROLL
    for (int k = c + 1; k < STRIP; k++) to[k] = l[c * l_stride + k];
}

/* Solves for STRIP rows of a strip, which begin at `at` of shared memory, with the triangle at
 * `l_at` and the reciprocals of its diagonal, by a warp: a row for each lane of half of them. Each
 * column of the triangle is loaded while the one before is taken away. */
template <class number, int stride, int l_stride>
TD_DEVICE_CALL void substitute(int at, int l_at, int reciprocals_at)
{
    TD_DYNAMIC_SHARED(number, room);
    const int row = (int)threadIdx.x % 32;
    number *const x = room + at + row;
    const number *const l = room + l_at;
    const double *const reciprocals = reinterpret_cast<const double *>(room) + reciprocals_at;
    if (row < STRIP) {
        number v[STRIP];
        TD_UNROLL
        for (int c = 0; c < STRIP; c++) v[c] = x[c * stride];
        TD_UNROLL
        for (int c = 0; c < STRIP; c++) {
            v[c] = td_scaled(v[c], reciprocals[c]);
            TD_UNROLL
            for (int k = c + 1; k < STRIP; k++)
                v[k] = td_minus(v[k], v[c], td_conjugate(l[c * l_stride + k]));
        }
        TD_UNROLL
        for (int c = 0; c < STRIP; c++) x[c * stride] = v[c];
    }
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

/* 1 / x, correctly rounded, for a y that is that but for 2^-18 of it. */
TD_DEVICE double refined(double x, double y)
{
    double e = td_fma64(-x, y, 1.0);
    e = td_fma64(e, e, e);
    y = td_fma64(y, e, y); /* within a unit in the last place */
    e = td_fma64(-x, y, 1.0);
    return td_fma64(y, e, y);
}

/* 1 / x, correctly rounded, without a branch. */
TD_DEVICE double reciprocal_of_plain(double x)
{
#if TD_HAS_CUDA_DEVICE
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return refined(x, y);
#else
    return 1.0 / x;
#endif
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
    reciprocal = refined(root, y);
    return root;
#else
    reciprocal = 1.0 / sqrt(x);
    return sqrt(x);
#endif
}

/* Takes the columns of a block on the diagonal, at x, away from each other, by a warp: a row for
 * each lane, twice, which is in a then. Every lane computes the next pivot as soon as one's
 * reciprocal is known. `columns` is memory for COLUMNS_SIZE numbers. False, in all lanes, if a
 * pivot is not plain: the result is of no use then. */
template <class number, int stride>
TD_DEVICE bool factor_plain(const number *x, number *columns, number (&a)[STRIP],
                            double &pivot_of_row)
{
    const int lane = (int)threadIdx.x % 32, row = lane % STRIP;
    TD_UNROLL
    for (int c = 0; c < STRIP; c++) a[c] = x[c * stride + row];
    double pivot = td_real_part(x[0]);
    bool are_plain = true;
    TD_UNROLL
    for (int c = 0; c < STRIP; c++) {
        const int next = c + 1 < STRIP ? c + 1 : c;
        number *const column = columns + c * shape_of<number>::COLUMN_STRIDE, beside[STRIP];
        if (lane < STRIP) column[row] = a[c];
        if (c + 1 < STRIP && lane == c + 1) column[STRIP] = a[next];
        __syncwarp();
        load_below<number, 0>(beside, column, c);
        __syncwarp(); /* keeps the compiler from loading later, one after the other */
        const double reciprocal = reciprocal_of_plain(pivot);
        are_plain &= is_plain(pivot);
        pivot_of_row = c == row ? pivot : pivot_of_row;
        if (c + 1 < STRIP) {
            const number x = beside[next], factor = td_scaled(x, reciprocal);
            pivot = td_real_part(td_minus(column[STRIP], factor, td_conjugate(x)));
        }
        const number factor = td_scaled(a[c], reciprocal);
        TD_UNROLL
        for (int k = c + 1; k < STRIP; k++) a[k] = td_minus(a[k], factor, td_conjugate(beside[k]));
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
    const int row = (int)threadIdx.x % STRIP;
    number a[STRIP];
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
        for (int c = 0; c < STRIP; c++) a[c] = x[c * stride + row];
    }
    const bool is_first = (int)threadIdx.x % 32 == row;
    if (is_first) reciprocals[row] = reciprocal;
    __syncwarp();
    double scales[STRIP];
    TD_UNROLL
    for (int c = 0; c < STRIP; c++) scales[c] = reciprocals[c];
    __syncwarp(); /* as in factor_plain() */
    TD_UNROLL
    for (int c = 0; c < STRIP; c++)
        a[c] = c == row ? td_number<number>(root) : td_scaled(a[c], scales[c]);
    if (is_first) {
        TD_UNROLL
        for (int c = 0; c < STRIP; c++) x[c * stride + row] = a[c]; /* above it, too: of no use */
    }
    __syncwarp();
    return 0;
}

#endif
