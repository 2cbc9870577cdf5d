/* exact.h - sums of products of binary64 numbers without any rounding but the last, by whole
 * numbers alone; for C on the host and CUDA C on the device. A product is a whole number of 2^-2148
 * and less than 2^2048: a sum of them is kept in words of 32 bits each, with room for the carries
 * of many additions (Kulisch and Miranker, Computer Arithmetic in Theory and Practice, 1981). The
 * order of the terms changes nothing. */
#ifndef TD_EXACT_H
#define TD_EXACT_H

#include "float32.h"
#include "logarithm.h"

/* sum over i of word[i * stride] 2^(32 i + e), modulo 2^(32 words + e), in two's complement. After
 * td_exact_carry every word is in [0, 2^32); between carries fewer than 2^31 products may be
 * added. */
typedef struct {
    int64_t *word;
    int64_t stride;
    int words, e;
} td_exact;

/* Words at both ends that td_exact_combine needs: zeros below the sum, copies of its sign above. */
enum { TD_EXACT_BELOW = 4, TD_EXACT_ABOVE = 8 };

/* Words and exponent of a sum of any products, up to 2^60 of them. */
enum {
    TD_EXACT_WORDS = TD_EXACT_BELOW + 134 + TD_EXACT_ABOVE,
    TD_EXACT_LOWEST = -2148 - 32 * TD_EXACT_BELOW
};

/* high 2^64 + low. */
typedef struct {
    uint64_t low, high;
} td_exact_term;

/* The finite binary64 with the given bits is +- m 2^*q, m < 2^53 and -1074 <= *q <= 971. */
TD_BOTH uint64_t td_exact_significand(uint64_t bits, int *q)
{
    const uint64_t fraction = bits & 0xfffffffffffffull;
    const int field = (int)(bits >> 52) & 0x7ff;
    *q = (field ? field : 1) - 1075;
    return field ? fraction | 1ull << 52 : fraction;
}

/* a b for a, b < 2^53. */
TD_BOTH td_exact_term td_exact_product(uint64_t a, uint64_t b)
{
    const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    const uint64_t low = a0 * b0, middle = a0 * b1 + a1 * b0 + (low >> 32);
    td_exact_term r;
    r.low = middle << 32 | (uint32_t)low;
    r.high = a1 * b1 + (middle >> 32);
    return r;
}

/* Bits 32 i .. 32 i + 31. */
TD_BOTH uint32_t td_exact_limb(td_exact_term term, int i)
{
    const uint64_t half = i < 2 ? term.low : term.high;
    return i < 0 || i > 3 ? 0 : (uint32_t)(i & 1 ? half >> 32 : half);
}

/* Bits 32 i .. 32 i + 31 of the term times 2^shift; 0 <= shift < 32. */
TD_BOTH uint32_t td_exact_digit(td_exact_term term, int i, int shift)
{
    const uint64_t pair = (uint64_t)td_exact_limb(term, i) << 32 | td_exact_limb(term, i - 1);
    return (uint32_t)(pair << shift >> 32);
}

/* The term times 2^-count, count > 0; the last bit is set if any bit set was shifted out (rounding
 * to odd). */
TD_BOTH td_exact_term td_exact_shift_down(td_exact_term term, int count)
{
    uint64_t lost = 0;
    if (count >= 128) {
        lost = term.low | term.high;
        term.low = term.high = 0;
        count = 0;
    } else if (count >= 64) {
        lost = term.low;
        term.low = term.high;
        term.high = 0;
        count -= 64;
    }
    if (count > 0) {
        lost |= term.low << (64 - count);
        term.low = term.low >> count | term.high << (64 - count);
        term.high >>= count;
    }
    term.low |= lost != 0;
    return term;
}

TD_BOTH void td_exact_clear(const td_exact *x)
{
    for (int i = 0; i < x->words; i++) x->word[i * x->stride] = 0;
}

/* Adds the product of two binary64 numbers given by their bits; without carries. The words from
 * TD_EXACT_LOWEST on are there, TD_EXACT_WORDS of them. Infinities and NaN add some number, and
 * stay within the words. */
