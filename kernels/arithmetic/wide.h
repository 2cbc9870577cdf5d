/* wide.h - whole numbers of several 32-bit limbs in two's complement, the least significant first,
 * and their rounding to binary64. For kernels: every loop unrolls, so that limbs stay in
 * registers. */
#ifndef TD_WIDE_H
#define TD_WIDE_H

#include "float32.h"
#include "../device/portable.h"

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

/* The 64 leading bits of x > 0, from its highest one on, the last bit set if any bit below is: x is
 * about significand 2^*exponent. 0 for 0. */
template <int limbs> TD_DEVICE uint64_t td_wide_leading(const td_wide<limbs> &x, int *exponent)
{
    td_wide<limbs> y = x;
    int shift = 0;
    while (y.limb[limbs - 1] == 0 && shift < 32 * (limbs - 1)) {
        TD_UNROLL
        for (int i = limbs - 1; i > 0; i--) y.limb[i] = y.limb[i - 1];
        y.limb[0] = 0;
        shift += 32;
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

/* x 2^e rounded once to binary64; +0 for 0. */
template <int limbs> TD_DEVICE double td_wide_round64(const td_wide<limbs> &x, int e)
{
    int exponent;
    const uint64_t m = td_wide_leading(td_wide_magnitude(x), &exponent);
    return td_round64(td_wide_is_negative(x), m, exponent + e);
}

#endif
