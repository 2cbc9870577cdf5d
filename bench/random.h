/* random.h - random numbers for kernels, each from its index: the same whatever thread makes it. */
#ifndef BENCH_RANDOM_H
#define BENCH_RANDOM_H

#include <stdint.h>

#include "../kernels/device/portable.h"

enum {
    RANDOM_DRAWS = 4
}; /* uniform numbers an element has: the last one is left to others than random_element */

/* Uniform in (0, 1): number `index` of SplitMix64 (Steele, Lea, Flood 2014). */
TD_DEVICE double random_uniform(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return ((double)((z ^ (z >> 31)) >> 12) + 0.5) * 0x1p-52;
}

/* (u - shift) exp(phi g), u uniform in (0, 1), g normal. */
TD_DEVICE double random_element(double shift, double phi, uint64_t seed, uint64_t index)
{
    const uint64_t draw = RANDOM_DRAWS * index;
    const double u = random_uniform(seed, draw) - shift;
    if (phi == 0.0) return u;
    const double radius =
        sqrt(-2.0 * log(random_uniform(seed, draw + 1))); /* Box and Muller's method */
    return u * exp(phi * radius * cos(6.283185307179586 * random_uniform(seed, draw + 2)));
}

#endif
