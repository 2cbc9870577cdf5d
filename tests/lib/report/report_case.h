/* report_case.h - what tests of the report share: a folder for each, and calls to count. */
#ifndef TD_TEST_REPORT_CASE_H
#define TD_TEST_REPORT_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/report/report.h"

/* The options of the open report, and the file that it may be written to, in the test's folder. */
extern td_options report_options;
extern char report_folder[64], report_path[192];

/* Opens the report as TANDEM_REPORT=file does. */
void open_report(const char *file);

/* Round each test: makes its folder; closes the report and removes the folder. */
int set_up(void **state);
int tear_down(void **state);
/* A product of m x 2 x 3 in mode df. */
td_report_key key_of(int64_t m, const char *reason);

/* Counts one call of it and returns its record. */
td_record *call(int64_t m, const char *reason);

/* True if python's parser reads report_path and the expression over its content r holds. */
bool holds(const char *expression);

#endif
