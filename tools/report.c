#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/tandem.h"
#include "lib/options/nearest.h"
#include "lib/report/number_text.h"
#include "lib/report/report_internal.h"
#include "tools/html.h"
#include "tools/report_merge.h"
#include "tools/sheet.h"
#include "tools/tandem.h"

enum { SORT, HTML };

/* ---- columns ---- */

typedef struct {
    char text[REPORT_SITE_BYTES];
} cell;

__attribute__((format(printf, 1, 2))) static cell made(const char *format, ...)
{
    cell c;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c.text, sizeof c.text, format, arguments);
    va_end(arguments);
    return c;
}

/* What is negative is not known. */
static cell whole(long long x) { return x < 0 ? made("-") : made("%lld", x); }
static cell fixed(double x, int decimals)
{
    return x < 0.0 ? made("-") : made("%.*f", decimals, x);
}
static cell small(double x) { return x < 0.0 ? made("-") : made("%s", td_number_short(x).text); }

/* The title has what all names begin with. */
static cell function_of(const report_call *c)
{
    static const char start[] = "cublas";
    const bool begins = strncmp(c->function, start, strlen(start)) == 0;
    return made("%s", begins ? c->function + strlen(start) : c->function);
}

static cell op_of(const report_call *c) { return made("%c%c", c->op_a, c->op_b); }
static cell m_of(const report_call *c) { return made("%lld", c->m); }
static cell n_of(const report_call *c) { return made("%lld", c->n); }
static cell k_of(const report_call *c) { return made("%lld", c->k); }
static cell batch_of(const report_call *c) { return made("%lld", c->batch); }
static cell mode_of(const report_call *c) { return made("%s", c->mode); }
static cell calls_of(const report_call *c) { return made("%llu", c->count); }
static cell seconds_of(const report_call *c) { return fixed(merged_seconds(c), 4); }
static cell gigaflops_of(const report_call *c)
{
    const double rate = merged_rate(c);
    return fixed(rate < 0.0 ? rate : rate * 1e-9, 1);
}
static cell each_of(const report_call *c)
{
    const double all = merged_seconds(c);
    return fixed(all < 0.0 ? all : all * 1e3 / (double)c->count, 3);
}
static cell native_of(const report_call *c)
{
    return fixed(c->native_seconds < 0.0 ? -1.0 : c->native_seconds * 1e3, 3);
}
static cell gain_of(const report_call *c) { return fixed(merged_gain(c), 2); }
static cell repaired_of(const report_call *c) { return whole(c->repaired); }
static cell tiles_of(const report_call *c) { return whole(c->tiles > 0 ? c->tiles : -1); }
static cell planes_of(const report_call *c) { return whole(c->planes); }
static cell worst_of(const report_call *c)
{
    return small(c->is_verified ? c->verified.worst : -1.0);
}
static cell mean_of(const report_call *c)
{
    return small(c->is_verified ? c->verified.mean : -1.0);
}
static cell ulps_of(const report_call *c)
{
    return small(c->is_verified ? c->verified.worst_ulps : -1.0);
}

/* In |A||B| alone: a unit in the last place of C is at most 2^-52 of it. */
static cell bound_of(const report_call *c)
{
    const report_verified *v = &c->verified;
    return small(c->is_verified && v->bound >= 0.0 ? v->bound + v->bound_ulps * 0x1p-52 : -1.0);
}

static cell outside_of(const report_call *c)
{
    return whole(c->is_verified ? (long long)c->verified.outside : 0);
}

static cell site_of(const report_call *c) { return made("%s", c->site); }

static cell because_of(const report_call *c)
{
    return made("%s", c->native_reason[0] ? c->native_reason : c->choice);
}

