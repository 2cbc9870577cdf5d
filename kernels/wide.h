/* wide.h - whole numbers of several 32-bit limbs in two's complement, the least significant first, and their rounding to
 * binary64. For kernels: every loop unrolls, so that limbs stay in registers. */
#ifndef TD_WIDE_H
#define TD_WIDE_H

#include "float32.h"
#include "portable.h"

template <int limbs> struct td_wide {
    uint32_t limb[limbs];
};

template <int limbs> TD_DEVICE bool td_wide_is_negative(const td_wide<limbs> &x)
{
    return (x.limb[limbs - 1] >> 31) != 0;
}

/* sum over i of column[i] 2^(32 i), modulo 2^(32 limbs). */
template <int limbs> TD_DEVICE td_wide<limbs> td_wide_carry(const int64_t *column)
{
    td_wide<limbs> x;
    int64_t carry = 0;
    TD_UNROLL
    for (int i = 0; i < limbs; i++) {
        const int64_t sum = column[i] + carry;
        x.limb[i] = (uint32_t)sum;
        carry = sum >> 32;
    }
    return x;
}

template <int limbs> TD_DEVICE td_wide<limbs> td_wide_magnitude(const td_wide<limbs> &x)
{
    const uint32_t sign = td_wide_is_negative(x) ? ~0u : 0u;
    td_wide<limbs> r;
    uint64_t carry = sign & 1u;
    TD_UNROLL
    for (int i = 0; i < limbs; i++) {
        carry += x.limb[i] ^ sign;
        r.limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return r;
}

/* The 64 leading bits of x > 0, from its highest one on, the last bit set if any bit below is: x is about
 * significand 2^*exponent. 0 for 0. */
template <int limbs> TD_DEVICE uint64_t td_wide_leading(const td_wide<limbs> &x, int *exponent)
{
    td_wide<limbs> y = x;
    int shift = 0;
    TD_UNROLL
    for (int step = 0; step < limbs - 1; step++) {
        const bool is_empty = y.limb[limbs - 1] == 0;
        TD_UNROLL
        for (int i = limbs - 1; i > 0; i--) y.limb[i] = is_empty ? y.limb[i - 1] : y.limb[i];
        y.limb[0] = is_empty ? 0 : y.limb[0];
        shift += is_empty ? 32 : 0;
    }
    const uint64_t top = (uint64_t)y.limb[limbs - 1] << 32 | (limbs > 1 ? y.limb[limbs - 2] : 0);
    const uint32_t next = limbs > 2 ? y.limb[limbs - 3] : 0;
    const int zeros = td_clz64(top | 1) & 31;
    uint32_t rest = (uint32_t)((uint64_t)next << zeros);
    TD_UNROLL
    for (int i = 0; i < limbs - 3; i++) rest |= y.limb[i];
    *exponent = 32 * (limbs - 2) - shift - zeros;
    return top << zeros | (uint64_t)next << zeros >> 32 | (rest != 0);
}

/* +-m 2^e rounded once to binary64, to nearest, ties to even; subnormals and overflow included. m is 0 or has its highest bit
 * set; its last bit may stand for bits below. */
TD_DEVICE double td_round64(bool is_negative, uint64_t m, int e)
{
    const uint64_t sign = (uint64_t)is_negative << 63;
    if (m == 0) return td_from_bits64(0);
    if (e + 63 > 1023) return td_from_bits64(sign | 0x7ff0000000000000ull);
    /* Bits to drop: 11, more if the result is subnormal. */
    const int drop = e + 63 >= -1022 ? 11 : -1074 - e;
    if (drop > 64) return td_from_bits64(sign);
    const uint64_t kept = drop == 64 ? 0 : m >> drop, half = 1ull << (drop - 1);
    const uint64_t rest = drop == 64 ? m : m & ((half << 1) - 1);
    const bool up = rest > half || (rest == half && (kept & 1));
    /* A carry out of the significand goes to the exponent, as it should. */
    const uint64_t field = drop == 11 ? (uint64_t)(e + 63 + 1022) << 52 : 0;
    return td_from_bits64(sign | (field + kept + up));
}

/* x 2^e rounded once to binary64; +0 for 0. */
template <int limbs> TD_DEVICE double td_wide_round64(const td_wide<limbs> &x, int e)
{
    int exponent;
    const uint64_t m = td_wide_leading(td_wide_magnitude(x), &exponent);
    return td_round64(td_wide_is_negative(x), m, exponent + e);
}

#endif
