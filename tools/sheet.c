#include "tools/sheet.h"

#include <stdlib.h>
#include <string.h>

#include "tools/html.h"
#include "tools/visible.h"

static const char *cell_at(const sheet *s, int row, int column)
{
    const char *text = s->cell[row * s->columns + column];
    return text ? text : "";
}

/* Adds `count` cells at the end. */
static bool grow(sheet *s, int before, int count)
{
    char **grown = realloc(s->cell, ((size_t)before + (size_t)count) * sizeof *grown);
    if (!grown) return false;
    s->cell = grown;
    memset(grown + before, 0, (size_t)count * sizeof *grown);
    return true;
}

bool sheet_add_column(sheet *s, const char *title, bool is_left)
{
    if (s->columns == SHEET_COLUMNS || !grow(s, s->columns, 1)) return false;
    s->is_left[s->columns++] = is_left;
    s->rows = 1;
    return sheet_set(s, s->columns - 1, title);
}

bool sheet_add_row(sheet *s)
{
    if (!grow(s, s->rows * s->columns, s->columns)) return false;
    s->rows++;
    return true;
}

bool sheet_set(sheet *s, int column, const char *text)
{
    char **cell = &s->cell[(s->rows - 1) * s->columns + column];
    free(*cell);
    *cell = visible_copy(text);
    return *cell != NULL;
}

void sheet_hide_if(sheet *s, int column, const char *text)
{
    bool is_silent = true;
    for (int row = 1; is_silent && row < s->rows; row++) {
        const char *cell = cell_at(s, row, column);
        is_silent = strcmp(cell, text) == 0 || strcmp(cell, "-") == 0;
    }
    s->is_hidden[column] = is_silent;
}

static int width_of(const sheet *s, int column)
{
    int width = 0;
    for (int row = 0; row < s->rows; row++) {
        const int length = visible_width(cell_at(s, row, column));
        if (length > width) width = length;
    }
    return width;
}

/* Nothing follows the last text of a row. */
static void print_row(FILE *out, const sheet *s, int row, const int widths[SHEET_COLUMNS])
{
    int blanks = 0;
    for (int c = 0; c < s->columns; c++) {
        if (s->is_hidden[c]) continue;
        const char *text = cell_at(s, row, c);
        const int pad = widths[c] - visible_width(text);
        if (!s->is_left[c]) blanks += pad;
        if (text[0]) {
            fprintf(out, "%*s%s", blanks, "", text);
            blanks = 0;
        }
        blanks += (s->is_left[c] ? pad : 0) + 2;
    }
    fprintf(out, "\n");
}

void sheet_print(FILE *out, const sheet *s)
{
    int widths[SHEET_COLUMNS];
    for (int c = 0; c < s->columns; c++) widths[c] = width_of(s, c);
    for (int row = 0; row < s->rows; row++) print_row(out, s, row, widths);
}

void sheet_print_html(FILE *out, const sheet *s)
{
    fprintf(out, "<div class=\"wide\">\n<table>\n<thead>\n");
    for (int row = 0; row < s->rows; row++) {
        const char *kind = row ? "td" : "th";
        fprintf(out, "<tr>");
        for (int c = 0; c < s->columns; c++) {
            if (s->is_hidden[c]) continue;
            fprintf(out, "<%s%s>", kind, s->is_left[c] ? " class=\"text\"" : "");
            html_print_text(out, cell_at(s, row, c));
            fprintf(out, "</%s>", kind);
        }
        fprintf(out, "</tr>\n%s", row ? "" : "</thead>\n");
    }
    fprintf(out, "</table>\n</div>\n");
}

void sheet_free(sheet *s)
{
    for (int i = 0; i < s->rows * s->columns; i++) free(s->cell[i]);
    free(s->cell);
    *s = (sheet){0};
}
