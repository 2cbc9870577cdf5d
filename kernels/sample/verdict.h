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

/* Roundings of a complex product without scalars, to which these are then multiplied and beta C is
 * added (../unfold/scalars.cu), the last of which makes C: each is to a multiple of 2^-1074. */
TD_DEVICE double roundings_of_scalars(const td_sample &s) { return s.adds_mirror ? 6.0 : 4.0; }

/* What may be lost below 2^-1022: of a solve also of a quotient, times what it was divided by. */
TD_DEVICE scaled loss_below_range(const td_sample &s, const element &at, const td_sample_loss &of)
{
    const double products = (double)(at.k * parts_of(s) * (s.adds_mirror ? 2 : 1)),
                 of_c = at.has_scalars ? of.element + 1.0 : 0.0, /* of the product as a C */
        of_sum = of.products * products + of.sum + of_c;
    scaled loss = make_scaled(at.has_scalars ? roundings_of_scalars(s) : of.element, -1075);
    TD_ROLLED
    for (int i = 0; i < at.sums; i++)
        loss = add_scaled(loss, times(s.is_solve ? 1.0 : at.by[i], make_scaled(of_sum, -1075)));
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
    if (!s.is_solve && has_aside(at, shared)) {
        bound.relative = td_fma64((double)(at.k * parts_of(s)), 0x1p-53, bound.relative);
        bound.loss.products = 1.0;
    }
    return bound;
}

TD_DEVICE bool exceeds(const td_sample &s, const element &at, const td_sample_bound &bound,
                       scaled error, scaled size, scaled unit)
{
    if (!is_finite(bound.relative) || !is_finite(bound.ulps)) return false;
    scaled allowed = add_scaled(make_scaled(td_mul64(bound.relative, size.x), size.e),
                                make_scaled(td_mul64(bound.ulps, unit.x), unit.e));
    allowed = add_scaled(allowed, loss_below_range(s, at, bound.loss));
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

/* True if a sum of finite products, its product with alpha, or beta C may leave the range half way:
 * the infinity that it then is may have any sign, whatever the sum is in the end. */
TD_DEVICE_LARGE bool may_overflow(const td_sample &s, const element &at,
                                  const sample_shared &shared)
{
    const uint64_t terms = (uint64_t)(at.k + 1) * 2 * (uint64_t)parts_of(s);
    const scaled end = make_scaled(1.0, 1023);
    bool may = false;
    TD_ROLLED
    for (int i = 0; i < at.sums; i++) {
        const scaled sum = make_scaled(1.0, shared.sum[i].high + 64 - td_clz64(terms));
        if (!has_products(shared.sum[i])) continue;
        may |= !(ratio_of(sum, end) < 1.0);
        if (is_finite(at.by[i])) may |= !(ratio_of(times(at.by[i], sum), end) < 1.0);
    }
    TD_ROLLED
    for (int i = 0; i < 2; i++)
        if (is_finite(at.beta[i]) && is_finite(at.before[i]))
            may |= !(ratio_of(magnitude_of(at.beta[i], at.before[i]), end) < 1.0);
    return may;
}

/* Where operands, scalars or C before are not finite: C must be what IEEE arithmetic has it. Left
 * out are an infinite alpha times a finite sum, whose sign would count, and what may overflow. */
TD_DEVICE verdict judge_special(const td_sample &s, const element &at, const sample_shared &shared)
{
    verdict v = {false, true, false, 0.0, 0.0, s.bound};
    double wanted = 0.0;
    if (leaves_specials(s)) return v;
    v.is_left_out = may_overflow(s, at, shared);
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

/* True if another member of the batch has the element's place in memory, too: nobody can say whose
 * product is there. */
TD_DEVICE_LARGE bool is_shared(const td_sample &s, const element &at)
{
    const td_folded c = {s.c, {}, s.is_complex, s.c_in_rows, false};
    const int64_t bytes = parts_of(s) * (int64_t)sizeof(double), line = s.c_in_rows ? s.n : s.m,
                  lines = s.c_in_rows ? s.m : s.n;
    const intptr_t place = reinterpret_cast<intptr_t>(td_folded_member(c, at.member)) +
                           td_folded_at(c, at.row, at.col) * bytes;
    TD_UNROLL_N(1)
    for (int64_t z = 0; z < s.batch; z++) {
        const intptr_t apart = place - reinterpret_cast<intptr_t>(td_folded_member(c, z));
        if (z != at.member && apart >= 0 && apart / bytes % s.c.ld < line &&
            apart / bytes / s.c.ld < lines)
            return true;
    }
    return false;
}

/* True of what a factorisation left that did not come to its end. */
TD_DEVICE bool is_unfinished(const td_sample &s) { return s.info && *s.info != 0; }

TD_DEVICE_LARGE verdict judge(const td_sample &s, const element &at, const double *magnitude,
                              sample_shared &shared)
{
    const bool is_unknown = s.is_native && !s.is_solve && has_aside(at, shared);
    verdict v = is_unknown || is_special(at, shared) ? judge_special(s, at, shared)
                                                     : judge_finite(s, at, magnitude, shared);
    if (v.is_outside && s.batch > 1) v.is_left_out |= is_shared(s, at);
    if (is_unfinished(s)) v.is_left_out = true;
    return v;
}

#endif
