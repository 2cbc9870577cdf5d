/* qr_number.h - a reflector's numbers, by which a column becomes R's, from the sum of the squares
 * below its diagonal, for real and for complex columns; and powers of two, by which columns are
 * scaled so that no square over- or underflows. */
#ifndef TD_QR_NUMBER_H
#define TD_QR_NUMBER_H

#include "../batched_lu/number.h"
#include "qr_order.h"

/* A lane that has an element other than 0 below the diagonal adds QR_TRACE to the sum of squares,
 * which shows that and is lost in every sum that counts. Where the sum is below QR_LEAST and the
 * diagonal's element below QR_LEAST_ALPHA, the column is multiplied by 2^QR_LIFT and summed again.
 */
#define QR_TRACE       0x1p-1000
#define QR_LEAST       0x1p-900
#define QR_LEAST_ALPHA 0x1p-400
enum { QR_LIFT = 400 };

template <class number> struct qr_of {
    enum {
        PARTS = td_parts_of<number>(),
        SLOTS = QR_SLOTS / PARTS /* columns of a lane */
    };
};

/* A leaf of a panel, whose first column is the panel's column `first`: pointers to A, V and T are
 * to its own diagonal, of V and T to where it is embedded. rows >= columns. */
template <class number> struct qr_leaf {
    number *a;
    int64_t ld;
    int rows, columns, first;
    number *tau;
    double *v;
    int64_t v_ld;
    double *t;
};

/* ---- numbers: what a multiply-add has made is not negated, as GCC makes that another
 * multiply-add, and so another zero ---- */

TD_DEVICE double qr_add(double x, double y) { return td_add64(x, y); }
TD_DEVICE td_complex<double> qr_add(td_complex<double> x, td_complex<double> y)
{
    return {td_add64(x.re, y.re), td_add64(x.im, y.im)};
}

TD_DEVICE double qr_minus(double x) { return -x; }
TD_DEVICE td_complex<double> qr_minus(td_complex<double> x) { return {-x.re, -x.im}; }

/* c + a b: of a complex a the real part comes first. */
TD_DEVICE double qr_plus(double c, double a, double b) { return td_fma64(a, b, c); }
TD_DEVICE td_complex<double> qr_plus(td_complex<double> c, td_complex<double> a,
                                     td_complex<double> b)
{
    return {td_fma64(-a.im, b.im, td_fma64(a.re, b.re, c.re)),
            td_fma64(a.im, b.re, td_fma64(a.re, b.im, c.im))};
}

/* c + a' b */
template <class number> TD_DEVICE number qr_plus_product(number c, number a, number b)
{
    return qr_plus(c, td_conjugate(a), b);
}

/* The upper half of the largest part, without its sign. */
TD_DEVICE int qr_top(double x) { return __double2hiint(x) & 0x7fffffff; }
TD_DEVICE int qr_top(td_complex<double> x) { return max(qr_top(x.re), qr_top(x.im)); }

/* 0 of a zero alone. */
TD_DEVICE unsigned qr_bits(double x)
{
    return (unsigned)__double2hiint(x) << 1 | (unsigned)__double2loint(x);
}
TD_DEVICE unsigned qr_bits(td_complex<double> x) { return qr_bits(x.re) | qr_bits(x.im); }

/* Writes an element of a matrix that stands for its products with others: a complex one as
 * [re -im]
 * [im  re], which products of real numbers make. ld is even. */
TD_DEVICE void qr_embed(double *to, int64_t ld, int64_t row, int64_t column, double x)
{
    to[row + column * ld] = x;
}
TD_DEVICE void qr_embed(double *to, int64_t ld, int64_t row, int64_t column, td_complex<double> x)
{
    double *const at = to + 2 * row + 2 * column * ld;
    *reinterpret_cast<td_complex<double> *>(at) = x;
    *reinterpret_cast<td_complex<double> *>(at + ld) = {-x.im, x.re};
}

/* ---- a reflector ---- */

template <class number> struct qr_reflector {
    double beta;
    number tau, scale; /* v below the diagonal is `scale` times the column */
    bool lifts;        /* nothing else counts: the column is to be lifted */
};

