/* bench_output.h - the result of `tandem bench` as a table, as CSV, JSON, and a page of HTML. All
 * but the notes come from one table of columns. */
#ifndef TD_TOOLS_BENCH_OUTPUT_H
#define TD_TOOLS_BENCH_OUTPUT_H

#include <stdio.h>

#include "tools/bench_result.h"

/* notes: bench_notes's. */
typedef void bench_printer(FILE *out, const bench *b, const char *notes);

bench_printer bench_print_table, bench_print_csv, bench_print_json, bench_print_html;

#endif
