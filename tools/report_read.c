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

#include "lib/report/timed.h"

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

typedef enum { TEXT, LETTER, INTEGER, COUNT, NUMBER, FLAG, KINDS } kind;

static const char *const kind_names[KINDS] = {
    [TEXT] = "a text",   [LETTER] = "a letter",           [INTEGER] = "an integer",
    [COUNT] = "a count", [NUMBER] = "a number from 0 on", [FLAG] = "true or false"};

typedef enum {
    MUST_BE,
    MAY_BE_NULL, /* or lack; a negative number, or "", stands for that */
    MAY_LACK     /* it keeps what it was before */
} need;

/* A member of an object, and where it is kept. */
typedef struct {
    const char *name;
    kind kind;
    need need;
    size_t offset;
} member;

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

static bool take(const json_t *value, kind of, void *to)
{
    long long integer;
    switch (of) {
    case TEXT:
        return take_text(value, to);
    case LETTER:
        return take_letter(value, to);
    case NUMBER:
        return take_number(value, to);
    case FLAG:
        *(bool *)to = json_is_true(value);
        return json_is_boolean(value);
    default:
        if (!is_integer(value, &integer) || (of == COUNT && integer < 0)) return false;
        *(long long *)to = integer;
        return true;
    }
}

static void take_null(kind of, void *to)
{
    if (of == TEXT) *(const char **)to = "";
    if (of == COUNT) *(long long *)to = -1;
    if (of == NUMBER) *(double *)to = -1.0;
}

/* Members up to one without a name; `where` is what the object is called. */
static bool take_members(const json_t *object, const char *where, const member *m, void *to,
                         char why[REPORT_WHY_BYTES])
{
    if (!json_is_object(object)) return refuse(why, EBADMSG, "%s is no object", where);
    for (; m->name; m++) {
        const json_t *value = json_object_get(object, m->name);
        char *place = (char *)to + m->offset;
        const bool may_be_null = m->need == MAY_BE_NULL;
        if (!value && m->need == MAY_LACK) continue;
        if (!value && !may_be_null) return refuse(why, EBADMSG, "%s lacks \"%s\"", where, m->name);
        if (may_be_null && (!value || json_is_null(value)))
            take_null(m->kind, place);
        else if (!take(value, m->kind, place))
            return refuse(why, EBADMSG, "\"%s\" of %s is not %s%s", m->name, where,
                          kind_names[m->kind], may_be_null ? " or null" : "");
    }
    return true;
}

#define AT(type, field) offsetof(type, field)

static const member verified_members[] = {
    {"elements", COUNT, MUST_BE, AT(report_verified, elements)},
    {"special", COUNT, MUST_BE, AT(report_verified, special)},
    {"outside", COUNT, MUST_BE, AT(report_verified, outside)},
    {"unjudged", COUNT, MAY_LACK, AT(report_verified, unjudged)},
    {"worst", NUMBER, MAY_BE_NULL, AT(report_verified, worst)},
    {"mean", NUMBER, MAY_BE_NULL, AT(report_verified, mean)},
    {"worst_ulps", NUMBER, MAY_BE_NULL, AT(report_verified, worst_ulps)},
    {"mean_ulps", NUMBER, MAY_BE_NULL, AT(report_verified, mean_ulps)},
    {"bound", NUMBER, MAY_BE_NULL, AT(report_verified, bound)},
    {"bound_ulps", NUMBER, MAY_BE_NULL, AT(report_verified, bound_ulps)},
    {NULL, TEXT, MUST_BE, 0},
};

static const member call_members[] = {
    {"function", TEXT, MUST_BE, AT(report_call, function)},
    {"type", TEXT, MUST_BE, AT(report_call, type)},
    {"side", LETTER, MAY_LACK, AT(report_call, letters.side)},
    {"uplo", LETTER, MAY_LACK, AT(report_call, letters.triangle)},
    {"diag", LETTER, MAY_LACK, AT(report_call, letters.diagonal)},
    {"op_a", LETTER, MUST_BE, AT(report_call, letters.op_a)},
    {"op_b", LETTER, MUST_BE, AT(report_call, letters.op_b)},
    {"m", INTEGER, MUST_BE, AT(report_call, m)},
    {"n", INTEGER, MUST_BE, AT(report_call, n)},
    {"k", INTEGER, MUST_BE, AT(report_call, k)},
    {"batch", INTEGER, MUST_BE, AT(report_call, batch)},
    {"mode", TEXT, MUST_BE, AT(report_call, mode)},
    {"count", COUNT, MUST_BE, AT(report_call, count)},
    {"timed", COUNT, MUST_BE, AT(report_call, timed)},
    {"unread", COUNT, MAY_LACK, AT(report_call, unread)},
    {"seconds", NUMBER, MAY_BE_NULL, AT(report_call, seconds)},
    {"repaired", COUNT, MAY_BE_NULL, AT(report_call, repaired)},
    {"tiles", COUNT, MAY_BE_NULL, AT(report_call, tiles)},
    {"planes", COUNT, MAY_BE_NULL, AT(report_call, planes)},
    {"native_reason", TEXT, MAY_BE_NULL, AT(report_call, native_reason)},
    {"choice", TEXT, MAY_BE_NULL, AT(report_call, choice)},
    {"native_seconds", NUMBER, MAY_BE_NULL, AT(report_call, native_seconds)},
    {"site", TEXT, MAY_BE_NULL, AT(report_call, site)},
    {NULL, TEXT, MUST_BE, 0},
};

