/* pair_terms_tmpl.h - the terms of a block of pairs of kernels/arithmetic/pair_tmpl.h, whose macros
 * and u it has. Included by terms.h for double-float and double-double.
 *   [ORO]  Ogita, Rump, Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26, 2005. */

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
