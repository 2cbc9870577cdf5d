#include "tools/report_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The library writes its totals, its devices and every call on a line of their own, and escapes
 * quotes in strings (lib/report/report_json.c), so that a member is found by its name with
 * quotes, colon and space. NULL if it is not there. */
static const char *find_member(const char *line, const char *name)
{
    char label[64];
    snprintf(label, sizeof label, "\"%s\": ", name);
    const char *at = strstr(line, label);
    return at ? at + strlen(label) : NULL;
}

/* Negative if the member is not there, or null. */
static long long read_count(const char *line, const char *name)
{
    const char *at = find_member(line, name);
    char *end = NULL;
    const long long value = at ? strtoll(at, &end, 10) : -1;
    return end == at ? -1 : value;
}

/* 0 if it is not there. */
static unsigned long long read_total(const char *line, const char *name)
{
    const long long count = read_count(line, name);
    return count > 0 ? (unsigned long long)count : 0;
}

/* Negative if the member is not there, or null. */
static double read_number(const char *line, const char *name)
{
    const char *at = find_member(line, name);
    char *end = NULL;
    const double value = at ? strtod(at, &end) : -1.0;
    return end == at ? -1.0 : value;
}

/* Up to the quote that ends it; of what is escaped, quotes and backslashes are themselves again.
 * "" if the member is not there, or null. */
static void read_string(const char *line, const char *name, char *text, size_t bytes)
{
    const char *at = find_member(line, name);
    size_t length = 0;
    for (at = at && *at == '"' ? at + 1 : ""; *at && *at != '"' && length + 1 < bytes; at++) {
        if (*at == '\\' && (at[1] == '"' || at[1] == '\\')) at++;
        text[length++] = *at;
    }
    text[length] = '\0';
}

static char read_letter(const char *line, const char *name)
{
    char text[4];
    read_string(line, name, text, sizeof text);
    return text[0] ? text[0] : '?';
}

static void read_verified(const char *line, report_call *call)
{
    const char *at = find_member(line, "verified");
    call->is_verified = at && *at == '{';
    if (!call->is_verified) return;
    call->verified = (report_verified){
        .elements = read_total(at, "elements"),
        .special = read_total(at, "special"),
        .outside = read_total(at, "outside"),
        .worst = read_number(at, "worst"),
        .mean = read_number(at, "mean"),
        .worst_ulps = read_number(at, "worst_ulps"),
        .mean_ulps = read_number(at, "mean_ulps"),
        .bound = read_number(at, "bound"),
        .bound_ulps = read_number(at, "bound_ulps"),
    };
}

static report_call read_call(const char *line)
{
    report_call call = {
        .op_a = read_letter(line, "op_a"),
        .op_b = read_letter(line, "op_b"),
        .m = read_count(line, "m"),
        .n = read_count(line, "n"),
        .k = read_count(line, "k"),
        .batch = read_count(line, "batch"),
        .count = read_total(line, "count"),
        .timed = read_total(line, "timed"),
        .seconds = read_number(line, "seconds"),
        .repaired = read_count(line, "repaired"),
        .tiles = read_count(line, "tiles"),
        .planes = read_count(line, "planes"),
        .native_seconds = read_number(line, "native_seconds"),
    };
    read_string(line, "function", call.function, sizeof call.function);
    read_string(line, "type", call.type, sizeof call.type);
    read_string(line, "mode", call.mode, sizeof call.mode);
    read_string(line, "native_reason", call.native_reason, sizeof call.native_reason);
    read_string(line, "choice", call.choice, sizeof call.choice);
    read_string(line, "site", call.site, sizeof call.site);
    read_verified(line, &call);
    return call;
}

static bool starts_with(const char *line, const char *start)
{
    return strncmp(line, start, strlen(start)) == 0;
}

/* A line of what comes before the calls; true if it is one of Tandem's reports by it. */
static bool read_head(const char *line, report_head *head)
{
    if (starts_with(line, "  \"program\": "))
        read_string(line, "program", head->program, sizeof head->program);
    if (starts_with(line, "  \"devices\": "))
        read_string(line, "name", head->device, sizeof head->device);
    if (starts_with(line, "  \"host_device\": true")) head->is_host_device = true;
    if (starts_with(line, "  \"is_complete\": true")) head->is_complete = true;
    if (!starts_with(line, "  \"totals\": ")) return false;
    head->intercepted = read_total(line, "intercepted");
    head->emulated = read_total(line, "emulated");
    head->native = read_total(line, "native");
    head->unlisted = read_total(line, "unlisted");
    head->repaired = read_count(line, "repaired");
    return true;
}

bool report_read(const char *path, void (*take_head)(const report_head *head, void *context),
                 bool (*take_call)(const report_call *call, void *context), void *context)
{
    report_head head = {.repaired = -1};
    char *line = NULL;
    size_t room = 0;
    bool is_report = false, is_taken = true;
    FILE *file = fopen(path, "r");
    if (!file) return false;
    while (is_taken && getline(&line, &room, file) > 0) {
        if (is_report && starts_with(line, "    {\"function\": ")) {
            const report_call call = read_call(line);
            is_taken = take_call(&call, context);
        } else if (!is_report && read_head(line, &head)) {
            is_report = true;
            take_head(&head, context);
        }
    }
    const bool is_read = !ferror(file);
    free(line);
    fclose(file);
    if (is_read && is_report && is_taken) return true;
    errno = !is_read ? EIO : is_report ? ENOMEM : EBADMSG;
    return false;
}
