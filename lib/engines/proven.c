#include "proven.h"

#include <math.h>

/* Terms to which the bounds of ts, dd and d+s are given. */
enum { DOCUMENTED_K = 16384 };

static const double unit = 0x1p-53, last_rounding = 0.5;

static td_sample_bound nothing(void) { return (td_sample_bound){(double)INFINITY, 0.0}; }

/* Sums of binary64 in any order, and the roundings of alpha z and beta C. */
TD_PROVEN(native)
{
    (void)parameter;
    return (td_sample_bound){((double)k + 1.0) * unit, last_rounding};
}

/* 495: a block of 16, flushing and normalising, splitting, and the join, in 2^-48. */
TD_PROVEN(df)
{
    (void)parameter;
    return (td_sample_bound){(495.0 + 3.0 * (double)k / 512.0) * 0x1p-48, 0.0};
}

static td_sample_bound rounded_once(double sum, int64_t k)
{
    return k <= DOCUMENTED_K ? (td_sample_bound){sum, last_rounding} : nothing();
}

TD_PROVEN(ts)
{
    (void)parameter;
    return rounded_once(0x1p-59, k);
}

TD_PROVEN(dd)
{
    (void)parameter;
    return rounded_once(0x1p-96, k);
}

TD_PROVEN(ds)
{
    (void)parameter;
    return rounded_once(0x1p-76, k);
}

/* 4 sqrt(k) for the sum; z and beta C are rounded, then C. */
TD_PROVEN(fp64)
{
    (void)parameter;
    return (td_sample_bound){(4.0 * sqrt((double)k) + 1.0) * unit, last_rounding};
}

/* With a number of moduli or slices nothing is certified. */
TD_PROVEN(certified) { return parameter.is_given ? nothing() : td_proven_fp64(parameter, k); }

TD_PROVEN(faithful)
{
    (void)parameter, (void)k;
    return (td_sample_bound){0.0, last_rounding};
}
