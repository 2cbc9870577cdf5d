/* dd.h - double-double arithmetic: pairs of binary64, for C on the host and CUDA C on the device;
 * and double+single, which is stored as binary64 and binary32 and computed with as
 * double-double. */
#ifndef TD_DD_H
#define TD_DD_H

#include "../../include/tandem.h"
#include "float32.h"
#include "order.h"

/* td_dd, td_dd_add, td_dd_mul, td_dd_flush, td_dd_renormalise. */
#define PAIR            tandem_dd
#define REAL            double
#define PAIR_MAKE       td_dd
#define PAIR_NAME(name) td_dd_##name
#define REAL_NAME(name) td_##name##64
#include "pair_tmpl.h"
#undef PAIR
#undef REAL
#undef PAIR_MAKE
#undef PAIR_NAME
#undef REAL_NAME

/* To binary64, one rounding. */
TD_BOTH double td_dd_join(tandem_dd a)
{
    return td_is_finite64(td_bits64(a.hi)) ? td_add64(a.hi, a.lo) : a.hi;
}

TD_BOTH tandem_dd td_dd_from_ds(tandem_ds a) { return td_dd(a.hi, (double)a.lo); }

/* a rounded to double+single: at most 2^-24 of a.lo away, 2^-77 of a; lo stays finite. a must be
 * normalised. */
TD_BOTH tandem_ds td_ds(tandem_dd a)
{
    const float largest = 3.4028234663852886e38f;
    tandem_ds r;
    r.hi = a.hi;
    r.lo = (float)a.lo;
    if (!td_is_finite32(r.lo)) r.lo = a.lo < 0.0 ? -largest : largest;
    if (!td_is_finite64(td_bits64(a.hi))) r.lo = 0.0f;
    return r;
}

/* a with the significand of double+single, whatever the exponent of a.lo: at most 2^-24 of a.lo
 * away (Veltkamp's splitting, Dekker 1971). |a.lo| < 2^990. */
TD_BOTH tandem_dd td_dd_shorten(tandem_dd a)
{
    const double c = td_mul64(a.lo, 0x1p29 + 1.0);
    return td_dd(a.hi, td_sub64(c, td_sub64(c, a.lo)));
}

/* x 2^e for |x| in 0 or [2^-200, 2^200] and e <= 2046, with one rounding; 0 if it is far below. */
TD_BOTH double td_scale_down64(double x, int e) { return td_scale64(x, e < -2148 ? -2148 : e); }

/* binary64 with the given bits, times 2^-e, to double-double: exact if that is at least 2^-1022;
 * infinities and NaN stay. -1074 <= e <= 1023, |x 2^-e| < 2^1023. */
TD_BOTH tandem_dd td_dd_split(uint64_t bits, int e)
{
    if (!td_is_finite64(bits)) return td_dd(td_from_bits64(bits), 0.0);
    int q;
    const double m = (double)(int64_t)td_significand64(bits, &q);
    return td_dd(td_scale_down64(bits >> 63 ? -m : m, q - e), 0.0);
}

/* x 2^-*e with 1 <= |x 2^-*e| < 2; 0 for 0, with an exponent below all others. x is finite. */
TD_BOTH double td_normalise64(double x, int *e)
{
    const double m = (double)(int64_t)td_significand64(td_bits64(x), e);
    *e = m == 0.0 ? -10000 : *e + 52;
    return td_mul64(x < 0.0 ? -m : m, 0x1p-52);
}

/* alpha sum 2^e + beta c with one rounding (two if the result is below 2^-1022): at most 2^-100
 * (|alpha sum 2^e| + |beta c|) from the exact value before it. Where binary64 arithmetic,
 * fma(alpha, sum, beta c), gives a NaN or an infinity, that. sum is normalised; |e| <= 2046. c
 * counts if beta is not 0. */
TD_BOTH double td_dd_axpby(double alpha, tandem_dd sum, int e, double beta, double c)
{
    const double product = td_scale64(sum.hi, e);
    const double rounded =
        beta == 0.0 ? td_mul64(alpha, product) : td_fma64(alpha, product, td_mul64(beta, c));
    if (!td_is_finite64(td_bits64(rounded)) || (alpha == 1.0 && beta == 0.0)) return rounded;

    int e_sum, e_alpha, e_beta, e_c;
    double p_error, q_error, error;
    const double hi = td_normalise64(sum.hi, &e_sum), a = td_normalise64(alpha, &e_alpha);
    double p = td_two_prod64(a, hi, &p_error);
    p_error = td_fma64(a, sum.hi == 0.0 ? 0.0 : td_scale_down64(sum.lo, -e_sum), p_error);
    const double b = td_normalise64(beta, &e_beta);
    const double q = td_two_prod64(b, td_normalise64(beta == 0.0 ? 0.0 : c, &e_c), &q_error);

    /* Scales both products by the power of two that makes the larger about 1. */
    const int e_p = e_alpha + e + e_sum, e_q = e_beta + e_c, top = e_p > e_q ? e_p : e_q;
    p = td_two_sum64(td_scale_down64(p, e_p - top), td_scale_down64(q, e_q - top), &error);
    p_error = td_add64(td_scale_down64(p_error, e_p - top), td_scale_down64(q_error, e_q - top));
    p = td_add64(p, td_add64(error, p_error));
    return p == 0.0 ? td_mul64(rounded, 0.0) : td_scale_down64(p, top);
}

#endif
