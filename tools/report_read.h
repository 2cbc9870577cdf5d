/* report_read.h - reports that the library has written (docs/report.md), whatever program has laid
 * them out anew. What is no report, not whole or of another schema is refused with a reason. */
#ifndef TD_TOOLS_REPORT_READ_H
#define TD_TOOLS_REPORT_READ_H

#include <stdbool.h>

#include "lib/report/letters.h"

enum { REPORT_DEVICES = 16, REPORT_WHY_BYTES = 512 };

/* What a report's elements of C were found to be. Errors are relative to |A||B|. */
typedef struct {
    unsigned long long elements, special, outside, unjudged;
    double worst, mean;           /* may be infinite, for which JSON has null */
    double worst_ulps, mean_ulps; /* negative: solves have none */
    double bound, bound_ulps;     /* negative: the mode promises nothing */
} report_verified;

/* A line of `calls`. Numbers that are null are negative, texts "". */
typedef struct {
    const char *function, *type, *mode, *native_reason, *choice, *site;
    td_letters letters;
    long long m, n, k, batch;
    unsigned long long count, timed, unread;
    double seconds; /* of the timed calls */
    long long repaired, tiles, planes;
    double native_seconds;    /* predicted, of one call */
    report_verified verified; /* valid if is_verified */
    bool is_verified;
} report_call;

/* What somebody asks for of a report. Texts that are not there are "". */
typedef struct {
    const char *program, *host, *started, *written;
    const char **command; /* its words, `words` of them */
    int words;
    const char *devices[REPORT_DEVICES]; /* names, `device_count` of them */
    int device_count;
    bool is_host_device, is_complete;
    unsigned long long intercepted, emulated, native, unlisted;
    long long repaired; /* negative: not counted */
    report_call *calls;
    int call_count;
    struct json_t *root; /* owns all texts */
} report;

/* Reads a report, which report_free frees. False with the reason in `why` and errno set if it
 * cannot be read; EBADMSG if it is none. */
bool report_read(const char *path, report *r, char why[REPORT_WHY_BYTES]);

void report_free(report *r);

/* Seconds of all calls of a line on the device but the untimed; negative: none was timed. */
double report_seconds(const report_call *c);

/* Calls that this is the time of: the timed ones and those that they stand for. */
double report_timed(const report_call *c);

/* Calls of a line whose time is not known. */
unsigned long long report_untimed(const report_call *c);

#endif
