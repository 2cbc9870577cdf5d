/* upward.h - bounds in binary64 by interval ends: the exact result of one operation on bounds lies
 * at or below the number that follows the rounded one, or, for subtraction and square root
 * downward, at or above the one before it. No rounding mode is touched. NaN stays NaN, overflow
 * becomes infinite, and neither is ever smaller than a bound. Pure. */
#ifndef TD_UPWARD_H
#define TD_UPWARD_H

#include <math.h>

static inline double td_up(double x) { return nextafter(x, INFINITY); }
static inline double td_down(double x) { return nextafter(x, -INFINITY); }

static inline double td_add_up(double a, double b) { return td_up(a + b); }
static inline double td_mul_up(double a, double b) { return td_up(a * b); }
static inline double td_div_up(double a, double b) { return td_up(a / b); }
static inline double td_sqrt_up(double a) { return td_up(sqrt(a)); }
static inline double td_scale_up(double a, int exponent) { return td_up(ldexp(a, exponent)); }

static inline double td_sub_down(double a, double b) { return td_down(a - b); }
static inline double td_sqrt_down(double a) { return td_down(sqrt(a)); }

/* sqrt(a^2 + b^2) for a, b >= 0, whatever their exponents. */
static inline double td_hypot_up(double a, double b)
{
    const double large = a < b ? b : a, small = a < b ? a : b;
    if (!(large > 0.0)) return large + small; /* 0, or NaN */
    const double ratio = td_div_up(small, large);
    return td_mul_up(large, td_sqrt_up(td_add_up(1.0, td_mul_up(ratio, ratio))));
}

#endif
