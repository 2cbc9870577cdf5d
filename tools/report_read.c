#include "tools/report_read.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCHEMA = 1 };

/* Counts are exact in JSON readers that know binary64 alone, and sums of some reports fit. */
static const long long most = 1LL << 53;

__attribute__((format(printf, 3, 4))) static bool refuse(char why[REPORT_WHY_BYTES], int error,
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, REPORT_WHY_BYTES, format, arguments);
    va_end(arguments);
    errno = error;
    return false;
}

static bool refuse_other(char why[REPORT_WHY_BYTES])
{
    return refuse(why, EBADMSG, "it is no report of Tandem's: docs/report.md");
}

/* ---- JSON ---- */

/* A file that is read, and what was wrong with that. */
typedef struct {
    int descriptor, error;
} source;

static const char *reason_of(int error)
{
    return error == ETIMEDOUT ? "nothing came for 5 seconds" : strerror(error);
}

/* For jansson: waits for what a pipe has to say, but not for ever. */
static size_t read_some(void *buffer, size_t bytes, void *context)
{
    enum { LONGEST_MS = 5000 };
    source *from = context;
    for (;;) {
        const ssize_t length = read(from->descriptor, buffer, bytes);
        struct pollfd wait = {.fd = from->descriptor, .events = POLLIN};
        if (length >= 0) return (size_t)length;
        if (errno == EAGAIN && poll(&wait, 1, LONGEST_MS) == 0) errno = ETIMEDOUT;
        if (errno == EAGAIN || errno == EINTR) continue;
        from->error = errno;
        return (size_t)-1;
    }
}

static bool refuse_text(char why[REPORT_WHY_BYTES], const json_error_t *error)
{
    const enum json_error_code code = json_error_code(error);
    if (code == json_error_premature_end_of_input)
        return refuse(why, EBADMSG, "it ends on line %d before it is whole", error->line);
    return refuse(why, EBADMSG, "it is no JSON: line %d, column %d: %s", error->line, error->column,
                  error->text);
}

