/* timed.h - what the timed calls of a line say of all of its calls. Pure: no CUDA calls.
 *
 * One in so many calls is to be timed (report.h). Of these, `timed` calls have a time, and `unread`
 * have none: it was lost with its CUDA context, or the device had not passed the call's end. Each
 * of both kinds stands for the same number of calls; those that an unread one stands for have no
 * known time. */
#ifndef TD_TIMED_H
#define TD_TIMED_H

/* How many calls each of the timed ones stands for; 0 if none was timed. */
static inline double td_timed_stand_for(unsigned long long count, unsigned long long timed,
                                        unsigned long long unread)
{
    return timed ? (double)count / ((double)timed + (double)unread) : 0.0;
}

/* Calls whose time is not known, from their own or from another one's; all of `count` if none was
 * timed, at least one if one was not read. */
static inline unsigned long long td_timed_leave(unsigned long long count, unsigned long long timed,
                                                unsigned long long unread)
{
    if (timed == 0 || unread == 0) return timed ? 0 : count;
    const double left = td_timed_stand_for(count, timed, unread) * (double)unread;
    return left < 1.0 ? 1 : left < (double)count ? (unsigned long long)left : count;
}

#endif
