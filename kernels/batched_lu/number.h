/* number.h - real and complex numbers as the LU kernels compute with them: each operation rounds as
 * written here, on a device and on the host. A product of complex numbers is two chains of FMAs,
 * the real one first. */
#ifndef TD_LU_NUMBER_H
#define TD_LU_NUMBER_H

#include <type_traits>

#include "../arithmetic/float32.h"
#include "../device/portable.h"

template <class real_type> struct alignas(2 * sizeof(real_type)) td_complex {
    typedef real_type real;
    real_type re, im;
};

/* ---- real operations under one name for both widths ---- */

TD_DEVICE float td_real_fma(float a, float b, float c) { return td_fma(a, b, c); }
TD_DEVICE double td_real_fma(double a, double b, double c) { return td_fma64(a, b, c); }
TD_DEVICE float td_real_mul(float a, float b) { return td_mul(a, b); }
TD_DEVICE double td_real_mul(double a, double b) { return td_mul64(a, b); }
TD_DEVICE float td_real_add(float a, float b) { return td_add(a, b); }
TD_DEVICE double td_real_add(double a, double b) { return td_add64(a, b); }
TD_DEVICE float td_real_reciprocal(float a) { return __frcp_rn(a); }
TD_DEVICE double td_real_reciprocal(double a) { return __drcp_rn(a); }

/* 1 / a, correctly rounded, for a whose reciprocal is normal, without a branch: it begins with the
 * device's approximation, and its last step is one FMA of that with its error, rounded once. */
TD_DEVICE float td_normal_reciprocal(float a)
{
#if TD_HAS_CUDA_DEVICE
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return td_fma(r, -td_fma(a, r, -1.0f), r);
#else
    return 1 / a;
#endif
}
TD_DEVICE double td_normal_reciprocal(double a)
{
#if TD_HAS_CUDA_DEVICE
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(a));
    r = __hiloint2double(__double2hiint(r), __double2hiint(a) + 0x300402);
    const double error = td_fma64(-a, r, 1.0);
    r = td_fma64(r, td_fma64(error, error, error), r);
    return td_fma64(r, td_fma64(-a, r, 1.0), r);
#else
    return 1 / a;
#endif
}

/* Biased by 127 or 1023; 0 for zeros and subnormal numbers. */
TD_DEVICE int td_exponent(float a) { return (int)(td_bits32(a) >> 23 & 0xff); }
TD_DEVICE int td_exponent(double a) { return __double2hiint(a) >> 20 & 0x7ff; }
TD_DEVICE float td_two_to(int biased, float) { return td_from_bits32((uint32_t)biased << 23); }
TD_DEVICE double td_two_to(int biased, double)
{
    return __hiloint2double((int)((unsigned)biased << 20), 0);
}

/* What depends on the width: exponents whose reciprocal is far from the ends of the range, and the
 * power of two that brings every other exponent among them. */
template <class real> struct td_width;
template <> struct td_width<float> {
    enum { BIAS = 127, LOW = 127 - 120, HIGH = 127 + 120, SHIFT = 60 };
};
template <> struct td_width<double> {
    enum { BIAS = 1023, LOW = 1023 - 1000, HIGH = 1023 + 1000, SHIFT = 500 };
};

template <class number> struct td_real_of {
    typedef number type;
};
template <class real> struct td_real_of<td_complex<real>> {
    typedef real type;
};

/* ---- numbers ---- */

template <class number> struct td_is_complex {
    enum { value = 0 };
};
template <class real> struct td_is_complex<td_complex<real>> {
    enum { value = 1 };
};

/* Real numbers of a number. */
template <class number> TD_HOST_DEVICE constexpr int td_parts_of()
{
    return td_is_complex<number>::value ? 2 : 1;
}

template <class number> struct td_lu_is_wide {
    enum { value = sizeof(typename td_real_of<number>::type) == 8 };
};

/* Columns of a panel: no bits depend on it. */
template <class number> constexpr int td_lu_panel_columns()
{
    return sizeof(number) == 16 ? 8 : 16;
}

