/* exact_pairs.h - X from its residues, rounded once, whatever X is and however many moduli there
 * are: pairs.h with a third part of M and P, and whole numbers of 64 bits for what the third part
 * loses. For kernels.
 *
 * y, s, BIAS, 2^t >= P and Q are those of pairs.h. M = high + middle + rest, and P likewise: high
 * is M without its bits below 2^(t - 47), middle has the next 31 bits. Sums, over y, of each are
 * whole numbers.
 *   Sums of (y + BIAS) high stay below 2^53 2^(t - 47), and those of (y + BIAS) middle below 2^53
 *   2^(t - 78), for ten pairs: so both are exact, H and I. |I| < 2^(t - 27).
 *   The sum of y rest less Q P's rest is R, |R| < 2^(t - 58). As a binary64 number it errs by less
 *   than 2^(t - 106); but 2^shift R is also known modulo 2^64, 2^shift y rest being a whole number.
 *   With 2^unit = 2^(t - 106), or 1 if that is less, R = K + D: K is the sum rounded to a multiple
 *   of 2^unit, and D, at most 3/2 2^unit, what the whole number says that K is off.
 * So X = H + I + K + D. H + I = S + e, with S the nearest number: |S| < 2^t, so that |e| <= 2^(t -
 * 54), and e + K is exact, a multiple of 2^unit below 2^53 2^unit. S + (e + K) = Z + e', with Z the
 * nearest number. These sums and that of e' and D are Fast2Sums: the first number is a multiple of
 * the other one's last place, which is enough. e' + D is rounded to odd, which takes nothing away
 * from rounding it with Z: numbers halfway between two near Z are even ones. */
#ifndef TD_EXACT_PAIRS_H
#define TD_EXACT_PAIRS_H

#include "pairs.h"

enum { TD_MOST_ANY = TD_MAX_MODULI, TD_HIGH_BITS = 47, TD_NEXT_BITS = 31, TD_LOST_BITS = 106 };

/* What is added up: of M, or of P. whole: 2^shift rest modulo 2^64. */
struct td_exact_parts {
    double high, middle, rest;
    uint64_t whole;
};

struct td_exact_pair {
    td_exact_parts of;
    uint32_t weights; /* td_pair.weights */
};

struct td_exact_pairs {
    td_exact_pair pair[(TD_MOST_ANY + 1) / 2];
    td_exact_parts start;   /* of -BIAS sum M; `whole` counts the words of pairs instead of y */
    td_exact_parts product; /* of P */
    double inverse;         /* of P's high */
    double to_unit;         /* added and taken away: rounds to multiples of 2^unit */
    int32_t bits, shift, unit;
};

struct td_exact_pair_tables {
    td_exact_pairs of[2][TD_MOST_ANY - TD_MIN_MODULI + 1]; /* complex products: [1] */
};

/* `count` bits of a number, at most 64, from that of 2^first on. */
static constexpr uint64_t td_some_bits(const uint32_t *limb, int first, int count)
{
    uint64_t bits = 0;
    for (int i = 0; i < TD_P_LIMBS; i++) {
        const int up = 32 * i - first;
        if (up > -32 && up < 64) bits |= up < 0 ? limb[i] >> -up : (uint64_t)limb[i] << up;
    }
    return count >= 64 ? bits : count <= 0 ? 0 : bits & ((1ull << count) - 1);
}

/* The parts of limb 2^-down, high being a multiple of 2^unit; `whole` still is 2^down rest. */
static constexpr td_exact_parts td_cut_parts(const uint32_t *limb, int down, int unit)
{
    enum { HALF = 48 };
    const int next = unit - TD_NEXT_BITS, below = next + down; /* bits of 2^down rest */
    const double low = (double)td_some_bits(limb, 0, below < HALF ? below : (int)HALF),
                 up = (double)td_some_bits(limb, HALF, below - HALF);
    return {(double)td_some_bits(limb, unit + down, 64) * td_power_of_2(unit),
            (double)td_some_bits(limb, below, TD_NEXT_BITS) * td_power_of_2(next),
            up * td_power_of_2(HALF - down) + low * td_power_of_2(-down),
            td_some_bits(limb, 0, below)};
}

