/* timed.h - what the timed calls of a line say of all of its calls. Pure: no CUDA calls.
 *
 * One in so many calls is to be timed (report.h). Of these, `timed` calls have a time, and `unread`
 * have none: it was lost with its CUDA context, or the device had not passed the call's end. Each
 * of both kinds stands for the same number of calls; those that an unread one stands for have no
 * known time. */
#ifndef TD_TIMED_H
#define TD_TIMED_H

#include "fields.h"

/* How many calls each of the timed ones stands for; 0 if none was timed. */
static inline double td_timed_stand_for(const td_report_call *line)
{
    const long long timed = line->seconds < 0.0 ? 0 : line->timed;
    return timed ? (double)line->count / ((double)timed + (double)line->unread) : 0.0;
}

/* The calls whose time is known, their own or another one's. */
static inline double td_timed_calls(const td_report_call *line)
{
    return (double)line->timed * td_timed_stand_for(line);
}

/* Seconds of these calls together on the device; TD_UNKNOWN if none was timed. */
static inline double td_timed_seconds(const td_report_call *line)
{
    if (line->timed == 0 || line->seconds < 0.0) return TD_UNKNOWN;
    return line->seconds * td_timed_stand_for(line);
}

/* Calls whose time is not known, from their own or from another one's; all of `count` if none was
 * timed, at least one if one was not read. */
static inline long long td_timed_leave(const td_report_call *line)
{
    const double each = td_timed_stand_for(line), left = each * (double)line->unread;
    if (line->timed == 0 || line->seconds < 0.0) return line->count;
    if (line->unread == 0) return 0;
    return left < 1.0 ? 1 : left < (double)line->count ? (long long)left : line->count;
}

#endif
