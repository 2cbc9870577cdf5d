/* verdict.h - an element's error from its exact sums, and whether it is as it may be. By one
 * thread. For kernels. */
#ifndef TD_SAMPLE_VERDICT_H
#define TD_SAMPLE_VERDICT_H

#include "sums.h"

/* An element's measure. */
struct verdict {
    bool is_left_out, is_special, is_outside;
    double error, ulps;
    td_sample_bound bound;
};

/* ---- errors ---- */

/* |by| times a sum, in words that count 2^low. */
TD_DEVICE_CALL td_exact multiply_sum(double by, int low, int words, shared_sum &sum)
{
    const whole w = whole_of(by);
    td_exact x = {sum.total, 1, words, low};
    td_exact_carry(&x);
    td_exact_multiply(&x, w.m);
    return x;
}

/* x + y or x - y, of the same words. */
TD_DEVICE void add_words(const td_exact *x, const td_exact *y, bool is_negative)
{
    TD_ROLLED
    for (int i = 0; i < x->words; i++) x->word[i] += is_negative ? -y->word[i] : y->word[i];
    td_exact_carry(x);
}

/* x + a b or x - a b. */
TD_DEVICE_CALL void add_product(const td_exact *x, double a, double b, bool is_negative)
{
    const whole u = whole_of(a), v = whole_of(b);
    if (u.m != 0 && v.m != 0)
        td_exact_add(x, td_exact_product(u.m, v.m), u.q + v.q - x->e,
                     is_negative != (u.is_negative != v.is_negative));
}

/* x + a or x - a. */
TD_DEVICE_CALL void add_number(const td_exact *x, double a, bool is_negative)
{
    const whole u = whole_of(a);
    const td_exact_term term = {u.m, 0};
    if (u.m != 0) td_exact_add(x, term, u.q - x->e, is_negative != u.is_negative);
}

/* |the exact value less `after`|. The words have by[0]'s sign taken out. */
TD_DEVICE scaled find_error(const element &at, sample_shared &shared)
{
    const extent range = extent_of(at, shared);
    const int words = (range.high - range.low + 31 + 53) / 32 + 3;
    const bool is_negative = whole_of(at.by[0]).is_negative;
    td_exact x = multiply_sum(at.by[0], range.low, words, shared.sum[0]);
    if (at.sums == 2) {
        const td_exact y = multiply_sum(at.by[1], range.low, words, shared.sum[1]);
        add_words(&x, &y, is_negative != whole_of(at.by[1]).is_negative);
    }
    TD_ROLLED
    for (int i = 0; i < 2; i++) add_product(&x, at.beta[i], at.before[i], is_negative);
    add_number(&x, at.after, !is_negative);
    const td_exact_number error = td_exact_read(&x);
    return make_scaled((double)error.m, error.e);
}

/* What the errors of an element of a call are relative to; products: the magnitudes of its sums. */
TD_DEVICE scaled size_of(const td_sample &s, const element &at, const scaled *products)
{
    scaled size = make_scaled(0.0, 0);
    TD_ROLLED
    for (int i = 0; i < at.sums; i++)
        size = add_scaled(size, s.is_solve ? products[i] : times(at.by[i], products[i]));
    TD_ROLLED
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            if (i == j || s.is_solve)
                size = add_scaled(size, magnitude_of(at.beta[i], at.before[j]));
    return size;
}

/* A unit in the last place of C, or of the error. */
TD_DEVICE scaled unit_of(double c, scaled error)
{
    const int of_c = c != 0.0 ? td_exponent64(td_bits64(c)) : -1074;
    const int of_error = error.x != 0.0 ? td_exponent64(td_bits64(error.x)) + error.e : -1074;
    return make_scaled(1.0, max(max(of_c, of_error) - 52, -1074));
}

/* ---- bounds ---- */

/* What binary64 may lose below 2^-1022 beyond a relative bound: half of 2^-1074 for each real
 * product, the sum, the products with scalars, and C; of a solve, for a quotient times the number
 * that it was divided by. */
TD_DEVICE scaled loss_below_range(const td_sample &s, const element &at)
{
    const double terms = (double)(is_plain(s) ? at.k : 4 * at.k) + 1.0;
    scaled loss = make_scaled(at.has_scalars ? 8.0 : 2.0, -1075);
    TD_ROLLED
    for (int i = 0; i < at.sums; i++)
        loss = add_scaled(loss, times(s.is_solve ? 1.0 : at.by[i], make_scaled(terms, -1075)));
    if (s.is_solve && is_finite(at.diagonal))
        loss = add_scaled(loss, times(at.diagonal, make_scaled(4.0, -1075)));
    return loss;
}

TD_DEVICE bool has_aside(const element &at, const sample_shared &shared)
{
    return (shared.sum[0].specials & HAS_ASIDE) ||
           (at.sums == 2 && shared.sum[1].specials & HAS_ASIDE);
}

/* What the element may be off. Elements beside whose triangle NaN or infinities stand are sums in
 * binary64 (../unfold/unfold.h). */