TD_BOTH void td_exact_add_product(const td_exact *x, uint64_t a, uint64_t b)
{
    int qa, qb;
    const uint64_t ma = td_exact_significand(a, &qa), mb = td_exact_significand(b, &qb);
    const td_exact_term term = td_exact_product(ma, mb);
    const int position = qa + qb - TD_EXACT_LOWEST, shift = position & 31;
    const int64_t sign = -(int64_t)((a ^ b) >> 63);
    int64_t *word = x->word + (position >> 5) * x->stride;
    for (int i = 0; i < 5; i++)
        word[i * x->stride] += ((int64_t)td_exact_digit(term, i, shift) ^ sign) - sign;
}

TD_BOTH void td_exact_carry(const td_exact *x)
{
    int64_t carry = 0;
    for (int i = 0; i < x->words; i++) {
        int64_t *word = x->word + i * x->stride;
        const int64_t sum = *word + carry;
        *word = (uint32_t)sum;
        carry = sum >> 32;
    }
}

/* x m for m < 2^53; words as td_exact_carry leaves them, then and now. */
TD_BOTH void td_exact_multiply(const td_exact *x, uint64_t m)
{
    const uint64_t m0 = (uint32_t)m, m1 = m >> 32;
    uint64_t carry = 0, previous = 0;
    for (int i = 0; i < x->words; i++) {
        int64_t *word = x->word + i * x->stride;
        const uint64_t w = (uint64_t)*word, p0 = m0 * w, p1 = m1 * previous + carry;
        const uint64_t low = (p0 & 0xffffffffu) + (p1 & 0xffffffffu);
        *word = (uint32_t)low;
        carry = (p0 >> 32) + (p1 >> 32) + (low >> 32);
        previous = w;
    }
}

/* Adds +- term 2^(position + e), position >= 0; words as td_exact_carry leaves them, then and
 * now. */
TD_BOTH void td_exact_add(const td_exact *x, td_exact_term term, int position, bool is_negative)
{
    const int first = position >> 5, shift = position & 31;
    const int64_t sign = -(int64_t)is_negative;
    int64_t carry = 0;
    for (int i = 0; i < x->words; i++) {
        int64_t *word = x->word + i * x->stride;
        uint32_t digit = 0;
        for (int j = 0; j < 5; j++) digit = i - first == j ? td_exact_digit(term, j, shift) : digit;
        const int64_t sum = *word + (((int64_t)digit ^ sign) - sign) + carry;
        *word = (uint32_t)sum;
        carry = sum >> 32;
    }
}

TD_BOTH bool td_exact_is_negative(const td_exact *x)
{
    return (uint64_t)x->word[(x->words - 1) * x->stride] >> 31 != 0;
}

TD_BOTH bool td_exact_is_zero(const td_exact *x)
{
    int64_t any = 0;
    for (int i = 0; i < x->words; i++) any |= x->word[i * x->stride];
    return any == 0;
}

/* A sum that is nonzero and far below another number, and so counts by its sign alone: +- 2^e. */
TD_BOTH void td_exact_make_tiny(const td_exact *x)
{
    const bool is_negative = td_exact_is_negative(x);
    for (int i = 0; i < x->words; i++) x->word[i * x->stride] = is_negative ? 0xffffffff : 0;
    if (!is_negative) x->word[0] = 1;
}

/* Adds +- term 2^q to a sum that td_exact_multiply has been to. Whichever of the two is so far
 * below the other's last bit that it can neither cancel it nor decide a rounding but by being
 * there, is rounded to odd. */
TD_BOTH void td_exact_add_far(td_exact *x, td_exact_term term, int q, bool is_negative)
{
    const int margin = 32 * TD_EXACT_BELOW;
    const int end = 32 * (x->words - TD_EXACT_ABOVE + 2); /* |x| < 2^(end - 1 + e) */
    int position = q - x->e;
    if ((term.low | term.high) == 0) return;
    const bool is_zero = td_exact_is_zero(x);
    if (is_zero || position > end + 64) { /* the term's last bit is above x 2^64 */
        if (!is_zero) td_exact_make_tiny(x);
        x->e = q - margin;
        position = margin;
    }
    if (position < 0) { /* the term, less than 2^106, is below x's last bit 2^-22 */
        term = td_exact_shift_down(term, -position);
        position = 0;
    }
    td_exact_add(x, term, position, is_negative);
}

