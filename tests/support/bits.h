/* bits.h - floating-point numbers as bits. */
#ifndef TEST_BITS_H
#define TEST_BITS_H

#include <stdint.h>
#include <string.h>

static inline uint64_t bits_of(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline double double_of(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline float float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* True of the same bits, or of two NaN: the payload and sign of a NaN are nobody's promise. */
static inline int same_bits(double x, double y)
{
    return bits_of(x) == bits_of(y) || (x != x && y != y);
}

#endif
