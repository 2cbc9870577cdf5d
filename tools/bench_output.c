#include "tools/bench_output.h"

#include <stdlib.h>
#include <string.h>

#include "include/tandem.h"
#include "lib/report/json_text.h"
#include "tools/html.h"
#include "tools/sheet.h"

/* ---- columns ---- */

typedef enum { NOTHING, TEXT, COUNT, NUMBER } value_kind;

typedef struct {
    value_kind kind;
    char text[BENCH_TEXT_BYTES];
    unsigned long long count;
    double number;
} value;

enum { SCIENTIFIC = -1 };

typedef struct {
    const char *title; /* in tables; NULL: files alone have the column */
    const char *name;  /* in files; NULL: tables alone have it */
    int decimals;      /* of its numbers in tables; SCIENTIFIC: one, and an exponent */
    value (*of)(const bench *b, const bench_mode *m);
} column;

static value text(const char *content)
{
    value v = {.kind = content[0] ? TEXT : NOTHING};
    snprintf(v.text, sizeof v.text, "%s", content);
    return v;
}

static value count(bool is_known, unsigned long long number)
{
    return (value){.kind = is_known ? COUNT : NOTHING, .count = number};
}

static value number(bool is_known, double of)
{
    return (value){.kind = is_known ? NUMBER : NOTHING, .number = of};
}

static value ratio(double native, double seconds)
{
    return number(native > 0.0 && seconds > 0.0, native / seconds);
}

static value of_mode(const bench *b, const bench_mode *m)
{
    (void)b;
    return text(m->mode);
}

static value of_runs(const bench *b, const bench_mode *m)
{
    (void)b;
    return count(true, (unsigned long long)m->count);
}

static value of_wall(const bench *b, const bench_mode *m)
{
    (void)b;
    return number(m->good > 0, m->wall_seconds);
}

static value of_least_wall(const bench *b, const bench_mode *m)
{
    (void)b;
    return number(m->good > 1, m->least_wall_seconds);
}

static value of_most_wall(const bench *b, const bench_mode *m)
{
    (void)b;
    return number(m->good > 1, m->most_wall_seconds);
}

static value of_speed_up(const bench *b, const bench_mode *m)
{
    return m->good > 0 ? ratio(b->modes[0].wall_seconds, m->wall_seconds) : text("");
}

static value of_products(const bench *b, const bench_mode *m)
{
    (void)b;
    return number(m->good > 0 && m->product_seconds >= 0.0, m->product_seconds);
}

static value of_products_speed_up(const bench *b, const bench_mode *m)
{
    return m->good > 0 ? ratio(b->modes[0].product_seconds, m->product_seconds) : text("");
}

static value of_calls(const bench *b, const bench_mode *m)
{
    (void)b;
    return count(m->good > 0, m->calls);
}

static value of_emulated(const bench *b, const bench_mode *m)
{
    (void)b;
    return count(m->good > 0, m->emulated);
}

static value of_native(const bench *b, const bench_mode *m)
{
    (void)b;
    return count(m->good > 0, m->native);
}

static value of_reason(const bench *b, const bench_mode *m)
{
    (void)b;
    return text(m->reason ? m->reason->text : "");
}

static value of_untimed(const bench *b, const bench_mode *m)
{
    (void)b;
    return count(m->good > 0, m->untimed);
}

static value of_repaired(const bench *b, const bench_mode *m)
{
    (void)b;
    return count(m->good > 0 && m->is_counted, m->repaired);
}

static value of_error(const bench *b, const bench_mode *m)
{
    (void)b;
    return number(m->good > 0 && m->is_verified, m->worst_error);
}

static value of_outside(const bench *b, const bench_mode *m)
{
    (void)b;
    return count(m->good > 0 && m->is_verified, m->outside);
}

static value of_difference(const bench *b, const bench_mode *m)
{
    (void)b;
    const comparison *c = &m->output;
    return number(m->is_compared && !c->differs && c->numbers > 0, c->difference);
}

static value of_output(const bench *b, const bench_mode *m)
{
    (void)b;
    const comparison *c = &m->output;
    return text(!m->is_compared   ? ""
                : c->differs      ? "differs"
                : c->varies       ? "varies"
                : c->numbers == 0 ? "no numbers"
                                  : "compared");
}

static value of_difference_or_output(const bench *b, const bench_mode *m)
{
    return m->is_compared && m->output.differs ? text("output differs") : of_difference(b, m);
}

static value of_status(const bench *b, const bench_mode *m)
{
    char status[BENCH_STATUS_BYTES] = "";
    (void)b;
    if (m->ending) bench_ending_text(m->ending, status);
    return text(status);
}

