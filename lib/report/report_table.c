/* report_table.c - a report as lines for stderr. The columns of its table are as wide as what is in
 * them, and those that say nothing are left out. */
#define _GNU_SOURCE 1
#include "report_fields.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "../loader/loaded.h"
#include "timed.h"

enum { CELL_BYTES = TD_MODE_BYTES, LINE_COLUMNS = 120 };

typedef struct {
    char text[CELL_BYTES];
} cell;

typedef struct {
    const char *title;
    /* what all cells are if the column says nothing; NULL: it is always there */
    const char *silence;
    bool is_text; /* aligned to the left */
    cell (*of)(const td_record *record);
} column;

static cell integer_cell(int64_t value)
{
    cell c;
    snprintf(c.text, sizeof c.text, "%" PRId64, value);
    return c;
}

static cell text_cell(const char *text)
{
    cell c;
    snprintf(c.text, sizeof c.text, "%s", text);
    return c;
}

/* The title has what all names begin with. */
static cell function_cell(const td_record *record)
{
    static const char start[] = "cublas";
    const char *name = td_entries[record->key.entry].name;
    return text_cell(strncmp(name, start, strlen(start)) == 0 ? name + strlen(start) : name);
}

static cell op_cell(const td_record *record)
{
    const td_letters letters = td_letters_of_call(&record->key);
    return text_cell(td_letters_print(&letters).text);
}

static cell m_cell(const td_record *record) { return integer_cell(record->key.m); }
static cell n_cell(const td_record *record) { return integer_cell(record->key.n); }
static cell k_cell(const td_record *record) { return integer_cell(record->key.k); }
static cell batch_cell(const td_record *record) { return integer_cell(record->key.batch); }
static cell mode_cell(const td_record *record) { return text_cell(record->key.mode); }
static cell count_cell(const td_record *record) { return integer_cell((int64_t)record->count); }

static td_number milliseconds_text(unsigned long long timed, unsigned long long nanoseconds)
{
    const unsigned long long microseconds = (nanoseconds + 500) / 1000;
    td_number n = {"-"};
    if (timed)
        snprintf(n.text, sizeof n.text, "%llu.%03llu", microseconds / 1000, microseconds % 1000);
    return n;
}

/* Of all calls but the untimed: those that were timed stand for the others. */
static cell time_cell(const td_record *record)
{
    const unsigned long long timed = record->timed;
    const double nanoseconds = (double)record->nanoseconds *
                               td_timed_stand_for(record->count, timed, td_record_unread(record));
    return text_cell(milliseconds_text(timed, (unsigned long long)nanoseconds).text);
}

static cell repaired_cell(const td_record *record)
{
    return text_cell(td_count_text(record->counters != NULL, td_record_repaired(record), "-").text);
}

/* Nothing to show where binary64 made no tile. */
static cell tiles_cell(const td_record *record)
{
    const unsigned long long tiles = td_record_tiles(record);
    return text_cell(td_count_text(tiles != 0, tiles, "-").text);
}

static cell planes_cell(const td_record *record)
{
    const unsigned long long planes = td_record_planes(record);
    return text_cell(td_count_text(planes != 0, planes, "-").text);
}

/* Nothing to show where no element was compared. */
static cell sample_cell(const td_record *record, double (*of)(const td_sample_counts *samples))
{
    const td_sample_counts s = td_record_samples(record);
    return text_cell(s.elements ? td_number_short(of(&s)).text : "-");
}

static double worst_of(const td_sample_counts *s) { return s->worst; }
static double mean_error_of(const td_sample_counts *s) { return td_mean_error(s->sum, s); }
static double worst_ulps_of(const td_sample_counts *s) { return s->worst_ulps; }
static cell worst_cell(const td_record *record) { return sample_cell(record, worst_of); }
static cell mean_cell(const td_record *record) { return sample_cell(record, mean_error_of); }
static cell ulps_cell(const td_record *record)
{
    return record->key.kind == TD_TRIANGULAR_SOLVE ? text_cell("-")
                                                   : sample_cell(record, worst_ulps_of);
}

/* In sizes alone: a unit in the last place of C is at most 2^-52 of one. */
static cell bound_cell(const td_record *record)
{
    const td_sample_bound bound = record->key.bound;
    if (!record->samples || !isfinite(bound.relative)) return text_cell("-");
    return text_cell(td_number_short(bound.relative + bound.ulps * 0x1p-52).text);
}

static cell outside_cell(const td_record *record)
{
    return integer_cell((int64_t)td_record_samples(record).outside);
}

static cell unjudged_cell(const td_record *record)
{
    return integer_cell((int64_t)td_record_samples(record).unjudged);
}

