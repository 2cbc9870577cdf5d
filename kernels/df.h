/* df.h - double-float arithmetic: pairs of binary32, for C on the host and CUDA C on the device.
 *
 * v = 2^-24. Bounds hold without overflow and where no intermediate result is below 2^-126; they are relative to
 * the exact result unless they say otherwise. docs/numerics.md has the derivations. Papers:
 *   [JMP]  Joldes, Muller, Popescu, Tight and rigorous error bounds for basic building blocks of double-word
 *          arithmetic, ACM TOMS 44(2), 2017.
 *   [ORO]  Ogita, Rump, Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26, 2005. */
#ifndef TD_DF_H
#define TD_DF_H

#include "../include/tandem.h"
#include "float32.h"

/* The order of summation, part of the definition of mode df (docs/numerics.md). */
enum {
    TD_DF_BLOCK = 16,       /* terms between two additions to the sum of a superblock */
    TD_DF_RENORMALISE = 32, /* terms between two renormalisations of that sum */
    TD_DF_SUPERBLOCK = 512  /* terms of a sum of its own; superblocks are added in order */
};

TD_BOTH tandem_df td_df(float hi, float lo)
{
    tandem_df r;
    r.hi = hi;
    r.lo = lo;
    return r;
}

/* a + b: at most 3 v^2 (|a| + |b|) from the exact sum; 3 v^2 relative for equal signs [JMP]. 11 additions.
 * Not relatively accurate under cancellation, which a dot product measured against |A||B| does not need. */
TD_BOTH tandem_df td_df_add(tandem_df a, tandem_df b)
{
    float low, s = td_two_sum(a.hi, b.hi, &low);
    tandem_df r;
    low = td_add(low, td_add(a.lo, b.lo));
    r.hi = td_fast_two_sum(s, low, &r.lo);
    return r;
}

/* a b: at most 9 v^2 relative, 4 v^2 seen. 5 operations. The cross terms are added before the high product
 * rounds, so the result is normalised. */
TD_BOTH tandem_df td_df_mul(tandem_df a, tandem_df b)
{
    float cross = td_fma(a.lo, b.hi, td_mul(a.hi, b.lo));
    tandem_df r;
    r.hi = td_fma(a.hi, b.hi, cross);
    r.lo = td_add(td_fma(a.hi, b.hi, -r.hi), cross);
    return r;
}

/* a b + c: at most 9 v^2 |a b| + 3 v^2 (|a b| + |c|) from the exact value. 16 operations. */
TD_BOTH tandem_df td_df_fma(tandem_df a, tandem_df b, tandem_df c)
{
    return td_df_add(td_df_mul(a, b), c);
}

/* Adds a b to the running sum (*sum, *rest) of one block: *sum takes the rounded sum, *rest everything that *sum
 * could not hold. 10 operations. The pair stays unnormalised; over a block of B terms,
 *   |error| <= (B^2 / 2 + 5.5 B + 9) v^2 sum |a b|,   225 v^2 for B = 16      (in the manner of Dot2 [ORO]):
 * each term's parts round at v of v |sum| or of v |a b|, and *rest, which grows to B v |sum|, B times. Seen: 107 v^2
 * from a search for the worst block, 31 v^2 for constants, 13 v^2 for random numbers.
 * The first rounding of h = a.hi b.hi is needed: with a fused sum + a.hi b.hi, cancellation would lose bits. */
TD_BOTH void td_df_accumulate(float *sum, float *rest, tandem_df a, tandem_df b)
{
    float h = td_mul(a.hi, b.hi);
    float t = td_add(*sum, h);
    float z = td_sub(t, *sum);             /* the part of h that t holds */
    float ds = td_sub(*sum, td_sub(t, z)); /* the part of *sum that t lost: TwoSum */
    float dp = td_fma(a.hi, b.hi, -z);     /* the part of the exact product that t lost */
    dp = td_fma(a.hi, b.lo, dp);
    dp = td_fma(a.lo, b.hi, dp);
    *rest = td_add(*rest, td_add(ds, dp));
    *sum = t;
}

