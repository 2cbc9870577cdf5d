#include "timing.h"

#include <math.h>
#include <stdlib.h>

#include "../../examples/common.h"

enum { MOST_RUNS = 32, BUDGETED_RUNS = 15 };

typedef struct {
    cudaEvent_t start, stop;
} stopwatch;

static bool run_once(const stopwatch *watch, timed_work *work, const void *context, double *seconds)
{
    float milliseconds;
    bool ran = false;
    CHECK_CUDA(cudaEventRecord(watch->start, NULL));
    if (!work(context)) goto out;
    CHECK_CUDA(cudaEventRecord(watch->stop, NULL));
    CHECK_CUDA(cudaEventSynchronize(watch->stop));
    CHECK_CUDA(cudaEventElapsedTime(&milliseconds, watch->start, watch->stop));
    *seconds = (double)milliseconds * 1e-3;
    ran = true;
out:
    return ran;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *numbers, int count)
{
    qsort(numbers, (size_t)count, sizeof *numbers, ascending);
    return numbers[count / 2];
}

/* The first run warms up, and counts if it is the only one. */
static bool run(timed_work *work, timed_work *before, const void *context, int most, double budget,
                timing *result)
{
    double seconds[1 + MOST_RUNS], total = 0.0;
    stopwatch watch = {0};
    int runs = 0;
    bool ran = false;
    CHECK_CUDA(cudaEventCreate(&watch.start));
    CHECK_CUDA(cudaEventCreate(&watch.stop));
    do {
        if (before && !before(context)) goto out;
        if (!run_once(&watch, work, context, &seconds[runs])) goto out;
        total += seconds[runs++];
    } while (runs <= most && total < budget);
    result->runs = runs > 1 ? runs - 1 : 1;
    result->seconds = median(seconds + (runs > 1), result->runs);
    ran = true;
out:
    if (watch.start) cudaEventDestroy(watch.start);
    if (watch.stop) cudaEventDestroy(watch.stop);
    return ran;
}

bool timing_measure(timed_work *work, const void *context, double budget, timing *result)
{
    return run(work, NULL, context, BUDGETED_RUNS, budget, result);
}

bool timing_repeat(timed_work *work, timed_work *before, const void *context, int runs,
                   double *seconds)
{
    timing t;
    const bool ran =
        run(work, before, context, runs > MOST_RUNS ? MOST_RUNS : runs, (double)INFINITY, &t);
    if (ran) *seconds = t.seconds;
    return ran;
}
