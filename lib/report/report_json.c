/* report_json.c - a report as JSON (docs/report.schema.json). */
#define _GNU_SOURCE 1
#include "report_call.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "json_text.h"
#include "number_text.h"

/* ---- values ---- */

/* Members are objects with members: NOLINTBEGIN(misc-no-recursion) */

static void print_fields(FILE *out, const td_field *fields, const void *of);

static bool is_none(const td_field *field, const void *at)
{
    const double number = field->kind == TD_COUNT ? (double)*(const long long *)at
                          : field->kind == TD_SECONDS || field->kind == TD_NUMBER
                              ? *(const double *)at
                              : 0.0;
    if (field->kind == TD_TEXT) return **(const char *const *)at == '\0';
    if (field->kind == TD_LETTER) return *(const char *)at == '\0';
    if (field->kind == TD_FORECAST || field->kind == TD_VERIFIED) return !*(const bool *)at;
    return !(number >= 0.0) || isinf(number); /* JSON has no infinity */
}

/* Prints whole nanoseconds: a printed double would take the decimal sign of the application's
 * locale. */
static void print_seconds(FILE *out, double seconds)
{
    const long long nanoseconds = td_nanoseconds(seconds);
    fprintf(out, "%lld.%09lld", nanoseconds / 1000000000, nanoseconds % 1000000000);
}

static void print_value(FILE *out, const td_field *field, const void *at)
{
    if (field->null != TD_NULL_NEVER && is_none(field, at))
        fprintf(out, "null");
    else if (field->kind == TD_TEXT)
        td_json_print_string(out, *(const char *const *)at);
    else if (field->kind == TD_LETTER)
        fprintf(out, "\"%c\"", *(const char *)at);
    else if (field->kind == TD_INTEGER || field->kind == TD_COUNT)
        fprintf(out, "%lld", *(const long long *)at);
    else if (field->kind == TD_SECONDS)
        print_seconds(out, *(const double *)at);
    else if (field->kind == TD_NUMBER)
        fprintf(out, "%s", td_number_short(*(const double *)at).text);
    else if (field->kind == TD_FLAG)
        fprintf(out, *(const bool *)at ? "true" : "false");
    else
        print_fields(out, td_field_members(field), at);
}

static void print_fields(FILE *out, const td_field *fields, const void *of)
{
    const char *separator = "{";
    for (const td_field *f = fields; f->name; f++) {
        const char *at = (const char *)of + f->offset;
        if (f->need == TD_OPTIONAL && is_none(f, at)) continue;
        fprintf(out, "%s\"%s\": ", separator, f->name);
        print_value(out, f, at);
        separator = ", ";
    }
    fprintf(out, "}");
}

/* NOLINTEND(misc-no-recursion) */

/* ---- of the process ---- */

/* Room for what the report's own texts are composed in. */
typedef struct {
    char program[TD_PATH_BYTES], host[HOST_NAME_MAX + 1], started[32], written[32], process[64];
} own_texts;

static const char *find_program(char path[TD_PATH_BYTES])
{
    const ssize_t length = readlink("/proc/self/exe", path, TD_PATH_BYTES - 1);
    path[length < 0 ? 0 : length] = '\0';
    return path;
}

static const char *find_host(char name[HOST_NAME_MAX + 1])
{
    name[HOST_NAME_MAX] = '\0';
    if (gethostname(name, HOST_NAME_MAX) != 0) name[0] = '\0';
    return name;
}

/* A second of UTC, as RFC 3339 writes it. */
static const char *print_time(char text[32], time_t seconds)
{
    struct tm parts;
    const bool is_time = gmtime_r(&seconds, &parts) != NULL;
    text[is_time ? strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts) : 0] = '\0';
    return text;
}

static const char *print_process(char text[64], const struct timespec *start)
{
    snprintf(text, 64, "%d-%lld%09ld", (int)getpid(), (long long)start->tv_sec, start->tv_nsec);
    return text;
}

/* ---- lists ---- */

/* The words of the command line, as far as there is room; what is cut ends in three dots. */
static void print_command(FILE *out, const td_report *report)
{
    enum { ROOM = 4096 };
    static const char dots[] = "...";
    char words[ROOM + sizeof dots];
    const char *separator = "";
    const int descriptor = td_file_open("/proc/self/cmdline", O_RDONLY, 0);
    const ssize_t length = descriptor < 0 ? 0 : read(descriptor, words, ROOM);
    if (descriptor >= 0) close(descriptor);
    const char *end = words + (length > 0 ? length : 0);
    (void)report;
    strcpy(words + (end - words), length == ROOM ? dots : "");
    fprintf(out, "[");
    for (const char *word = words; word < end; word += strlen(word) + 1) {
        fputs(separator, out);
        td_json_print_string(out, word);
        separator = ", ";
    }
    fprintf(out, "]");
}

static void print_devices(FILE *out, const td_report *report)
{
    const char *separator = "[";
    for (int i = 0; i < TD_REPORT_DEVICES; i++) {
        const td_report_device device = {
#define DEVICE(name, type, need, merge, value, ...) .name = (value),
#include "json_fields.def"
        };
        if (!device.name[0]) continue;
        fputs(separator, out);
        print_fields(out, td_device_fields, &device);
        separator = ", ";
    }
    fprintf(out, "%s]", separator[0] == '[' ? "[" : "");
}

static void print_options(FILE *out, const td_report *report)
{
    const td_options *o = report->options;
    fprintf(out, "{");
    for (int i = 0; i < TD_OPTION_COUNT; i++) {
        char value[TD_OPTION_TEXT_BYTES];
        td_option_print(o, (td_option_id)i, value, sizeof value);
        fprintf(out, "%s\n    \"%s\": {\"value\": ", i ? "," : "", td_option_table[i].name);
        td_json_print_string(out, value);
        fprintf(out, ", \"origin\": \"%s\"}", td_origin_names[o->origins[i]]);
    }
    fprintf(out, "\n  }");
}

static void print_calls(FILE *out, const td_report *report)
{
    const char *separator = "[\n    ";
    for (const td_record *record = report->first; record; record = record->next) {
        td_report_texts texts;
        const td_report_call call = td_report_call_of(record, &texts);
        if (call.count == 0) continue; /* emptied by a fork */
        fputs(separator, out);
        print_fields(out, td_call_fields, &call);
        separator = ",\n    ";
    }
    fprintf(out, "%s\n  ]", separator[0] == '[' ? "[" : "");
}

/* ---- the report ---- */

static td_report_head head_of(const td_report *report, own_texts *texts)
{
    return (td_report_head){
#define HEAD(name, type, need, merge, value, ...) .name = (value),
#include "json_fields.def"
    };
}

void td_report_print_json(FILE *out, const td_report *report)
{
    static void (*const print_list[])(FILE *, const td_report *) = {
#define LIST(name, ...) print_##name,
#include "json_fields.def"
    };
    own_texts texts;
    const td_report_head head = head_of(report, &texts);
    const char *separator = "{";
    int list = 0;
    for (const td_field *f = td_head_fields; f->name; f++) {
        const char *at = (const char *)&head + f->offset;
        if (f->need == TD_OPTIONAL && is_none(f, at)) continue;
        fprintf(out, "%s\n  \"%s\": ", separator, f->name);
        if (f->kind == TD_LIST)
            print_list[list++](out, report);
        else
            print_value(out, f, at);
        separator = ",";
    }
    fprintf(out, "\n}\n");
}