/* A FIFO that nobody writes is empty. */
static bool load(const char *path, json_t **root, char why[REPORT_WHY_BYTES])
{
    json_error_t error;
    source from = {.descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    if (from.descriptor < 0) return refuse(why, errno, "%s", reason_of(errno));
    *root = json_load_callback(read_some, &from, JSON_REJECT_DUPLICATES, &error);
    close(from.descriptor);
    if (*root) return true;
    if (from.error) return refuse(why, from.error, "%s", reason_of(from.error));
    return refuse_text(why, &error);
}

/* ---- members ---- */

static const char *const kind_names[] = {
    [TD_TEXT] = "a text",
    [TD_LETTER] = "a letter",
    [TD_INTEGER] = "an integer",
    [TD_COUNT] = "a count",
    [TD_SECONDS] = "a number from 0 on",
    [TD_NUMBER] = "a number from 0 on",
    [TD_FLAG] = "true or false",
};

static bool is_integer(const json_t *value, long long *integer)
{
    const double real = json_number_value(value);
    if (json_is_integer(value)) *integer = json_integer_value(value);
    if (json_is_real(value) && real == floor(real) && fabs(real) <= (double)most)
        *integer = (long long)real;
    else if (!json_is_integer(value))
        return false;
    return *integer >= -most && *integer <= most;
}

static bool take_text(const json_t *value, const char **to)
{
    *to = json_string_value(value);
    return *to != NULL;
}

static bool take_letter(const json_t *value, char *to)
{
    if (!json_is_string(value) || json_string_length(value) != 1) return false;
    *to = json_string_value(value)[0];
    return *to > ' ' && *to <= '~';
}

static bool take_number(const json_t *value, double *to)
{
    *to = json_number_value(value);
    return json_is_number(value) && *to >= 0.0;
}

static bool take_count(const json_t *value, bool is_signed, long long *to)
{
    return is_integer(value, to) && (is_signed || *to >= 0);
}

static bool take(const json_t *value, td_field_kind kind, void *to)
{
    if (kind == TD_TEXT) return take_text(value, to);
    if (kind == TD_LETTER) return take_letter(value, to);
    if (kind == TD_INTEGER || kind == TD_COUNT) return take_count(value, kind == TD_INTEGER, to);
    if (kind == TD_SECONDS || kind == TD_NUMBER) return take_number(value, to);
    *(bool *)to = json_is_true(value);
    return json_is_boolean(value);
}

/* What a member is that is null, or lacks. */
static void take_nothing(const td_field *field, void *to)
{
    const bool is_null = field->null != TD_NULL_NEVER;
    if (field->kind == TD_TEXT) *(const char **)to = "";
    if (field->kind == TD_COUNT && is_null) *(long long *)to = TD_UNKNOWN;
    if ((field->kind == TD_SECONDS || field->kind == TD_NUMBER) && is_null)
        *(double *)to = field->null == TD_NULL_INFINITE ? INFINITY : TD_UNKNOWN;
}

static bool take_field(const json_t *value, const char *where, const td_field *field, void *to,
                       char why[REPORT_WHY_BYTES])
{
    const bool may_be_null = field->null != TD_NULL_NEVER;
    if (!value && field->need == TD_ALWAYS && !may_be_null)
        return refuse(why, EBADMSG, "%s lacks \"%s\"", where, field->name);
    if (!value || (may_be_null && json_is_null(value))) {
        take_nothing(field, to);
        return true;
    }
    return take(value, field->kind, to) ||
           refuse(why, EBADMSG, "\"%s\" of %s is not %s%s", field->name, where,
                  kind_names[field->kind], may_be_null ? " or null" : "");
}

/* Members are objects with members: NOLINTBEGIN(misc-no-recursion) */

static bool take_fields(const json_t *object, const char *where, const td_field *fields, void *to,
                        char why[REPORT_WHY_BYTES]);

/* An object in an object, or null. */
static bool take_object(const json_t *value, const char *where, const td_field *field, void *to,
                        char why[REPORT_WHY_BYTES])
{
    char part[96];
    const td_field *members = td_field_members(field);
    bool *is_known = to;
    *is_known = value && !json_is_null(value);
    snprintf(part, sizeof part, "\"%s\" of %s", field->name, where);
    if (*is_known) return take_fields(value, part, members, to, why);
    for (; members->name; members++) take_nothing(members, (char *)to + members->offset);
    return true;
}

/* Sets all members of an object but lists and totals; `where` is what the object is called. */
static bool take_fields(const json_t *object, const char *where, const td_field *fields, void *to,
                        char why[REPORT_WHY_BYTES])
{
    bool is_taken = json_is_object(object) || refuse(why, EBADMSG, "%s is no object", where);
    for (const td_field *f = fields; is_taken && f->name; f++) {
        const json_t *value = json_object_get(object, f->name);
        char *place = (char *)to + f->offset;
        if (f->kind == TD_FORECAST || f->kind == TD_VERIFIED)
            is_taken = take_object(value, where, f, place, why);
        else if (f->kind != TD_LIST && f->kind != TD_TOTALS)
            is_taken = take_field(value, where, f, place, why);
    }
    return is_taken;
}

/* NOLINTEND(misc-no-recursion) */

/* ---- lists ---- */

/* The objects of a list, of so many bytes each, which the caller frees; NULL, with the reason, if
 * one has other fields. */
static void *take_list(const json_t *root, const char *name, const td_field *fields, size_t bytes,
                       int *count, char why[REPORT_WHY_BYTES])
{
    const json_t *list = json_object_get(root, name);
    const size_t objects = json_array_size(list);
    char *const taken = json_is_array(list) ? calloc(objects + 1, bytes) : NULL;
    if (!json_is_array(list))
        refuse(why, EBADMSG, "\"%s\" is no list", name);
    else if (!taken)
        refuse(why, ENOMEM, "%s", reason_of(ENOMEM));
    for (size_t i = 0; taken && i < objects; i++) {
        char where[64];
        snprintf(where, sizeof where, "%s[%zu]", name, i);
        if (!take_fields(json_array_get(list, i), where, fields, taken + i * bytes, why)) {
            const int error = errno;
            free(taken);
            errno = error;
            return NULL;
        }
    }
    *count = (int)objects;
    return taken;
}

static bool take_calls(report *r, char why[REPORT_WHY_BYTES])
{
    r->calls = take_list(r->root, "calls", td_call_fields, sizeof *r->calls, &r->call_count, why);
    return r->calls != NULL;
}

static bool take_devices(report *r, char why[REPORT_WHY_BYTES])
{
    r->devices =
        take_list(r->root, "devices", td_device_fields, sizeof *r->devices, &r->device_count, why);
    return r->devices != NULL;
}

/* Reports of older versions have none. */
static bool take_command(const json_t *list, report *r, char why[REPORT_WHY_BYTES])
{
    const size_t count = json_array_size(list);
    if (list && !json_is_array(list)) return refuse(why, EBADMSG, "\"command\" is no list");
    r->command = calloc(count + 1, sizeof *r->command);
    if (!r->command) return refuse(why, ENOMEM, "%s", reason_of(ENOMEM));
    for (; (size_t)r->words < count; r->words++)
        if (!take_text(json_array_get(list, (size_t)r->words), &r->command[r->words]))
            return refuse(why, EBADMSG, "\"command\" has what is not a text");
    return true;
}

static bool take_schema(const json_t *root, char why[REPORT_WHY_BYTES])
{
    const json_t *schema = json_object_get(root, "schema");
    if (!json_is_integer(schema) || !json_object_get(root, "tandem")) return refuse_other(why);
    if (json_integer_value(schema) == SCHEMA) return true;
    return refuse(why, EBADMSG, "its schema is %lld, and this version of Tandem reads %d",
                  (long long)json_integer_value(schema), SCHEMA);
}

static bool take_root(report *r, char why[REPORT_WHY_BYTES])
{
    const json_t *totals = json_object_get(r->root, "totals");
    return take_schema(r->root, why) &&
           take_fields(r->root, "the report", td_head_fields, &r->head, why) &&
           take_fields(totals, "\"totals\"", td_total_fields, &r->head.totals, why) &&
           take_devices(r, why) && take_command(json_object_get(r->root, "command"), r, why) &&
           take_calls(r, why);
}

bool report_read(const char *path, report *r, char why[REPORT_WHY_BYTES])
{
    *r = (report){0};
    if (load(path, &r->root, why) && take_root(r, why)) return true;
    const int error = errno;
    report_free(r);
    errno = error;
    return false;
}

void report_free(report *r)
{
    free(r->calls);
    free(r->devices);
    free(r->command);
    json_decref(r->root);
    *r = (report){0};
}
