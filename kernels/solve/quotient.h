/* quotient.h - division of many numbers by one, real or complex: its reciprocal is computed once,
 * and serves for all of them if it is far from the ends of the range. */
#ifndef TD_QUOTIENT_H
#define TD_QUOTIENT_H

#include "../batched_lu/number.h"

/* What td_quotient divides by t with: the reciprocal of t, or 0 where t is 0, infinite, NaN, or not
 * within 2^-TD_MILD .. 2^TD_MILD. */
enum { TD_MILD = 400 };

/* True if x has a part within these bounds, and no larger one. */
template <class number> TD_DEVICE bool td_is_mild(number x)
{
    const int bias = td_width<double>::BIAS;
    return (unsigned)(td_top_exponent(x) - (bias - TD_MILD)) <= 2 * TD_MILD;
}

template <class number> TD_DEVICE number td_divisor(number t)
{
    return td_is_mild(t) ? td_reciprocal(t) : td_number<number>(0.0);
}

/* x / t: x times the divisor, two roundings; or, where that is 0, correctly rounded. */
TD_DEVICE double td_quotient(double x, double t, double divisor)
{
    return divisor == 0.0 ? x / t : td_mul64(x, divisor);
}

/* ---- complex quotients at the ends of the range ---- */

/* The power of two by which the larger part of x comes into 1 .. 2; 0 if x is 0 or not finite. */
TD_DEVICE int td_scale_to_one(td_complex<double> x)
{
    const double top = fmax(fabs(x.re), fabs(x.im));
    return top > 0.0 && top <= 0x1.fffffffffffffp1023 ? -ilogb(top) : 0;
}

TD_DEVICE td_complex<double> td_times_power(td_complex<double> x, int power)
{
    return {ldexp(x.re, power), ldexp(x.im, power)};
}

/* Smith's quotient (CACM 5, 1962) for numbers whose larger parts are in 1 .. 2. */
TD_DEVICE td_complex<double> td_smith(td_complex<double> x, td_complex<double> t)
{
    const bool swaps = fabs(t.re) < fabs(t.im);
    const double large = swaps ? t.im : t.re, small = swaps ? t.re : t.im;
    const double ratio = small / large, norm = td_fma64(small, ratio, large);
    if (swaps) return {td_fma64(x.re, ratio, x.im) / norm, td_fma64(x.im, ratio, -x.re) / norm};
    return {td_fma64(x.im, ratio, x.re) / norm, td_fma64(-x.re, ratio, x.im) / norm};
}

TD_DEVICE td_complex<double> td_extreme_quotient(td_complex<double> x, td_complex<double> t)
{
    const int of_x = td_scale_to_one(x), of_t = td_scale_to_one(t);
    const td_complex<double> q = td_smith(td_times_power(x, of_x), td_times_power(t, of_t));
    return td_times_power(q, of_t - of_x);
}

TD_DEVICE td_complex<double> td_quotient(td_complex<double> x, td_complex<double> t,
                                         td_complex<double> divisor)
{
    return td_is_zero(divisor) ? td_extreme_quotient(x, t) : td_times(x, divisor);
}

#endif