static constexpr td_exact_pairs td_make_exact_pairs(bool is_complex, int moduli)
{
    const uint32_t *const set = is_complex ? td_complex_moduli : td_moduli;
    td_exact_pairs pairs = {};
    uint32_t product[TD_P_LIMBS] = {1};
    int up[(TD_MOST_ANY + 1) / 2] = {}, most_up = 0;
    for (int t = 0; t < moduli; t++) td_multiply_limbs(product, set[t]);
    for (int i = 0; i < 32 * TD_P_LIMBS; i++)
        if (product[i / 32] >> i % 32 & 1) pairs.bits = i + 1;
    const int unit = pairs.bits - TD_HIGH_BITS;
    for (int i = 0; 2 * i < moduli; i++) {
        const td_pair_weights weights =
            td_weights_of(is_complex ? TD_PAIR_OF_PARTS : TD_PAIR_OF_BYTES, moduli, i);
        uint32_t rest[TD_P_LIMBS] = {1};
        for (int t = 0; t < moduli; t++)
            if (t / 2 != i) td_multiply_limbs(rest, set[t]);
        up[i] = weights.up;
        most_up = up[i] > most_up ? up[i] : most_up;
        td_exact_pair &pair = pairs.pair[i];
        pair = {td_cut_parts(rest, up[i], unit), weights.both};
        pairs.start.high -= TD_PAIR_BIAS * pair.of.high;
        pairs.start.middle -= TD_PAIR_BIAS * pair.of.middle;
        pairs.start.rest -= TD_PAIR_BIAS * pair.of.rest;
    }
    pairs.shift = TD_PAIR_PLACES + most_up;
    for (int i = 0; 2 * i < moduli; i++) {
        pairs.pair[i].of.whole <<= most_up - up[i];
        pairs.start.whole -= TD_PAIR_START * pairs.pair[i].of.whole;
    }
    pairs.product = td_cut_parts(product, 0, unit);
    pairs.product.whole <<= pairs.shift;
    pairs.inverse = 1.0 / pairs.product.high;
    pairs.unit = pairs.bits > TD_LOST_BITS ? pairs.bits - TD_LOST_BITS : 0;
    pairs.to_unit = 1.5 * td_power_of_2(52 + pairs.unit);
    return pairs;
}

static constexpr td_exact_pair_tables td_make_exact_pair_tables()
{
    td_exact_pair_tables tables = {};
    for (int n = TD_MIN_MODULI; n <= TD_MOST_ANY; n++)
        for (int is_complex = 0; is_complex < 2; is_complex++)
            tables.of[is_complex][n - TD_MIN_MODULI] = td_make_exact_pairs(is_complex != 0, n);
    return tables;
}

TD_CONSTANT(td_exact_pair_tables, td_exact_pair_table, td_make_exact_pair_tables());

TD_DEVICE const td_exact_pairs &td_exact_pairs_in_memory(bool is_complex, int moduli)
{
    return td_exact_pair_table.of[is_complex][moduli - TD_MIN_MODULI];
}

/* Returns e' + d, rounded to odd; see above. */
TD_DEVICE double td_add_odd(double a, double d)
{
    double lost;
    const double sum = td_fast_two_sum64(a, d, &lost);
    const uint64_t bits = td_bits64(sum), away = (lost > 0.0) == (sum > 0.0) ? 1 : ~0ull;
    return td_from_bits64(lost == 0.0 || (bits & 1) ? bits : bits + away);
}

/* The nearest number to X, from its sums but for Q P. */
TD_DEVICE double td_round_parts(const td_exact_pairs &pairs, td_exact_parts sum)
{
    const td_exact_parts &p = pairs.product;
    const double q_bits = td_fma64(sum.high, pairs.inverse, 0x1.8p52),
                 q = td_sub64(q_bits, 0x1.8p52);
    const uint64_t q_whole = (uint64_t)(int64_t)(int32_t)(uint32_t)td_bits64(q_bits),
                   whole = sum.whole - q_whole * p.whole;
    double lost, rest;
    const double near = td_fast_two_sum64(td_fma64(-q, p.high, sum.high),
                                          td_fma64(-q, p.middle, sum.middle), &lost),
                 shifted = td_add64(td_fma64(-q, p.rest, sum.rest), pairs.to_unit);
    const uint64_t units = td_bits64(shifted) - td_bits64(pairs.to_unit),
                   off = whole - (units << (pairs.unit + pairs.shift));
    const double d = td_sub64(
        td_from_bits64(td_bits64(0x1.8p52) + (uint64_t)((int64_t)off >> pairs.shift)), 0x1.8p52);
    const double z =
        td_fast_two_sum64(near, td_add64(lost, td_sub64(shifted, pairs.to_unit)), &rest);
    return td_add64(z, td_add_odd(rest, d));
}

/* The nearest numbers to X of four elements; residues.of(t) is a word of those modulo the t-th
 * modulus. */
template <class words>
TD_DEVICE void td_round_quad_exactly(const td_exact_pairs &pairs, int moduli, const words &residues,
                                     double (&x)[TD_SUBTILE])
{
    td_exact_parts sum[TD_SUBTILE] = {pairs.start, pairs.start, pairs.start, pairs.start};
    TD_UNROLL_N(2)
    for (int i = 0; 2 * i < moduli; i++) {
        const td_exact_pair &pair = pairs.pair[i];
        uint32_t y[TD_SUBTILE];
        td_words_of_pair(pair.weights, residues.of(2 * i),
                         2 * i + 1 < moduli ? residues.of(2 * i + 1) : 0, y);
        TD_UNROLL
        for (int e = 0; e < TD_SUBTILE; e++) {
            const double biased = td_from_bits64((uint64_t)y[e] << 32);
            sum[e].high = td_fma64(biased, pair.of.high, sum[e].high);
            sum[e].middle = td_fma64(biased, pair.of.middle, sum[e].middle);
            sum[e].rest = td_fma64(biased, pair.of.rest, sum[e].rest);
            sum[e].whole += y[e] * pair.of.whole;
        }
    }
    TD_UNROLL
    for (int e = 0; e < TD_SUBTILE; e++) x[e] = td_round_parts(pairs, sum[e]);
}

#endif
