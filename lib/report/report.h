/* report.h - counts per call site shape, written when the process ends (docs/report.md). Pure: no
 * CUDA calls. Everything may be called from any thread. While the report is off, td_report_find
 * costs one relaxed load. */
#ifndef TD_REPORT_H
#define TD_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "../../kernels/device/counts.h"
#include "../loader/site.h"
#include "../routine/mode.h"
#include "../routine/entries.h"
#include "../options/options.h"
#include "../routine/decision.h"
#include "../routine/problem.h"

/* What makes two calls the same line of the report. The strings must stay valid until the report is
 * written. */
typedef struct {
    td_entry entry;
    const char *mode;
    const char *reason; /* why the call ran native; NULL if it was emulated */
    int device;         /* CUDA's number of it; -1 if not known */
    td_type type;
    td_op op_a, op_b;
    bool is_conjugate_a, is_conjugate_b; /* without being transposed */
    td_kind kind;                        /* which says what of these three counts */
    td_side side;
    td_triangle triangle;
    td_diagonal diagonal;
    bool lacks_vectors; /* of eigenvalues */
    int64_t m, n, k, batch;
    const td_site *caller; /* NULL: not told apart */

    /* What follows from the fields above. */
    td_sample_bound bound; /* of the mode; `relative` is infinite if it promises nothing */
    const char *choice;    /* why this mode; NULL: it was asked for, or the call is native */
    td_forecast forecast;
} td_report_key;

td_report_key td_report_key_of(td_entry entry, const td_problem *p, const td_decision *decision,
                               td_sample_bound bound, int device);

typedef struct td_record td_record; /* one line of the report; lives as long as the process */

/* Starts the report that o asks for, if any, or the counts that TANDEM_VERIFY needs; o and
 * version (Tandem's) must stay valid. A file that cannot be written gets one line, and the
 * report stays off. Call before the other functions, and again to begin anew: the records of the
 * report before are freed, and no other thread may use it meanwhile. */
void td_report_open(const td_options *o, const char *version);

/* Has calls counted from now on, though the options asked for no report: td_report_compose has the
 * counts, and the end of the process drops them. Call after td_report_open. */
void td_report_count_calls(void);

/* True if calls are counted. */
bool td_report_is_on(void);

/* What was counted so far, as JSON (docs/report.md), which the caller frees; NULL if calls are not
 * counted, or memory has run out. */
char *td_report_compose(size_t *length);

/* The name of the CUDA device with this number; later names for the same number are ignored. */
void td_report_set_device(int number, const char *name);

/* Where predictions of the device with this number are from, as td_model has it; later texts for
 * the same number are ignored. */
void td_report_set_figures(int number, const char *figures);

/* The library runs on the host device: the report says that its times are not a GPU's. */
void td_report_set_host_device(void);

/* The record of the key, made if it is new. NULL if the report is off or memory has run out; the
 * call is then only counted as not listed. */
td_record *td_report_find(const td_report_key *key);

/* Records are numbered from 0 in the order of their first calls. */
unsigned td_record_number(const td_record *record);

/* True if the record's next call should be timed: the first ones are, then one in sixteen, because
 * marking a stream costs the host more than all the rest of a report. False for NULL. */
bool td_report_wants_time(const td_record *record);

/* Each of these accepts NULL and then does nothing. */
void td_report_count(td_record *record);
void td_report_expect_time(td_record *record); /* of one call, which is to be measured */
void td_report_add_time(td_record *record, double seconds); /* GPU time of one call */

/* Kernels of the record's calls increment *counters, too, which are read when the report is written
 * and stay until then: each context of a device has its own. */
void td_report_add_counters(td_record *record, const volatile td_counters *counters);

/* What one call of the record would take in cuBLAS, in seconds, by prediction; asked for once,
 * as td_report_wants_native says. */
bool td_report_wants_native(const td_record *record);
void td_report_set_native(td_record *record, double seconds);

/* cuBLAS writes to *bits how many mantissa bits its own emulation keeps in the record's calls, as
 * td_device has it. */
void td_report_add_mantissa_bits(td_record *record, const volatile int *bits);

/* What TANDEM_VERIFY measures in the record's calls is added to *samples by kernels: it is read
 * when the report is written and stays until then. */
void td_report_add_samples(td_record *record, const volatile td_sample_counts *samples);

/* A call as text, for a message: function, operations, sizes, mode. */
enum { TD_CALL_TEXT = 256 };
void td_report_print_call(const td_report_key *key, char text[TD_CALL_TEXT]);

/* The calls of the record with this number as text; false if there is none. */
bool td_report_describe(unsigned number, char text[TD_CALL_TEXT]);

/* True if the report goes to a file that is as old as TANDEM_REPORT_EVERY lets it be: once for each
 * time that it is, for the caller to write it. A program that is killed leaves what it had counted
 * then. There is neither a thread, which would hold up the end of programs, nor a signal handler,
 * in which nothing could be composed. */
bool td_report_is_due(void);
void td_report_write_so_far(void);

/* Writes the report if it is on. For the end of the process, while the counters can still be
 * read. */
void td_report_write(void);

/* Writes the report again if calls were counted since td_report_write: exit handlers and
 * destructors of the program may run later than that, and other threads go on. Those that a stream
 * has no room for get a line. */
void td_report_write_late_calls(void);

/* Round a fork(). A child counts for itself, from zero. */
void td_report_before_fork(void);
void td_report_after_fork(bool is_child);

#endif
