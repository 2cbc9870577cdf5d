/* pair_tmpl.h - arithmetic on unevaluated sums hi + lo of two numbers of one format: double-float
 * and double-double.
 *
 * Included by df.h and dd.h, which define PAIR, the type; REAL, that of its components; PAIR_MAKE,
 * PAIR_NAME(add), the names to define; REAL_NAME(add), the operations on the components.
 *
 * u is half an ulp of 1 in REAL: 2^-24 or 2^-53. Bounds hold without overflow and underflow; they
 * are relative to the exact result unless they say otherwise. docs/numerics.md has the derivations.
 * Papers:
 *   [JMP]  Joldes, Muller, Popescu, Tight and rigorous error bounds for basic building blocks of
 *          double-word arithmetic, ACM TOMS 44(2), 2017.
 *   [ORO]  Ogita, Rump, Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26, 2005. */

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

/* Adds a b to the running sum (*sum, *rest) of one block: *sum takes the rounded sum, *rest
 * everything that *sum could not hold. 10 operations. The pair stays unnormalised; over a block of
 * B terms,
 *   |error| <= (B^2 / 2 + 5.5 B + 9) u^2 sum |a b|,   225 u^2 for B = 16      (in the manner of
 *   Dot2 [ORO]):
 * each term's components round at u of u |sum| or of v |a b|, and *rest, which grows to B u |sum|,
 * B times. Seen: 107 u^2 from a search for the worst block, 31 u^2 for constants, 13 u^2 for random
 * numbers.
 * The first rounding of h = a.hi b.hi is needed: with a fused sum + a.hi b.hi, cancellation would
 * lose bits. */
TD_BOTH void PAIR_NAME(accumulate)(REAL *sum, REAL *rest, PAIR a, PAIR b)
{
    REAL h = REAL_NAME(mul)(a.hi, b.hi);
    REAL t = REAL_NAME(add)(*sum, h);
    REAL z = REAL_NAME(sub)(t, *sum);                     /* the part of h that t holds */
    REAL ds = REAL_NAME(sub)(*sum, REAL_NAME(sub)(t, z)); /* the part of *sum that t lost: TwoSum */
    REAL dp = REAL_NAME(fma)(a.hi, b.hi, -z); /* the part of the exact product that t lost */
    dp = REAL_NAME(fma)(a.hi, b.lo, dp);
    dp = REAL_NAME(fma)(a.lo, b.hi, dp);
    *rest = REAL_NAME(add)(*rest, REAL_NAME(add)(ds, dp));
    *sum = t;
}

/* Sets *sum and *rest to the first term a b of a block: what accumulate makes of zeros, but for the
 * sign of a zero. 4 operations. */
TD_BOTH void PAIR_NAME(start)(REAL *sum, REAL *rest, PAIR a, PAIR b)
{
    REAL dp, h = REAL_NAME(two_prod)(a.hi, b.hi, &dp);
    dp = REAL_NAME(fma)(a.hi, b.lo, dp);
    *rest = REAL_NAME(fma)(a.lo, b.hi, dp);
    *sum = h;
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
