/* pairs.h - X from its residues by binary64 arithmetic, for devices that have much of it: rounded
 * as the whole numbers of crt.cu would be, or not at all.
 *
 * Two moduli p, p' at a time: y is that of pair_sums.h, |y| < 2^16, and X = sum of y M - Q P, M =
 * P / (2^s p p'). y + BIAS is put together in the upper half of a binary64 of exponent 17. With
 * 2^t >= P and g = 2^(t - 47), M = high + low, high a multiple of g:
 *   sums of (y + BIAS) high stay below 2^6 2^t = 2^53 g, so they are exact, and so is what is left
 *   when Q P's high is taken away; |low| <= g / 2, sums of (y + BIAS) low stay below 2^-26 2^t, and
 *   err by 2^-76 2^t in all at most; by how much is computed.
 * Where all numbers so near to the sum round to the same binary64 number z, z is X rounded. Of
 * complex products y may be half of a whole number, and sums of some numbers of moduli are larger:
 * g is two or four times as large, and so are errors.
 *
 * Where they do not, low = middle + rest is looked at again, middle a multiple of 2^(t - 80) and
 * |rest| below that. At most eleven y, each below 2^16 in magnitude, and Q < 2^4 are added up:
 *   sums of y middle stay below 2^19.5 2^(t - 48) < 2^53 2^(t - 80), so they are exact, and so is
 *   what is left of h when they are added; sums of y rest stay below 2^19.5 2^(t - 80), and with
 *   the constants err by less than 2^5 2^-53 times that, 2^(t - 108); e is below 2^(t - 53) and is
 *   rounded twice. All that is less than 2^(t - 105). */
#ifndef TD_PAIRS_H
#define TD_PAIRS_H

#include "../measure/line.h"
#include "../view/target.h"
#include "pair_sums.h"

struct td_pair {
    uint32_t weights; /* 8 2^s p' and 8 2^s p */
    double high, low; /* of M */
};

/* What low is before it is rounded. */
struct td_low_parts {
    double middle, rest;
};

struct td_pairs {
    td_pair pair[TD_PAIRS];
    double start_high, start_low; /* of -BIAS sum M */
    double high, low, inverse;    /* of P */
    double error;                 /* at most */
    double reach; /* the same and what l may be rounded by when it is added: 2^-32 g */
    int bits;     /* t */
    /* z that are sure are 2^(t - farthest) or more: their units are twice the error */
    int farthest;
    td_low_parts low_of_pair[TD_PAIRS], low_of_product;
    double error_of_parts;
};

struct td_pair_tables {
    td_pairs of[TD_EXACT_MODULI - TD_LEAST_PAIRED + 1],
        of_complex[TD_MOST_COMPLEX_MODULI - TD_LEAST_PAIRED + 1];
};

static constexpr double td_power_of_2(int e)
{
    double x = 1.0;
    for (int i = 0; i < e; i++) x *= 2.0;
    for (int i = 0; i > e; i--) x *= 0.5;
    return x;
}

/* limb 2^down is high + low, high being the nearest multiple of 2^unit; low is rounded. 32 < unit -
 * down < 128. */
static constexpr void td_cut_limbs(const uint32_t *limb, int down, int unit, double *high,
                                   double *low)
{
    const int cut = unit - down;
    double above = 0.0, below = 0.0;
    for (int i = TD_P_LIMBS - 1; i >= 0; i--) {
        const int kept = cut - 32 * i; /* lower bits of this limb that are below the cut */
        const uint32_t mask = kept <= 0 ? 0 : kept >= 32 ? ~0u : (1u << kept) - 1;
        above += (double)(limb[i] & ~mask) * td_power_of_2(32 * i + down);
        below += (double)(limb[i] & mask) * td_power_of_2(32 * i + down);
    }
    const bool up = below > td_power_of_2(unit - 1);
    *high = above + (up ? td_power_of_2(unit) : 0.0);
    *low = 0.0;
    for (int i = TD_P_LIMBS - 1; i >= 0; i--) { /* exact but for the last bits */
        const int kept = cut - 32 * i;
        const uint32_t mask = kept <= 0 ? 0 : kept >= 32 ? ~0u : (1u << kept) - 1;
        const double part = (double)(limb[i] & mask) * td_power_of_2(32 * i + down);
        *low += up && kept > 0 && kept <= 32 ? part - td_power_of_2(unit) : part;
    }
}

/* Returns the bits of limb 2^down whose weights are from 2^lowest to less than 2^end, rounded if
 * they are more than 53. */
