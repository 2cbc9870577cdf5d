/* random.h - numbers for tests, the same on every machine (splitmix64, Steele, Lea and Flood,
 * 2014). */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include <math.h>
#include <stdint.h>

typedef struct {
    uint64_t state;
} test_random;

static inline test_random random_start(uint64_t seed) { return (test_random){seed}; }

static inline uint64_t random_bits(test_random *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in (0, 1), 53 random bits. */
static inline double random_uniform(test_random *r)
{
    return ((double)(random_bits(r) >> 12) + 0.5) * 0x1p-52;
}

/* Uniform in [-1, 1), of a state of its own: the high bits of Knuth's linear congruential
 * generator. Of whole numbers all from low to high. */
static inline double random_signed(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(*state >> 11) * 0x1p-52 - 1.0;
}

static inline int random_signed_int(uint64_t *state, int low, int high)
{
    return low + (int)((random_signed(state) + 1.0) * 0.5 * (high - low + 1));
}

/* low .. high, both included. */
static inline int random_int(test_random *r, int low, int high)
{
    return low + (int)(random_bits(r) % (uint64_t)(high - low + 1));
}

/* Uniform in (-0.5, 0.5), times 2^e for any e from low to high. The exponent comes first: the
 * arguments of one call are evaluated in an order of the compiler's choice. */
static inline double random_scaled(test_random *r, int low, int high)
{
    const int e = random_int(r, low, high);
    return ldexp(random_uniform(r) - 0.5, e);
}

/* Nearly normal, mean 0 and variance 1: a sum of twelve, so that no mathematical function decides
 * the bits. */
static inline double random_normal(test_random *r)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++) sum += random_uniform(r);
    return sum;
}

#endif
