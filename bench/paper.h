/* paper.h - the operation sequences that the literature uses for multi-float matrix products: the
 * baseline of the comparisons. For C on the host and CUDA C on the device. docs/numerics.md has the
 * comparisons.
 *
 *   type            papers' multiply-add                        instructions
 *   double-float    paper_df_fma: sloppy sum, product by FMAs      16 binary32
 *   triple-single   paper_ts_fma                                117 binary32 and 4 branches
 *   double-double   paper_dd_fma: as double-float                  16 binary64
 *   double+single   paper_ds_fma                                16 binary64 and 4 conversions
 *
 * The product and the sum of kernels/arithmetic/pair_tmpl.h are the papers' sequences, instruction
 * by instruction. Sources:
 *   [HLB]  Hida, Li, Bailey, Algorithms for quad-double precision floating point arithmetic,
 *          ARITH-15, 2001: the sums, products and the renormalisation of the QD library, here cut
 *          down to three parts.
 *   Nagai, Yoshida, Kuroda, Kanada, Fast quadruple precision arithmetic library on parallel
 *          computer SR11000/J2, ICCS 2008: the product of five operations.
 *   Mukunoki, Takahashi, Implementation and evaluation of triple precision BLAS subroutines on
 *          GPUs, IPDPS Workshops 2012: double+single.
 * The triple-single sequences follow the papers on GPU products of triples, with their misprints
 * put right: in the renormalisation c2 = s2 (not -s2), and the first exact product is a.x b.x (not
 * a.x b.z). */
#ifndef PAPER_H
#define PAPER_H

#include "../kernels/arithmetic/dd.h"
#include "../kernels/arithmetic/df.h"
#include "../kernels/arithmetic/ts.h"

/* a b + c: at most 9 u^2 |a b| + 3 u^2 (|a b| + |c|) from the exact value, u being half an ulp of 1
 * in the format of the parts. 16 operations. */
TD_BOTH tandem_df paper_df_fma(tandem_df a, tandem_df b, tandem_df c)
{
    return td_df_add(td_df_mul(a, b), c);
}
TD_BOTH tandem_dd paper_dd_fma(tandem_dd a, tandem_dd b, tandem_dd c)
{
    return td_dd_add(td_dd_mul(a, b), c);
}

/* a + b + c == the new a + b + c, the largest first. 18 additions [HLB]. */
TD_BOTH void paper_three_sum(float *a, float *b, float *c)
{
    float t2, t3;
    const float t1 = td_two_sum(*a, *b, &t2);
    *a = td_two_sum(*c, t1, &t3);
    *b = td_two_sum(t2, t3, c);
}

/* Four overlapping parts to three. 13 additions and 2 branches; parts that are 0 take up to 2
 * additions more [HLB]. */
TD_BOTH tandem_ts paper_renormalise(float c0, float c1, float c2, float c3)
{
    tandem_ts r;
    r.z = 0.0f;
    c2 = td_fast_two_sum(c2, c3, &c3);
    c1 = td_fast_two_sum(c1, c2, &c2);
    r.x = td_fast_two_sum(c0, c1, &r.y);
    if (r.y != 0.0f) {
        r.y = td_fast_two_sum(r.y, c2, &r.z);
        if (r.z != 0.0f)
            r.z = td_add(r.z, c3);
        else
            r.y = td_fast_two_sum(r.y, c3, &r.z);
    } else {
        r.x = td_fast_two_sum(r.x, c2, &r.y);
        if (r.y != 0.0f)
            r.y = td_fast_two_sum(r.y, c3, &r.z);
        else
            r.x = td_fast_two_sum(r.x, c3, &r.y);
    }
    return r;
}

/* a + b. 57 additions. Worst seen: v^3 (|a| + |b|), 2^-72. */
TD_BOTH tandem_ts paper_ts_add(tandem_ts a, tandem_ts b)
{
    float t0, t1, t2;
    const float s0 = td_two_sum(a.x, b.x, &t0);
    float s1 = td_two_sum(a.y, b.y, &t1), s2 = td_two_sum(a.z, b.z, &t2);
    s1 = td_two_sum(s1, t0, &t0);
    paper_three_sum(&s2, &t0, &t1);
    return paper_renormalise(s0, s1, s2, td_add(t0, td_add(t1, t2)));
}

/* a b. 60 operations. Worst seen: 7.5 v^3, 2^-69.1. */
TD_BOTH tandem_ts paper_ts_mul(tandem_ts a, tandem_ts b)
{
    float q0, q1, q2;
    const float p0 = td_two_prod(a.x, b.x, &q0);
    float p1 = td_two_prod(a.x, b.y, &q1), p2 = td_two_prod(a.y, b.x, &q2);
    paper_three_sum(&p1, &p2, &q0);
    paper_three_sum(&p2, &q1, &q2);
    float r = td_fma(a.y, b.y, td_add(q0, td_add(q1, q2)));
    r = td_fma(a.z, b.x, r);
    return paper_renormalise(p0, p1, p2, td_fma(a.x, b.z, r));
}

/* a b + c. 117 operations. */
TD_BOTH tandem_ts paper_ts_fma(tandem_ts a, tandem_ts b, tandem_ts c)
{
    return paper_ts_add(paper_ts_mul(a, b), c);
}

/* a with its lower part rounded to binary32. */
TD_BOTH tandem_ds paper_ds(tandem_dd a)
{
    tandem_ds r;
    r.hi = a.hi;
    r.lo = (float)a.lo;
    return r;
}

/* a b + c: every step widens and rounds. */
TD_BOTH tandem_ds paper_ds_fma(tandem_ds a, tandem_ds b, tandem_ds c)
{
    return paper_ds(paper_dd_fma(td_dd_from_ds(a), td_dd_from_ds(b), td_dd_from_ds(c)));
}

#endif