/* +- (m + next 2^-32 + f) 2^e with m >= 2^63, or 0 if m is 0. f < 2^-32, and 0 if not has_rest. */
typedef struct {
    uint64_t m;
    uint32_t next;
    int e;
    bool is_negative, has_rest;
} td_exact_number;

/* x, which is carried, and lost. */
TD_BOTH td_exact_number td_exact_read(const td_exact *x)
{
    const bool is_negative = td_exact_is_negative(x);
    const uint32_t flip = is_negative ? ~0u : 0u;
    uint64_t carry = flip & 1u;
    for (int i = 0; i < x->words; i++) {
        int64_t *word = x->word + i * x->stride;
        carry += (uint32_t)*word ^ flip;
        *word = (uint32_t)carry;
        carry >>= 32;
    }
    /* From the top: four words from the first that is not zero, and whether there is more. */
    uint32_t upper = 0, middle = 0, lower = 0, lowest = 0, rest = 0;
    int e = 0;
    for (int i = x->words - 1; i >= -3; i--) {
        const uint32_t word = i < 0 ? 0 : (uint32_t)x->word[i * x->stride];
        if (upper) {
            rest |= word;
            continue;
        }
        upper = middle;
        middle = lower;
        lower = lowest;
        lowest = word;
        e = x->e + 32 * i;
    }
    const uint64_t head = (uint64_t)upper << 32 | middle, tail = (uint64_t)lower << 32 | lowest;
    const int zeros = upper ? td_clz64(head) : 0; /* less than 32 */
    td_exact_number r;
    r.m = upper ? head << zeros | tail >> 1 >> (63 - zeros) : 0;
    r.next = (uint32_t)(tail << zeros >> 32);
    r.e = e + 64 - zeros;
    r.is_negative = is_negative;
    r.has_rest = ((uint32_t)(tail << zeros) | rest) != 0;
    return r;
}

/* x, or -x, rounded once to binary64; +0 for 0. */
TD_BOTH double td_exact_round(td_exact_number x, bool is_negated)
{
    return td_round64(x.is_negative != is_negated, x.m | (x.next != 0 || x.has_rest), x.e);
}

/* x <- |alpha| x + sign(alpha) beta c. All are finite; c counts if beta is not 0. x has
 * TD_EXACT_BELOW and TD_EXACT_ABOVE words as said there. */
TD_BOTH void td_exact_accumulate(td_exact *x, double alpha, double beta, double c)
{
    const uint64_t alpha_bits = td_bits64(alpha), beta_bits = td_bits64(beta);
    int q_alpha, q_beta, q_c;
    td_exact_multiply(x, td_exact_significand(alpha_bits, &q_alpha));
    x->e += q_alpha;
    if (beta_bits << 1) {
        const uint64_t c_bits = td_bits64(c), sign = alpha_bits ^ beta_bits ^ c_bits;
        const uint64_t b = td_exact_significand(beta_bits, &q_beta);
        const uint64_t m = td_exact_significand(c_bits, &q_c);
        td_exact_add_far(x, td_exact_product(b, m), q_beta + q_c, sign >> 63 != 0);
    }
}

/* alpha x + beta c rounded once to binary64; +0 if that is exactly 0. As td_exact_accumulate, but x
 * is lost. */
TD_BOTH double td_exact_combine(td_exact *x, double alpha, double beta, double c)
{
    td_exact_accumulate(x, alpha, beta, c);
    return td_exact_round(td_exact_read(x), td_bits64(alpha) >> 63 != 0);
}

/* True if the arguments that count are finite. */
TD_BOTH bool td_exact_takes(double alpha, double beta, double c)
{
    const uint64_t beta_bits = td_bits64(beta);
    return td_is_finite64(td_bits64(alpha)) && td_is_finite64(beta_bits) &&
           (beta_bits << 1 == 0 || td_is_finite64(td_bits64(c)));
}