/* Those with a silence are left out if all their cells are that. */
static const struct {
    const char *title, *silence;
    bool is_left;
    cell (*of)(const report_call *c);
} columns[] = {
    {"cublas...", NULL, true, function_of},
    {"op", NULL, true, op_of},
    {"m", NULL, false, m_of},
    {"n", NULL, false, n_of},
    {"k", NULL, false, k_of},
    {"batch", "1", false, batch_of},
    {"mode", NULL, true, mode_of},
    {"calls", NULL, false, calls_of},
    {"s, all", "-", false, seconds_of},
    {"ms, one", "-", false, each_of},
    {"GFLOP/s", "-", false, gigaflops_of},
    {"native ms", "-", false, native_of},
    {"gain", "-", false, gain_of},
    {"repaired", "-", false, repaired_of},
    {"tiles", "-", false, tiles_of},
    {"planes", "-", false, planes_of},
    {"error", "-", false, worst_of},
    {"mean", "-", false, mean_of},
    {"bound", "-", false, bound_of},
    {"ulps", "-", false, ulps_of},
    {"outside", "0", false, outside_of},
    {"from", "", true, site_of},
    {"because", "", true, because_of},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static bool fill_row(sheet *s, const report_call *c)
{
    bool is_filled = sheet_add_row(s);
    for (int i = 0; is_filled && i < COLUMNS; i++)
        is_filled = sheet_set(s, i, columns[i].of(c).text);
    return is_filled;
}

/* False without memory. */
static bool fill_sheet(sheet *s, const merged *m)
{
    bool is_filled = true;
    for (int i = 0; is_filled && i < COLUMNS; i++)
        is_filled = sheet_add_column(s, columns[i].title, columns[i].is_left);
    for (int i = 0; is_filled && i < m->count; i++) is_filled = fill_row(s, &m->calls[i]);
    for (int i = 0; is_filled && i < COLUMNS; i++)
        if (columns[i].silence) sheet_hide_if(s, i, columns[i].silence);
    return is_filled;
}

/* ---- pages ---- */

static const char host_device_note[] =
    "The products ran on the host device: the times say nothing about a GPU.";

static void print_summary(FILE *out, const merged *m)
{
    fprintf(out, "%d report%s of %s%s%s: %llu calls, %llu emulated, %llu native", m->reports,
            m->reports == 1 ? "" : "s", m->program, m->device[0] ? " on " : "", m->device,
            m->intercepted, m->emulated, m->native);
    if (m->unlisted) fprintf(out, ", %llu not listed", m->unlisted);
    fprintf(out, "\n");
}

static void print_text(FILE *out, const merged *m, const sheet *s)
{
    print_summary(out, m);
    if (m->is_host_device) fprintf(out, "%s\n", host_device_note);
    if (m->count > 0) sheet_print(out, s);
}

/* The lines that take the most time. */
static void print_bars(FILE *out, const merged *m)
{
    enum { MOST_BARS = 24, LEFT = 420 };
    static cell labels[MOST_BARS], values[MOST_BARS];
    html_bar bars[MOST_BARS];
    int bar_count = 0;
    for (int i = 0; i < m->count && bar_count < MOST_BARS; i++) {
        const report_call *c = &m->calls[i];
        const double seconds = merged_seconds(c);
        if (seconds < 0.0) continue;
        labels[bar_count] =
            made("%s %c%c %lld x %lld x %lld, %s%s%s", function_of(c).text, c->op_a, c->op_b, c->m,
                 c->n, c->k, c->mode, c->site[0] ? ", " : "", c->site);
        values[bar_count] = made("%.4f s, %llu calls", seconds, c->count);
        bars[bar_count] = (html_bar){labels[bar_count].text, seconds, 0.0, values[bar_count].text};
        bar_count++;
    }
    html_print_bars(out, bars, bar_count, LEFT);
    if (bar_count > 0) fprintf(out, "<p>Time of all calls of a line on the device.</p>\n");
}

static void print_page(FILE *out, const merged *m, const sheet *s)
{
    html_begin(out, "tandem report");
    fprintf(out, "<p>");
    char *summary = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&summary, &length);
    if (text) print_summary(text, m);
    if (text && fclose(text) == 0) html_print_text(out, summary);
    free(summary);
    if (m->is_host_device) html_print_text(out, host_device_note);
    fprintf(out, "</p>\n");
    print_bars(out, m);
    sheet_print_html(out, s);
    fprintf(out, "<p>Tandem %s. Errors are relative to |A||B|.</p>\n", tandem_version());
    html_end(out);
}

/* ---- the command ---- */

static bool parse_order(const char *text, merged_order *order)
{
    char question[TD_QUESTION_BYTES];
    td_nearest search = {.name = text ? text : ""};
    *order = ORDER_TIME;
    if (!text) return true;
    for (int i = 0; i < ORDERS; i++) {
        if (strcmp(text, merged_orders[i]) == 0) {
            *order = (merged_order)i;
            return true;
        }
        td_nearest_offer(&search, merged_orders[i]);
    }
    complain("--sort is '%s'; allowed: time, calls, gain, error%s", text,
             td_nearest_ask(&search, question));
    return false;
}

static bool open_page(const char *name, td_report_file *file)
{
    td_file_name full;
    if (!name || (td_file_name_set(&full, name) && td_report_file_open(file, &full))) return true;
    complain("--html is '%s', which cannot be written (%s)", name, td_file_reason(errno));
    return false;
}

static bool write_page(const char *name, td_report_file *file, const merged *m, const sheet *s)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out) print_page(out, m, s);
    const bool is_written =
        out && fclose(out) == 0 && td_report_file_write(file, false, text, length);
    if (!is_written) complain("cannot write '%s' (%s)", name, td_file_reason(errno));
    free(text);
    return is_written;
}

/* True if all files were read; the others are said. */
static bool add_files(merged *m, char **names)
{
    bool are_read = true;
    for (; *names; names++) {
        if (merged_add(m, *names)) continue;
        are_read = false;
        complain("cannot read '%s' (%s)", *names,
                 errno == EBADMSG ? "it is no report of Tandem's: docs/report.md"
                                  : td_file_reason(errno));
    }
    return are_read;
}

static int run(const command_line *line)
{
    merged m = {0};
    sheet s = {0};
    merged_order order;
    td_report_file page;
    if (line->count == 0) {
        complain("no report given; see tandem report --help");
        return EXIT_USAGE;
    }
    if (!parse_order(line->values[SORT], &order) || !open_page(line->values[HTML], &page))
        return EXIT_USAGE;
    bool is_good = add_files(&m, line->arguments);
    if (m.reports > 0) {
        merged_sort(&m, order);
        is_good = fill_sheet(&s, &m) && is_good;
        print_text(stdout, &m, &s);
        if (line->values[HTML]) is_good = write_page(line->values[HTML], &page, &m, &s) && is_good;
    }
    sheet_free(&s);
    merged_free(&m);
    return fflush(stdout) == 0 && is_good ? 0 : 1;
}

const command command_report = {
    .name = "report",
    .arguments = "FILE...",
    .most = INT_MAX,
    .summary = "merge reports, and show what took how long, and how exact it was",
    .details =
        "Reports of several processes, such as the ranks of a program (TANDEM_REPORT=r-%r.json), "
        "become one. A file that is no report is named, and the others are shown; the exit status "
        "is 1 then.",
    .options = {[SORT] = {"sort", "ORDER",
                          "the largest first: time (if it is not given), calls, gain, error"},
                [HTML] = {"html", "FILE", "leave the table and a drawing there as a page, too"}},
    .run = run,
};
