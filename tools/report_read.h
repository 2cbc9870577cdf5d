/* report_read.h - reports that the library has written (docs/report.md), line by line. */
#ifndef TD_TOOLS_REPORT_READ_H
#define TD_TOOLS_REPORT_READ_H

#include <stdbool.h>

enum { REPORT_TEXT_BYTES = 128, REPORT_SITE_BYTES = 544 };

/* What a report's elements of C were found to be. Errors are relative to |A||B|. */
typedef struct {
    unsigned long long elements, special, outside;
    double worst, mean, worst_ulps, mean_ulps;
    double bound, bound_ulps; /* negative: the mode promises nothing */
} report_verified;

/* A line of `calls`. Numbers that are null are negative, texts "". */
typedef struct {
    char function[REPORT_TEXT_BYTES], type[REPORT_TEXT_BYTES], mode[REPORT_TEXT_BYTES];
    char op_a, op_b;
    long long m, n, k, batch;
    unsigned long long count, timed;
    double seconds; /* of the timed calls */
    long long repaired, tiles, planes;
    char native_reason[REPORT_TEXT_BYTES], choice[REPORT_TEXT_BYTES];
    double native_seconds; /* predicted, of one call */
    char site[REPORT_SITE_BYTES];
    report_verified verified; /* valid if is_verified */
    bool is_verified;
} report_call;

/* All of a report that somebody asks for. */
typedef struct {
    char program[REPORT_SITE_BYTES], device[REPORT_TEXT_BYTES]; /* of the first device; "": none */
    bool is_host_device, is_complete;
    unsigned long long intercepted, emulated, native, unlisted;
    long long repaired; /* negative: not counted */
} report_head;

/* Reads a report: the head once, after it every call in turn. False with errno set if the file
 * cannot be read, with EBADMSG if it is none of Tandem's reports, with ENOMEM; what was read
 * before stays read. */
bool report_read(const char *path, void (*take_head)(const report_head *head, void *context),
                 bool (*take_call)(const report_call *call, void *context), void *context);

#endif