/* Whole numbers in two's complement that td_exact_axpby takes, the least significant limb first;
 * and the longest. */
enum {
    TD_EXACT_LIMBS = 5,
    TD_EXACT_MOST_LIMBS = 10,
    TD_EXACT_NO_ERROR = -(1 << 28),
    TD_EXACT_TIE = -(1 << 28)
};

/* 256 log2 of the distance of |x| from the nearest number halfway between two that binary64 has (if
 * it had no upper end), at most, 7 % below it, and in whole units; TD_EXACT_TIE if it may be 0, or
 * |x| is below 2^-1074. Units are 2^(e - 32), or 2^e where too many bits are below the last place;
 * |x| is `fraction` of them, or less than one more, above a multiple of that place. Next to a power
 * of two numbers are closer, on one side: nothing counts as further away than a quarter of the last
 * place. */
TD_BOTH int td_exact_room_log(td_exact_number x)
{
    const int bits = x.e + 11 >= -1074 ? 11 : -1074 - x.e; /* of m, below the last place */
    if (x.m == 0 || bits > 63) return TD_EXACT_TIE;
    const int more = bits > 31 ? 0 : 32;
    const uint64_t low = x.m & ((1ull << bits) - 1), half = 1ull << (bits + more - 1);
    const uint64_t fraction = more ? low << 32 | x.next : low;
    uint64_t room = fraction < half ? half - fraction - 1 : fraction - half;
    room = room < half / 2 ? room : half / 2;
    if (room == 0) return TD_EXACT_TIE;
    const int zeros = td_clz64(room); /* log2(1 + f) >= f */
    return 256 * (63 - zeros + x.e - more) + (int)(room << zeros >> 55 & 255);
}

/* alpha X 2^e + beta c rounded once to binary64, +0 if that is exactly 0; c counts if beta is not
 * 0. X has so many limbs, may be off by 2^(eta_log / 256), or is exact if eta_log is
 * TD_EXACT_NO_ERROR. *is_certified: the exact X gives the same number. False if alpha, beta or c
 * that counts is not finite; then the result is 0.
 *
 * Certified is what is further than |alpha| eta 2^e from where rounding changes, by a factor of
 * 2^(1/256) at least, as both logarithms are whole. That is more than td_exact_add_far may lose:
 * rounding to odd leaves the sum between the same two multiples of 2^32 of its last bits, and so in
 * the same unit of td_exact_room_log; and a tiny X, less than 2^-66 of the last bit of beta c, is
 * less than 2^-11 of the room that is seen (docs/numerics.md, faithful). */
TD_BOTH double td_exact_axpby(double alpha, const uint32_t *limb, int limbs, int e, double beta,
                              double c, int eta_log, bool *is_certified)
{
    const int words = TD_EXACT_BELOW + limbs + TD_EXACT_ABOVE;
    int64_t word[TD_EXACT_BELOW + TD_EXACT_MOST_LIMBS + TD_EXACT_ABOVE];
    td_exact x;
    *is_certified = td_exact_takes(alpha, beta, c);
    if (!*is_certified) return 0.0;
    const uint32_t sign = limb[limbs - 1] >> 31 ? ~0u : 0u;
    for (int i = 0; i < words; i++) {
        const int j = i - TD_EXACT_BELOW;
        word[i] = j < 0 ? 0 : j < limbs ? limb[j] : sign;
    }
    x.word = word;
    x.stride = 1;
    x.words = words;
    x.e = e - 32 * TD_EXACT_BELOW;
    td_exact_accumulate(&x, alpha, beta, c);
    const td_exact_number y = td_exact_read(&x);
    int q;
    const uint64_t m = td_exact_significand(td_bits64(alpha), &q);
    if (m && eta_log != TD_EXACT_NO_ERROR)
        *is_certified = td_log_above(m) + 256 * (q + e) + eta_log < td_exact_room_log(y);
    return td_exact_round(y, td_bits64(alpha) >> 63 != 0);
}

#endif
