/* clock.h - time as it passes. */
#ifndef TD_TOOLS_CLOCK_H
#define TD_TOOLS_CLOCK_H

#include <time.h>

/* Seconds from an instant that stays the same; no change of the date moves it. */
static inline double clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
