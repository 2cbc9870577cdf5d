/* bench_report.h - what the reports of one run's processes say together (docs/report.md). */
#ifndef TD_TOOLS_BENCH_REPORT_H
#define TD_TOOLS_BENCH_REPORT_H

#include <stdbool.h>

enum { BENCH_REASONS = 16, BENCH_TEXT_BYTES = 128 };

/* Why cuBLAS ran so many calls. */
typedef struct {
    char text[BENCH_TEXT_BYTES];
    unsigned long long calls;
} bench_reason;

/* Sums over all reports that were added; start with {0}. */
typedef struct {
    unsigned long long calls, emulated, native;
    int incomplete;              /* reports of processes that ended in a way that cut them short */
    unsigned long long untimed;  /* calls whose time is not known, nor another's for it */
    unsigned long long repaired; /* elements of C; valid if is_counted */
    double seconds; /* on the device, of all calls but the untimed: the timed calls of a line stand
                       for its others; valid if is_timed */
    bool is_timed, is_counted;
    double worst_error;         /* of verified elements, relative to |A||B|; valid if is_verified */
    unsigned long long outside; /* of them, beyond their bounds; valid if is_verified */
    bool is_verified;
    char device[BENCH_TEXT_BYTES]; /* the first one's name; "": none ran a call */
    bench_reason reasons[BENCH_REASONS];
    int reason_count;
} bench_report;

/* Adds the report in a file that Tandem's library has written; false with errno set if it cannot be
 * read, with EBADMSG if it is none. */
bool bench_report_add(bench_report *sums, const char *path);

#endif
