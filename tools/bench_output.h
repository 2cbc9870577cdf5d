/* bench_output.h - the result of `tandem bench` as a table, as CSV, JSON, and a page of HTML. All
 * but the notes come from one table of columns. */
#ifndef TD_TOOLS_BENCH_OUTPUT_H
#define TD_TOOLS_BENCH_OUTPUT_H

#include <stdio.h>

#include "tools/bench_result.h"

typedef struct {
    const bench *bench;
    const char *notes; /* bench_notes's */
} bench_results;

/* Each takes bench_results. */
void bench_print_table(FILE *out, const void *results);
void bench_print_csv(FILE *out, const void *results);
void bench_print_json(FILE *out, const void *results);
void bench_print_html(FILE *out, const void *results);

#endif