static value of_device(const bench *b, const bench_mode *m)
{
    (void)m;
    return text(b->device);
}

static const column columns[] = {
    {"mode", "mode", 0, of_mode},
    {"runs", "runs", 0, of_runs},
    {"wall s", "wall_seconds", 3, of_wall},
    {"min", "wall_seconds_min", 3, of_least_wall},
    {"max", "wall_seconds_max", 3, of_most_wall},
    {"speed-up", "speed_up", 2, of_speed_up},
    {"products s", "products_seconds", 4, of_products},
    {"speed-up", "products_speed_up", 2, of_products_speed_up},
    {"calls", "calls", 0, of_calls},
    {"emulated", "emulated", 0, of_emulated},
    {NULL, "native", 0, of_native},
    {NULL, "native_reason", 0, of_reason},
    {NULL, "untimed", 0, of_untimed},
    {"repaired", "repaired", 0, of_repaired},
    {"error", "verified_error", SCIENTIFIC, of_error},
    {NULL, "outside", 0, of_outside},
    {"difference", NULL, SCIENTIFIC, of_difference_or_output},
    {NULL, "difference", 0, of_difference},
    {NULL, "output", 0, of_output},
    {"exit", "exit", 0, of_status},
    {NULL, "device", 0, of_device},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* The value as tables show it. */
static void show(const column *c, const value *v, char shown[BENCH_TEXT_BYTES])
{
    if (v->kind == TEXT)
        snprintf(shown, BENCH_TEXT_BYTES, "%s", v->text);
    else if (v->kind == COUNT)
        snprintf(shown, BENCH_TEXT_BYTES, "%llu", v->count);
    else if (v->kind == NOTHING)
        snprintf(shown, BENCH_TEXT_BYTES, "-");
    else if (c->decimals == SCIENTIFIC && v->number > 0.0)
        snprintf(shown, BENCH_TEXT_BYTES, "%.1e", v->number);
    else
        snprintf(shown, BENCH_TEXT_BYTES, "%.*f", c->decimals == SCIENTIFIC ? 0 : c->decimals,
                 v->number);
}

static void show_cell(const column *c, const bench *b, int row, char shown[BENCH_TEXT_BYTES])
{
    const value v = c->of(b, &b->modes[row]);
    show(c, &v, shown);
}

/* ---- table ---- */

/* Columns that tables leave out where no mode has a value: nothing was verified, or run twice. */
static bool may_hide(const column *c)
{
    return c->of == of_error || c->of == of_least_wall || c->of == of_most_wall;
}

/* What people are shown; false without memory. The first column, words, starts at the left. */
static bool fill_sheet(sheet *s, const bench *b)
{
    bool is_filled = true;
    for (int i = 0; i < COLUMNS; i++)
        if (columns[i].title) is_filled &= sheet_add_column(s, columns[i].title, i == 0);
    for (int row = 0; is_filled && row < b->mode_count; row++) {
        int at = 0;
        is_filled = sheet_add_row(s);
        for (int i = 0; is_filled && i < COLUMNS; i++) {
            char shown[BENCH_TEXT_BYTES];
            if (!columns[i].title) continue;
            show_cell(&columns[i], b, row, shown);
            is_filled = sheet_set(s, at++, shown);
        }
    }
    for (int i = 0, at = 0; is_filled && i < COLUMNS; i++)
        if (columns[i].title) {
            if (may_hide(&columns[i])) sheet_hide_if(s, at, "-");
            at++;
        }
    return is_filled;
}

static void print_sheet(FILE *out, const bench *b, void (*print)(FILE *out, const sheet *s))
{
    sheet s = {0};
    if (fill_sheet(&s, b)) print(out, &s);
    sheet_free(&s);
}

void bench_print_table(FILE *out, const bench *b, const char *notes)
{
    if (b->device[0]) fprintf(out, "device: %s\n", b->device);
    print_sheet(out, b, sheet_print);
    if (notes[0]) fprintf(out, "\n%s", notes);
}

/* ---- CSV (RFC 4180) ---- */

static void print_csv_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', out);
}

static void print_csv_value(FILE *out, const value *v)
{
    if (v->kind == TEXT) print_csv_text(out, v->text);
    if (v->kind == COUNT) fprintf(out, "%llu", v->count);
    if (v->kind == NUMBER) fprintf(out, "%.9g", v->number);
}

