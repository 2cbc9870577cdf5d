#define _GNU_SOURCE 1
#include "report_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "json_text.h"
#include "number_text.h"
#include "../loader/loaded.h"

/* Times are kept as whole nanoseconds and printed from integers: a printed double would take the
 * decimal sign of the application's locale. */

static const char host_device_note[] =
    "The products ran on the host device, in this machine's processor and memory: the times say "
    "nothing about a GPU.";

/* Native calls with invalid arguments are listed too. */
static char op_letter(td_op op) { return (unsigned)op <= TD_OP_C ? "NTC"[op] : '?'; }

/* Which of side, triangle, operation and diagonal a routine of level 3 has. */
static bool has_triangle(const td_report_key *key)
{
    return key->kind >= TD_SYMMETRIC_PRODUCT && key->kind <= TD_TRIANGULAR_PRODUCT;
}

static bool has_diagonal(const td_report_key *key)
{
    return key->kind == TD_TRIANGULAR_SOLVE || key->kind == TD_TRIANGULAR_PRODUCT;
}

static bool has_side(const td_report_key *key)
{
    return key->kind == TD_SYMMETRIC_PRODUCT || has_diagonal(key);
}

static char side_letter(const td_report_key *key) { return key->side == TD_LEFT ? 'L' : 'R'; }

static char diagonal_letter(const td_report_key *key)
{
    return key->diagonal == TD_UNIT_DIAGONAL ? 'U' : 'N';
}

static char triangle_letter(const td_report_key *key)
{
    return key->triangle == TD_LOWER ? 'L' : 'U';
}

static void print_string_or_null(FILE *out, const char *text)
{
    if (text)
        td_json_print_string(out, text);
    else
        fprintf(out, "null");
}

static void print_member(FILE *out, const char *name, const char *text)
{
    fprintf(out, "  \"%s\": ", name);
    td_json_print_string(out, text);
    fprintf(out, ",\n");
}

static void find_program(char path[TD_PATH_BYTES])
{
    const ssize_t length = readlink("/proc/self/exe", path, TD_PATH_BYTES - 1);
    path[length < 0 ? 0 : length] = '\0';
}

static void print_devices(FILE *out, const td_report *report)
{
    const char *separator = "";
    fprintf(out, "  \"devices\": [");
    for (int i = 0; i < TD_REPORT_DEVICES; i++) {
        if (!report->devices[i][0]) continue;
        fprintf(out, "%s{\"number\": %d, \"name\": ", separator, i);
        td_json_print_string(out, report->devices[i]);
        fprintf(out, ", \"figures\": ");
        print_string_or_null(out, report->figures[i][0] ? report->figures[i] : NULL);
        fprintf(out, "}");
        separator = ", ";
    }
    fprintf(out, "],\n");
}

static void print_options(FILE *out, const td_options *o)
{
    fprintf(out, "  \"options\": {");
    for (int i = 0; i < TD_OPTION_COUNT; i++) {
        char value[TD_OPTION_TEXT_BYTES];
        td_option_print(o, (td_option_id)i, value, sizeof value);
        fprintf(out, "%s\n    \"%s\": {\"value\": ", i ? "," : "", td_option_table[i].name);
        td_json_print_string(out, value);
        fprintf(out, ", \"origin\": \"%s\"}", td_origin_names[o->origins[i]]);
    }
    fprintf(out, "\n  },\n");
}

/* What was not counted has no number. */
typedef struct {
    char text[32];
} number;

static number count_text(bool is_counted, unsigned long long count, const char *otherwise)
{
    number n;
    if (is_counted)
        snprintf(n.text, sizeof n.text, "%llu", count);
    else
        snprintf(n.text, sizeof n.text, "%s", otherwise);
    return n;
}

static number seconds_text(unsigned long long timed, unsigned long long nanoseconds)
{
    number n = {"null"};
    if (timed)
        snprintf(n.text, sizeof n.text, "%llu.%09llu", nanoseconds / 1000000000,
                 nanoseconds % 1000000000);
    return n;
}

static number milliseconds_text(unsigned long long timed, unsigned long long nanoseconds)
{
    const unsigned long long microseconds = (nanoseconds + 500) / 1000;
    number n = {"-"};
    if (timed)
        snprintf(n.text, sizeof n.text, "%llu.%03llu", microseconds / 1000, microseconds % 1000);
    return n;
}

static void print_totals(FILE *out, const td_report_totals *totals)
{
    fprintf(out,
            "  \"totals\": {\"intercepted\": %llu, \"emulated\": %llu, \"native\": %llu, "
            "\"unlisted\": %llu, \"timed\": %llu, \"seconds\": %s, \"repaired\": %s, "
            "\"verified\": %s, \"outside\": %s},\n",
            totals->intercepted, totals->emulated, totals->native, totals->unlisted, totals->timed,
            seconds_text(totals->timed, totals->nanoseconds).text,
            count_text(totals->is_counted, totals->repaired, "null").text,
            count_text(totals->is_verified, totals->verified, "null").text,
            count_text(totals->is_verified, totals->outside, "null").text);
}