static constexpr double td_bits_between(const uint32_t *limb, int down, int lowest, int end)
{
    double sum = 0.0;
    for (int i = 32 * TD_P_LIMBS - 1; i >= 0; i--)
        if ((limb[i / 32] >> i % 32 & 1) && i + down >= lowest && i + down < end)
            sum += td_power_of_2(i + down);
    return sum;
}

/* Cuts what `high` leaves of a number, with the same unit, into its next TD_MIDDLE_BITS bits and
 * the rest. */
enum { TD_MIDDLE_BITS = 33 };
static constexpr td_low_parts td_cut_low(const uint32_t *limb, int down, int unit, double high)
{
    const double kept = td_bits_between(limb, down, unit, 32 * TD_P_LIMBS);
    return {td_bits_between(limb, down, unit - TD_MIDDLE_BITS, unit) + (kept - high),
            td_bits_between(limb, down, down, unit - TD_MIDDLE_BITS)};
}

static constexpr double td_magnitude_of(double x) { return x < 0.0 ? -x : x; }

/* What sums of y low may be off: 2^-53 of the largest that each addition can give, those of the
 * start among them, and a little for each constant. */
static constexpr double td_error_of(const td_pairs &pairs, int count)
{
    double error = 16.0 * td_magnitude_of(pairs.low), before = 0.0, bias = -pairs.start_low,
           sum = 0.0;
    for (int i = 0; i < count; i++) {
        const double low = pairs.pair[i].low;
        before += TD_PAIR_BIAS * low; /* of the start, so far */
        bias -= TD_PAIR_BIAS * low;   /* that is still to be taken away */
        sum += td_power_of_2(16) * td_magnitude_of(low);
        error += td_magnitude_of(before) + td_magnitude_of(bias) + sum +
                 td_power_of_2(20) * td_magnitude_of(low);
    }
    return (error + sum) * td_power_of_2(-53) * (1.0 + td_power_of_2(-10));
}

/* Those of the first look, whose sums of two residues complex products have. */
static constexpr td_pair_weights td_first_weights(bool is_complex, int moduli, int pair)
{
    return td_weights_of(is_complex ? TD_PAIR_OF_SUMS : TD_PAIR_OF_BYTES, moduli, pair);
}

/* The exponent of g: sums of (y + BIAS) M, each at most 2^18 M, are below 2^53 times the least that
 * (y + BIAS) g is a multiple of. */
static constexpr int td_unit_of_high(bool is_complex, int moduli, int bits, const uint32_t *product)
{
    double p = 0.0, sum = 0.0;
    int least = 0, unit = bits - 47;
    for (int i = TD_P_LIMBS - 1; i >= 0; i--) p += (double)product[i] * td_power_of_2(32 * i);
    for (int i = 0; 2 * i < moduli; i++) {
        const td_moduli_of_pair of = td_moduli_of(is_complex, moduli, i);
        const int up = td_first_weights(is_complex, moduli, i).up;
        sum += p / ((double)(of.p * of.other) * td_power_of_2(up));
        least = up < least ? up : least;
    }
    while (sum * td_power_of_2(18) > 0.99 * td_power_of_2(53 + unit + least)) unit++;
    return unit;
}

static constexpr td_pairs td_make_pairs(bool is_complex, int moduli)
{
    const uint32_t *const set = is_complex ? td_complex_moduli : td_moduli;
    td_pairs pairs = {};
    uint32_t product[TD_P_LIMBS] = {1};
    for (int t = 0; t < moduli; t++) td_multiply_limbs(product, set[t]);
    for (int i = 0; i < TD_P_LIMBS; i++)
        for (int b = 0; b < 32; b++)
            if (product[i] >> b & 1) pairs.bits = 32 * i + b + 1;
    const int unit = td_unit_of_high(is_complex, moduli, pairs.bits, product);
    for (int i = 0; 2 * i < moduli; i++) {
        const td_pair_weights weights = td_first_weights(is_complex, moduli, i);
        uint32_t rest[TD_P_LIMBS] = {1};
        for (int t = 0; t < moduli; t++)
            if (t / 2 != i) td_multiply_limbs(rest, set[t]);
        td_pair *const pair = &pairs.pair[i];
        pair->weights = weights.both;
        td_cut_limbs(rest, -weights.up, unit, &pair->high, &pair->low);
        pairs.low_of_pair[i] = td_cut_low(rest, -weights.up, unit, pair->high);
        pairs.start_high -= TD_PAIR_BIAS * pair->high;
        pairs.start_low -= TD_PAIR_BIAS * pair->low;
    }
    td_cut_limbs(product, 0, unit, &pairs.high, &pairs.low);
    pairs.low_of_product = td_cut_low(product, 0, unit, pairs.high);
    pairs.error_of_parts = td_power_of_2(pairs.bits - 105);
    pairs.inverse = 1.0 / pairs.high;
    pairs.error = td_error_of(pairs, (moduli + 1) / 2);
    pairs.reach = pairs.error + td_power_of_2(unit - 32);
    while (2.0 * pairs.error <= td_power_of_2(pairs.bits - pairs.farthest - 1 - 52))
        pairs.farthest++;
    return pairs;
}

