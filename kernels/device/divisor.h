/* divisor.h - quotients by a number that is known before the launch, by a multiplication. */
#ifndef TD_DIVISOR_H
#define TD_DIVISOR_H

#include <stdint.h>

#include "portable.h"

struct td_divisor {
    int by;
    uint32_t factor; /* 2^shift / by, rounded up; at least 2^31 */
    int shift;
};

/* 1 <= by < 2^31. */
static inline td_divisor td_divisor_of(int by)
{
    td_divisor d = {by, 0, 31};
    while (d.shift < 62 && 1ll << (d.shift - 31) < by) d.shift++;
    d.factor = (uint32_t)(((1ull << d.shift) + (uint64_t)by - 1) / (uint64_t)by);
    return d;
}

/* number / by and number % by. 0 <= number < 2^31. */
TD_DEVICE int td_divide(int number, const td_divisor &d, int *rest)
{
    const int quotient = (int)((uint64_t)(uint32_t)number * d.factor >> d.shift);
    *rest = number - quotient * d.by;
    return quotient;
}

#endif
