/* hash.h - FNV-1a, 64 bits (draft-eastlake-fnv): a fingerprint of the bits of a matrix. */
#ifndef TEST_HASH_H
#define TEST_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "bits.h"

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* `hash` continued over some bytes; begin with HASH_START. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* `hash` continued over the bits of numbers, eight bytes at a time. */
static inline uint64_t hash_numbers(uint64_t hash, const double *x, size_t count)
{
    for (size_t i = 0; i < count; i++) hash = (hash ^ bits_of(x[i])) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
