/* qr_number.h - a reflector's numbers, by which a column becomes R's, from the sum of the squares
 * below its diagonal; and powers of two, by which columns are scaled so that no square over- or
 * underflows. */
#ifndef TD_QR_NUMBER_H
#define TD_QR_NUMBER_H

#include "../arithmetic/float32.h"
#include "../device/portable.h"

/* A lane that has an element other than 0 below the diagonal adds QR_TRACE to the sum of squares,
 * which shows that and is lost in every sum that counts. Where the sum is below QR_LEAST and the
 * diagonal's element below QR_LEAST_ALPHA, the column is multiplied by 2^QR_LIFT and summed again.
 */
#define QR_TRACE       0x1p-1000
#define QR_LEAST       0x1p-900
#define QR_LEAST_ALPHA 0x1p-400
enum { QR_LIFT = 400 };

struct qr_reflector {
    double beta, tau, scale; /* v below the diagonal is `scale` times the column */
    bool lifts;              /* nothing else counts: the column is to be lifted */
};

/* As LAPACK's dlarfg: nothing below the diagonal, no reflection. */
TD_DEVICE qr_reflector qr_reflector_of(double alpha, double squares)
{
    if (squares == 0.0) return {alpha, 0.0, 0.0, false};
    const double norm = sqrt(td_fma64(alpha, alpha, squares)), beta = -copysign(norm, alpha),
                 apart = td_add64(alpha, -beta);
    return {beta, -apart / beta, 1.0 / apart, squares < QR_LEAST && fabs(alpha) < QR_LEAST_ALPHA};
}

/* The part of a column's reflection along v, over tau: what lies below the diagonal has the product
 * `sum` with the column of v. Of a column of V itself it is the product with v. */
TD_DEVICE double qr_along(double sum, const qr_reflector &h, double diagonal)
{
    return td_fma64(sum, h.scale, diagonal);
}

/* A leaf's part of T, and what it is made of: the products of V's columns, those of a column with
 * the ones before it in its row. */
template <int leaf> struct qr_triangle {
    double t[leaf][leaf + 1], product[leaf][leaf + 1], tau[leaf];
};

/* An element of T, whose row has the columns before it already. */
template <int leaf> TD_DEVICE void qr_make_t(qr_triangle<leaf> &of, int row, int column)
{
    if (row >= leaf) return;
    const double tau = of.tau[column];
    double sum = 0.0;
    TD_UNROLL_N(4)
    for (int k = 0; k < column; k++)
        if (k >= row) sum = td_fma64(of.t[row][k], of.product[column][k], sum);
    of.t[row][column] = row > column || tau == 0.0 ? 0.0
                        : row == column            ? tau
                                                   : -td_mul64(tau, sum);
}

/* 2^e, -1022 <= e <= 1023. */
TD_DEVICE double qr_power(int e) { return __hiloint2double((e + 1023) << 20, 0); }

/* x 2^e, in two steps; below 2^-2044 nothing is left of any x that there is. */
TD_DEVICE double qr_times_power(double x, int e)
{
    const int half = max(e, -2044) / 2;
    return td_mul64(td_mul64(x, qr_power(half)), qr_power(max(e, -2044) - half));
}

/* The exponent of a column whose largest element has that upper half, without its sign; 0 of one
 * that is not finite. */
TD_DEVICE int qr_exponent(int top)
{
    const int e = (top >> 20) - 1023;
    return e > 1023 ? 0 : max(-1022, min(1022, e));
}

#endif
