/* columns.h - a table whose rows are of any kind, by one description of its columns: for people as
 * a sheet, for programs as CSV (RFC 4180) and JSON. */
#ifndef TD_TOOLS_COLUMNS_H
#define TD_TOOLS_COLUMNS_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/sheet.h"

enum { VALUE_TEXT_BYTES = 640 };

typedef struct {
    enum { NO_VALUE, TEXT_VALUE, COUNT_VALUE, NUMBER_VALUE } kind;
    char text[VALUE_TEXT_BYTES];
    long long count;
    double number;
} value;

value value_text(const char *text); /* none if it is "" */
/* None if they are negative. An infinite number is one of sheets and CSV; JSON has null for it. */
value value_count(long long count);
value value_number(double number);

/* In the place of decimals: three digits and an exponent; two, and 0 as it is. */
enum { SHORT_NUMBER = -1, SCIENTIFIC = -2 };

typedef struct {
    const char *title;   /* in sheets; NULL: files alone have the column */
    const char *name;    /* in files; NULL: sheets alone have it */
    const char *silence; /* where all cells are this or "-", sheets lack it; NULL: never */
    int decimals;        /* of its numbers in sheets; SHORT_NUMBER, SCIENTIFIC */
    bool is_left;
    value (*of)(const void *row);
} column;

/* A table has columns up to one without `of`, and `count` rows. */
typedef struct {
    const column *columns;
    const void *const *rows;
    int count;
} table;

/* False without memory. */
bool table_fill_sheet(const table *t, sheet *s);
void table_print_csv(FILE *out, const table *t);

/* The columns of a row as members of a JSON object, with commas between. */
void columns_print_members(FILE *out, const column *columns, const void *row);

/* A list of objects. */
void table_print_json(FILE *out, const table *t);

#endif