/* Of a td_first_moduli. */
template <class set>
static constexpr td_pairs td_pairs_of = td_make_pairs(set::is_complex, set::count);

static constexpr td_pair_tables td_make_pair_tables()
{
    td_pair_tables tables = {};
    for (int n = TD_LEAST_PAIRED; n <= TD_EXACT_MODULI; n++)
        tables.of[n - TD_LEAST_PAIRED] = td_make_pairs(false, n);
    for (int n = TD_LEAST_PAIRED; n <= TD_MOST_COMPLEX_MODULI; n++)
        tables.of_complex[n - TD_LEAST_PAIRED] = td_make_pairs(true, n);
    return tables;
}

TD_CONSTANT(td_pair_tables, td_pair_table, td_make_pair_tables());

template <class set> TD_DEVICE const td_pairs &td_pairs_in_memory()
{
    return set::is_complex ? td_pair_table.of_complex[set::count - TD_LEAST_PAIRED]
                           : td_pair_table.of[set::count - TD_LEAST_PAIRED];
}

/* How many words of residues four elements have. Of real products one for each modulus; of complex
 * ones two for each pair: those of Z+ and of Z- as td_words_of_complex_pair has them. */
template <class set> TD_BOTH constexpr int td_residue_words()
{
    return set::is_complex ? (set::count + 1) / 2 * 2 : set::count;
}

/* The words of y + BIAS of the i-th pair. */
template <class set>
TD_DEVICE void td_words_of(int i, const uint32_t *residues, uint32_t (&y)[TD_SUBTILE])
{
    const uint32_t weights = td_pairs_in_memory<set>().pair[i].weights;
    if constexpr (set::is_complex)
        td_words_of_complex_pair(weights, td_imaginary_table.of[set::count - TD_LEAST_PAIRED][i],
                                 residues[2 * i], residues[2 * i + 1], y);
    else
        td_words_of_pair(weights, residues[2 * i], 2 * i + 1 < set::count ? residues[2 * i + 1] : 0,
                         y);
}

/* X = h + l of four elements. */
template <class set>
TD_DEVICE void td_add_pairs(const uint32_t *residues, double (&h)[TD_SUBTILE],
                            double (&l)[TD_SUBTILE])
{
    const td_pairs &pairs = td_pairs_in_memory<set>();
    TD_UNROLL
    for (int e = 0; e < TD_SUBTILE; e++) h[e] = pairs.start_high, l[e] = pairs.start_low;
    TD_UNROLL
    for (int i = 0; 2 * i < set::count; i++) {
        const td_pair &pair = pairs.pair[i];
        uint32_t y[TD_SUBTILE];
        td_words_of<set>(i, residues, y);
        TD_UNROLL
        for (int e = 0; e < TD_SUBTILE; e++) {
            const double d = td_from_bits64((uint64_t)y[e] << 32);
            h[e] = td_fma64(d, pair.high, h[e]);
            l[e] = td_fma64(d, pair.low, l[e]);
        }
    }
    TD_UNROLL
    for (int e = 0; e < TD_SUBTILE; e++) {
        const double q = td_sub64(td_fma64(h[e], pairs.inverse, 0x1.8p52), 0x1.8p52);
        h[e] = td_fma64(-q, pairs.high, h[e]);
        l[e] = td_fma64(-q, pairs.low, l[e]);
    }
}

/* ---- lines ---- */

/* The worst that lines can be: the smallest mean, with its scale; the largest distance of a mean
 * from the sum; the smallest sum, with its scale; scales. */
struct td_worst_line {
    int mean, spread, rounding;
    int least, most;
    bool is_special;
};

TD_DEVICE td_worst_line td_worst_of(const td_line &line)
{
    const int scale = TD_LOG * line.scale;
    return {line.mean + scale, line.sum - line.mean, line.sum + scale,
            line.scale,        line.scale,           line.low == TD_SPECIAL};
}

