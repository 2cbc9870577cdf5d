#include "tools/columns.h"

#include <math.h>

#include "lib/report/json_text.h"
#include "lib/report/number_text.h"

value value_text(const char *text)
{
    value v = {.kind = text[0] ? TEXT_VALUE : NO_VALUE};
    snprintf(v.text, sizeof v.text, "%s", text);
    return v;
}

value value_count(long long count)
{
    return (value){.kind = count < 0 ? NO_VALUE : COUNT_VALUE, .count = count};
}

value value_number(double number)
{
    return (value){.kind = number >= 0.0 ? NUMBER_VALUE : NO_VALUE, .number = number};
}

/* ---- for people ---- */

static void show(const column *c, const value *v, char shown[VALUE_TEXT_BYTES])
{
    if (v->kind == NO_VALUE) /* a text that is missing may be silent, a number is not known */
        snprintf(shown, VALUE_TEXT_BYTES, "%s", c->is_left && c->silence ? c->silence : "-");
    else if (v->kind == TEXT_VALUE)
        snprintf(shown, VALUE_TEXT_BYTES, "%s", v->text);
    else if (v->kind == COUNT_VALUE)
        snprintf(shown, VALUE_TEXT_BYTES, "%lld", v->count);
    else if (c->decimals == SHORT_NUMBER)
        snprintf(shown, VALUE_TEXT_BYTES, "%s", td_number_short(v->number).text);
    else if (c->decimals == SCIENTIFIC && v->number > 0.0)
        snprintf(shown, VALUE_TEXT_BYTES, "%.1e", v->number);
    else
        snprintf(shown, VALUE_TEXT_BYTES, "%.*f", c->decimals < 0 ? 0 : c->decimals, v->number);
}

static bool fill_row(sheet *s, const column *columns, const void *row)
{
    int at = 0;
    bool is_filled = sheet_add_row(s);
    for (const column *c = columns; is_filled && c->of; c++) {
        char shown[VALUE_TEXT_BYTES];
        if (!c->title) continue;
        const value v = c->of(row);
        show(c, &v, shown);
        is_filled = sheet_set(s, at++, shown);
    }
    return is_filled;
}

bool table_fill_sheet(const table *t, sheet *s)
{
    bool is_filled = true;
    int at = 0;
    for (const column *c = t->columns; is_filled && c->of; c++)
        if (c->title) is_filled = sheet_add_column(s, c->title, c->is_left);
    for (int i = 0; is_filled && i < t->count; i++) is_filled = fill_row(s, t->columns, t->rows[i]);
    for (const column *c = t->columns; is_filled && c->of; c++) {
        if (c->title && c->silence) sheet_hide_if(s, at, c->silence);
        at += c->title != NULL;
    }
    return is_filled;
}

/* ---- for programs ---- */

static void print_csv_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', out);
}

static void print_number(FILE *out, const value *v)
{
    if (v->kind == COUNT_VALUE) fprintf(out, "%lld", v->count);
    if (v->kind == NUMBER_VALUE) fprintf(out, "%.9g", v->number);
}

void table_print_csv(FILE *out, const table *t)
{
    const char *separator = "";
    for (const column *c = t->columns; c->of; c++) {
        if (!c->name) continue;
        fprintf(out, "%s%s", separator, c->name);
        separator = ",";
    }
    for (int row = 0; row < t->count; row++) {
        separator = "\n";
        for (const column *c = t->columns; c->of; c++) {
            if (!c->name) continue;
            const value v = c->of(t->rows[row]);
            fputs(separator, out);
            print_number(out, &v);
            if (v.kind == TEXT_VALUE) print_csv_text(out, v.text);
            separator = ",";
        }
    }
    fprintf(out, "\n");
}

static void print_json_value(FILE *out, const value *v)
{
    if (v->kind == TEXT_VALUE)
        td_json_print_string(out, v->text);
    else if (v->kind == NO_VALUE || (v->kind == NUMBER_VALUE && !isfinite(v->number)))
        fprintf(out, "null");
    else
        print_number(out, v);
}

void columns_print_members(FILE *out, const column *columns, const void *row)
{
    const char *separator = "";
    for (const column *c = columns; c->of; c++) {
        if (!c->name) continue;
        const value v = c->of(row);
        fprintf(out, "%s\"%s\": ", separator, c->name);
        print_json_value(out, &v);
        separator = ", ";
    }
}

void table_print_json(FILE *out, const table *t)
{
    fprintf(out, "[");
    for (int row = 0; row < t->count; row++) {
        fprintf(out, "%s\n    {", row ? "," : "");
        columns_print_members(out, t->columns, t->rows[row]);
        fprintf(out, "}");
    }
    fprintf(out, "\n  ]");
}
