/* report_internal.h - what report.c, report_records.c and report_sums.c (counting), report_json.c
 * and report_table.c (the two forms of a report) and report_file.c (the file) share. */
#ifndef TD_REPORT_INTERNAL_H
#define TD_REPORT_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "../options/file.h"
#include "../model/model.h"
#include "fields.h"
#include "report.h"
#include "report_run.h"

enum { TD_REPORT_DEVICES = 16, TD_REPORT_DEVICE_BYTES = 128 };

/* What the kernels of one context count: td_counters, td_sample_counts, or mantissa bits. */
typedef struct td_counted {
    const volatile void *counts;
    struct td_counted *next;
} td_counted;

struct td_record {
    td_report_key key;
    unsigned number;
    td_record *next; /* in the order of first calls */
    atomic_llong count, timed, nanoseconds;
    atomic_llong expected; /* calls whose time was to be measured; timed + those not read */
    /* Of one call in cuBLAS, predicted; negative: nobody can say. Valid if has_native. */
    _Atomic double native_seconds;
    atomic_bool has_native;
    td_counted *counters;      /* NULL: kernels have counted nothing */
    td_counted *samples;       /* NULL: nothing was verified */
    td_counted *mantissa_bits; /* an int each; NULL: cuBLAS tells nothing */
};

typedef struct {
    const td_options *options;
    const char *version;
    bool is_host_device;
    char run[TD_RUN_BYTES];
    struct timespec start; /* of the process, as its files have times */
    bool is_complete;      /* the process ends: nothing is counted any more */
    char devices[TD_REPORT_DEVICES][TD_REPORT_DEVICE_BYTES]; /* "": not known */
    char figures[TD_REPORT_DEVICES][TD_SOURCE_BYTES];        /* "": nothing was predicted */
    td_record *first, **last; /* list of all records; where to hang the next one */
    atomic_llong unlisted;    /* calls for which there was no memory */
} td_report;

/* Whole nanoseconds, as times are kept, and printed from integers: a printed double would take the
 * decimal sign of the application's locale. 0 for what is negative. */
long long td_nanoseconds(double seconds);

/* Hold this to read or change the list of records, their counters, and the texts of the report. */
void td_records_lock(void);
void td_records_unlock(void);

/* How many there are. Under the lock. */
unsigned td_records_count(void);

/* The record of a key, which is made if it is new. NULL without memory. Takes the lock. */
td_record *td_records_find(td_report *report, const td_report_key *key);

/* Sets all counts to zero, and forgets the counters in device memory. Under the lock. */
void td_records_empty(const td_report *report);

/* Frees all records. */
void td_records_free(void);

/* Sums over all records. */
td_report_totals td_report_add_up(const td_report *report);

/* Calls whose time was to be measured and is not known: it was lost with its CUDA context, or the
 * device had not passed the call's end. */
long long td_record_unread(const td_record *record);

/* Of the timed calls together; TD_UNKNOWN if none was timed. */
double td_record_nanoseconds(const td_record *record);

/* Elements of C that the repair kernel recomputed in the record's calls; TD_UNKNOWN if they were
 * not counted. */
long long td_record_repaired(const td_record *record);

/* Tiles of C, 64 x 64, all of whose elements were made in binary64 in the record's calls;
 * TD_UNKNOWN if they were not counted. */
long long td_record_tiles(const td_record *record);

/* The most slices or moduli that operands were cut into; TD_UNKNOWN for modes without them. */
long long td_record_planes(const td_record *record);

/* The mantissa bits that cuBLAS's own emulation kept, the most of all contexts: 0: it did not
 * emulate; TD_UNKNOWN: it has not told. */
long long td_record_mantissa_bits(const td_record *record);

/* What was measured of the record's calls in all contexts; zeros if nothing was. */
td_sample_counts td_record_samples(const td_record *record);

void td_report_print_json(FILE *out, const td_report *report);
void td_report_print_table(FILE *out, const td_report *report); /* lines for stderr */

/* Where a report goes. */
typedef struct {
    char path[TD_PATH_BYTES]; /* absolute, symbolic links followed */
    /* written without a temporary file: a device, another user's file, or the folder is closed */
    bool is_in_place;

    /* It is a pipe, a device or an open descriptor's: what is written follows what was written
     * before, and replaces nothing. */
    bool is_stream;

    /* Of a process that shares the name with others (td_report_file_share). */
    char run[TD_RUN_BYTES]; /* "": it does not */
    long process;
    struct timespec start;
    int number;      /* of the name that its report has, from 0, which is `path` */
    struct stat own; /* that file, as this process has written it; st_ino is 0 before */
} td_report_file;

/* Finds out where a name leads, and whether it can be written, without changing anything there;
 * false with errno set (td_file_reason) if it cannot. */
bool td_report_file_open(td_report_file *file, const td_file_name *name);

/* From now on a report that is another process's stays: of the same run, or written after `start`.
 * This process's has the first of the names PATH, PATH.PID, PATH.PID.2, ... that is free, which a
 * line in the log says. */
void td_report_file_share(td_report_file *file, const char *run, const struct timespec *start);

/* Replaces the content in one step, where a temporary file next to it is possible; permissions
 * stay. is_empty: the report has no calls, and leaves a file alone that has something in it. False
 * with errno set. */
bool td_report_file_write(td_report_file *file, bool is_empty, const char *text, size_t length);

/* stderr as it was when the process began: the program may close it, or give its number to a file
 * of its own. */
typedef struct {
    int copy; /* a descriptor of its own; -1: none could be had */
    struct stat was;
    char path[TD_PATH_BYTES]; /* "": it has none */
} td_report_stderr;

void td_report_stderr_keep(td_report_stderr *kept);
bool td_report_stderr_write(const td_report_stderr *kept, const char *text, size_t length);

#endif