static const member total_members[] = {
    {"intercepted", COUNT, MUST_BE, AT(report, intercepted)},
    {"emulated", COUNT, MUST_BE, AT(report, emulated)},
    {"native", COUNT, MUST_BE, AT(report, native)},
    {"unlisted", COUNT, MUST_BE, AT(report, unlisted)},
    {"repaired", COUNT, MAY_BE_NULL, AT(report, repaired)},
    {NULL, TEXT, MUST_BE, 0},
};

static const member report_members[] = {
    {"program", TEXT, MUST_BE, AT(report, program)},
    {"host", TEXT, MAY_LACK, AT(report, host)},
    {"started", TEXT, MAY_LACK, AT(report, started)},
    {"written", TEXT, MAY_LACK, AT(report, written)},
    {"is_complete", FLAG, MUST_BE, AT(report, is_complete)},
    {"host_device", FLAG, MUST_BE, AT(report, is_host_device)},
    {NULL, TEXT, MUST_BE, 0},
};

/* ---- lists ---- */

static bool take_call(const json_t *object, size_t number, report *r, char why[REPORT_WHY_BYTES])
{
    char where[64], part[96];
    report_call *call = &r->calls[number];
    snprintf(where, sizeof where, "calls[%zu]", number);
    if (!take_members(object, where, call_members, call, why)) return false;
    const json_t *verified = json_object_get(object, "verified");
    call->is_verified = verified && !json_is_null(verified);
    if (!call->is_verified) return true;
    snprintf(part, sizeof part, "\"verified\" of %s", where);
    if (!take_members(verified, part, verified_members, &call->verified, why)) return false;
    if (call->verified.worst < 0.0) call->verified.worst = INFINITY;
    if (call->verified.mean < 0.0) call->verified.mean = INFINITY;
    return true;
}

static bool take_calls(const json_t *list, report *r, char why[REPORT_WHY_BYTES])
{
    const size_t count = json_array_size(list);
    if (!json_is_array(list)) return refuse(why, EBADMSG, "\"calls\" is no list");
    r->calls = calloc(count + 1, sizeof *r->calls);
    if (!r->calls) return refuse(why, ENOMEM, "%s", reason_of(ENOMEM));
    for (size_t i = 0; i < count; i++)
        if (!take_call(json_array_get(list, i), i, r, why)) return false;
    r->call_count = (int)count;
    return true;
}

static bool take_devices(const json_t *list, report *r, char why[REPORT_WHY_BYTES])
{
    static const member name[] = {{"name", TEXT, MUST_BE, 0}, {NULL, TEXT, MUST_BE, 0}};
    if (!json_is_array(list)) return refuse(why, EBADMSG, "\"devices\" is no list");
    for (size_t i = 0; i < json_array_size(list) && i < REPORT_DEVICES; i++, r->device_count++)
        if (!take_members(json_array_get(list, i), "a device", name, &r->devices[i], why))
            return false;
    return true;
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
           take_members(r->root, "the report", report_members, r, why) &&
           take_members(totals, "\"totals\"", total_members, r, why) &&
           take_devices(json_object_get(r->root, "devices"), r, why) &&
           take_command(json_object_get(r->root, "command"), r, why) &&
           take_calls(json_object_get(r->root, "calls"), r, why);
}

bool report_read(const char *path, report *r, char why[REPORT_WHY_BYTES])
{
    *r = (report){.program = "", .host = "", .started = "", .written = ""};
    if (load(path, &r->root, why) && take_root(r, why)) return true;
    const int error = errno;
    report_free(r);
    errno = error;
    return false;
}

void report_free(report *r)
{
    free(r->calls);
    free(r->command);
    json_decref(r->root);
    *r = (report){0};
}

/* ---- what follows ---- */

static unsigned long long timed_of(const report_call *c) { return c->seconds < 0.0 ? 0 : c->timed; }

double report_seconds(const report_call *c)
{
    if (timed_of(c) == 0) return -1.0;
    return c->seconds * td_timed_stand_for(c->count, c->timed, c->unread);
}

double report_timed(const report_call *c)
{
    return (double)timed_of(c) * td_timed_stand_for(c->count, timed_of(c), c->unread);
}

unsigned long long report_untimed(const report_call *c)
{
    return td_timed_leave(c->count, timed_of(c), c->unread);
}
