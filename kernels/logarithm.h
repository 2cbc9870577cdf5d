/* logarithm.h - logarithms to base 2 in units of 1/256, by whole numbers: bounds that are the same on every device. */
#ifndef TD_LOGARITHM_H
#define TD_LOGARITHM_H

#include "float32.h"

/* 256 log2(x), at most; less than 2 below it. x >= 1. Each squaring of the significand gives a bit of the logarithm; what is
 * cut off then is less than 2^-30 of the significand, so no bit beyond the last is lost but by carries into it. */
TD_BOTH int td_log_below(uint64_t x)
{
    const int exponent = 63 - td_clz64(x);
    uint64_t m = x << (63 - exponent) >> 32; /* in [2^31, 2^32) */
    int log = exponent;
    for (int i = 0; i < 8; i++) {
        const uint64_t square = m * m;
        const int bit = (int)(square >> 63);
        m = square >> (31 + bit);
        log = 2 * log + bit;
    }
    return log;
}

/* 256 log2(x), at least; at most 2 above it. x >= 1. */
TD_BOTH int td_log_above(uint64_t x) { return td_log_below(x) + (x & (x - 1) ? 2 : 0); }

#endif
