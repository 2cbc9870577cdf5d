/* test_pairs.cpp - X from its residues by pairs of moduli (../../../kernels/crt/exact_pairs.h), for
 * every number of moduli of both sets, against MPFR: the constants, the bounds that make sums
 * exact, and X rounded once: of any size, halfway between two numbers and beside that at every bit,
 * the largest. Of the first look (../../../kernels/crt/pairs.h): what it is sure of is X rounded,
 * and it is sure of nearly all numbers that are not small. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define MPFR_USE_INTMAX_T
#include <mpfr.h>

#include "kernels/crt/exact_pairs.h"
#include "tests/support/bits.h"
extern "C" {
#include "tests/support/random.h"
#include "tests/support/test.h"
}

namespace
{

enum { ROUNDS = 4000, PRECISION = 512 };

struct moduli_of_case {
    bool is_complex;
    int count;

    uint32_t modulus(int t) const { return is_complex ? td_complex_moduli[t] : td_moduli[t]; }
    const td_exact_pairs &pairs() const { return td_exact_pairs_in_memory(is_complex, count); }
    int pair_count() const { return (count + 1) / 2; }
};

[[noreturn]] void stop(const moduli_of_case &c, const char *what, int where)
{
    std::printf("%d moduli%s: %s is wrong, number %d\n", c.count, c.is_complex ? ", complex" : "",
                what, where);
    std::exit(1);
}

void check(const moduli_of_case &c, bool is_right, const char *what, int where)
{
    if (!is_right) stop(c, what, where);
}

struct real {
    mpfr_t of;

    real() { mpfr_init2(of, PRECISION), mpfr_set_zero(of, 1); }
    ~real() { mpfr_clear(of); }
    real(const real &) = delete;
    real &operator=(const real &) = delete;
};

/* ---- constants ---- */

/* True if high and middle are the leading bits of `all` as the header says, rest is what is left,
 * rounded, and `whole` is that times 2^shift. Takes high and middle from `all`. */
bool are_parts(const td_exact_pairs &pairs, const td_exact_parts &parts, real &all)
{
    const int next = pairs.bits - TD_HIGH_BITS - TD_NEXT_BITS;
    real scaled, modulus, off;
    mpfr_mul_2si(scaled.of, all.of, TD_HIGH_BITS - pairs.bits, MPFR_RNDN);
    mpfr_floor(scaled.of, scaled.of);
    mpfr_mul_2si(scaled.of, scaled.of, pairs.bits - TD_HIGH_BITS, MPFR_RNDN);
    bool is_right = mpfr_cmp_d(scaled.of, parts.high) == 0;
    mpfr_sub_d(all.of, all.of, parts.high, MPFR_RNDN);
    mpfr_mul_2si(scaled.of, all.of, -next, MPFR_RNDN);
    mpfr_floor(scaled.of, scaled.of);
    mpfr_mul_2si(scaled.of, scaled.of, next, MPFR_RNDN);
    is_right = is_right && mpfr_cmp_d(scaled.of, parts.middle) == 0;
    mpfr_sub_d(all.of, all.of, parts.middle, MPFR_RNDN);
    mpfr_sub_d(off.of, all.of, parts.rest, MPFR_RNDN);
    mpfr_mul_2si(off.of, off.of, 53, MPFR_RNDN);
    is_right = is_right && mpfr_cmpabs(off.of, all.of) <= 0;
    mpfr_mul_2si(scaled.of, all.of, pairs.shift, MPFR_RNDN);
    mpfr_set_ui_2exp(modulus.of, 1, 64, MPFR_RNDN);
    mpfr_fmod(scaled.of, scaled.of, modulus.of, MPFR_RNDN);
    return is_right && mpfr_integer_p(scaled.of) &&
           mpfr_get_uj(scaled.of, MPFR_RNDN) == parts.whole;
}

