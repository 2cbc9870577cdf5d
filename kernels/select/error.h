/* error.h - how far the exact X of rounded lines may be from A B 2^scales, as logarithms. For
 * kernels. */
#ifndef TD_ERROR_H
#define TD_ERROR_H

#include "../device/portable.h"
#include "../measure/line.h"
#include "choice.h"

/* Returns the logarithm (TD_LOG) of a bound of X's error for two lines. The logarithm of a sum
 * is less than 2 / TD_LOG above that of its larger part if that part is 2^8 times the other. */
TD_DEVICE int td_log_error_of(int rounding, int rest)
{
    return max(rounding, rest) + (abs(rounding - rest) >= 8 * TD_LOG ? 2 : TD_LOG);
}
TD_DEVICE int td_log_error(td_line a, td_line b, const td_choice &choice)
{
    return td_log_error_of(max(a.sum + TD_LOG * a.scale, b.sum + TD_LOG * b.scale), choice.rest);
}

/* Returns a smaller bound of X's error for lines that know how many of their elements are
 * rounded; X must be all of A' B'. By Cauchy and Schwarz, rounding `count` elements of a line
 * adds at most half of sqrt(count) times the other line's norm, and half of that line's sum. */
TD_DEVICE int td_log_rounding(int rounded, int sum, int norm)
{
    return min(sum, norm + ((rounded + 1) >> 1));
}
TD_DEVICE int td_log_error_counted(td_line a, td_line b, const td_choice &choice)
{
    const int by_a = td_log_rounding(a.rounded, b.sum, b.norm) + TD_LOG * b.scale,
              by_b = td_log_rounding(b.rounded, a.sum, a.norm) + TD_LOG * a.scale;
    return td_log_error_of(max(by_a, by_b), choice.rest);
}

#endif
