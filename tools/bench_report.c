#include "tools/bench_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The library writes its totals, its devices and every call on a line of their own, and escapes
 * quotes in strings (lib/report/report_text.c), so that a member is found by its name with quotes, colon
 * and space. NULL if it is not there. */
static const char *find_member(const char *line, const char *name)
{
    char label[64];
    snprintf(label, sizeof label, "\"%s\": ", name);
    const char *at = strstr(line, label);
    return at ? at + strlen(label) : NULL;
}

/* False if the member is not there, or null. */
static bool read_count(const char *line, const char *name, unsigned long long *count)
{
    const char *at = find_member(line, name);
    char *end = NULL;
    const unsigned long long value = at ? strtoull(at, &end, 10) : 0;
    if (end == at) return false;
    *count = value;
    return true;
}

/* False if the member is not there, or null. */
static bool read_seconds(const char *line, double *seconds)
{
    const char *at = find_member(line, "seconds");
    char *end = NULL;
    const double value = at ? strtod(at, &end) : 0.0;
    if (end == at) return false;
    *seconds = value;
    return true;
}

/* The characters of a string up to its end; "" if the member is not there, or null. */
static void read_string(const char *line, const char *name, char text[BENCH_TEXT_BYTES])
{
    const char *at = find_member(line, name);
    text[0] = '\0';
    if (at && *at == '"')
        snprintf(text, BENCH_TEXT_BYTES, "%.*s", (int)strcspn(at + 1, "\""), at + 1);
}

static void add_reason(bench_report *sums, const char *text, unsigned long long calls)
{
    int i = 0;
    while (i < sums->reason_count && strcmp(sums->reasons[i].text, text) != 0) i++;
    if (i == BENCH_REASONS) return;
    if (i == sums->reason_count) {
        sums->reason_count++;
        sums->reasons[i] = (bench_reason){.calls = 0};
        snprintf(sums->reasons[i].text, sizeof sums->reasons[i].text, "%s", text);
    }
    sums->reasons[i].calls += calls;
}

static void add_call(bench_report *sums, const char *line)
{
    unsigned long long count = 0, timed = 0;
    double seconds = 0.0;
    char reason[BENCH_TEXT_BYTES];
    if (!read_count(line, "count", &count)) return;
    (void)read_count(line, "timed", &timed);
    if (timed > 0 && read_seconds(line, &seconds)) {
        sums->is_timed = true;
        sums->seconds += seconds / (double)timed * (double)count;
    } else {
        sums->untimed += count;
    }
    read_string(line, "native_reason", reason);
    if (reason[0]) add_reason(sums, reason, count);
}

static void add_totals(bench_report *sums, const char *line)
{
    unsigned long long calls = 0, emulated = 0, native = 0, unlisted = 0, repaired = 0;
    (void)read_count(line, "intercepted", &calls);
    (void)read_count(line, "emulated", &emulated);
    (void)read_count(line, "native", &native);
    (void)read_count(line, "unlisted", &unlisted);
    sums->calls += calls;
    sums->emulated += emulated;
    sums->native += native;
    sums->untimed += unlisted;
    if (!read_count(line, "repaired", &repaired)) return;
    sums->repaired += repaired;
    sums->is_counted = true;
}

static bool starts_with(const char *line, const char *start)
{
    return strncmp(line, start, strlen(start)) == 0;
}

bool bench_report_add(bench_report *sums, const char *path)
{
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "r");
    if (!file) return false;
    while (getline(&line, &room, file) > 0) {
        if (starts_with(line, "    {\"function\": "))
            add_call(sums, line);
        else if (starts_with(line, "  \"totals\": "))
            add_totals(sums, line);
        else if (starts_with(line, "  \"devices\": ") && !sums->device[0])
            read_string(line, "name", sums->device);
    }
    const bool is_read = !ferror(file);
    free(line);
    fclose(file);
    return is_read;
}
