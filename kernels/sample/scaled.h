/* scaled.h - finite numbers as the errors of elements need them: as whole numbers times powers of
 * two, and in binary64 with an exponent of their own, whose range has no end. For kernels. */
#ifndef TD_SAMPLE_SCALED_H
#define TD_SAMPLE_SCALED_H

#include "../arithmetic/exact.h"
#include "../device/portable.h"

/* x 2^e; 0 or 2^-1000 < x < 2^400. */
struct scaled {
    double x;
    int e;
};

/* A finite binary64: +- m 2^q. */
struct whole {
    uint64_t m;
    int q;
    bool is_negative;
};

TD_DEVICE whole whole_of(double x)
{
    whole r;
    const uint64_t bits = td_bits64(x);
    r.m = td_exact_significand(bits, &r.q);
    r.is_negative = bits >> 63 != 0;
    return r;
}

TD_DEVICE bool is_finite(double x) { return td_is_finite64(td_bits64(x)); }

TD_DEVICE scaled make_scaled(double x, int e)
{
    scaled r;
    r.x = x;
    r.e = e;
    return r;
}

/* |x y| for finite x and y, rounded. */
TD_DEVICE_CALL scaled magnitude_of(double x, double y)
{
    const whole a = whole_of(x), b = whole_of(y);
    return make_scaled(td_mul64((double)a.m, (double)b.m), a.q + b.q);
}

/* |x| y for a finite x, rounded. */
TD_DEVICE_CALL scaled times(double x, scaled y)
{
    const whole a = whole_of(x);
    return make_scaled(td_mul64((double)a.m, y.x), a.q + y.e);
}

/* To 2^-52; what is below 2^-1000 of the larger scale is nothing. */
TD_DEVICE_CALL scaled add_scaled(scaled a, scaled b)
{
    if (a.x == 0.0) return b;
    if (b.x == 0.0) return a;
    if (a.e < b.e) {
        const scaled c = a;
        a = b;
        b = c;
    }
    if (a.e - b.e < 1000) a.x = td_fma64(b.x, td_exp2_64(b.e - a.e), a.x);
    return a;
}

TD_DEVICE double exp2_within(int e) { return td_exp2_64(max(-1000, min(800, e))); }

/* a / b, and 0 for 0 / 0. */
TD_DEVICE_CALL double ratio_of(scaled a, scaled b)
{
    return a.x == 0.0 ? 0.0 : a.x / b.x * exp2_within(a.e - b.e);
}

#endif
