/* float32.h - binary32 and binary64 operations that round exactly once, the same on a GPU and on
 * the host.
 *
 * Device code uses the _rn intrinsics, which the compiler never contracts. Host code relies on
 * -ffp-contract=off and on fmaf and fma rounding once (slow but right without hardware support). */
#ifndef TD_FLOAT32_H
#define TD_FLOAT32_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__)
#error "multi-float arithmetic needs IEEE semantics: do not compile with -ffast-math"
#endif

#if defined(__CUDACC__)
#define TD_BOTH static __host__ __device__ __forceinline__
#else
#define TD_BOTH static inline __attribute__((always_inline, unused))
#endif

#if defined(__CUDA_ARCH__)
TD_BOTH float td_add(float a, float b) { return __fadd_rn(a, b); }
TD_BOTH float td_sub(float a, float b) { return __fsub_rn(a, b); }
TD_BOTH float td_mul(float a, float b) { return __fmul_rn(a, b); }
TD_BOTH float td_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
TD_BOTH double td_add64(double a, double b) { return __dadd_rn(a, b); }
TD_BOTH double td_sub64(double a, double b) { return __dsub_rn(a, b); }
TD_BOTH double td_mul64(double a, double b) { return __dmul_rn(a, b); }
TD_BOTH double td_fma64(double a, double b, double c) { return __fma_rn(a, b, c); }
TD_BOTH uint64_t td_bits64(double a) { return (uint64_t)__double_as_longlong(a); }
TD_BOTH double td_from_bits64(uint64_t a) { return __longlong_as_double((long long)a); }
TD_BOTH uint32_t td_bits32(float a) { return __float_as_uint(a); }
TD_BOTH float td_from_bits32(uint32_t a) { return __uint_as_float(a); }
TD_BOTH int td_clz64(uint64_t a) { return __clzll((long long)a); }
#else
TD_BOTH float td_add(float a, float b) { return a + b; }
TD_BOTH float td_sub(float a, float b) { return a - b; }
TD_BOTH float td_mul(float a, float b) { return a * b; }
TD_BOTH float td_fma(float a, float b, float c) { return fmaf(a, b, c); }
TD_BOTH double td_add64(double a, double b) { return a + b; }
TD_BOTH double td_sub64(double a, double b) { return a - b; }
TD_BOTH double td_mul64(double a, double b) { return a * b; }
TD_BOTH double td_fma64(double a, double b, double c) { return fma(a, b, c); }
TD_BOTH uint64_t td_bits64(double a)
{
    uint64_t u;
    memcpy(&u, &a, sizeof u);
    return u;
}
TD_BOTH double td_from_bits64(uint64_t a)
{
    double d;
    memcpy(&d, &a, sizeof d);
    return d;
}
TD_BOTH uint32_t td_bits32(float a)
{
    uint32_t u;
    memcpy(&u, &a, sizeof u);
    return u;
}
TD_BOTH float td_from_bits32(uint32_t a)
{
    float f;
    memcpy(&f, &a, sizeof f);
    return f;
}
TD_BOTH int td_clz64(uint64_t a) { return a ? __builtin_clzll(a) : 64; }
#endif

/* Knuth's TwoSum: s + *error == a + b exactly. 6 additions; needs no order of a and b, no overflow,
 * and neither of them the largest finite number. */
TD_BOTH float td_two_sum(float a, float b, float *error)
{
    float s = td_add(a, b), bb = td_sub(s, a);
    *error = td_add(td_sub(a, td_sub(s, bb)), td_sub(b, bb));
    return s;
}

/* Dekker's Fast2Sum: s + *error == a + b exactly if a is 0 or its exponent is at least b's. 3
 * additions. */
TD_BOTH float td_fast_two_sum(float a, float b, float *error)
{
    float s = td_add(a, b);
    *error = td_sub(b, td_sub(s, a));
    return s;
}

/* TwoProd: p + *error == a b exactly if |a b| is 0 or in [2^-102, 2^128 (1 - 2^-25)). 2
 * operations. */
TD_BOTH float td_two_prod(float a, float b, float *error)
{
    float p = td_mul(a, b);
    *error = td_fma(a, b, -p);
    return p;
}

/* TwoSum and TwoProd in binary64: the sum is exact unless it overflows, the product if |a b| is 0
 * or in [2^-968, 2^1024 (1 - 2^-54)). */
TD_BOTH double td_two_sum64(double a, double b, double *error)
{
    double s = td_add64(a, b), bb = td_sub64(s, a);
    *error = td_add64(td_sub64(a, td_sub64(s, bb)), td_sub64(b, bb));
    return s;
}

TD_BOTH double td_fast_two_sum64(double a, double b, double *error)
{
    double s = td_add64(a, b);
    *error = td_sub64(b, td_sub64(s, a));
    return s;
}

TD_BOTH double td_two_prod64(double a, double b, double *error)
{
    double p = td_mul64(a, b);
    *error = td_fma64(a, b, -p);
    return p;
}