template <class number> TD_DEVICE number td_number(typename td_real_of<number>::type re)
{
    if constexpr (td_is_complex<number>::value)
        return {re, 0};
    else
        return re;
}

template <class real> TD_DEVICE real td_real_part(real a) { return a; }
template <class real> TD_DEVICE real td_real_part(td_complex<real> a) { return a.re; }

/* c - a b */
TD_DEVICE float td_minus(float c, float a, float b) { return td_fma(-a, b, c); }
TD_DEVICE double td_minus(double c, double a, double b) { return td_fma64(-a, b, c); }
template <class real>
TD_DEVICE td_complex<real> td_minus(td_complex<real> c, td_complex<real> a, td_complex<real> b)
{
    return {td_real_fma(a.im, b.im, td_real_fma(-a.re, b.re, c.re)),
            td_real_fma(-a.im, b.re, td_real_fma(-a.re, b.im, c.im))};
}

/* c = td_minus(c, a, b) if is_due, with a predicate: of many such ifs a compiler would make a
 * branch, and issue no load before it that is behind. */
TD_DEVICE void td_take_away(bool is_due, float &c, float a, float b)
{
#if TD_HAS_CUDA_DEVICE
    asm("{.reg .pred p; setp.ne.s32 p, %3, 0; @p fma.rn.f32 %0, %1, %2, %0;}"
        : "+f"(c)
        : "f"(-a), "f"(b), "r"((int)is_due));
#else
    if (is_due) c = td_minus(c, a, b);
#endif
}
TD_DEVICE void td_take_away(bool is_due, td_complex<float> &c, td_complex<float> a,
                            td_complex<float> b)
{
    td_take_away(is_due, c.re, a.re, b.re);
    td_take_away(is_due, c.im, a.re, b.im);
    td_take_away(is_due, c.re, -a.im, b.im);
    td_take_away(is_due, c.im, a.im, b.re);
}

/* c[i] - a b[i] from i = first on, if that is due: for complex binary32 by predicates. */
template <int count, class number>
TD_DEVICE void td_take_away(bool is_due, number *c, number a, const number *b, int first)
{
    if constexpr (std::is_same<number, td_complex<float>>::value) {
        TD_UNROLL
        for (int i = 0; i < count; i++)
            if (i >= first) td_take_away(is_due, c[i], a, b[i]);
    } else if (is_due) {
        TD_UNROLL
        for (int i = 0; i < count; i++)
            if (i >= first) c[i] = td_minus(c[i], a, b[i]);
    }
}

TD_DEVICE float td_times(float a, float b) { return td_mul(a, b); }
TD_DEVICE double td_times(double a, double b) { return td_mul64(a, b); }
template <class real> TD_DEVICE td_complex<real> td_times(td_complex<real> a, td_complex<real> b)
{
    return {td_real_fma(-a.im, b.im, td_real_mul(a.re, b.re)),
            td_real_fma(a.im, b.re, td_real_mul(a.re, b.im))};
}

TD_DEVICE float td_scaled(float a, float s) { return td_mul(a, s); }
TD_DEVICE double td_scaled(double a, double s) { return td_mul64(a, s); }
template <class real> TD_DEVICE td_complex<real> td_scaled(td_complex<real> a, real s)
{
    return {td_real_mul(a.re, s), td_real_mul(a.im, s)};
}

TD_DEVICE bool td_is_zero(float a) { return a == 0.0f; }
TD_DEVICE bool td_is_zero(double a) { return a == 0.0; }
template <class real> TD_DEVICE bool td_is_zero(td_complex<real> a)
{
    return a.re == 0 && a.im == 0;
}

TD_DEVICE float td_conjugate(float a) { return a; }
TD_DEVICE double td_conjugate(double a) { return a; }
template <class real> TD_DEVICE td_complex<real> td_conjugate(td_complex<real> a)
{
    return {a.re, -a.im};
}

/* ---- the order of pivots: |x|, and NaN as 0, which no comparison makes larger than anything
 * ---- */