TD_DEVICE td_sample_bound bound_of(const td_sample &s, const element &at,
                                   const sample_shared &shared)
{
    td_sample_bound bound = s.bound;
    if (at.has_scalars) bound.relative = td_add64(bound.relative, s.of_scalars);
    if (!s.is_solve && has_aside(at, shared))
        bound.relative = td_fma64((double)(at.k * parts_of(s)), 0x1p-53, bound.relative);
    return bound;
}

TD_DEVICE bool exceeds(const td_sample &s, const element &at, const td_sample_bound &bound,
                       scaled error, scaled size, scaled unit)
{
    if (!is_finite(bound.relative) || !is_finite(bound.ulps)) return false;
    scaled allowed = add_scaled(make_scaled(td_mul64(bound.relative, size.x), size.e),
                                make_scaled(td_mul64(bound.ulps, unit.x), unit.e));
    if (bound.relative != 0.0) allowed = add_scaled(allowed, loss_below_range(s, at));
    return ratio_of(error, allowed) > 1.0 + 0x1p-20; /* sizes are sums in binary64 */
}

/* ---- verdicts ---- */

/* True where nothing is known of what NaN and infinities become. */
TD_DEVICE bool leaves_specials(const td_sample &s)
{
    return s.is_solve || (s.is_native && !is_plain(s));
}

/* What a sum is in IEEE arithmetic: NaN, an infinity, or 0 for any finite number. */
TD_DEVICE double special_value(unsigned specials)
{
    const double infinity = td_from_bits64(0x7ff0000000000000ull);
    const unsigned both = HAS_PLUS | HAS_MINUS;
    if ((specials & HAS_NAN) || (specials & both) == both) return td_sub64(infinity, infinity);
    return specials & HAS_PLUS ? infinity : specials & HAS_MINUS ? -infinity : 0.0;
}

/* Where operands, scalars or C before are not finite: C must be what IEEE arithmetic has it. An
 * infinite alpha times a finite sum, whose sign would count, is left out. */
TD_DEVICE verdict judge_special(const td_sample &s, const element &at, const sample_shared &shared)
{
    verdict v = {false, true, false, 0.0, 0.0, s.bound};
    double wanted = 0.0;
    if (leaves_specials(s)) return v;
    TD_ROLLED
    for (int i = 0; i < at.sums; i++) {
        const double value = special_value(shared.sum[i].specials), by = at.by[i];
        v.is_left_out |= value == 0.0 && by == by && !is_finite(by);
        wanted = td_add64(wanted, td_mul64(by, value));
    }
    if (at.beta[0] != 0.0 || at.beta[1] != 0.0)
        for (int i = 0; i < at.sums; i++)
            wanted = td_add64(wanted, td_mul64(at.beta[i], at.before[i]));
    v.is_outside = wanted != wanted ? at.after == at.after : at.after != wanted;
    return v;
}

/* True if an element of finite numbers must be finite: no sum, or part of one, is beyond the range,
 * nor a solve's quotient. */
TD_DEVICE bool must_be_finite(const td_sample &s, const element &at, const scaled *products,
                              scaled size)
{
    const scaled end = make_scaled(1.0, s.is_solve ? 1020 : 1023);
    bool is_small = ratio_of(size, end) < 1.0;
    TD_ROLLED
    for (int i = 0; i < at.sums; i++) is_small &= ratio_of(products[i], end) < 1.0;
    if (!s.is_solve) return is_small;
    return is_small && !s.is_native && is_finite(at.diagonal) && at.diagonal != 0.0 &&
           ratio_of(size, times(at.diagonal, end)) < 1.0;
}

/* Of finite operands and scalars. */
TD_DEVICE verdict judge_finite(const td_sample &s, const element &at, const double *magnitude,
                               sample_shared &shared)
{
    verdict v = {false, false, false, 0.0, 0.0, bound_of(s, at, shared)};
    scaled products[2];
    TD_ROLLED
    for (int i = 0; i < at.sums; i++)
        products[i] =
            make_scaled(magnitude[i], has_products(shared.sum[i]) ? shared.sum[i].high : 0);
    const scaled size = size_of(s, at, products);
    if (!is_finite(at.after)) {
        v.is_special = true;
        v.is_outside = must_be_finite(s, at, products, size);
        return v;
    }
    const scaled error = find_error(at, shared), unit = unit_of(at.after, error);
    v.error = ratio_of(error, size);
    v.ulps = s.is_solve ? 0.0 : ratio_of(error, unit);
    v.is_outside = exceeds(s, at, v.bound, error, size, unit);
    return v;
}

TD_DEVICE_LARGE verdict judge(const td_sample &s, const element &at, const double *magnitude,
                              sample_shared &shared)
{
    const bool is_unknown = s.is_native && !s.is_solve && has_aside(at, shared);
    return is_unknown || is_special(at, shared) ? judge_special(s, at, shared)
                                                : judge_finite(s, at, magnitude, shared);
}

#endif