void check_constants(const moduli_of_case &c)
{
    const td_exact_pairs &pairs = c.pairs();
    real product;
    uint64_t wholes = 0;
    mpfr_set_ui(product.of, 1, MPFR_RNDN);
    for (int t = 0; t < c.count; t++) mpfr_mul_ui(product.of, product.of, c.modulus(t), MPFR_RNDN);
    check(c, mpfr_get_exp(product.of) == pairs.bits, "the number of bits", 0);
    for (int i = 0; i < c.pair_count(); i++) {
        const bool is_one = 2 * i + 1 == c.count;
        const uint32_t p = c.modulus(2 * i), other = is_one ? 1 : c.modulus(2 * i + 1);
        const uint32_t weights = pairs.pair[i].weights, to_p = weights & 0xffff;
        const int up = __builtin_ctz(to_p / other) - TD_PAIR_PLACES;
        const uint32_t of_p = c.is_complex ? (p + 1) / 2 : 128,
                       of_other = c.is_complex ? (other + 1) / 2 : 128,
                       most = of_p * other + (is_one ? 0 : of_other * p);
        check(c, to_p == other << (up + TD_PAIR_PLACES), "the weight of p", i);
        check(c, weights >> 16 == (is_one ? 0 : p << (up + TD_PAIR_PLACES)), "that of p'", i);
        check(c, most << up < 1u << 16, "y", i);
        real m;
        mpfr_div_ui(m.of, product.of, p, MPFR_RNDN);
        mpfr_div_ui(m.of, m.of, other, MPFR_RNDN);
        mpfr_div_2si(m.of, m.of, up, MPFR_RNDN);
        /* A word counts 2^-TD_PAIR_PLACES of y, which is a multiple of 2^up. */
        td_exact_pairs of_words = pairs;
        td_exact_parts parts = pairs.pair[i].of;
        wholes += parts.whole;
        parts.whole <<= TD_PAIR_PLACES + up;
        of_words.shift += up;
        check(c, are_parts(of_words, parts, m), "M", i);
    }
    check(c, pairs.start.whole == 0 - TD_PAIR_START * wholes, "the start", 0);
    check(c, are_parts(pairs, pairs.product, product), "P", 0);
}

/* Where sums of (y + BIAS) parts are largest, of all partial sums, and with Q P's part. */
double largest_sum(const moduli_of_case &c, double td_exact_parts::*part)
{
    const td_exact_pairs &pairs = c.pairs();
    double bias = 0.0, sum = 0.0, most = 0.0;
    for (int i = 0; i < c.pair_count(); i++) bias += TD_PAIR_BIAS * pairs.pair[i].of.*part;
    for (int i = 0; i < c.pair_count(); i++) {
        most = bias + sum > most ? bias + sum : most;
        bias -= TD_PAIR_BIAS * pairs.pair[i].of.*part;
        sum += 0x1p16 * pairs.pair[i].of.*part;
    }
    sum += 16.0 * pairs.product.*part;
    return sum > most ? sum : most;
}

void check_bounds(const moduli_of_case &c)
{
    const td_exact_pairs &pairs = c.pairs();
    const double unit = td_power_of_2(pairs.bits - TD_HIGH_BITS),
                 next = td_power_of_2(pairs.bits - TD_HIGH_BITS - TD_NEXT_BITS);
    double high = 0.0, rest = 0.0, middle = 0.0;
    for (int i = 0; i < c.pair_count(); i++) {
        high += 0x1p16 * (pairs.pair[i].of.high + unit);
        middle += 0x1p16 * pairs.pair[i].of.middle;
        rest += 0x1p16 * pairs.pair[i].of.rest;
    }
    check(c, largest_sum(c, &td_exact_parts::high) < 0x1p53 * unit, "the sum of high", 0);
    check(c, largest_sum(c, &td_exact_parts::middle) < 0x1p53 * next, "the sum of middle", 0);
    check(c, high < 15.5 * pairs.product.high, "Q", 0);
    check(c, middle + 16.0 * pairs.product.middle < td_power_of_2(pairs.bits - 27), "I", 0);
    check(c, rest + 16.0 * pairs.product.rest < td_power_of_2(pairs.bits - 58), "R", 0);
    /* Each addition rounds by 2^-53 of its sum, and so did each constant, and the start. */
    const double of_additions = (c.pair_count() + 3) * largest_sum(c, &td_exact_parts::rest),
                 of_constants = 5.0 * rest;
    check(c, (of_additions + of_constants) * 0x1p-53 < td_power_of_2(pairs.bits - TD_LOST_BITS),
          "the error of R", 0);
    const int unit_of_k = pairs.bits > TD_LOST_BITS ? pairs.bits - TD_LOST_BITS : 0;
    check(c, pairs.unit == unit_of_k && pairs.to_unit == 1.5 * td_power_of_2(52 + unit_of_k),
          "the unit of K", 0);
    check(c, unit_of_k + 1 + pairs.shift < 63 && unit_of_k + 1 <= 51, "the room for D", 0);
}

/* ---- X ---- */

enum { LIMBS = TD_P_LIMBS };
struct number {
    uint32_t limb[LIMBS];
    bool is_negative;
};

int bits_of_number(const number &x)
{
    for (int b = 32 * LIMBS - 1; b >= 0; b--)
        if (x.limb[b / 32] >> b % 32 & 1) return b + 1;
    return 0;
}

void shift_down(number *x, int by)
{
    for (; by > 0; by--)
        for (int i = 0; i < LIMBS; i++)
            x->limb[i] = x->limb[i] >> 1 | (i + 1 < LIMBS ? x->limb[i + 1] << 31 : 0);
}

