/* timing.h - times of what is enqueued on the default stream, and medians. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stdbool.h>

/* Enqueues once; false, with a message, if that fails. */
typedef bool timed_work(const void *context);

typedef struct {
    int runs; /* that count */
    double seconds;
} timing;

/* The median of up to 15 runs after one that warms up; fewer, once all of them have taken `budget`
 * seconds, and the first alone if it takes that long. False, with a message, if a run fails. */
bool timing_measure(timed_work *work, const void *context, double budget, timing *result);

/* Seconds: the median of so many runs, 32 at most, after one that warms up; before each, what is
 * not timed: NULL, or what makes its operands new. False, with a message, if a run fails. */
bool timing_repeat(timed_work *work, timed_work *before, const void *context, int runs,
                   double *seconds);

/* The median of some numbers, which it sorts. */
double median(double *numbers, int count);

#endif