static const column columns[] = {
    {"cublas...", NULL, true, function_cell},
    {"op", NULL, true, op_cell},
    {"m", NULL, false, m_cell},
    {"n", NULL, false, n_cell},
    {"k", NULL, false, k_cell},
    {"batch", "1", false, batch_cell},
    {"mode", NULL, true, mode_cell},
    {"calls", NULL, false, count_cell},
    {"ms, all calls", NULL, false, time_cell},
    {"repaired", "-", false, repaired_cell},
    {"tiles", "-", false, tiles_cell},
    {"planes", "-", false, planes_cell},
    {"error", "-", false, worst_cell},
    {"mean", "-", false, mean_cell},
    {"bound", "-", false, bound_cell},
    {"ulps", "-", false, ulps_cell},
    {"outside", "0", false, outside_cell},
    {"unjudged", "0", false, unjudged_cell},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* The column's width, 0 if it says nothing. */
static int width_of(const column *c, const td_report *report)
{
    int width = (int)strlen(c->title);
    bool says_something = !c->silence;
    for (const td_record *record = report->first; record; record = record->next) {
        if (record->count == 0) continue;
        const cell shown = c->of(record);
        const int length = (int)strlen(shown.text);
        if (length > width) width = length;
        says_something = says_something || strcmp(shown.text, c->silence) != 0;
    }
    return says_something ? width : 0;
}

/* One line without its end, of a record, or of titles (NULL); returns its length. */
static int print_cells(FILE *out, const int widths[COLUMNS], const td_record *record)
{
    int length = fprintf(out, "tandem:");
    for (int i = 0; i < COLUMNS; i++) {
        if (!widths[i]) continue;
        const cell shown = record ? columns[i].of(record) : text_cell(columns[i].title);
        length += columns[i].is_text ? fprintf(out, i ? "  %-*s" : " %-*s", widths[i], shown.text)
                                     : fprintf(out, " %*s", widths[i], shown.text);
    }
    return length;
}

/* Why the mode is what it is, and what was predicted. On a line of its own where it would make the
 * row too long. */
static void print_because(FILE *out, int used, const td_report_key *key)
{
    enum { DECIMALS = 3 };
    char because[2 * LINE_COLUMNS], forecast[TD_FORECAST_TEXT];
    const char *why = key->reason ? key->reason : key->choice ? key->choice : "";
    int length = snprintf(because, sizeof because, "%s", why);
    if (key->forecast.mode)
        length += snprintf(because + length, sizeof because - (size_t)length, ": %s",
                           td_forecast_print(&key->forecast, DECIMALS, forecast));
    if (length > 0)
        fprintf(out, "%s  %s", used + 2 + length > LINE_COLUMNS ? "\ntandem:    " : "", because);
    fprintf(out, "\n");
}

/* Where the calls of a line come from, on a line of its own. */
static void print_caller(FILE *out, const td_record *record)
{
    char text[2 * TD_SITE_BYTES + 32];
    if (!record->site) return;
    td_site_print(record->site, text);
    fprintf(out, "tandem:     from %s\n", text);
}

static const char because_title[] = "  because";

static void print_rows(FILE *out, const td_report *report)
{
    int widths[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) widths[i] = width_of(&columns[i], report);
    const int used = print_cells(out, widths, NULL);
    fprintf(out, "%s\n", used + (int)strlen(because_title) > LINE_COLUMNS ? "" : because_title);
    for (const td_record *record = report->first; record; record = record->next)
        if (record->count != 0) {
            print_because(out, print_cells(out, widths, record), &record->key);
            print_caller(out, record);
        }
}

/* Calls of lines of which some time could not be read. */
static void print_untimed(FILE *out, const td_report *report)
{
    unsigned long long untimed = 0;
    for (const td_record *record = report->first; record; record = record->next) {
        const unsigned long long unread = td_record_unread(record);
        if (unread) untimed += td_timed_leave(record->count, record->timed, unread);
    }
    if (untimed)
        fprintf(out,
                "tandem: the times of %llu calls are not known, and are not in the sums: their "
                "context ended first (cudaDeviceReset), or they had not ended\n",
                untimed);
}

/* Why there is nothing to print. */
static void print_silence(FILE *out, const td_report *report)
{
    const td_loaded loaded = td_loaded_cublas();
    char why[TD_LOADED_TEXT];
    fprintf(out, "tandem: report: %s made no call that Tandem intercepts: %s\n",
            program_invocation_short_name,
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
    fprintf(out, "tandem: report of %s, mode %s: %llu calls, %llu emulated, %llu native",
            program_invocation_short_name, report->options->mode.text, totals.intercepted,
            totals.emulated, totals.native);
    if (totals.unlisted) fprintf(out, ", %llu not listed (out of memory)", totals.unlisted);
    fprintf(out, "\n");
    if (report->is_host_device) fprintf(out, "tandem: %s\n", td_host_device_note);
    if (td_report_is_adaptive(report)) fprintf(out, "tandem: %s\n", td_adaptive_note);
    print_untimed(out, report);
    print_rows(out, report);
}
