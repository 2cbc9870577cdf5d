/* join.h - the sum of two binary64 numbers as td_warp_join (../device/warp.h) takes it: rounded
 * once, whatever is computed beside it. */
#ifndef TD_JOIN_H
#define TD_JOIN_H

#include "../device/portable.h"
#include "float32.h"

struct td_sum64 {
    TD_INSIDE double operator()(double a, double b) const { return td_add64(a, b); }
};

#endif