TD_DEVICE float td_sum_of_parts(td_complex<float> a) { return td_add(fabsf(a.re), fabsf(a.im)); }
TD_DEVICE double td_sum_of_parts(td_complex<double> a) { return td_add64(fabs(a.re), fabs(a.im)); }

/* Keys order as magnitudes do, the low one where the high ones are equal. High ones have their
 * first bit set: 0 is no number's. */
struct td_key {
    unsigned high, low;
};
enum : unsigned { TD_KEY = 0x80000000u };

/* True for all keys but those of numbers that have a normal reciprocal and, if complex, a square
 * well within the range. */
template <class real> TD_DEVICE bool td_key_is_extreme(unsigned high)
{
    constexpr bool is_wide = sizeof(real) == 8;
    constexpr int shift = is_wide ? 20 : 23, low = is_wide ? 1023 - 1000 : 127 - 100;
    constexpr unsigned exponents = is_wide ? 2000 : 220;
    return high - (TD_KEY | (unsigned)low << shift) >= exponents << shift;
}

TD_DEVICE td_key td_key_of(float a)
{
#if TD_HAS_CUDA_DEVICE
    return {td_bits32(fminf(-fabsf(a), -0.0f)), 0}; /* -0 for a NaN */
#else
    return {td_bits32(a == a ? -fabsf(a) : -0.0f), 0};
#endif
}
TD_DEVICE td_key td_key_of(double a)
{
    const unsigned high = (unsigned)__double2hiint(a) | TD_KEY, low = (unsigned)__double2loint(a);
    const bool is_nan = high >= 0xfff00000u && (high > 0xfff00000u || low != 0);
    return {is_nan ? TD_KEY : high, is_nan ? 0 : low};
}

/* Complex numbers are ordered by the square of their magnitude. Squares that are not well within
 * the range make room at its ends for the sum of the parts, shortened: from 0 to 2^-100 and from
 * 2^120, or from 2^-1000 and 2^1000. */
TD_DEVICE td_key td_key_of(td_complex<float> a)
{
    const unsigned minus_square = td_bits32(td_fma(-a.re, a.re, td_mul(-a.im, a.im)));
    if (!td_key_is_extreme<float>(minus_square)) return {minus_square, 0};
    const float sum = td_sum_of_parts(a);
    const unsigned bits = td_bits32(sum) | TD_KEY;
    if (sum != sum || bits == 0xff800000u) return {sum != sum ? TD_KEY : bits, 0};
    if (sum < 1.0f) return {TD_KEY | ((bits - TD_KEY + 3) >> 2), 0};
    return {(TD_KEY | td_bits32(0x1p120f)) + ((bits - (TD_KEY | td_bits32(0x1p58f))) >> 4), 0};
}
TD_DEVICE td_key td_key_of(td_complex<double> a)
{
    const double minus_square = td_fma64(-a.re, a.re, td_mul64(-a.im, a.im));
    const unsigned high = (unsigned)__double2hiint(minus_square),
                   low = (unsigned)__double2loint(minus_square);
    if (!td_key_is_extreme<double>(high)) return {high, low};
    const double sum = td_sum_of_parts(a);
    const unsigned bits = (unsigned)__double2hiint(sum);
    if (sum != sum) return {TD_KEY, 0};
    if (bits == 0x7ff00000u || sum == 0.0) return {TD_KEY | bits, low};
    if (sum < 1.0) return {TD_KEY | ((bits >> 5) + 1), low};
    return {(TD_KEY | (unsigned)__double2hiint(0x1p1000)) +
                ((bits - (unsigned)__double2hiint(0x1p498)) >> 5),
            low};
}

/* In a branch that is seldom taken: keeps it a branch. */
TD_DEVICE void td_rare()
{
#if TD_HAS_CUDA_DEVICE
    asm volatile("");
#endif
}

/* ---- division by a pivot ---- */

/* 1 / (p 2^shift), shift being 0, SHIFT or -SHIFT, by what the exponent asks for. */
template <class number> struct td_inverse {
    number of;
    int shift; /* -1, 0 or 1 times td_width::SHIFT */
};

TD_DEVICE float td_reciprocal(float p) { return td_normal_reciprocal(p); }
TD_DEVICE double td_reciprocal(double p) { return td_normal_reciprocal(p); }