TD_DEVICE td_worst_line td_join_worst(const td_worst_line &a, const td_worst_line &b)
{
    return {min(a.mean, b.mean),   max(a.spread, b.spread), min(a.rounding, b.rounding),
            min(a.least, b.least), max(a.most, b.most),     (bool)(a.is_special | b.is_special)};
}

/* td_worst_of, but that a line of zeros, of which all elements are certified, asks for nothing but
 * its scale. */
TD_DEVICE td_worst_line td_worst_but_zeros(const td_line &line)
{
    enum { ANYTHING = 1 << 29 };
    td_worst_line worst = td_worst_of(line);
    if (line.low == TD_NO_LOW) {
        worst.mean = worst.rounding = ANYTHING;
        worst.spread = -ANYTHING;
    }
    return worst;
}

/* True only if td_is_certified says so of all elements by their means. These are to be so far above
 * the sum of either line: a condition for each, in which the other line's sum does not occur. No
 * branches: code that is jumped to is fetched late. */
TD_DEVICE bool td_are_certified(const td_worst_line &a, const td_worst_line &b,
                                const td_choice &choice)
{
    const bool is_far = max(a.rounding, b.rounding) - choice.rest >= 8 * TD_LOG;
    const int above = choice.need + (is_far ? 2 : TD_LOG);
    return (b.mean >= above + a.spread) & (a.mean >= above + b.spread) &
           (is_far | (a.mean + b.mean >= above + choice.rest));
}

/* The least and the largest sum of two scales that leave results normal numbers. */
struct td_scales_near {
    int least, most;
};

template <class set> TD_DEVICE td_scales_near td_near_of()
{
    const td_pairs &pairs = td_pairs_in_memory<set>();
    return {pairs.bits - 1 - 1023, pairs.bits - pairs.farthest + 1022};
}

template <class set> TD_DEVICE bool td_are_near(int least, int most)
{
    const td_scales_near near = td_near_of<set>();
    return (least >= near.least) & (most <= near.most);
}

/* Scales are near, and elements certified, if that is asked. */
TD_DEVICE bool td_are_usual(const td_worst_line &a, const td_worst_line &b, const td_choice &choice,
                            const td_scales_near &near)
{
    return (bool)((choice.need == TD_NEEDS_NOTHING) | choice.is_estimated |
                  td_are_certified(a, b, choice)) &
           !a.is_special & !b.is_special & (a.least + b.least >= near.least) &
           (a.most + b.most <= near.most);
}

template <class set>
TD_DEVICE bool td_are_usual(const td_worst_line &a, const td_worst_line &b, const td_choice &choice)
{
    return td_are_usual(a, b, choice, td_near_of<set>());
}

/* ---- elements ---- */

/* X 2^-scale of four elements, rounded, and which of these are sure. The sums of h and of l less
 * and more what it may be off are rounded, as X between them is: where both are the same that is X
 * rounded. Zeros never are sure. Scales are usual, those of rows and of a column, times 2^20.
 * reach: that of td_pairs, or more. No branches. */
template <class set>
TD_DEVICE void td_round_quad(const uint32_t *residues, const uint32_t (&scale_a)[TD_SUBTILE],
                             uint32_t scale_b, double reach, double *x, bool (&is_sure)[TD_SUBTILE])
{
    double h[TD_SUBTILE], l[TD_SUBTILE];
    td_add_pairs<set>(residues, h, l);
    TD_UNROLL
    for (int e = 0; e < TD_SUBTILE; e++) {
        const double most = td_add64(h[e], td_add64(l[e], reach)),
                     least = td_add64(h[e], td_sub64(l[e], reach));
        is_sure[e] = most == least;
        const uint32_t upper = (uint32_t)(td_bits64(most) >> 32) - scale_a[e] - scale_b;
        x[e] = td_from_bits64((uint64_t)upper << 32 | (uint32_t)td_bits64(most));
    }
}

template <class set>
TD_DEVICE void td_round_quad(const uint32_t *residues, const uint32_t (&scale_a)[TD_SUBTILE],
                             uint32_t scale_b, double *x, bool (&is_sure)[TD_SUBTILE])
{
    td_round_quad<set>(residues, scale_a, scale_b, td_pairs_in_memory<set>().reach, x, is_sure);
}

/* alpha X + beta C0 of four elements, rounded once, and of which that is sure; alpha has the scales
 * in it, and X may be off by `reach`. With H + L = h + l, alpha H = p + p' and beta C0 = q + q' the
 * sum is exactly p + q, what rounding it loses, p' + q' and alpha L. The last ones are below 2^-51
 * (|p| + |q|) together, and three additions make their sum: it errs by less than 2^-102 (|p| +
 * |q|), what is lost where products are too small for all of their bits included. If the sum less
 * and more all that has the same nearest number, that is it. */
