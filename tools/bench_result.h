/* bench_result.h - a program's runs in several modes, and what they come to. */
#ifndef TD_TOOLS_BENCH_RESULT_H
#define TD_TOOLS_BENCH_RESULT_H

#include <stdbool.h>

#include "lib/options/options.h"
#include "tools/bench_compare.h"
#include "tools/bench_run.h"

enum { BENCH_MOST_MODES = 32, BENCH_MOST_REPEATS = 1000, BENCH_STATUS_BYTES = 32 };

typedef struct {
    char mode[TD_MODE_BYTES];
    bench_run *runs; /* room for one a repetition */
    int count;       /* of those that were made to their end */

    /* The rest is bench_sum_up's. A run is good if it ended with 0, in time; numbers are those of
     * good runs, and valid if good > 0. */
    int good;
    const bench_run *ending; /* the first run that is not good, else the first; NULL: none */
    double wall_seconds;     /* median */
    double least_wall_seconds, most_wall_seconds;
    double product_seconds; /* median, on the device; negative: no call was timed */
    unsigned long long calls, emulated, native, untimed, repaired; /* the most of a run */
    bool is_counted;                                               /* repaired is known */
    double worst_error; /* of all runs, relative to |A||B|: TANDEM_VERIFY; valid if is_verified */
    unsigned long long
        outside; /* elements beyond their bounds, the most of a run; valid if is_verified */
    bool is_verified;
    int left;                   /* runs that left processes behind */
    int incomplete;             /* reports of all runs that were cut short */
    const bench_reason *reason; /* why most of the native calls are; NULL: there are none */
    comparison output;          /* with native's; valid if is_compared */
    bool is_compared;
} bench_mode;

typedef struct {
    bench_program program;
    bool is_host_device;
    bool has_rules;      /* TANDEM_RULES is set */
    bool drops_input;    /* standard input can be read but once, so that no run has it */
    bool is_interrupted; /* not all runs were made */
    bool is_lost;        /* an output could not be read again */
    int repeat, warm_ups;
    bench_mode warm_up; /* native's runs before all others, whose times do not count */
    bench_mode modes[BENCH_MOST_MODES]; /* the first is native */
    int mode_count;
    const char *device; /* the first one's name in the reports; "": none ran a call */
} bench;

/* True if the run ended with 0, in time. */
bool bench_is_good_run(const bench_run *run);

/* The number-th run of a mode, counted from 1, or of the warm-up. */
bench_label bench_label_of(const bench *b, const bench_mode *m, int number);

/* Fills in what follows from the runs, native's first of which was made. */
void bench_sum_up(bench *b);

/* "0", "3", "SIGSEGV", "timeout": how a run has ended. */
void bench_ending_text(const bench_run *run, char text[BENCH_STATUS_BYTES]);

/* True if all runs were made and are good. */
bool bench_is_good(const bench *b);

/* Sentences about what the numbers do not say, each a line; the caller frees them. NULL if memory
 * has run out. */
char *bench_notes(const bench *b);

#endif
