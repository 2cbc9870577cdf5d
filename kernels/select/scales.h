/* scales.h - the scales of lines, once a choice is made. For kernels. */
#ifndef TD_SCALES_H
#define TD_SCALES_H

#include "../measure/scale.h"
#include "../view/access.h"
#include "select.h"

/* Exponent of the last place of a line in the estimate: magnitudes are mostly below 2^4 of it. */
TD_DEVICE int td_estimate_ulp(const td_line &line) { return (line.typical >> 8) - 4; }

/* Digits of a line, from the first to the last that is not 0; 0 if they do not count. */
TD_DEVICE int td_digits_of(const td_rule &rule, const td_choice &choice, const td_line &line)
{
    if (rule.scale != TD_SCALE_BY_DIGITS || !td_is_counted(line)) return 0;
    return choice.parameter - max(line.low + line.scale, 0) / choice.bits;
}

/* The lines of a member's operand as they are measured in the end. */
TD_DEVICE const td_line *td_measured_lines(const td_measured &p, int which, int batch)
{
    const bool again = p.line_again[which] && p.shifted[batch];
    return (again ? p.line_again[which] : p.line[which]) + (int64_t)batch * p.lines[which];
}

/* Sets lines first, first + step, ... of a member's operand, which are at `from`, with the scales
 * of a choice. */
TD_DEVICE void td_scale_lines_from(const td_choose &p, const td_choice &choice, const td_line *from,
                                   int which, int batch, int first, int step)
{
    enum { AT_ONCE = 4 }; /* loads under way together */
    const int lines = p.measured.lines[which];
    const td_scaling scaling = td_scaling_of(&p.rule, &choice);
    td_line *const to = p.chosen.line[which] + (int64_t)batch * lines;
    int most = 0;
    TD_ROLLED
    for (int i = first; i < lines && from != to; i += step) to[i] = from[i];
    TD_ROLLED
    for (; first < lines; first += AT_ONCE * step) {
        int16_t scale[AT_ONCE];
        TD_UNROLL
        for (int e = 0; e < AT_ONCE; e++) {
            td_line line = to[min(first + e * step, lines - 1)];
            line.scale = scale[e] = (int16_t)td_scale_of(scaling, line);
            most = max(most, td_digits_of(p.rule, choice, line));
        }
        TD_UNROLL
        for (int e = 0; e < AT_ONCE; e++)
            if (first + e * step < lines) to[first + e * step].scale = scale[e];
    }
    if (p.chosen.planes && (unsigned long long)most > *p.chosen.planes)
        atomicMax(p.chosen.planes, (unsigned long long)most);
}

/* td_scale_lines_from the records that count: those with shifts where a member is shifted. */
TD_DEVICE void td_scale_lines(const td_choose &p, const td_choice &choice, int which, int batch,
                              int first, int step)
{
    td_scale_lines_from(p, choice, td_measured_lines(p.measured, which, batch), which, batch, first,
                        step);
}

#endif
