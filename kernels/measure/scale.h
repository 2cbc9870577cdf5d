/* scale.h - the scale of a line (td_scaling). For kernels. */
#ifndef TD_SCALE_H
#define TD_SCALE_H

#include "measure.h"
#include "room.h"

/* TD_SCALE_BY_NORM. */
TD_DEVICE int td_scale_by_norm(int limit, const td_line &line)
{
    return td_is_counted(line) ? (limit - line.norm) >> 8 : 0;
}

TD_DEVICE int td_scale_of(const td_scaling &scaling, const td_line &line)
{
    if (scaling.rule == TD_SCALE_BY_NORM) return td_scale_by_norm(scaling.limit, line);
    if (!td_is_counted(line)) return 0;
    const bool is_less =
        scaling.rule == TD_SCALE_BY_PEAK && (line.peak & 255) >= scaling.peak_limit;
    return scaling.limit - (line.peak >> 8) - is_less;
}

#endif
