#include "fixed.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "../support/bits.h"

typedef unsigned __int128 two_words;

/* |x| == result 2^*q, for finite x. */
static uint64_t magnitude(double x, int *q)
{
    const uint64_t bits = bits_of(x), fraction = bits & UINT64_C(0xfffffffffffff);
    const int field = (int)(bits >> 52) & 0x7ff;
    *q = (field ? field : 1) - 1075;
    return field ? fraction | UINT64_C(1) << 52 : fraction;
}

/* Adds m 2^(place + FIXED_LEAST). */
static void add_at(uint64_t *words, uint64_t m, int place)
{
    two_words carry = (two_words)m << place % 64;
    for (int i = place / 64; carry; i++) {
        carry += words[i];
        words[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

static void add_two_words(uint64_t *words, two_words m, int place)
{
    add_at(words, (uint64_t)m, place);
    add_at(words, (uint64_t)(m >> 64), place + 64);
}

void fixed_add_scaled_product(fixed *x, double a, double b, int e)
{
    int q_a, q_b;
    two_words m = (two_words)magnitude(a, &q_a) * magnitude(b, &q_b);
    int place = q_a + q_b + e - FIXED_LEAST;
    for (; place < 0 && m; place++) m >>= 1;
    if (m) add_two_words(x->words[signbit(a) != signbit(b)], m, place);
}

void fixed_add_product(fixed *x, double a, double b) { fixed_add_scaled_product(x, a, b, 0); }

void fixed_add_multiple(fixed *x, const fixed *y, double factor)
{
    int q;
    const uint64_t m = magnitude(factor, &q);
    for (int sign = 0; sign < 2; sign++)
        for (int i = 0; i < FIXED_WORDS; i++)
            if (y->words[sign][i] && m)
                add_two_words(x->words[sign ^ !!signbit(factor)], (two_words)y->words[sign][i] * m,
                              64 * i + q);
}

static bool is_less(const uint64_t *x, const uint64_t *y)
{
    int i = FIXED_WORDS - 1;
    while (i > 0 && x[i] == y[i]) i--;
    return x[i] < y[i];
}

/* x -= y, for x >= y. */
static void subtract(uint64_t *x, const uint64_t *y)
{
    uint64_t borrow = 0;
    for (int i = 0; i < FIXED_WORDS; i++) {
        const two_words difference = (two_words)x[i] - y[i] - borrow;
        x[i] = (uint64_t)difference;
        borrow = (uint64_t)(difference >> 64) & 1;
    }
}

long double fixed_value(const fixed *x)
{
    const bool is_negative = is_less(x->words[0], x->words[1]);
    uint64_t words[FIXED_WORDS];
    memcpy(words, x->words[is_negative], sizeof words);
    subtract(words, x->words[!is_negative]);
    int top = FIXED_WORDS - 1;
    while (top > 0 && !words[top]) top--;
    if (!words[top]) return 0.0L;
    const int shift = __builtin_clzll(words[top]);
    const two_words m = ((two_words)words[top] << 64 | (top > 0 ? words[top - 1] : 0)) << shift;
    bool is_rest = (uint64_t)m != 0;
    for (int i = 0; i < top - 1; i++) is_rest |= words[i] != 0;
    const uint64_t odd = (uint64_t)(m >> 64) | is_rest;
    const long double size = ldexpl((long double)odd, 64 * top - shift + FIXED_LEAST);
    return is_negative ? -size : size;
}