void bench_print_csv(FILE *out, const bench *b, const char *notes)
{
    (void)notes;
    const char *separator = "";
    for (int i = 0; i < COLUMNS; i++) {
        if (!columns[i].name) continue;
        fprintf(out, "%s%s", separator, columns[i].name);
        separator = ",";
    }
    for (int row = 0; row < b->mode_count; row++) {
        separator = "\n";
        for (int i = 0; i < COLUMNS; i++) {
            if (!columns[i].name) continue;
            const value v = columns[i].of(b, &b->modes[row]);
            fputs(separator, out);
            print_csv_value(out, &v);
            separator = ",";
        }
    }
    fprintf(out, "\n");
}

/* ---- JSON ---- */

static void print_json_value(FILE *out, const value *v)
{
    if (v->kind == TEXT) td_json_print_string(out, v->text);
    if (v->kind == COUNT) fprintf(out, "%llu", v->count);
    if (v->kind == NUMBER) fprintf(out, "%.9g", v->number);
    if (v->kind == NOTHING) fprintf(out, "null");
}

/* Every run's wall time and exit, after the columns. */
static void print_json_mode(FILE *out, const bench *b, const bench_mode *m)
{
    fprintf(out, "{");
    for (int i = 0; i < COLUMNS; i++) {
        if (!columns[i].name) continue;
        const value v = columns[i].of(b, m);
        fprintf(out, "\"%s\": ", columns[i].name);
        print_json_value(out, &v);
        fprintf(out, ", ");
    }
    fprintf(out, "\"each_run\": [");
    for (int i = 0; i < m->count; i++) {
        char status[BENCH_STATUS_BYTES];
        bench_ending_text(&m->runs[i], status);
        fprintf(out, "%s{\"wall_seconds\": %.9g, \"exit\": \"%s\"}", i ? ", " : "",
                m->runs[i].wall_seconds, status);
    }
    fprintf(out, "]}");
}

/* One string a line of the notes. */
static void print_json_lines(FILE *out, const char *lines)
{
    char line[2 * PATH_MAX];
    for (const char *separator = ""; *lines; separator = ", ") {
        const int length = (int)strcspn(lines, "\n");
        snprintf(line, sizeof line, "%.*s", length, lines);
        fputs(separator, out);
        td_json_print_string(out, line);
        lines += length + (lines[length] == '\n');
    }
}

void bench_print_json(FILE *out, const bench *b, const char *notes)
{
    fprintf(out, "{\n  \"tandem\": ");
    td_json_print_string(out, tandem_version());
    fprintf(out, ",\n  \"command\": [");
    for (char **word = b->program.command; *word; word++) {
        if (word > b->program.command) fprintf(out, ", ");
        td_json_print_string(out, *word);
    }
    fprintf(out,
            "],\n  \"repeat\": %d,\n  \"warm_ups\": %d,\n  \"host_device\": %s,\n  "
            "\"interrupted\": %s,\n",
            b->repeat, b->warm_ups, b->is_host_device ? "true" : "false",
            b->is_interrupted ? "true" : "false");
    fprintf(out, "  \"notes\": [");
    print_json_lines(out, notes);
    fprintf(out, "],\n  \"modes\": [");
    for (int i = 0; i < b->mode_count; i++) {
        fprintf(out, "%s\n    ", i ? "," : "");
        print_json_mode(out, b, &b->modes[i]);
    }
    fprintf(out, "\n  ]\n}\n");
}

/* ---- HTML ---- */

/* Bars of the wall times, the products' share of each darker. */
static void print_html_bars(FILE *out, const bench *b)
{
    html_bar bars[BENCH_MOST_MODES];
    char walls[BENCH_MOST_MODES][32];
    for (int i = 0; i < b->mode_count; i++) {
        const bench_mode *m = &b->modes[i];
        snprintf(walls[i], sizeof walls[i], "%.3f s", m->wall_seconds);
        bars[i] = (html_bar){.label = m->mode,
                             .length = m->good > 0 ? m->wall_seconds : -1.0,
                             .darker = m->product_seconds,
                             .value = walls[i]};
    }
    html_print_bars(out, bars, b->mode_count);
    fprintf(out, "<p>Wall time of a run; darker: time in products on the device.</p>\n");
}

void bench_print_html(FILE *out, const bench *b, const char *notes)
{
    html_begin(out, "tandem bench");
    fprintf(out, "<p><code>");
    for (char **word = b->program.command; *word; word++) {
        if (word > b->program.command) fputc(' ', out);
        html_print_text(out, *word);
    }
    fprintf(out, "</code></p>\n<p>Tandem %s%s", tandem_version(), b->device[0] ? ", " : "");
    html_print_text(out, b->device);
    fprintf(out, "</p>\n");
    print_sheet(out, b, sheet_print_html);
    print_html_bars(out, b);
    fprintf(out, "<p>");
    html_print_text(out, notes);
    fprintf(out, "</p>\n");
    html_end(out);
}
