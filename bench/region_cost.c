/* region_cost.c - nanoseconds of host time that a region of a thread costs: tandem_push with its
 * tandem_pop, each of which finds the thread's regions as an intercepted call does. Needs no
 * device.
 * usage: region_cost [MILLIONS]: so many regions, 20 without it */
#include <stdio.h>
#include <stdlib.h>

#include "../include/tandem.h"
#include "../tools/clock.h"

/* Regions with one text after the other; the shortest time of several, which others' work on the
 * machine lengthens least. Negative if one was refused. */
static double measure(const char *const settings[2], long times)
{
    enum { REPEATS = 1000 };
    double best = -1.0;
    for (int r = 0; r < REPEATS; r++) {
        const double start = clock_seconds();
        for (long i = 0; i < times / REPEATS; i++)
            if (tandem_push(settings[i % 2]) != TANDEM_OK || tandem_pop() != TANDEM_OK) return -1.0;
        const double each = (clock_seconds() - start) / (double)(times / REPEATS);
        if (best < 0.0 || each < best) best = each;
    }
    return best;
}

int main(int count, char **arguments)
{
    static const char *const kinds[][2] = {
        {"ts", "ts"}, {"ts", "ozaki2:14"}, {"mode=ts verify=sample:8", "mode=df accuracy=30"}};
    const long times = (count > 1 ? atol(arguments[1]) : 20) * 1000000;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const double seconds = measure(kinds[i], times);
        if (seconds < 0.0) return 1;
        printf("%-24s %-20s %.1f ns for push and pop\n", kinds[i][0],
               kinds[i][1] == kinds[i][0] ? "" : kinds[i][1], 1e9 * seconds);
    }
    return 0;
}
