/* df.h - double-float arithmetic: pairs of binary32, for C on the host and CUDA C on the device. */
#ifndef TD_DF_H
#define TD_DF_H

#include "../../include/tandem.h"
#include "float32.h"
#include "order.h"

/* td_df, td_df_add, td_df_mul, td_df_fma, td_df_start, td_df_accumulate, td_df_flush, td_df_renormalise. */
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

/* binary64 with the given bits, times 2^-e, to double-float: |result - x 2^-e| <= 2^-49 |x 2^-e| if that is in
 * [2^-100, 2^128 (1 - 2^-25)), 2^-149 absolute below; infinite above. NaN and infinities give (x, 0).
 * |lo| is at most half a unit in the last place of hi; ties of hi go away from 0 while its last place is one that
 * binary32 has. No binary64 arithmetic: it runs at 1/64 of the rate on many GPUs. -1074 <= e <= 1023. */
TD_BOTH tandem_df td_df_split(uint64_t bits, int e)
{
    if (!td_is_finite64(bits)) return td_df(td_special32(bits), 0.0f);
    int q;
    const uint64_t m = td_significand64(bits, &q);
    const float sign = bits >> 63 ? -1.0f : 1.0f;

    /* |x 2^-e| == m 2^q: hi has the upper 24 bits rounded, lo the signed rest, below 2^28 in size. */
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

#endif
