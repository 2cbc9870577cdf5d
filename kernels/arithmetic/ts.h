/* ts.h - triple-single arithmetic: unevaluated sums x + y + z of three binary32, for C on the host
 * and CUDA C on the device.
 *
 * v = 2^-24. Bounds hold without overflow and underflow. docs/numerics.md has the derivations. The
 * operations are leaner than those of the papers on triple-single products, which bench/paper.h has
 * for comparison. */
#ifndef TD_TS_H
#define TD_TS_H

#include "../../include/tandem.h"
#include "dd.h"
#include "float32.h"
#include "order.h"

TD_BOTH tandem_ts td_ts(float x, float y, float z)
{
    tandem_ts r;
    r.x = x;
    r.y = y;
    r.z = z;
    return r;
}

/* Returns a triple of a's value with |y| <= ulp(x) / 2 and |z| <= ulp(y) / 2, also after
 * cancellation: that may leave x = 0 or below y, and a tie y above ulp(x) / 2, before the last two
 * steps. 24 additions, exact. */
TD_BOTH tandem_ts td_ts_normalise(tandem_ts a)
{
    a.y = td_two_sum(a.y, a.z, &a.z);
    a.x = td_two_sum(a.x, a.y, &a.y);
    a.y = td_two_sum(a.y, a.z, &a.z);
    a.x = td_fast_two_sum(a.x, a.y, &a.y);
    a.y = td_fast_two_sum(a.y, a.z, &a.z);
    return a;
}

/* *low + *mid takes the exact product a b; *mid takes its rounded sum, *low what that loses. 8
 * operations. */
TD_BOTH void td_ts_cross(float *mid, float *low, float a, float b)
{
    const float h = td_mul(a, b), t = td_add(*mid, h), z = td_sub(t, *mid);
    const float ds = td_sub(*mid, td_sub(t, z)); /* TwoSum: the part of *mid that t lost */
    *low = td_add(*low, td_add(ds, td_fma(a, b, -z)));
    *mid = t;
}

/* The terms of a b below x x, added to a middle and a low sum. */
TD_BOTH void td_ts_tail(float *mid, float *low, tandem_ts a, tandem_ts b)
{
    td_ts_cross(mid, low, a.x, b.y);
    td_ts_cross(mid, low, a.y, b.x);
    *low = td_fma(a.y, b.y, *low);
    *low = td_fma(a.x, b.z, *low);
    *low = td_fma(a.z, b.x, *low);
}

/* Sets *s to a b, unnormalised: the first term of a block. 21 operations. */
TD_BOTH void td_ts_start(tandem_ts *s, tandem_ts a, tandem_ts b)
{
    s->x = td_two_prod(a.x, b.x, &s->y);
    s->z = 0.0f;
    td_ts_tail(&s->y, &s->z, a, b);
}

/* Adds the unnormalised sum b to s. 21 additions; *s stays unnormalised: td_ts_renormalise after at
 * most two blocks keeps the lower parts small. */
TD_BOTH void td_ts_flush(tandem_ts *s, tandem_ts b)
{
    float error, e1, e2;
    s->x = td_two_sum(s->x, b.x, &error);
    s->y = td_two_sum(s->y, b.y, &e1);
    s->y = td_two_sum(s->y, error, &e2);
    s->z = td_add(td_add(s->z, b.z), td_add(e1, e2));
}

/* Moves what fits to the upper parts. 12 additions, exact. */
TD_BOTH void td_ts_renormalise(tandem_ts *s)
{
    s->x = td_two_sum(s->x, s->y, &s->y);
    s->y = td_two_sum(s->y, s->z, &s->z);
}

/* a + b: at most 8 v^3 (|a| + |b|) from the exact sum, 3.5 v^3 seen; normalised. 45 additions. Not
 * relatively accurate under cancellation, which a dot product measured against |A||B| does not
 * need. */
TD_BOTH tandem_ts td_ts_add(tandem_ts a, tandem_ts b)
{
    td_ts_flush(&a, b);
    return td_ts_normalise(a);
}

/* a b: at most 52 v^3 relative, 19 v^3 seen; normalised. 45 operations. */
TD_BOTH tandem_ts td_ts_mul(tandem_ts a, tandem_ts b)
{
    tandem_ts r;
    td_ts_start(&r, a, b);
    return td_ts_normalise(r);
}

/* binary64 with the given bits, times 2^-e, to triple-single: exact if that is in [2^-97, 2^128 (1
 * - 2^-25)), 2^-149 absolute below; infinite above. NaN and infinities give (x, 0, 0). Normalised;
 * ties of x go away from 0. No binary64 arithmetic. -1074 <= e <= 1023. */
TD_BOTH tandem_ts td_ts_split(uint64_t bits, int e)
{
    if (!td_is_finite64(bits)) return td_ts(td_special32(bits), 0.0f, 0.0f);
    int q;
    const uint64_t m = td_significand64(bits, &q);
    const float sign = bits >> 63 ? -1.0f : 1.0f;

    /* |x 2^-e| == m 2^q: x has the upper 24 bits rounded, y the next 24 of the signed rest, z what
     * is left. */
    q -= e;
    q = q < -252 ? -252 : q > 127 ? 127 : q; /* as good as 0, and infinite */
    const int x = (int)((m + (1ull << 28)) >> 29), rest = (int)((int64_t)m - ((int64_t)x << 29));
    const int y = (int)(float)rest;
    const float high = td_scale32(x, q + 29);
    if (!td_is_finite32(high)) return td_ts(sign * high, 0.0f, 0.0f);
    if (q + 29 < -149) return td_ts(sign * high, 0.0f, 0.0f); /* all that fits */
    return td_ts(sign * high, sign * td_scale32(y, q),
                 q + 5 < -149 ? 0.0f : sign * td_scale32(rest - y, q));
}

/* To double-double: exact but for 2^-53 of y, normalised. a must be normalised. */
TD_BOTH tandem_dd td_ts_to_dd(tandem_ts a)
{
    tandem_dd r;
    r.hi = td_fast_two_sum64((double)a.x, td_add64((double)a.y, (double)a.z), &r.lo);
    return r;
}

/* To binary64, one rounding: y + z is rounded to odd first, so that the second rounding sees
 * whether bits were lost [Boldo, Melquiond, Emulation of FMA and correctly rounded sums, IEEE
 * Trans. Comp. 57(4), 2008]. a is normalised. */
TD_BOTH double td_ts_join(tandem_ts a)
{
    if (!td_is_finite32(a.x)) return (double)a.x;
    double error;
    const double rest = td_two_sum64((double)a.y, (double)a.z, &error);
    uint64_t bits = td_bits64(rest);
    if (error != 0.0 && !(bits & 1)) bits += (error > 0.0) == (rest > 0.0) ? 1 : ~0ull;
    return td_add64((double)a.x, td_from_bits64(bits));
}

#endif
