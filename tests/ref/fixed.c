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

static int first_word(const fixed *x) { return FIXED_WORDS - x->reach; }

/* Adds m 2^(place + FIXED_LEAST) to the sum of a sign. */
static void add_two_words(fixed *x, int sign, two_words m, int place)
{
    const int first = place / 64, shift = place % 64;
    uint64_t *word = x->words[sign] + first;
    two_words sum = (two_words)word[0] + (uint64_t)(m << shift);
    word[0] = (uint64_t)sum;
    sum = (sum >> 64) + (uint64_t)(m << shift >> 64) + word[1];
    word[1] = (uint64_t)sum;
    sum = (sum >> 64) + (shift ? (uint64_t)(m >> 64) >> (64 - shift) : 0) + word[2];
    word[2] = (uint64_t)sum;
    int end = first + 3;
    for (sum >>= 64; sum; end++) {
        sum += x->words[sign][end];
        x->words[sign][end] = (uint64_t)sum;
        sum >>= 64;
    }
    if (x->end < end) x->end = end;
    if (x->reach < FIXED_WORDS - first) x->reach = FIXED_WORDS - first;
}

void fixed_add_scaled_product(fixed *x, double a, double b, int e)
{
    int q_a, q_b;
    two_words m = (two_words)magnitude(a, &q_a) * magnitude(b, &q_b);
    int place = q_a + q_b + e - FIXED_LEAST;
    for (; place < 0 && m; place++) m >>= 1;
    if (m) add_two_words(x, signbit(a) != signbit(b), m, place);
}

void fixed_add_product(fixed *x, double a, double b) { fixed_add_scaled_product(x, a, b, 0); }

void fixed_add_multiple(fixed *x, const fixed *y, double factor)
{
    int q;
    const uint64_t m = magnitude(factor, &q);
    for (int sign = 0; sign < 2; sign++)
        for (int i = first_word(y); i < y->end; i++)
            if (y->words[sign][i] && m)
                add_two_words(x, sign ^ !!signbit(factor), (two_words)y->words[sign][i] * m,
                              64 * i + q);
}

static bool is_less(const uint64_t *x, const uint64_t *y, int words)
{
    int i = words - 1;
    while (i > 0 && x[i] == y[i]) i--;
    return x[i] < y[i];
}

/* x -= y, for x >= y. */
static void subtract(uint64_t *x, const uint64_t *y, int words)
{
    uint64_t borrow = 0;
    for (int i = 0; i < words; i++) {
        const two_words difference = (two_words)x[i] - y[i] - borrow;
        x[i] = (uint64_t)difference;
        borrow = (uint64_t)(difference >> 64) & 1;
    }
}

long double fixed_value(const fixed *x)
{
    const int first = first_word(x), count = x->end - first;
    if (count <= 0) return 0.0L;
    const bool is_negative = is_less(x->words[0] + first, x->words[1] + first, count);
    uint64_t words[FIXED_WORDS];
    memcpy(words, x->words[is_negative] + first, (size_t)count * sizeof *words);
    subtract(words, x->words[!is_negative] + first, count);
    int top = count - 1;
    while (top > 0 && !words[top]) top--;
    if (!words[top]) return 0.0L;
    const int shift = __builtin_clzll(words[top]);
    const two_words m = ((two_words)words[top] << 64 | (top > 0 ? words[top - 1] : 0)) << shift;
    bool is_rest = (uint64_t)m != 0;
    for (int i = 0; i < top - 1; i++) is_rest |= words[i] != 0;
    const uint64_t odd = (uint64_t)(m >> 64) | is_rest;
    const long double size = ldexpl((long double)odd, 64 * (first + top) - shift + FIXED_LEAST);
    return is_negative ? -size : size;
}
