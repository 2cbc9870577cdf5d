#include "tools/bench_output.h"

#include <stdlib.h>
#include <string.h>

#include "include/tandem.h"
#include "lib/report/json_text.h"
#include "tools/columns.h"
#include "tools/html.h"

/* ---- columns ---- */

/* A mode of a bench. */
typedef struct {
    const bench *bench;
    const bench_mode *mode;
} bench_row;

static const bench_mode *mode_of(const void *row) { return ((const bench_row *)row)->mode; }
static const bench_mode *native_of(const void *row)
{
    return ((const bench_row *)row)->bench->modes;
}

static value count(bool is_known, unsigned long long number)
{
    return value_count(is_known ? (long long)number : -1);
}

static value number(bool is_known, double of) { return value_number(is_known ? of : -1.0); }

static value ratio(double native, double seconds)
{
    return number(native > 0.0 && seconds > 0.0, native / seconds);
}

static value of_mode(const void *row) { return value_text(mode_of(row)->mode); }

/* What a column has of a row, of the mode *m. */
#define COLUMN(name, expression)                                                                   \
    static value of_##name(const void *row)                                                        \
    {                                                                                              \
        const bench_mode *m = mode_of(row);                                                        \
        return expression;                                                                         \
    }

COLUMN(runs, count(true, (unsigned long long)m->count))
COLUMN(wall, number(m->good > 0, m->wall_seconds))
COLUMN(least_wall, number(m->good > 1, m->least_wall_seconds))
COLUMN(most_wall, number(m->good > 1, m->most_wall_seconds))
COLUMN(speed_up,
       m->good > 0 ? ratio(native_of(row)->wall_seconds, m->wall_seconds) : value_text(""))
COLUMN(products, number(m->good > 0 && m->product_seconds >= 0.0, m->product_seconds))
COLUMN(products_speed_up,
       m->good > 0 ? ratio(native_of(row)->product_seconds, m->product_seconds) : value_text(""))
COLUMN(calls, count(m->good > 0, m->calls))
COLUMN(emulated, count(m->good > 0, m->emulated))
COLUMN(native, count(m->good > 0, m->native))
COLUMN(reason, value_text(m->reason ? m->reason->text : ""))
COLUMN(untimed, count(m->good > 0, m->untimed))
COLUMN(repaired, count(m->good > 0 && m->is_counted, m->repaired))
COLUMN(error, number(m->good > 0 && m->is_verified, m->worst_error))
COLUMN(outside, count(m->good > 0 && m->is_verified, m->outside))

static value of_difference(const void *row)
{
    const bench_mode *m = mode_of(row);
    const comparison *c = &m->output;
    return number(m->is_compared && !c->differs && c->numbers > 0, c->difference);
}

static value of_output(const void *row)
{
    const bench_mode *m = mode_of(row);
    const comparison *c = &m->output;
    return value_text(!m->is_compared   ? ""
                      : c->differs      ? "differs"
                      : c->varies       ? "varies"
                      : c->numbers == 0 ? "no numbers"
                                        : "compared");
}

COLUMN(difference_or_output,
       m->is_compared && m->output.differs ? value_text("output differs") : of_difference(row))

static value of_status(const void *row)
{
    const bench_mode *m = mode_of(row);
    char status[BENCH_STATUS_BYTES] = "";
    if (m->ending) bench_ending_text(m->ending, status);
    return value_text(status);
}

static value of_device(const void *row)
{
    return value_text(((const bench_row *)row)->bench->device);
}

static const column columns[] = {
    {.title = "mode", .name = "mode", .is_left = true, .of = of_mode},
    {.title = "runs", .name = "runs", .of = of_runs},
    {.title = "wall s", .name = "wall_seconds", .decimals = 3, .of = of_wall},
    {.title = "min",
     .name = "wall_seconds_min",
     .silence = "-",
     .decimals = 3,
     .of = of_least_wall},
    {.title = "max", .name = "wall_seconds_max", .silence = "-", .decimals = 3, .of = of_most_wall},
    {.title = "speed-up", .name = "speed_up", .decimals = 2, .of = of_speed_up},
    {.title = "products s", .name = "products_seconds", .decimals = 4, .of = of_products},
    {.title = "speed-up", .name = "products_speed_up", .decimals = 2, .of = of_products_speed_up},
    {.title = "calls", .name = "calls", .of = of_calls},
    {.title = "emulated", .name = "emulated", .of = of_emulated},
    {.name = "native", .of = of_native},
    {.name = "native_reason", .of = of_reason},
    {.name = "untimed", .of = of_untimed},
    {.title = "repaired", .name = "repaired", .of = of_repaired},
    {.title = "error",
     .name = "verified_error",
     .silence = "-",
     .decimals = SCIENTIFIC,
     .of = of_error},
    {.name = "outside", .of = of_outside},
    {.title = "difference", .decimals = SCIENTIFIC, .of = of_difference_or_output},
    {.name = "difference", .of = of_difference},
    {.name = "output", .of = of_output},
    {.title = "exit", .name = "exit", .of = of_status},
    {.name = "device", .of = of_device},
    {.of = NULL},
};

/* What is shown of all modes; row and pointers are for its rows. */
static table table_of(const bench *b, bench_row rows[BENCH_MOST_MODES],
                      const void *pointers[BENCH_MOST_MODES])
{
    for (int i = 0; i < b->mode_count; i++) {
        rows[i] = (bench_row){b, &b->modes[i]};
        pointers[i] = &rows[i];
    }
    return (table){columns, pointers, b->mode_count};
}

/* ---- table ---- */

static void print_sheet(FILE *out, const bench *b, void (*print)(FILE *out, const sheet *s))
{
    bench_row rows[BENCH_MOST_MODES];
    const void *pointers[BENCH_MOST_MODES];
    const table t = table_of(b, rows, pointers);
    sheet s = {0};
    if (table_fill_sheet(&t, &s)) print(out, &s);
    sheet_free(&s);
}

void bench_print_table(FILE *out, const void *of)
{
    const bench_results *results = of;
    const bench *b = results->bench;
    if (b->device[0]) fprintf(out, "device: %s\n", b->device);
    print_sheet(out, b, sheet_print);
    if (results->notes[0]) fprintf(out, "\n%s", results->notes);
}

/* ---- CSV ---- */

void bench_print_csv(FILE *out, const void *of)
{
    const bench_results *results = of;
    const bench *b = results->bench;
    bench_row rows[BENCH_MOST_MODES];
    const void *pointers[BENCH_MOST_MODES];
    const table t = table_of(b, rows, pointers);
    table_print_csv(out, &t);
}

/* ---- JSON ---- */

/* Every run's wall time and exit, after the columns. */
static void print_json_mode(FILE *out, const bench *b, const bench_mode *m)
{
    const bench_row row = {b, m};
    fprintf(out, "{");
    columns_print_members(out, columns, &row);
    fprintf(out, ", \"each_run\": [");
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

void bench_print_json(FILE *out, const void *of)
{
    const bench_results *results = of;
    const bench *b = results->bench;
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
    print_json_lines(out, results->notes);
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

void bench_print_html(FILE *out, const void *of)
{
    const bench_results *results = of;
    const bench *b = results->bench;
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
    html_print_text(out, results->notes);
    fprintf(out, "</p>\n");
    html_end(out);
}