/* JSON has no infinity. */
static td_number number_or_null(double x)
{
    return isfinite(x) ? td_number_short(x) : (td_number){"null"};
}

/* The mean of what was added up over elements that have an error. */
static double mean_of(double sum, const td_sample_counts *samples)
{
    const unsigned long long count = samples->elements - samples->special;
    return count ? sum / (double)count : 0.0;
}

/* Units in the last place of C; a residual has none. */
static td_number ulps_or_null(const td_record *record, double ulps)
{
    return record->key.kind == TD_TRIANGULAR_SOLVE ? (td_number){"null"} : number_or_null(ulps);
}

static void print_samples(FILE *out, const td_record *record)
{
    const td_sample_counts s = td_record_samples(record);
    const td_sample_bound bound = record->key.bound;
    if (s.elements == 0) {
        fprintf(out, "null");
        return;
    }
    fprintf(
        out,
        "{\"elements\": %llu, \"special\": %llu, \"outside\": %llu, \"worst\": %s, \"mean\": %s, "
        "\"worst_ulps\": %s, \"mean_ulps\": %s, ",
        s.elements, s.special, s.outside, number_or_null(s.worst).text,
        number_or_null(mean_of(s.sum, &s)).text, ulps_or_null(record, s.worst_ulps).text,
        ulps_or_null(record, mean_of(s.sum_ulps, &s)).text);
    if (isfinite(bound.relative))
        fprintf(out, "\"bound\": %s, \"bound_ulps\": %s}", td_number_short(bound.relative).text,
                td_number_short(bound.ulps).text);
    else
        fprintf(out, "\"bound\": null, \"bound_ulps\": null}");
}

/* Which half of a matrix, and which side of it: of the routines that ask. */
static void print_shape(FILE *out, const td_report_key *key)
{
    if (has_side(key)) fprintf(out, "\"side\": \"%c\", ", side_letter(key));
    if (has_triangle(key)) fprintf(out, "\"uplo\": \"%c\", ", triangle_letter(key));
    if (has_diagonal(key)) fprintf(out, "\"diag\": \"%c\", ", diagonal_letter(key));
}

static unsigned long long nanoseconds_of(double seconds)
{
    return seconds > 0.0 ? (unsigned long long)(seconds * 1e9 + 0.5) : 0;
}

static void print_forecast(FILE *out, const td_forecast *f)
{
    if (!f->mode) {
        fprintf(out, "null");
        return;
    }
    fprintf(out, "{\"mode\": ");
    td_json_print_string(out, f->mode);
    fprintf(out, ", \"seconds\": %s, \"native_seconds\": %s}",
            seconds_text(f->emulated >= 0.0, nanoseconds_of(f->emulated)).text,
            seconds_text(f->native >= 0.0, nanoseconds_of(f->native)).text);
}

/* Predicted, of one call in cuBLAS. */
static number native_seconds_text(const td_record *record)
{
    const double seconds = record->native_seconds;
    const bool is_known = record->has_native && seconds >= 0.0;
    return seconds_text(is_known, is_known ? nanoseconds_of(seconds) : 0);
}

static void print_site(FILE *out, const td_site *site)
{
    char text[2 * TD_SITE_BYTES + 32];
    if (site) td_site_print(site, text);
    print_string_or_null(out, site ? text : NULL);
}

static void print_record(FILE *out, const td_record *record)
{
    const td_report_key *key = &record->key;
    fprintf(out, "{\"function\": \"%s\", \"type\": \"%s\", \"op_a\": \"%c\", \"op_b\": \"%c\", ",
            td_entries[key->entry].name, td_types[key->type].name, op_letter(key->op_a),
            op_letter(key->op_b));
    print_shape(out, key);
    fprintf(out,
            "\"m\": %" PRId64 ", \"n\": %" PRId64 ", \"k\": %" PRId64 ", \"batch\": %" PRId64 ", ",
            key->m, key->n, key->k, key->batch);
    fprintf(out, "\"device\": %d, \"mode\": ", key->device);
    td_json_print_string(out, key->mode);
    const unsigned long long timed = record->timed, planes = td_record_planes(record);
    fprintf(out,
            ", \"count\": %llu, \"timed\": %llu, \"seconds\": %s, \"repaired\": %s, "
            "\"tiles\": %s, \"planes\": %s, \"native_reason\": ",
            (unsigned long long)record->count, timed, seconds_text(timed, record->nanoseconds).text,
            count_text(record->counters != NULL, td_record_repaired(record), "null").text,
            count_text(record->counters != NULL, td_record_tiles(record), "null").text,
            count_text(planes != 0, planes, "null").text);
    print_string_or_null(out, key->reason);
    fprintf(out, ", \"choice\": ");
    print_string_or_null(out, key->choice);
    fprintf(out, ", \"predicted\": ");
    print_forecast(out, &key->forecast);
    fprintf(out, ", \"native_seconds\": %s, \"site\": ", native_seconds_text(record).text);
    print_site(out, record->site);
    fprintf(out, ", \"verified\": ");
    print_samples(out, record);
    fprintf(out, "}");
}