/* 2^e as binary32 for -149 <= e <= 127. */
TD_BOTH float td_exp2(int e)
{
    return td_from_bits32(e >= -126 ? (uint32_t)(e + 127) << 23 : (uint32_t)1 << (e + 149));
}

/* 2^e as binary64 for -1074 <= e <= 1023. */
TD_BOTH double td_exp2_64(int e)
{
    return td_from_bits64(e >= -1022 ? (uint64_t)(e + 1023) << 52 : (uint64_t)1 << (e + 1074));
}

/* (float)x 2^e with one rounding, for a whole number |x| <= 2^28, e >= -252: the first factor is
 * exact, as 2^-126 <= |x| 2^(e/2). */
TD_BOTH float td_scale32(int x, int e)
{
    int half = e >> 1;
    return td_mul(td_mul((float)x, td_exp2(half)), td_exp2(e - half));
}

/* x 2^e with one rounding, for |x| in 0 or [2^-200, 2^200] and -2148 <= e <= 2046. The first of the
 * two factors cannot round: it would have to make x smaller than 2^-1022, and then the result is
 * below half of 2^-1074. */
TD_BOTH double td_scale64(double x, int e)
{
    int half = e / 2;
    return td_mul64(td_mul64(x, td_exp2_64(half)), td_exp2_64(e - half));
}

/* True for zeros and subnormal numbers. */
TD_BOTH bool td_is_below_normal64(double x) { return (td_bits64(x) >> 52 & 0x7ff) == 0; }

/* floor(log2 |x|) of a finite nonzero binary64 given by its bits, subnormals included. */
TD_BOTH int td_exponent64(uint64_t bits)
{
    int field = (int)(bits >> 52) & 0x7ff;
    return field ? field - 1023 : -1011 - td_clz64(bits & 0xfffffffffffffull);
}

/* The finite binary64 with the given bits is +- m 2^q; m < 2^53, at least 2^52 but for zero. */
TD_BOTH uint64_t td_significand64(uint64_t bits, int *q)
{
    const uint64_t fraction = bits & 0xfffffffffffffull;
    const int field = (int)(bits >> 52) & 0x7ff;
    const int shift = field || !fraction ? 0 : td_clz64(fraction) - 11; /* subnormal: normalise */
    *q = (field ? field : 1) - 1075 - shift;
    return field ? fraction | 1ull << 52 : fraction << shift;
}

/* m 2^-n to the nearest whole number, ties to even; m < 2^54, n >= 0. */
TD_BOTH uint64_t td_shift_rounding(uint64_t m, int n)
{
    const int down = n < 55 ? n : 55; /* 0 already */
    const uint64_t half = (1ull << down) >> 1;
    return (m + (half ? half - 1 + (m >> down & 1) : 0)) >> down;
}

/* +-m 2^e rounded once to binary64, to nearest, ties to even; subnormals and overflow included. m
 * has its highest bit set, and its last bit may stand for bits below; or m is 0, and the result
 * +0. */
TD_BOTH double td_round64(bool is_negative, uint64_t m, int e)
{
    const uint64_t sign = (uint64_t)is_negative << 63;
    const int top = e + 63;
    if (m >> 63 && (uint32_t)(top + 1022) <= 2044) { /* as below, for normal numbers */
        const uint32_t odd = (uint32_t)(m >> 11) & 1u, up = ((uint32_t)m & 0x7ffu) + odd > 0x400u;
        return td_from_bits64(sign | ((m >> 11) + ((uint64_t)(uint32_t)(top + 1022) << 52) + up));
    }
    if (m == 0) return 0.0;
    if (top > 1023) return td_from_bits64(sign | 0x7ff0000000000000ull);
    /* Bits to drop: 11, more if the result is subnormal. */
    const int drop = top >= -1022 ? 11 : -1074 - e;
    if (drop > 64) return td_from_bits64(sign);
    const uint64_t kept = drop == 64 ? 0 : m >> drop, half = 1ull << (drop - 1);
    const uint64_t rest = m & ((half << 1) - 1);
    const bool up = rest > half || (rest == half && (kept & 1));
    /* A carry out of the significand goes to the exponent, as it should. */
    const uint64_t field = drop == 11 ? (uint64_t)(top + 1022) << 52 : 0;
    return td_from_bits64(sign | (field + kept + up));
}

TD_BOTH double td_abs64(double a) { return td_from_bits64(td_bits64(a) & ~(1ull << 63)); }

TD_BOTH int td_is_finite64(uint64_t bits) { return ((bits >> 52) & 0x7ff) != 0x7ff; }

/* False for infinities and NaN. */
TD_BOTH int td_is_finite32(float a) { return (a < 0.0f ? -a : a) <= 3.4028234663852886e38f; }

/* A binary64 NaN or infinity, given by its bits, in binary32. */
TD_BOTH float td_special32(uint64_t bits)
{
    return td_from_bits32(bits & 0xfffffffffffffull ? 0x7fc00000u
                                                    : 0x7f800000u | (uint32_t)(bits >> 63) << 31);
}

#endif