/* The same for the first term of a block, which starts the sums: what td_df_accumulate makes of zeros, but for the sign
 * of a zero. 4 operations. */
TD_BOTH void td_df_start(float *sum, float *rest, tandem_df a, tandem_df b)
{
    float dp, h = td_two_prod(a.hi, b.hi, &dp);
    dp = td_fma(a.hi, b.lo, dp);
    *rest = td_fma(a.lo, b.hi, dp);
    *sum = h;
}

/* Adds the sums of a block to the sum of its superblock. 8 additions; *s need not be normalised, nor does it stay
 * so: td_df_renormalise after at most two blocks keeps the rounding errors of s->lo small. */
TD_BOTH void td_df_flush(tandem_df *s, float sum, float rest)
{
    float error;
    s->hi = td_two_sum(s->hi, sum, &error);
    s->lo = td_add(error, td_add(s->lo, rest));
}

/* The same value with |lo| <= ulp(hi) / 2; does nothing to a pair that has it. 3 additions. */
TD_BOTH void td_df_renormalise(tandem_df *s) { s->hi = td_fast_two_sum(s->hi, s->lo, &s->lo); }

/* x 2^e with one rounding, for a whole number |x| <= 2^28, e >= -252: the first factor is exact, as
 * 2^-126 <= |x| 2^(e/2). */
TD_BOTH float td_scale32(int x, int e)
{
    int half = e >> 1;
    return td_mul(td_mul((float)x, td_exp2(half)), td_exp2(e - half));
}

/* binary64 with the given bits, times 2^-e, to double-float: |result - x 2^-e| <= 2^-49 |x 2^-e| if that is in
 * [2^-100, 2^128 (1 - 2^-25)), 2^-149 absolute below; infinite above. NaN and infinities give (x, 0).
 * |lo| is at most half a unit in the last place of hi; ties of hi go away from 0 while its last place is one that
 * binary32 has. No binary64 arithmetic: it runs at 1/64 of the rate on many GPUs. -1074 <= e <= 1023. */
TD_BOTH tandem_df td_df_split(uint64_t bits, int e)
{
    uint64_t fraction = bits & 0xfffffffffffffull, m;
    int field = (int)(bits >> 52) & 0x7ff, shift, q, hi, lo;
    float sign = bits >> 63 ? -1.0f : 1.0f;
    tandem_df r;

    if (field == 0x7ff)
        return td_df(fraction ? td_from_bits32(0x7fc00000u) : sign * td_from_bits32(0x7f800000u),
                     0.0f);
    if (field) {
        m = fraction | 1ull << 52;
        q = field - 1075 - e;
    } else {
        shift = fraction ? td_clz64(fraction) - 11 : 0; /* subnormal: normalise */
        m = fraction << shift;
        q = -1074 - shift - e;
    }
    /* |x 2^-e| == m 2^q, m < 2^53: hi has the upper 24 bits rounded, lo the signed rest, below 2^28 in size. */
    q = q < -252 ? -252 : q > 127 ? 127 : q; /* as good as 0, and infinite */
    hi = (int)((m + (1ull << 28)) >> 29);
    lo = (int)((int64_t)m - ((int64_t)hi << 29));
    r.hi = td_scale32(hi, q + 29);
    r.lo = q + 29 >= -149 ? td_scale32(lo, q) : 0.0f; /* else hi is already all that fits */
    if (r.hi > 3.4028234663852886e38f) r.lo = 0.0f;
    return td_df(sign * r.hi, sign * r.lo);
}

/* Back to binary64, one rounding (none if hi and lo are at most 28 bits apart). */
TD_BOTH double td_df_join(tandem_df a)
{
    float magnitude = a.hi < 0.0f ? -a.hi : a.hi;
    return magnitude <= 3.4028234663852886e38f ? td_add64((double)a.hi, (double)a.lo)
                                               : (double)a.hi;
}

#endif
