/* sizes.h - arithmetic of sizes. */
#ifndef TD_SIZES_H
#define TD_SIZES_H

#include <stdint.h>

static inline int64_t td_smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t td_larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Of any b > 0: nothing is added that could overflow. */
static inline int64_t td_ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }

static inline int64_t td_round_up(int64_t a, int64_t b) { return td_ceil_div(a, b) * b; }

/* ceil(log2 x) for x >= 1. */
static inline int td_ceil_log2(int64_t x)
{
    int log = 0;
    while (log < 62 && (INT64_C(1) << log) < x) log++;
    return log;
}

#endif