/* Adds `sign` 2^bit to a magnitude that is larger. */
void add_power(number *x, int bit, int sign)
{
    for (int i = bit / 32; i < LIMBS; i++) {
        const uint32_t old = x->limb[i], power = i == bit / 32 ? 1u << bit % 32 : 1u;
        x->limb[i] = sign > 0 ? old + power : old - power;
        if (sign > 0 ? x->limb[i] >= old : x->limb[i] <= old) return;
    }
}

uint32_t modulo(const number &x, uint32_t p)
{
    uint64_t rest = 0;
    for (int i = LIMBS - 1; i >= 0; i--) rest = (rest << 32 | x.limb[i]) % p;
    return (uint32_t)(x.is_negative && rest ? p - rest : rest);
}

/* P / 2 less P / 2^17 and a little: larger than any X. */
number largest(const moduli_of_case &c)
{
    number half = {{1}, false}, part;
    for (int t = 0; t < c.count; t++) td_multiply_limbs(half.limb, c.modulus(t));
    part = half;
    shift_down(&half, 1);
    shift_down(&part, 17);
    int64_t borrow = 0;
    for (int i = 0; i < LIMBS; i++) {
        borrow += (int64_t)half.limb[i] - part.limb[i];
        half.limb[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    return half;
}

number any_number(test_random *r, const moduli_of_case &c, int round)
{
    number x = largest(c);
    const int bits = bits_of_number(x), kind = round % 4;
    if (kind == 0) add_power(&x, random_int(r, 0, bits - 2), -1);
    if (kind > 0) {
        const int length = kind == 1 ? random_int(r, 0, bits - 1) : bits - 1;
        for (int i = 0; i < LIMBS; i++) {
            const int kept = length - 32 * i;
            const uint32_t mask = kept >= 32 ? ~0u : kept <= 0 ? 0u : (1u << kept) - 1;
            x.limb[i] = (uint32_t)random_bits(r) & mask;
        }
    }
    if (kind > 1) { /* a number of 54 bits, the last of which is 1, or one beside it */
        const int last = random_int(r, -20, bits - 56);
        x = {{}, false};
        const uint64_t head = random_bits(r) >> 10 | 1ull << 53 | 1;
        for (int b = 0; b < 54; b++)
            if (head >> b & 1 && last + b >= 0 && last + b < bits - 1)
                x.limb[(last + b) / 32] |= 1u << (last + b) % 32;
        if (kind == 3 && last > 0 && last < bits)
            add_power(&x, random_int(r, 0, last - 1), random_int(r, 0, 1) ? 1 : -1);
    }
    x.is_negative = random_int(r, 0, 1);
    return x;
}

/* Of four numbers times the inverse of P / p, for each modulus p: the nearest to 0, or of real
 * products others. */
struct residue_words {
    uint32_t word[TD_MOST_ANY] = {};

    void put(test_random *r, const moduli_of_case &c, const number &x, int element)
    {
        for (int t = 0; t < c.count; t++) {
            const uint32_t p = c.modulus(t);
            const uint32_t *const set = c.is_complex ? td_complex_moduli : td_moduli;
            int residue = (int)(modulo(x, p) * td_inverse(set, c.count, t) % p);
            const bool may_stay = residue < 128 && !c.is_complex && random_int(r, 0, 1);
            if (residue > (int)p / 2 && !may_stay) residue -= (int)p;
            word[t] |= (uint32_t)(uint8_t)residue << (8 * element);
        }
    }
    uint32_t of(int t) const { return word[t]; }
};

double rounded(const number &x)
{
    real y;
    for (int i = LIMBS - 1; i >= 0; i--) {
        mpfr_mul_2ui(y.of, y.of, 32, MPFR_RNDN);
        mpfr_add_ui(y.of, y.of, x.limb[i], MPFR_RNDN);
    }
    const double size = mpfr_get_d(y.of, MPFR_RNDN);
    return x.is_negative && size != 0.0 ? -size : size;
}

void check_rounding(const moduli_of_case &c, uint64_t seed)
{
    test_random r = random_start(seed + (uint64_t)c.count);
    for (int round = 0; round < ROUNDS; round++) {
        residue_words words;
        double want[TD_SUBTILE], got[TD_SUBTILE];
        for (int e = 0; e < TD_SUBTILE; e++) {
            const number x = any_number(&r, c, random_int(&r, 0, 3));
            words.put(&r, c, x, e);
            want[e] = rounded(x);
        }
        td_round_quad_exactly(c.pairs(), c.count, words, got);
        for (int e = 0; e < TD_SUBTILE; e++) {
            if (bits_of(got[e]) == bits_of(want[e])) continue;
            std::printf("%a, not %a, seed %llu\n", got[e], want[e], (unsigned long long)seed);
            stop(c, "X", round);
        }
    }
}

/* ---- the first look ---- */

/* The largest magnitude of a residue that products have, and of a byte. */
int most_of_product(uint32_t p) { return 5 * p / 8 < 127 ? (int)(5 * p / 8) : 127; }

/* A number within most_of_product that is `residue` modulo p. */
int any_representative(test_random *r, uint32_t residue, uint32_t p)
{
    const int most = most_of_product(p), up = (int)residue, down = up - (int)p;
    if (up > most || (down >= -most && random_int(r, 0, 1))) return down;
    return up;
}

/* Residues of four elements as the first look has them: of real products those of residue_words, of
 * complex ones those of Z+ and Z- of two numbers, whose parts are the elements. */
template <class set> struct first_words {
    enum { PAIRS = (set::count + 1) / 2, WORDS = td_residue_words<set>() };
    uint32_t word[WORDS] = {};

    void put_byte(int w, int byte, int value) { word[w] |= (uint32_t)(uint8_t)value << (8 * byte); }
    void put(test_random *r, const moduli_of_case &c, const number (&x)[TD_SUBTILE])
    {
        for (int t = 0; t < c.count; t++) {
            const uint32_t p = c.modulus(t), half = (p + 1) / 2;
            const uint32_t *const all = c.is_complex ? td_complex_moduli : td_moduli;
            const uint32_t factor = td_inverse(all, c.count, t);
            if (!c.is_complex) {
                for (int e = 0; e < TD_SUBTILE; e++)
                    put_byte(t, e, any_representative(r, modulo(x[e], p) * factor % p, p));
                continue;
            }
            for (int e = 0; e < 2; e++) {
                const uint32_t re = modulo(x[2 * e], p) * factor % p * half % p,
                               im = modulo(x[2 * e + 1], p) * factor % p * half % p *
                                    td_root_of_minus_1(p) % p;
                put_byte(t / 2 * 2, 2 * e + t % 2, any_representative(r, (re + im) % p, p));
                put_byte(t / 2 * 2 + 1, 2 * e + t % 2, any_representative(r, (re + p - im) % p, p));
            }
        }
    }
};

/* A number whose magnitude is between 2^(t - 20) and 2^(t - 2). */
number any_usual(test_random *r, int t)
{
    const int bits = t - random_int(r, 2, 20);
    number x = {{}, random_int(r, 0, 1) != 0};
    for (int b = 0; b < bits; b++)
        if (b == bits - 1 || random_int(r, 0, 1)) x.limb[b / 32] |= 1u << b % 32;
    return x;
}

template <class set> void check_first_look(uint64_t seed)
{
    const moduli_of_case c = {set::is_complex, set::count};
    const uint32_t no_scale[TD_SUBTILE] = {};
    test_random r = random_start(seed + (uint64_t)set::count);
    int sure = 0, usual = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const bool is_usual = round % 2;
        number x[TD_SUBTILE];
        double got[TD_SUBTILE];
        bool is_sure[TD_SUBTILE];
        first_words<set> words;
        for (number &one : x)
            one = is_usual ? any_usual(&r, td_pairs_in_memory<set>().bits)
                           : any_number(&r, c, random_int(&r, 0, 3));
        words.put(&r, c, x);
        td_round_quad<set>(words.word, no_scale, 0, got, is_sure);
        for (int e = 0; e < TD_SUBTILE; e++) {
            usual += is_usual;
            sure += is_usual && is_sure[e];
            if (!is_sure[e] || got[e] == rounded(x[e])) continue;
            std::printf("%a, not %a, seed %llu\n", got[e], rounded(x[e]), (unsigned long long)seed);
            stop(c, "the first look", round);
        }
    }
    if (sure < usual / 10 * 9) std::printf("sure of %d of %d\n", sure, usual);
    check(c, sure >= usual / 10 * 9, "how often the first look is sure", 0);
}

template <int least, int most, bool is_complex> void check_first_looks(uint64_t seed)
{
    check_first_look<td_first_moduli<least, is_complex>>(seed);
    if constexpr (least < most) check_first_looks<least + 1, most, is_complex>(seed);
}

} // namespace

int main()
{
    const uint64_t seed = test_seed();
    check_first_looks<TD_LEAST_PAIRED, TD_EXACT_MODULI, false>(seed);
    check_first_looks<TD_LEAST_PAIRED, TD_MOST_COMPLEX_MODULI, true>(seed);
    for (int is_complex = 0; is_complex < 2; is_complex++)
        for (int count = TD_MIN_MODULI; count <= TD_MOST_ANY; count++) {
            const moduli_of_case c = {is_complex != 0, count};
            check_constants(c);
            check_bounds(c);
            check_rounding(c, seed);
        }
    return 0;
}