template <class set>
TD_DEVICE void td_round_sums(const uint32_t *residues, const double (&alpha)[TD_SUBTILE],
                             double beta, const double (&c0)[TD_SUBTILE], double reach, double *x,
                             bool (&is_sure)[TD_SUBTILE])
{
    const double error = 0x1p-101, least_size = 0x1p-900, most_size = 0x1p1020;
    double h[TD_SUBTILE], l[TD_SUBTILE];
    td_add_pairs<set>(residues, h, l);
    TD_UNROLL
    for (int e = 0; e < TD_SUBTILE; e++) {
        double low, lost;
        const double high = td_two_sum64(h[e], l[e], &low), p = td_mul64(alpha[e], high),
                     q = td_mul64(beta, c0[e]), sum = td_two_sum64(p, q, &lost),
                     below = td_add64(td_fma64(alpha[e], high, -p), td_fma64(beta, c0[e], -q)),
                     rest = td_add64(lost, td_fma64(alpha[e], low, below)),
                     size = td_add64(td_abs64(p), td_abs64(q)),
                     off = td_fma64(td_abs64(alpha[e]), reach, td_mul64(size, error));
        x[e] = td_add64(sum, td_add64(rest, off));
        is_sure[e] = (x[e] == td_add64(sum, td_sub64(rest, off))) & (size >= least_size) &
                     (size <= most_size);
    }
}

/* Sums of y M's parts of an element whose residue modulo the t-th modulus is of(t), from a pair of
 * moduli on. The constants are in the code: what is seldom needed would wait for them. */
template <class set, int i, class element>
TD_DEVICE void td_add_parts(const element &of, double *high, double *middle, double *rest)
{
    if constexpr (2 * i < set::count) {
        constexpr td_pair pair = td_pairs_of<set>.pair[i];
        constexpr td_low_parts low = td_pairs_of<set>.low_of_pair[i];
        const int other = 2 * i + 1 < set::count ? of(2 * i + 1) : 0;
        const double y = (double)((int)(pair.weights / 8 & 0xffffu) * of(2 * i) +
                                  (int)(pair.weights / 8 >> 16) * other);
        *high = td_fma64(y, pair.high, *high);
        *middle = td_fma64(y, low.middle, *middle);
        *rest = td_fma64(y, low.rest, *rest);
        td_add_parts<set, i + 1>(of, high, middle, rest);
    }
}

/* X of one element, rounded, by all bits of M and P; false if it may not be its nearest. */
template <class set, class element> TD_DEVICE bool td_round_by_parts(const element &of, double *z)
{
    constexpr double high_of_product = td_pairs_of<set>.high, inverse = td_pairs_of<set>.inverse,
                     error = td_pairs_of<set>.error_of_parts;
    constexpr td_low_parts low = td_pairs_of<set>.low_of_product;
    double high = 0.0, middle = 0.0, rest = 0.0, below;
    td_add_parts<set, 0>(of, &high, &middle, &rest);
    const double q = td_sub64(td_fma64(high, inverse, 0x1.8p52), 0x1.8p52);
    high = td_fma64(-q, high_of_product, high);
    middle = td_fma64(-q, low.middle, middle);
    rest = td_fma64(-q, low.rest, rest);
    const double most = td_two_sum64(high, middle, &below), e = td_add64(below, rest);
    *z = td_add64(most, e);
    return (td_add64(most, td_add64(e, error)) == *z) & (td_add64(most, td_sub64(e, error)) == *z);
}

/* Returns which of the uncertain elements are not zero. Zeros are never certain, and have
 * residues that are all 0. any: all words of the elements' residues, joined by "or". */
TD_DEVICE unsigned td_without_zeros(uint32_t any, unsigned unsure, double *x)
{
    TD_UNROLL
    for (int e = 0; e < TD_SUBTILE; e++) {
        if (!(unsure >> e & 1) || (any >> (8 * e) & 255)) continue;
        x[e] = 0.0;
        unsure &= ~(1u << e);
    }
    return unsure;
}

/* Does so by words of real products. */
template <class set>
TD_DEVICE unsigned td_without_zeros(const uint32_t *residues, unsigned unsure, double *x)
{
    uint32_t any = 0;
    TD_UNROLL
    for (int t = 0; t < set::count; t++) any |= residues[t];
    return td_without_zeros(any, unsure, x);
}

#endif
