/* pair_tmpl.h - arithmetic on unevaluated sums hi + lo of two numbers of one format: double-float
 * and double-double.
 *
 * Included by df.h and dd.h, which define PAIR, the type; REAL, that of its components; PAIR_MAKE,
 * PAIR_NAME(add), the names to define; REAL_NAME(add), the operations on the components.
 *
 * u is half an ulp of 1 in REAL: 2^-24 or 2^-53. Bounds hold without overflow and underflow; they
 * are relative to the exact result unless they say otherwise. docs/numerics.md has the derivations.
 * kernels/multifloat/pair_format.h adds the terms of a block, for many elements at a time.
 *   [JMP]  Joldes, Muller, Popescu, Tight and rigorous error bounds for basic building blocks of
 *          double-word arithmetic, ACM TOMS 44(2), 2017. */

TD_BOTH PAIR PAIR_MAKE(REAL hi, REAL lo)
{
    PAIR r;
    r.hi = hi;
    r.lo = lo;
    return r;
}

/* a + b: at most 3 u^2 (|a| + |b|) from the exact sum; 3 u^2 relative for equal signs [JMP]. 11
 * additions. Not relatively accurate under cancellation, which a dot product measured against
 * |A||B| does not need. */
TD_BOTH PAIR PAIR_NAME(add)(PAIR a, PAIR b)
{
    REAL low, s = REAL_NAME(two_sum)(a.hi, b.hi, &low);
    PAIR r;
    low = REAL_NAME(add)(low, REAL_NAME(add)(a.lo, b.lo));
    r.hi = REAL_NAME(fast_two_sum)(s, low, &r.lo);
    return r;
}

/* a b: at most 9 u^2 relative, 4 u^2 seen. 5 operations. The cross terms are added before the high
 * product rounds, so the result is normalised. */
TD_BOTH PAIR PAIR_NAME(mul)(PAIR a, PAIR b)
{
    REAL cross = REAL_NAME(fma)(a.lo, b.hi, REAL_NAME(mul)(a.hi, b.lo));
    PAIR r;
    r.hi = REAL_NAME(fma)(a.hi, b.hi, cross);
    r.lo = REAL_NAME(add)(REAL_NAME(fma)(a.hi, b.hi, -r.hi), cross);
    return r;
}

/* Adds the sums of a block to the sum of its superblock. 8 additions; *s need not be normalised,
 * nor does it stay so: renormalise after at most two blocks keeps the rounding errors of s->lo
 * small. */
TD_BOTH void PAIR_NAME(flush)(PAIR *s, REAL sum, REAL rest)
{
    REAL error;
    s->hi = REAL_NAME(two_sum)(s->hi, sum, &error);
    s->lo = REAL_NAME(add)(error, REAL_NAME(add)(s->lo, rest));
}

/* Brings |lo| to at most ulp(hi) / 2 and leaves hi + lo as it is; does nothing to a pair that is so
 * already. 3 additions. */
TD_BOTH void PAIR_NAME(renormalise)(PAIR *s)
{
    s->hi = REAL_NAME(fast_two_sum)(s->hi, s->lo, &s->lo);
}
