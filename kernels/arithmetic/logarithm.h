/* logarithm.h - logarithms to base 2 in units of 1/256, by whole numbers: bounds that are the same
 * on every device. */
#ifndef TD_LOGARITHM_H
#define TD_LOGARITHM_H

#include "float32.h"

/* 256 log2(x), at most; less than 2 below it. x >= 1. Each squaring of the significand gives a bit
 * of the logarithm; what is cut off then is less than 2^-30 of the significand, so no bit beyond
 * the last is lost but by carries into it. */
TD_BOTH int td_log_below(uint64_t x)
{
    const int zeros = td_clz64(x | 1);
    uint64_t m = x << zeros >> 32; /* in [2^31, 2^32) */
    int log = 63 - zeros;
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

/* 256 e + floor(256 f) of the nonzero binary64 +-2^e (1 + f) with the given bits: at most 256 times
 * its logarithm. */
TD_BOTH int td_log_of64(uint64_t bits)
{
    int q;
    const uint64_t m = td_significand64(bits, &q);
    return 256 * (q + 52) + (int)(m >> 44 & 255);
}

#endif
