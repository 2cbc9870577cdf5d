/* sums.h - X from sums of digit products. */
#ifndef TD_SLICE_SUMS_H
#define TD_SLICE_SUMS_H

#include "../view/access.h"
#include "slices.h"
#include "../arithmetic/wide.h"

/* Limbs that hold X, of short sums and of any: k base^(2 slices) / 4 < 2^32 base^(2 slices) in
 * magnitude. */
enum { TD_FEW_LIMBS = 6, TD_LIMBS = 10 };

static inline bool td_sums_are_short(const td_slice_sums *sums)
{
    const int digits = sums->planes - sums->carries + sums->dropped + 1;
    return digits * sums->bits + 32 <= 32 * TD_FEW_LIMBS;
}

/* Of the block's batch member. */
TD_DEVICE int32_t *td_sums_of_block(const td_slice_sums &p)
{
    return p.sum + blockIdx.z * p.planes * p.plane_step;
}

/* x 2^bits + digit, modulo 2^(32 limbs); bits < 32, limbs > 1. `number` is int32_t or int64_t. */
template <int limbs, class number>
TD_DEVICE void td_append(td_wide<limbs> *x, int bits, number digit)
{
    const uint32_t sign = digit < 0 ? ~0u : 0u;
    uint64_t carry = 0;
    TD_UNROLL
    for (int i = limbs - 1; i > 0; i--)
        x->limb[i] = x->limb[i] << bits | x->limb[i - 1] >> (32 - bits);
    x->limb[0] <<= bits;
    TD_UNROLL
    for (int i = 0; i < limbs; i++) {
        const uint32_t word = i == 0   ? (uint32_t)digit
                              : i == 1 ? (uint32_t)((int64_t)digit >> 32)
                                       : sign;
        carry += (uint64_t)x->limb[i] + word;
        x->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* A source as ../crt/finish.h wants it. */
template <int count> struct td_slice_source {
    enum { limbs = count };
    const td_slice_sums *sums;

    TD_DEVICE void load(const td_slice_source &from, int row, int col, td_wide<limbs> *x)
    {
        const td_slice_sums &sums = *from.sums;
        const int32_t *at = td_sums_of_block(sums) + row + col * sums.ld;
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++) x[i] = {};
        TD_UNROLL_N(2)
        for (int plane = 0; plane < sums.planes + sums.dropped; plane++) {
            td_quad<int32_t> q = {};
            if (plane < sums.planes)
                q = *reinterpret_cast<const td_quad<int32_t> *>(at + plane * sums.plane_step);
            TD_UNROLL
            for (int i = 0; i < TD_SUBTILE; i++) td_append(&x[i], sums.bits, q.of[i]);
        }
    }
};

#endif