/* p is normal and not near the ends of the range: scaled by a power of two, so that its larger part
 * is in 1 .. 2. */
template <class real> TD_DEVICE td_complex<real> td_reciprocal(td_complex<real> p)
{
    const int top = max(td_exponent(p.re), td_exponent(p.im));
    const real scale = td_two_to(2 * td_width<real>::BIAS - top, real());
    const real re = td_real_mul(p.re, scale), im = td_real_mul(p.im, scale);
    const real factor =
        td_real_mul(td_normal_reciprocal(td_real_fma(re, re, td_real_mul(im, im))), scale);
    return {td_real_mul(re, factor), td_real_mul(-im, factor)};
}

TD_DEVICE int td_top_exponent(float p) { return td_exponent(p); }
TD_DEVICE int td_top_exponent(double p) { return td_exponent(p); }
template <class real> TD_DEVICE int td_top_exponent(td_complex<real> p)
{
    return max(td_exponent(p.re), td_exponent(p.im));
}

template <class real> TD_DEVICE real td_shift_factor(int shift)
{
    return td_two_to(td_width<real>::BIAS + shift * (int)td_width<real>::SHIFT, real());
}

/* The inverse, with its shift, of a p so large or so small that its reciprocal is not normal, or of
 * a special one: 0 of an infinity, NaN of a NaN. */
template <class real> TD_DEVICE td_inverse<real> td_invert_extreme(real p, int top)
{
    typedef td_width<real> width;
    const bool is_special = top == 2 * (int)width::BIAS + 1;
    const int shift = is_special ? 0 : top < (int)width::LOW ? 1 : -1;
    return {td_real_reciprocal(td_scaled(p, td_shift_factor<real>(shift))), shift};
}
template <class real>
TD_DEVICE td_inverse<td_complex<real>> td_invert_extreme(td_complex<real> p, int top)
{
    typedef td_width<real> width;
    if (top == 2 * (int)width::BIAS + 1) return {{td_real_reciprocal(td_sum_of_parts(p)), 0}, 0};
    const int shift = top < (int)width::LOW ? 1 : -1;
    return {td_reciprocal(td_scaled(p, td_shift_factor<real>(shift))), shift};
}

/* Makes td_reciprocal(p) what it is for any p, a zero's excepted, which those who would divide by
 * it do not ask for. */
template <class number> TD_DEVICE void td_mend_inverse(td_inverse<number> &inverse, number p)
{
    typedef td_width<typename td_real_of<number>::type> width;
    const int top = td_top_exponent(p);
    if (top < (int)width::LOW || top > (int)width::HIGH) {
        td_rare();
        inverse = td_invert_extreme(p, top);
    }
}

template <class number> TD_DEVICE td_inverse<number> td_invert(number p)
{
    td_inverse<number> inverse = {td_reciprocal(p), 0};
    td_mend_inverse(inverse, p);
    return inverse;
}

/* Keeps the compiler from computing x later, where only one lane would wait for it. */
TD_DEVICE void td_pin(float &x)
{
#if TD_HAS_CUDA_DEVICE
    asm volatile("" : "+f"(x));
#else
    (void)x;
#endif
}
TD_DEVICE void td_pin(unsigned &x)
{
#if TD_HAS_CUDA_DEVICE
    asm volatile("" : "+r"(x));
#else
    (void)x;
#endif
}
TD_DEVICE void td_pin(double &x)
{
#if TD_HAS_CUDA_DEVICE
    asm volatile("" : "+d"(x));
#else
    (void)x;
#endif
}
template <class real> TD_DEVICE void td_pin(td_complex<real> &x)
{
    td_pin(x.re);
    td_pin(x.im);
}

/* a / p: p's reciprocal is rounded, and then the product. */
template <class number> TD_DEVICE number td_divided(number a, number reciprocal, int shift)
{
    typedef typename td_real_of<number>::type real;
    if (shift) a = td_scaled(a, td_shift_factor<real>(shift));
    return td_times(a, reciprocal);
}

#endif
