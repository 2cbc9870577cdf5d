/* range.h - ranges of exponents of parts of a line joined into one. For kernels. */
#ifndef TD_MEASURE_RANGE_H
#define TD_MEASURE_RANGE_H

#include "../device/portable.h"
#include "scan.h"

TD_DEVICE td_range td_range_join(td_range a, td_range b)
{
    td_range r;
    r.top = a.top > b.top ? a.top : b.top;
    r.bottom = a.bottom < b.bottom ? a.bottom : b.bottom;
    return r;
}

#endif
