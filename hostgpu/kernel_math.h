/* kernel_math.h - CUDA's arithmetic and bit intrinsics for kernels on the host, as far as kernels
 * have them, with the same bits as a device. Needs -ffp-contract=off (a sum stays a sum) and -mfma
 * (fmaf is one instruction). The functions of <math.h> are the C library's: only those that are
 * exact or correctly rounded by nature (fma, fabs, ldexp, frexp, ilogb, rint, floor, sqrt ...) have
 * a device's bits. */
#ifndef HOSTGPU_KERNEL_MATH_H
#define HOSTGPU_KERNEL_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#define HOSTGPU_INLINE static inline __attribute__((always_inline))

/* ---- operations that may not be fused ---- */

HOSTGPU_INLINE float __fadd_rn(float a, float b) { return a + b; }
HOSTGPU_INLINE float __fsub_rn(float a, float b) { return a - b; }
HOSTGPU_INLINE float __fmul_rn(float a, float b) { return a * b; }
HOSTGPU_INLINE float __frcp_rn(float a) { return 1.0f / a; }
HOSTGPU_INLINE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
HOSTGPU_INLINE double __dadd_rn(double a, double b) { return a + b; }
HOSTGPU_INLINE double __dsub_rn(double a, double b) { return a - b; }
HOSTGPU_INLINE double __dmul_rn(double a, double b) { return a * b; }
HOSTGPU_INLINE double __drcp_rn(double a) { return 1.0 / a; }
HOSTGPU_INLINE double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }

/* ---- the bits of a number ---- */

template <typename To, typename From> HOSTGPU_INLINE To hostgpu_bit_cast(From from)
{
    static_assert(sizeof(To) == sizeof(From), "types of different sizes");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

HOSTGPU_INLINE unsigned __float_as_uint(float a) { return hostgpu_bit_cast<unsigned>(a); }
HOSTGPU_INLINE float __int_as_float(int a) { return hostgpu_bit_cast<float>(a); }
HOSTGPU_INLINE float __uint_as_float(unsigned a) { return hostgpu_bit_cast<float>(a); }
HOSTGPU_INLINE long long __double_as_longlong(double a) { return hostgpu_bit_cast<long long>(a); }
HOSTGPU_INLINE double __longlong_as_double(long long a) { return hostgpu_bit_cast<double>(a); }
HOSTGPU_INLINE int __double2hiint(double a)
{
    return static_cast<int>(hostgpu_bit_cast<int64_t>(a) >> 32);
}
HOSTGPU_INLINE int __double2loint(double a)
{
    return static_cast<int>(static_cast<uint32_t>(hostgpu_bit_cast<uint64_t>(a)));
}
HOSTGPU_INLINE double __hiloint2double(int high, int low)
{
    return hostgpu_bit_cast<double>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 |
                                    static_cast<uint32_t>(low));
}

/* ---- integers ---- */

HOSTGPU_INLINE int __popc(unsigned a) { return __builtin_popcount(a); }
HOSTGPU_INLINE int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
HOSTGPU_INLINE int __ffs(int a) { return __builtin_ffs(a); }
HOSTGPU_INLINE int __ffsll(long long a) { return __builtin_ffsll(a); }
HOSTGPU_INLINE int __clz(int a) { return a ? __builtin_clz(static_cast<unsigned>(a)) : 32; }
HOSTGPU_INLINE int __clzll(long long a)
{
    return a ? __builtin_clzll(static_cast<unsigned long long>(a)) : 64;
}

/* Sum of four products of bytes, signed or unsigned as the arguments are, plus c; wraps. */
HOSTGPU_INLINE int __dp4a(int a, int b, int c)
{
    uint32_t sum = static_cast<uint32_t>(c);
    for (int i = 0; i < 4; i++)
        sum += static_cast<uint32_t>(static_cast<int8_t>(a >> 8 * i) *
                                     static_cast<int8_t>(b >> 8 * i));
    return static_cast<int>(sum);
}
HOSTGPU_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    for (unsigned i = 0; i < 4; i++) c += (a >> 8 * i & 255u) * (b >> 8 * i & 255u);
    return c;
}

/* Byte i of the result is the byte of (b:a) that selector's nibble i names. */
HOSTGPU_INLINE unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; i++) {
        const unsigned nibble = selector >> 4 * i & 0xf;
        const unsigned byte = static_cast<unsigned>(bytes >> 8 * (nibble & 7)) & 0xff;
        result |= (nibble & 8 ? (byte & 0x80 ? 0xffu : 0u) : byte) << 8 * i;
    }
    return result;
}

/* ---- min and max: integers of any two types, NaN-ignoring for floating point ---- */

template <typename A, typename B> HOSTGPU_INLINE typename std::common_type<A, B>::type min(A a, B b)
{
    using T = typename std::common_type<A, B>::type;
    const T x = static_cast<T>(a), y = static_cast<T>(b);
    if constexpr (std::is_floating_point<T>::value)
        return std::is_same<T, float>::value ? fminf(x, y) : fmin(x, y);
    else
        return y < x ? y : x;
}

template <typename A, typename B> HOSTGPU_INLINE typename std::common_type<A, B>::type max(A a, B b)
{
    using T = typename std::common_type<A, B>::type;
    const T x = static_cast<T>(a), y = static_cast<T>(b);
    if constexpr (std::is_floating_point<T>::value)
        return std::is_same<T, float>::value ? fmaxf(x, y) : fmax(x, y);
    else
        return x < y ? y : x;
}

#endif