void td_report_print_json(FILE *out, const td_report *report)
{
    const td_report_totals totals = td_report_add_up(report);
    char program[TD_PATH_BYTES];
    find_program(program);

    fprintf(out, "{\n  \"schema\": 1,\n");
    print_member(out, "tandem", report->version);
    print_member(out, "program", program);
    fprintf(out, "  \"pid\": %ld,\n", (long)getpid());
    print_member(out, "run", report->run);
    fprintf(out, "  \"is_complete\": %s,\n", report->is_complete ? "true" : "false");
    print_member(out, "mode", report->options->mode.text);
    print_devices(out, report);
    fprintf(out, "  \"host_device\": %s,\n", report->is_host_device ? "true" : "false");
    if (report->is_host_device) print_member(out, "note", host_device_note);
    print_options(out, report->options);
    print_totals(out, &totals);

    fprintf(out, "  \"calls\": [");
    const char *separator = "\n    ";
    for (const td_record *record = report->first; record; record = record->next) {
        if (record->count == 0) continue; /* emptied by a fork */
        fputs(separator, out);
        print_record(out, record);
        separator = ",\n    ";
    }
    fprintf(out, "\n  ]\n}\n");
}

void td_report_print_call(const td_report_key *key, char text[TD_CALL_TEXT])
{
    char batch[32] = "";
    if (key->batch != 1) snprintf(batch, sizeof batch, " batch=%" PRId64, key->batch);
    snprintf(text, TD_CALL_TEXT, "%s %c%c m=%" PRId64 " n=%" PRId64 " k=%" PRId64 "%s, mode %s",
             td_entries[key->entry].name, op_letter(key->op_a), op_letter(key->op_b), key->m,
             key->n, key->k, batch, key->mode);
}

/* The table. Its columns are as wide as what is in them, and those that say nothing are left
 * out. */

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

/* The operations of both operands; of a routine with a triangle what it has of side, triangle,
 * operation and diagonal, in the order of BLAS. */
static cell op_cell(const td_record *record)
{
    const td_report_key *key = &record->key;
    char letters[5];
    int used = 0;
    if (has_side(key)) letters[used++] = side_letter(key);
    if (has_triangle(key)) letters[used++] = triangle_letter(key);
    if (key->kind != TD_SYMMETRIC_PRODUCT) letters[used++] = op_letter(key->op_a);
    if (has_diagonal(key)) letters[used++] = diagonal_letter(key);
    if (!has_triangle(key)) letters[used++] = op_letter(key->op_b);
    letters[used] = '\0';
    return text_cell(letters);
}

static cell m_cell(const td_record *record) { return integer_cell(record->key.m); }
static cell n_cell(const td_record *record) { return integer_cell(record->key.n); }
static cell k_cell(const td_record *record) { return integer_cell(record->key.k); }
static cell batch_cell(const td_record *record) { return integer_cell(record->key.batch); }
static cell mode_cell(const td_record *record) { return text_cell(record->key.mode); }
static cell count_cell(const td_record *record) { return integer_cell((int64_t)record->count); }

/* Of all calls: those that were timed stand for the others. */
static cell time_cell(const td_record *record)
{
    const unsigned long long timed = record->timed;
    const double share = timed ? (double)record->count / (double)timed : 0.0;
    const double nanoseconds = (double)record->nanoseconds * share;
    return text_cell(milliseconds_text(timed, (unsigned long long)nanoseconds).text);
}

static cell repaired_cell(const td_record *record)
{
    return text_cell(count_text(record->counters != NULL, td_record_repaired(record), "-").text);
}

/* Nothing to show where binary64 made no tile. */
static cell tiles_cell(const td_record *record)
{
    const unsigned long long tiles = td_record_tiles(record);
    return text_cell(count_text(tiles != 0, tiles, "-").text);
}

static cell planes_cell(const td_record *record)
{
    const unsigned long long planes = td_record_planes(record);
    return text_cell(count_text(planes != 0, planes, "-").text);
}

/* Nothing to show where no element was compared. */
static cell sample_cell(const td_record *record, double (*of)(const td_sample_counts *samples))
{
    const td_sample_counts s = td_record_samples(record);
    return text_cell(s.elements ? td_number_short(of(&s)).text : "-");
}

static double worst_of(const td_sample_counts *s) { return s->worst; }
static double mean_error_of(const td_sample_counts *s) { return mean_of(s->sum, s); }
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
    char because[2 * LINE_COLUMNS];
    const char *why = key->reason ? key->reason : key->choice ? key->choice : "";
    int length = snprintf(because, sizeof because, "%s", why);
    if (key->forecast.mode)
        length += snprintf(because + length, sizeof because - (size_t)length,
                           ": %s %s ms, native %s ms", key->forecast.mode,
                           milliseconds_text(1, nanoseconds_of(key->forecast.emulated)).text,
                           milliseconds_text(1, nanoseconds_of(key->forecast.native)).text);
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
    if (report->is_host_device) fprintf(out, "tandem: %s\n", host_device_note);
    print_rows(out, report);
}
