/* report_table.c - a report as lines for stderr. The columns of its table are as wide as what is in
 * them, and those that say nothing are left out. */
#define _GNU_SOURCE 1
#include "report_call.h"

#include <errno.h>
#include <string.h>

#include "../loader/loaded.h"
#include "../options/log.h"
#include "number_text.h"
#include "timed.h"

enum { CELL_BYTES = TD_MODE_BYTES, LINE_COLUMNS = 120 };

typedef struct {
    char text[CELL_BYTES];
} cell;

typedef struct {
    const char *title, *silence; /* as in columns.def */
    bool is_text;                /* aligned to the left */
    cell (*of)(const td_report_call *call);
} column;

/* ---- columns ---- */

static cell cell_of_TEXT(const char *text)
{
    cell c;
    snprintf(c.text, sizeof c.text, "%s", text);
    return c;
}

static cell cell_of_INTEGER(long long value)
{
    cell c;
    snprintf(c.text, sizeof c.text, "%lld", value);
    return c;
}

static cell cell_of_COUNT(long long count)
{
    return count < 0 ? cell_of_TEXT("-") : cell_of_INTEGER(count);
}

static cell cell_of_SHORT(double number)
{
    return cell_of_TEXT(number >= 0.0 ? td_number_short(number).text : "-");
}

/* Of all calls but the untimed: those that were timed stand for the others. */
static cell cell_of_TIME(const td_report_call *call)
{
    cell c;
    const double timed = (double)td_nanoseconds(call->seconds) * td_timed_stand_for(call);
    const long long microseconds = ((long long)timed + 500) / 1000;
    if (call->seconds < 0.0) return cell_of_TEXT("-");
    snprintf(c.text, sizeof c.text, "%lld.%03lld", microseconds / 1000, microseconds % 1000);
    return c;
}

#define COLUMN(id, title, name, silence, kind, value)                                              \
    static cell id##_cell(const td_report_call *call) { return cell_of_##kind(value); }
#define STDERR_COLUMN COLUMN
#include "columns.def"

enum { IS_TEXT = true, IS_INTEGER = false, IS_COUNT = false, IS_SHORT = false, IS_TIME = false };

