/* mix.h - a hash of several numbers. */
#ifndef TD_MIX_H
#define TD_MIX_H

#include <stdint.h>

/* A number that differs where x or any number before does, but for one pair in 2^64. */
static inline uint64_t td_mix(uint64_t hash, uint64_t x)
{
    hash = (hash ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

#endif
