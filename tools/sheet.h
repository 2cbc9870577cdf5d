/* sheet.h - a table of texts: titles, and rows under them. Printed for people and as HTML. */
#ifndef TD_TOOLS_SHEET_H
#define TD_TOOLS_SHEET_H

#include <stdbool.h>
#include <stdio.h>

enum { SHEET_COLUMNS = 32 };

/* Start with {0}; sheet_free frees what it holds. */
typedef struct {
    char **cell; /* row after row, the titles' first; each of its own memory, or NULL for "" */
    int rows, columns;
    bool is_left[SHEET_COLUMNS];   /* text, which starts at the left */
    bool is_hidden[SHEET_COLUMNS]; /* not printed */
} sheet;

/* Adds a column, before there are rows. */
bool sheet_add_column(sheet *s, const char *title, bool is_left);

/* Adds a row of empty cells; then they are set. False without memory. */
bool sheet_add_row(sheet *s);

/* A cell of the last row; control characters become visible. */
bool sheet_set(sheet *s, int column, const char *text);

/* Hides a column all of whose cells are this text or "-". */
void sheet_hide_if(sheet *s, int column, const char *text);

void sheet_print(FILE *out, const sheet *s);
void sheet_print_html(FILE *out, const sheet *s);
void sheet_free(sheet *s);

#endif