static const column columns[] = {
#define COLUMN(id, title, name, silence, kind, value) {title, silence, IS_##kind, id##_cell},
#define STDERR_COLUMN(...)                            COLUMN(__VA_ARGS__)
#include "columns.def"
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* ---- lines ---- */

/* A name from outside, as the log has such. */
static void print_name(FILE *out, const char *name)
{
    for (const char *at = name; *at; at++) fputc(td_log_shown(*at), out);
}

/* True of cells that tell nothing in a column that may be left out. */
static bool is_silent(const column *c, const cell *shown)
{
    return c->silence && (strcmp(shown->text, c->silence) == 0 || strcmp(shown->text, "-") == 0);
}

/* The columns' widths; 0 for those that say nothing. */
static void find_widths(int widths[COLUMNS], const td_report *report)
{
    bool says_something[COLUMNS];
    td_report_texts texts;
    for (int i = 0; i < COLUMNS; i++) {
        widths[i] = (int)strlen(columns[i].title);
        says_something[i] = !columns[i].silence;
    }
    for (const td_record *record = report->first; record; record = record->next) {
        const td_report_call call = td_report_call_of(record, &texts);
        for (int i = 0; i < COLUMNS && call.count; i++) {
            const cell shown = columns[i].of(&call);
            const int length = (int)strlen(shown.text);
            if (length > widths[i]) widths[i] = length;
            says_something[i] |= !is_silent(&columns[i], &shown);
        }
    }
    for (int i = 0; i < COLUMNS; i++)
        if (!says_something[i]) widths[i] = 0;
}

/* One line without its end, of a line of calls, or of titles (NULL); returns its length. */
static int print_cells(FILE *out, const int widths[COLUMNS], const td_report_call *call)
{
    int length = fprintf(out, "tandem:");
    for (int i = 0; i < COLUMNS; i++) {
        if (!widths[i]) continue;
        const cell shown = call ? columns[i].of(call) : cell_of_TEXT(columns[i].title);
        length += columns[i].is_text ? fprintf(out, i ? "  %-*s" : " %-*s", widths[i], shown.text)
                                     : fprintf(out, " %*s", widths[i], shown.text);
    }
    return length;
}

/* Why the mode is what it is, and what was predicted. On a line of its own where it would make the
 * row too long. */
static void print_because(FILE *out, int used, const td_report_call *call)
{
    enum { DECIMALS = 3 };
    char because[2 * LINE_COLUMNS], forecast[TD_FORECAST_TEXT];
    const td_report_forecast *p = &call->predicted;
    const td_forecast f = {.mode = p->mode,
                           .native = p->native_seconds,
                           .emulated = p->seconds,
                           .found_out = p->found_out_seconds};
    int length = snprintf(because, sizeof because, "%s", td_report_because(call));
    if (p->is_known)
        length += snprintf(because + length, sizeof because - (size_t)length, ": %s",
                           td_forecast_print(&f, DECIMALS, forecast));
    if (length > 0)
        fprintf(out, "%s  %s", used + 2 + length > LINE_COLUMNS ? "\ntandem:    " : "", because);
    fprintf(out, "\n");
}

static const char because_title[] = "  because";

static void print_rows(FILE *out, const td_report *report)
{
    int widths[COLUMNS];
    td_report_texts texts;
    find_widths(widths, report);
    const int used = print_cells(out, widths, NULL);
    fprintf(out, "%s\n", used + (int)strlen(because_title) > LINE_COLUMNS ? "" : because_title);
    for (const td_record *record = report->first; record; record = record->next) {
        const td_report_call call = td_report_call_of(record, &texts);
        if (call.count == 0) continue; /* emptied by a fork */
        print_because(out, print_cells(out, widths, &call), &call);
        if (!call.site[0]) continue;
        fprintf(out, "tandem:     from ");
        print_name(out, call.site);
        fprintf(out, "\n");
    }
}

/* Calls of lines of which some time could not be read. */
static void print_untimed(FILE *out, const td_report *report)
{
    td_report_texts texts;
    long long untimed = 0;
    for (const td_record *record = report->first; record; record = record->next) {
        const td_report_call call = td_report_call_of(record, &texts);
        if (call.unread) untimed += td_timed_leave(&call);
    }
    if (untimed)
        fprintf(out,
                "tandem: the times of %lld calls are not known, and are not in the sums: their "
                "context ended first (cudaDeviceReset), or they had not ended\n",
                untimed);
}

/* Why there is nothing to print. Calls of families that TANDEM_ENTRY leaves out are not seen. */
static void print_silence(FILE *out, const td_report *report)
{
    const td_loaded loaded = td_loaded_cublas();
    char why[TD_LOADED_TEXT], families[TD_ALLOWED_BYTES];
    td_option_print(report->options, TD_OPTION_ENTRY, families, sizeof families);
    fprintf(out, "tandem: report: ");
    print_name(out, program_invocation_short_name);
    fprintf(out, " made no call that Tandem intercepts");
    if (strncmp(families, "all", strlen("all")) != 0) {
        fprintf(out, ": TANDEM_ENTRY is %s\n", families);
        return;
    }
    fprintf(out, ": %s\n",
            td_loaded_explain(&loaded, report->is_host_device,
                              TD_SEES_DLSYM && report->options->dlsym, why));
}

void td_report_print_table(FILE *out, const td_report *report)
{
    const td_report_totals totals = td_report_add_up(report);
    if (totals.intercepted == 0) {
        print_silence(out, report);
        return;
    }
    fprintf(out, "tandem: report of ");
    print_name(out, program_invocation_short_name);
    fprintf(out, ", mode %s: %lld calls, %lld emulated, %lld native", report->options->mode.text,
            totals.intercepted, totals.emulated, totals.native);
    if (totals.unlisted) fprintf(out, ", %lld not listed (out of memory)", totals.unlisted);
    fprintf(out, "\n");
    if (report->is_host_device) fprintf(out, "tandem: %s\n", td_host_device_note);
    if (td_report_is_adaptive(report)) fprintf(out, "tandem: %s\n", td_adaptive_note);
    print_untimed(out, report);
    print_rows(out, report);
}
