/* report_json.c - a report as JSON (docs/report.schema.json). */
#define _GNU_SOURCE 1
#include "report_fields.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "json_text.h"

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

/* A second of UTC, as RFC 3339 writes it. */
static void print_time(FILE *out, const char *name, time_t seconds)
{
    struct tm parts;
    char text[32] = "";
    if (gmtime_r(&seconds, &parts)) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    print_member(out, name, text);
}

static void print_host(FILE *out)
{
    char name[HOST_NAME_MAX + 1] = "";
    if (gethostname(name, sizeof name - 1) != 0) name[0] = '\0';
    print_member(out, "host", name);
}

/* The words of the command line, as far as there is room; what is cut ends in three dots. */
static void print_command(FILE *out)
{
    enum { ROOM = 4096 };
    static const char dots[] = "...";
    char words[ROOM + sizeof dots];
    const char *separator = "";
    const int descriptor = td_file_open("/proc/self/cmdline", O_RDONLY, 0);
    const ssize_t length = descriptor < 0 ? 0 : read(descriptor, words, ROOM);
    if (descriptor >= 0) close(descriptor);
    const char *end = words + (length > 0 ? length : 0);
    strcpy(words + (end - words), length == ROOM ? dots : "");
    fprintf(out, "  \"command\": [");
    for (const char *word = words; word < end; word += strlen(word) + 1) {
        fputs(separator, out);
        td_json_print_string(out, word);
        separator = ", ";
    }
    fprintf(out, "],\n");
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

static td_number seconds_text(unsigned long long timed, unsigned long long nanoseconds)
{
    td_number n = {"null"};
    if (timed)
        snprintf(n.text, sizeof n.text, "%llu.%09llu", nanoseconds / 1000000000,
                 nanoseconds % 1000000000);
    return n;
}

static void print_totals(FILE *out, const td_report_totals *totals)
{
    fprintf(out,
            "  \"totals\": {\"intercepted\": %llu, \"emulated\": %llu, \"native\": %llu, "
            "\"unlisted\": %llu, \"timed\": %llu, \"unread\": %llu, \"seconds\": %s, "
            "\"repaired\": %s, \"verified\": %s, \"outside\": %s},\n",
            totals->intercepted, totals->emulated, totals->native, totals->unlisted, totals->timed,
            totals->unread, seconds_text(totals->timed, totals->nanoseconds).text,
            td_count_text(totals->is_counted, totals->repaired, "null").text,
            td_count_text(totals->is_verified, totals->verified, "null").text,
            td_count_text(totals->is_verified, totals->outside, "null").text);
}

/* JSON has no infinity. */
static td_number number_or_null(double x)
{
    return isfinite(x) ? td_number_short(x) : (td_number){"null"};
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
    if (s.elements == 0 && s.unjudged == 0) {
        fprintf(out, "null");
        return;
    }
    fprintf(out,
            "{\"elements\": %llu, \"special\": %llu, \"outside\": %llu, \"unjudged\": %llu, "
            "\"worst\": %s, \"mean\": %s, \"worst_ulps\": %s, \"mean_ulps\": %s, ",
            s.elements, s.special, s.outside, s.unjudged, number_or_null(s.worst).text,
            number_or_null(td_mean_error(s.sum, &s)).text, ulps_or_null(record, s.worst_ulps).text,
            ulps_or_null(record, td_mean_error(s.sum_ulps, &s)).text);
    if (isfinite(bound.relative))
        fprintf(out, "\"bound\": %s, \"bound_ulps\": %s}", td_number_short(bound.relative).text,
                td_number_short(bound.ulps).text);
    else
        fprintf(out, "\"bound\": null, \"bound_ulps\": null}");
}

/* Which half of a matrix, and which side of it: of the routines that ask. */
static void print_shape(FILE *out, const td_letters *l)
{
    if (l->side) fprintf(out, "\"side\": \"%c\", ", l->side);
    if (l->triangle) fprintf(out, "\"uplo\": \"%c\", ", l->triangle);
    if (l->diagonal) fprintf(out, "\"diag\": \"%c\", ", l->diagonal);
}

static void print_forecast(FILE *out, const td_forecast *f)
{
    if (!f->mode) {
        fprintf(out, "null");
        return;
    }
    fprintf(out, "{\"mode\": ");
    td_json_print_string(out, f->mode);
    fprintf(out, ", \"seconds\": %s, \"native_seconds\": %s, \"found_out_seconds\": %s}",
            seconds_text(f->emulated >= 0.0, td_nanoseconds(f->emulated)).text,
            seconds_text(f->native >= 0.0, td_nanoseconds(f->native)).text,
            seconds_text(f->found_out > 0.0, td_nanoseconds(f->found_out)).text);
}

/* Predicted, of one call in cuBLAS. */
static td_number native_seconds_text(const td_record *record)
{
    const double seconds = record->native_seconds;
    const bool is_known = record->has_native && seconds >= 0.0;
    return seconds_text(is_known, is_known ? td_nanoseconds(seconds) : 0);
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
    const td_letters letters = td_letters_of_call(key);
    fprintf(out, "{\"function\": \"%s\", \"type\": \"%s\", \"op_a\": \"%c\", \"op_b\": \"%c\", ",
            td_entries[key->entry].name, td_types[key->type].name, letters.op_a, letters.op_b);
    print_shape(out, &letters);
    fprintf(out,
            "\"m\": %" PRId64 ", \"n\": %" PRId64 ", \"k\": %" PRId64 ", \"batch\": %" PRId64 ", ",
            key->m, key->n, key->k, key->batch);
    fprintf(out, "\"device\": %d, \"mode\": ", key->device);
    td_json_print_string(out, key->mode);
    const unsigned long long timed = record->timed, planes = td_record_planes(record);
    fprintf(out,
            ", \"count\": %llu, \"timed\": %llu, \"unread\": %llu, \"seconds\": %s, "
            "\"repaired\": %s, \"tiles\": %s, \"planes\": %s, \"native_reason\": ",
            (unsigned long long)record->count, timed, td_record_unread(record),
            seconds_text(timed, record->nanoseconds).text,
            td_count_text(record->counters != NULL, td_record_repaired(record), "null").text,
            td_count_text(record->counters != NULL, td_record_tiles(record), "null").text,
            td_count_text(planes != 0, planes, "null").text);
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
    print_host(out);
    print_time(out, "started", report->start.tv_sec);
    print_time(out, "written", time(NULL));
    print_command(out);
    fprintf(out, "  \"is_complete\": %s,\n", report->is_complete ? "true" : "false");
    print_member(out, "mode", report->options->mode.text);
    fprintf(out, "  \"is_adaptive\": %s,\n", td_report_is_adaptive(report) ? "true" : "false");
    print_devices(out, report);
    fprintf(out, "  \"host_device\": %s,\n", report->is_host_device ? "true" : "false");
    if (report->is_host_device) print_member(out, "note", td_host_device_note);
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
