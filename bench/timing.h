/* timing.h - device times of what is enqueued on the default stream. */
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

#endif
