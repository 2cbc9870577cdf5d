/* df.h - double-float arithmetic: pairs of binary32, for C on the host and CUDA C on the device. */
#ifndef TD_DF_H
#define TD_DF_H

#include "../../include/tandem.h"
#include "float32.h"
#include "order.h"

/* td_df, td_df_add, td_df_mul, td_df_flush, td_df_renormalise. */
#define PAIR            tandem_df
#define REAL            float
#define PAIR_MAKE       td_df
#define PAIR_NAME(name) td_df_##name
#define REAL_NAME(name) td_##name
#include "pair_tmpl.h"
#undef PAIR
#undef REAL
#undef PAIR_MAKE
#undef PAIR_NAME
#undef REAL_NAME

/* binary64 with the given bits, times 2^-e, to double-float: |result - x 2^-e| <= 2^-49 |x 2^-e| if
 * that is in [2^-100, 2^128 (1 - 2^-25)), 2^-149 absolute below; infinite above. NaN and infinities
 * give (x, 0). |lo| is at most half a unit in the last place of hi; ties of hi go away from 0 while
 * its last place is one that binary32 has. No binary64 arithmetic: it runs at 1/64 of the rate on
 * many GPUs. -1074 <= e <= 1023. */
TD_BOTH tandem_df td_df_split(uint64_t bits, int e)
{
    if (!td_is_finite64(bits)) return td_df(td_special32(bits), 0.0f);
    int q;
    const uint64_t m = td_significand64(bits, &q);
    const float sign = bits >> 63 ? -1.0f : 1.0f;

    /* |x 2^-e| == m 2^q: hi has the upper 24 bits rounded, lo the signed rest, below 2^28 in
     * size. */
    q -= e;
    q = q < -252 ? -252 : q > 127 ? 127 : q; /* as good as 0, and infinite */
    const int hi = (int)((m + (1ull << 28)) >> 29), lo = (int)((int64_t)m - ((int64_t)hi << 29));
    tandem_df r;
    r.hi = td_scale32(hi, q + 29);
    r.lo = q + 29 >= -149 ? td_scale32(lo, q) : 0.0f; /* else hi is already all that fits */
    if (!td_is_finite32(r.hi)) r.lo = 0.0f;
    return td_df(sign * r.hi, sign * r.lo);
}

/* Back to binary64, one rounding (none if hi and lo are at most 28 bits apart). */
TD_BOTH double td_df_join(tandem_df a)
{
    return td_is_finite32(a.hi) ? td_add64((double)a.hi, (double)a.lo) : (double)a.hi;
}

/* alpha sum 2^e + beta c; at most 2^-51 (|alpha sum 2^e| + |beta c|) + 2^-1075 from the exact
 * value, unless it or sum 2^e overflows. With z = sum 2^e in binary64 it is fma(alpha, z, beta c),
 * as cuBLAS rounds, except where that rounds to a multiple of 2^-1074 before the end: where z is
 * subnormal, or beta c and the result are. There alpha z and beta c are computed 2^600 times
 * larger, and only their sum is rounded to such a multiple. Nothing overflows then: |alpha z| < 4
 * and |beta c| < 12; what becomes subnormal is a factor of a product below 2^-1500. NaN and
 * infinities are those of fma(alpha, z, beta c). sum is finite and normalised; -2148 <= e <= 2046.
 * c counts if beta is not 0.
 *
 * True where nothing is rounded to such a multiple before the end: then *r is the result. */
TD_BOTH bool td_df_axpby_whole(double alpha, tandem_df sum, int e, double beta, double c, double *r)
{
    const double whole = td_df_join(sum), z = td_scale64(whole, e);
    const double q = beta == 0.0 ? 0.0 : td_mul64(beta, c);
    *r = beta == 0.0 ? td_mul64(alpha, z) : td_fma64(alpha, z, q);
    const bool z_is_cut = td_is_below_normal64(z) && td_bits64(whole) << 1 != 0;
    const bool q_is_cut = td_is_below_normal64(q) && td_is_below_normal64(*r) && alpha != 0.0 &&
                          beta != 0.0 && c != 0.0;
    return !(z_is_cut || q_is_cut) || !(td_abs64(*r) < 8.0);
}

/* The result where td_df_axpby_whole is false. */
TD_BOTH double td_df_axpby_cut(double alpha, tandem_df sum, int e, double beta, double c)
{
    const double whole = td_df_join(sum), z = td_scale64(whole, e);
    const bool z_is_cut = td_is_below_normal64(z) && td_bits64(whole) << 1 != 0;
    const double a = z_is_cut ? td_mul64(alpha, 0x1p-500) : alpha,
                 s = z_is_cut ? td_scale64(whole, e + 1100) : td_mul64(z, 0x1p600);
    if (beta == 0.0) return td_mul64(td_mul64(a, s), 0x1p-600);
    const double t = td_abs64(beta) < 1.0 ? td_mul64(td_mul64(beta, 0x1p600), c)
                                          : td_mul64(beta, td_mul64(c, 0x1p600));
    return td_mul64(td_fma64(a, s, t), 0x1p-600);
}

#endif