/* As LAPACK's dlarfg: nothing below the diagonal, no reflection. */
TD_DEVICE qr_reflector<double> qr_reflector_of(double alpha, double squares)
{
    if (squares == 0.0) return {alpha, 0.0, 0.0, false};
    const double norm = sqrt(td_fma64(alpha, alpha, squares)), beta = -copysign(norm, alpha),
                 apart = td_add64(alpha, -beta);
    return {beta, -apart / beta, 1.0 / apart, squares < QR_LEAST && fabs(alpha) < QR_LEAST_ALPHA};
}

/* As LAPACK's zlarfg: a diagonal that is not real is made real. */
TD_DEVICE qr_reflector<td_complex<double>> qr_reflector_of(td_complex<double> alpha,
                                                           td_complex<double> squares)
{
    const double sum = td_fma64(alpha.im, alpha.im, squares.re);
    if (squares.re == 0.0 && alpha.im == 0.0) return {alpha.re, {0.0, 0.0}, {0.0, 0.0}, false};
    const double norm = sqrt(td_fma64(alpha.re, alpha.re, sum)), beta = -copysign(norm, alpha.re),
                 apart = td_add64(alpha.re, -beta),
                 over = 1.0 / td_fma64(apart, apart, td_mul64(alpha.im, alpha.im));
    return {beta,
            {-apart / beta, -alpha.im / beta},
            {td_mul64(apart, over), -td_mul64(alpha.im, over)},
            squares.re < QR_LEAST && fabs(alpha.re) < QR_LEAST_ALPHA &&
                fabs(alpha.im) < QR_LEAST_ALPHA};
}

/* The part of a column's reflection along v, over tau': what lies below the diagonal has the
 * product `sum` with the column of v. Of a column of V itself it is the product with v. */
template <class number>
TD_DEVICE number qr_along(number sum, const qr_reflector<number> &h, number diagonal)
{
    return qr_plus_product(diagonal, h.scale, sum);
}

/* What of that is taken off along v. */
template <class number>
TD_DEVICE number qr_taken(const qr_reflector<number> &h, number along, bool is_behind)
{
    return is_behind && !td_is_zero(h.tau) ? td_times(td_conjugate(h.tau), along)
                                           : td_number<number>(0.0);
}

/* A leaf's part of T, and what it is made of: the products of V's columns, those of a column with
 * the ones before it in its row. */
template <class number, int leaf> struct qr_triangle {
    number t[leaf][leaf + 1], product[leaf][leaf + 1], tau[leaf];
};

/* An element of T, whose row has the columns before it already. */
template <class number, int leaf>
TD_DEVICE void qr_make_t(qr_triangle<number, leaf> &of, int row, int column)
{
    if (row >= leaf) return;
    const number tau = of.tau[column];
    number sum = td_number<number>(0.0);
    TD_UNROLL_N(4)
    for (int k = 0; k < column; k++)
        if (k >= row) sum = qr_plus(sum, of.t[row][k], td_conjugate(of.product[column][k]));
    of.t[row][column] = row > column || td_is_zero(tau) ? td_number<number>(0.0)
                        : row == column                 ? tau
                                                        : td_times(qr_minus(tau), sum);
}

/* ---- powers of two ---- */

/* 2^e, -1022 <= e <= 1023. */
TD_DEVICE double qr_power(int e) { return __hiloint2double((e + 1023) << 20, 0); }

/* x 2^e, in two steps; below 2^-2044 nothing is left of any x that there is. */
template <class number> TD_DEVICE number qr_times_power(number x, int e)
{
    const int half = max(e, -2044) / 2;
    return td_scaled(td_scaled(x, qr_power(half)), qr_power(max(e, -2044) - half));
}

/* The exponent of a column whose largest element has that upper half, without its sign; 0 of one
 * that is not finite. */
TD_DEVICE int qr_exponent(int top)
{
    const int e = (top >> 20) - 1023;
    return e > 1023 ? 0 : max(-1022, min(1022, e));
}

#endif
