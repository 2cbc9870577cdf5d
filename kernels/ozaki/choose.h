/* choose.h - the scales that a choice gives to lines; for kernels. */
#ifndef TD_CHOOSE_H
#define TD_CHOOSE_H

#include "../repair/binary64.h"
#include "ozaki.h"

/* TD_SCALE_BY_NORM. */
TD_DEVICE int td_scale_by_norm(const td_choice &choice, const td_line &line)
{
    return td_is_counted(line) ? (choice.level - line.norm) >> 8 : 0;
}

TD_DEVICE int td_scale_of(const td_choose &p, const td_choice &choice, const td_line &line)
{
    if (!td_is_counted(line)) return 0;
    if (p.rule == TD_SCALE_BY_NORM) return td_scale_by_norm(choice, line);
    if (p.rule == TD_SCALE_BY_PEAK)
        return p.width - (line.peak >> 8) - ((line.peak & 255) >= p.peak_limit);
    return choice.parameter * choice.bits - 2 - (line.peak >> 8);
}

/* Digits of a line, from the first to the last that is not 0; 0 if they do not count. */
TD_DEVICE int td_digits_of(const td_choose &p, const td_choice &choice, const td_line &line)
{
    if (p.rule != TD_SCALE_BY_DIGITS || !td_is_counted(line)) return 0;
    return choice.parameter - max(line.low + line.scale, 0) / choice.bits;
}

/* Sets the scales of lines first, first + step, ... of a member's operand. */
TD_DEVICE void td_scale_lines(const td_choose &p, int which, int batch, int first, int step)
{
    const td_choice choice = p.choice[batch];
    int most = 0;
    for (int i = first; i < p.lines[which]; i += step) {
        td_line *line = &p.line[which][(int64_t)batch * p.lines[which] + i];
        line->scale = (int16_t)td_scale_of(p, choice, *line);
        most = max(most, td_digits_of(p, choice, *line));
    }
    if (p.planes && (unsigned long long)most > *p.planes)
        atomicMax(p.planes, (unsigned long long)most);
}

#endif
