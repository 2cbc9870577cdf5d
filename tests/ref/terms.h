/* terms.h - what defines the modes of multi-floats one element at a time, where kernels have loops
 * for many: the terms of a block, and an element of C by double-float. Bounds hold without overflow
 * and underflow; docs/numerics.md has the derivations. For C on the host and CUDA C on the
 * device. */
#ifndef REF_TERMS_H
#define REF_TERMS_H

#include "../../kernels/arithmetic/dd.h"
#include "../../kernels/arithmetic/df.h"
#include "../../kernels/arithmetic/ts.h"

/* td_df_start, td_df_accumulate */
#define PAIR            tandem_df
#define REAL            float
#define PAIR_NAME(name) td_df_##name
#define REAL_NAME(name) td_##name
#include "pair_terms_tmpl.h"
#undef PAIR
#undef REAL
#undef PAIR_NAME
#undef REAL_NAME

/* td_dd_start, td_dd_accumulate */
#define PAIR            tandem_dd
#define REAL            double
#define PAIR_NAME(name) td_dd_##name
#define REAL_NAME(name) td_##name##64
#include "pair_terms_tmpl.h"
#undef PAIR
#undef REAL
#undef PAIR_NAME
#undef REAL_NAME

/* Adds a b to the running sum s of one block, which td_ts_start begins: s.x takes the rounded sum,
 * s.y and s.z what is lost at the first and at the second level. 41 operations. s stays
 * unnormalised; over a block of 8 terms |error| <= 2131 v^3 sum |a b|, 2^-60.9; seen: 72 v^3 from a
 * search for the worst block. Blocks of 16 have 8655 and 322. */
TD_BOTH void td_ts_accumulate(tandem_ts *s, tandem_ts a, tandem_ts b)
{
    float product_error, sum_error, e1, e2;
    const float p = td_two_prod(a.x, b.x, &product_error);
    s->x = td_two_sum(s->x, p, &sum_error);
    s->y = td_two_sum(s->y, product_error, &e1);
    s->y = td_two_sum(s->y, sum_error, &e2);
    float low = td_add(e1, e2);
    td_ts_tail(&s->y, &low, a, b);
    s->z = td_add(s->z, low);
}

/* alpha sum 2^e + beta c by double-float, as td_df_axpby_whole describes it. */
TD_BOTH double td_df_axpby(double alpha, tandem_df sum, int e, double beta, double c)
{
    double r;
    return td_df_axpby_whole(alpha, sum, e, beta, c, &r) ? r
                                                         : td_df_axpby_cut(alpha, sum, e, beta, c);
}

#endif
