#include "timing.h"

#include <stdlib.h>

#include "../examples/common.h"

enum { MOST_RUNS = 15 };

typedef struct {
    cudaEvent_t start, stop;
} stopwatch;

static bool run_once(const stopwatch *watch, timed_work *work, const void *context,
                     float *milliseconds)
{
    bool ran = false;
    CHECK_CUDA(cudaEventRecord(watch->start, NULL));
    if (!work(context)) goto out;
    CHECK_CUDA(cudaEventRecord(watch->stop, NULL));
    CHECK_CUDA(cudaEventSynchronize(watch->stop));
    CHECK_CUDA(cudaEventElapsedTime(milliseconds, watch->start, watch->stop));
    ran = true;
out:
    return ran;
}

static int ascending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static bool run(const stopwatch *watch, timed_work *work, const void *context, double budget,
                timing *result)
{
    float milliseconds[1 + MOST_RUNS], total = 0.0f;
    float *counted = milliseconds;
    int runs = 0;
    do {
        if (!run_once(watch, work, context, &milliseconds[runs])) return false;
        total += milliseconds[runs++];
    } while (runs <= MOST_RUNS && total < 1e3f * (float)budget);
    if (runs > 1) counted++, runs--; /* the first warmed up */
    qsort(counted, (size_t)runs, sizeof *counted, ascending);
    *result = (timing){runs, (double)counted[runs / 2] * 1e-3};
    return true;
}

bool timing_measure(timed_work *work, const void *context, double budget, timing *result)
{
    stopwatch watch = {0};
    bool ran = false;
    CHECK_CUDA(cudaEventCreate(&watch.start));
    CHECK_CUDA(cudaEventCreate(&watch.stop));
    ran = run(&watch, work, context, budget, result);
out:
    if (watch.start) cudaEventDestroy(watch.start);
    if (watch.stop) cudaEventDestroy(watch.stop);
    return ran;
}
