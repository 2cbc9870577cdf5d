/* table.h - measurements, one line each: Markdown on stdout, and CSV in a file. */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum { TABLE_COLUMNS = 20, TABLE_WIDTH = 24 }; /* at most; a text is cut at TABLE_WIDTH - 1 */

typedef struct {
    const char *const *names; /* of the columns; no commas in these or in any text */
    int columns;
    FILE *csv; /* NULL: none */
} table;

/* A line while its cells are put in, from left to right. */
typedef struct {
    char texts[TABLE_COLUMNS][TABLE_WIDTH];
    int count;
} table_line;

/* Opens the file for the CSV, if csv is not NULL; false, with a message, if it cannot be
 * written. */
bool table_open(table *t, const char *csv);
/* False, with a message, if something was not written. */
bool table_close(table *t, const char *csv);

/* One line for people; a comment in the CSV. */
void table_remark(const table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

void table_print_head(const table *t);
void table_print(const table *t, const table_line *line);

void table_put(table_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A number; nothing for NaN, which stands for what was not measured. */
#define table_put_number(line, format, x)                                                          \
    (isnan(x) ? table_put(line, "%s", "") : table_put(line, format, x))

#endif
