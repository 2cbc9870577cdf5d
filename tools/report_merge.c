#include "tools/report_merge.h"

#include <errno.h>
#include <search.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const merged_orders[ORDERS] = {"time", "calls", "gain", "error"};

/* ---- kinds of calls ---- */

static int compare_numbers(long long a, long long b) { return (a > b) - (a < b); }

/* Any order, as tsearch(3) wants one; of kinds that have any mode. */
static int compare_kinds(const void *left, const void *right)
{
    const report_call *a = left, *b = right;
    const long long numbers[][2] = {
        {a->m, b->m},
        {a->n, b->n},
        {a->k, b->k},
        {a->batch, b->batch},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i][0] != numbers[i][1]) return compare_numbers(numbers[i][0], numbers[i][1]);
    const int letters = memcmp(&a->letters, &b->letters, sizeof a->letters);
    if (letters) return letters;
    const int function = strcmp(a->function, b->function);
    if (function) return function;
    const int type = strcmp(a->type, b->type);
    return type ? type : strcmp(a->site, b->site);
}

static int compare_kinds_and_modes(const void *left, const void *right)
{
    const report_call *a = left, *b = right;
    const int kind = compare_kinds(a, b);
    if (kind) return kind;
    const int mode = strcmp(a->mode, b->mode);
    return mode ? mode : strcmp(a->native_reason, b->native_reason);
}

static __compar_fn_t comparison_of(const merged *m)
{
    _Static_assert(offsetof(merged_line, call) == 0, "a line is found by its call");
    return m->has_any_mode ? compare_kinds : compare_kinds_and_modes;
}

/* ---- one line of several ---- */

/* Of numbers that are negative if they are not known. */
static double larger(double a, double b) { return a > b ? a : b; }

static double add_known(double a, double b) { return a < 0.0 ? b : b < 0.0 ? a : a + b; }

static unsigned long long with_error(const report_verified *v) { return v->elements - v->special; }

/* The mean over the elements of both. */
static double mean_of(const report_verified *a, double a_mean, const report_verified *b,
                      double b_mean)
{
    const double a_count = (double)with_error(a), b_count = (double)with_error(b);
    return a_count + b_count > 0.0 ? (a_mean * a_count + b_mean * b_count) / (a_count + b_count)
                                   : 0.0;
}

static void add_verified(report_call *to, const report_call *from)
{
    report_verified *a = &to->verified;
    const report_verified *b = &from->verified;
    if (!from->is_verified) return;
    if (!to->is_verified) {
        to->verified = *b;
        to->is_verified = true;
        return;
    }
    a->mean = mean_of(a, a->mean, b, b->mean);
    a->mean_ulps = mean_of(a, a->mean_ulps, b, b->mean_ulps);
    a->worst = larger(a->worst, b->worst);
    a->worst_ulps = larger(a->worst_ulps, b->worst_ulps);
    a->elements += b->elements;
    a->special += b->special;
    a->outside += b->outside;
    a->unjudged += b->unjudged;
}

/* The sum of two counts, of which a negative one is not known. */
static long long add_counted(long long a, long long b) { return a < 0 ? b : b < 0 ? a : a + b; }

static void set_several(const char **text, const char *other)
{
    if (strcmp(*text, other) != 0) *text = "several";
}

static void add_call(report_call *to, const report_call *from)
{
    set_several(&to->mode, from->mode);
    set_several(&to->native_reason, from->native_reason);
    set_several(&to->choice, from->choice);
    to->count += from->count;
    to->timed += from->timed;
    to->repaired = add_counted(to->repaired, from->repaired);
    to->tiles = add_counted(to->tiles, from->tiles);
    if (from->planes > to->planes) to->planes = from->planes;
    to->native_seconds = larger(to->native_seconds, from->native_seconds);
    add_verified(to, from);
}

/* ---- all ---- */

/* The line of a call that is the first of its kind; NULL without memory. */
static merged_line *add_line(merged *m, const report_call *call)
{
    merged_line **grown = realloc(m->lines, ((size_t)m->count + 1) * sizeof(merged_line *));
    if (grown) m->lines = grown;
    merged_line *line = grown ? malloc(sizeof *line) : NULL;
    if (!line) return NULL;
    *line = (merged_line){.call = *call, .seconds = -1.0, .number = m->count};
    if (!tsearch(line, &m->tree, comparison_of(m))) {
        free(line);
        return NULL;
    }
    m->lines[m->count++] = line;
    return line;
}

static bool take_call(merged *m, const report_call *call)
{
    merged_line *const *found = tfind(call, &m->tree, comparison_of(m));
    merged_line *line = found ? *found : add_line(m, call);
    if (!line) return false;
    if (found) add_call(&line->call, call);
    line->seconds = add_known(line->seconds, report_seconds(call));
    line->timed += report_timed(call);
    line->untimed += report_untimed(call);
    if (call->unread) line->unread += report_untimed(call);
    return true;
}

/* Room for one more report and its name. */
static bool grow(merged *m)
{
    const size_t count = (size_t)m->report_count + 1;
    report *reports = realloc(m->reports, count * sizeof *reports);
    if (reports) m->reports = reports;
    const char **paths = realloc(m->paths, count * sizeof *paths);
    if (paths) m->paths = paths;
    return reports && paths;
}

static bool take_report(merged *m, const report *r)
{
    m->incomplete += !r->is_complete;
    m->intercepted += r->intercepted;
    m->emulated += r->emulated;
    m->native += r->native;
    m->unlisted += r->unlisted;
    m->is_host_device |= r->is_host_device;
    bool is_taken = true;
    for (int i = 0; is_taken && i < r->call_count; i++) is_taken = take_call(m, &r->calls[i]);
    return is_taken;
}

bool merged_add(merged *m, const char *path, char why[REPORT_WHY_BYTES])
{
    report r;
    if (!report_read(path, &r, why)) return false;
    if (grow(m)) {
        m->paths[m->report_count] = path;
        m->reports[m->report_count++] = r;
        if (take_report(m, &r)) return true;
    } else {
        report_free(&r);
    }
    errno = ENOMEM;
    snprintf(why, REPORT_WHY_BYTES, "%s", strerror(errno));
    return false;
}

static void do_nothing(void *line) { (void)line; }

void merged_free(merged *m)
{
    tdestroy(m->tree, do_nothing);
    for (int i = 0; i < m->count; i++) free(m->lines[i]);
    for (int i = 0; i < m->report_count; i++) report_free(&m->reports[i]);
    free(m->lines);
    free(m->reports);
    free(m->paths);
    *m = (merged){0};
}

const merged_line *merged_find(const merged *m, const merged_line *like)
{
    merged_line *const *found = tfind(like, &m->tree, comparison_of(m));
    return found ? *found : NULL;
}

/* ---- what follows ---- */

double merged_seconds_of_one(const merged_line *line)
{
    return line->seconds < 0.0 || line->timed <= 0.0 ? -1.0 : line->seconds / line->timed;
}

double merged_gain(const merged_line *line)
{
    const double one = merged_seconds_of_one(line), native = line->call.native_seconds;
    const bool is_emulated = !line->call.native_reason[0];
    return is_emulated && one > 0.0 && native > 0.0 ? native / one : -1.0;
}

/* ---- operations ---- */

/* Of a routine with a triangle: what the letters say of it. */
static double triangle_operations(const report_call *c)
{
    const double m = (double)c->m, n = (double)c->n, k = (double)c->k;
    const double order = c->letters.side == 'L' ? m : n;
    if (c->letters.diagonal) return order * m * n;
    if (c->letters.side) return 2.0 * order * m * n;
    const bool is_double = strstr(c->function, "r2k") != NULL;
    return (is_double ? 2.0 : 1.0) * n * (n + 1.0) * k;
}

/* Of the other routines: a factor of what their sizes make. */
static const struct {
    const char *part; /* of the function's name */
    double factor;
    enum { M_N_K, N_N_K, N_N_N } sizes;
} routines[] = {
    {"emm", 2.0, M_N_K},         {"Matmul", 2.0, M_N_K}, {"getrf", 2.0 / 3.0, N_N_N},
    {"getri", 4.0 / 3.0, N_N_N}, {"matinv", 2.0, N_N_N}, {"getrs", 2.0, N_N_K},
};

/* Negative if the routine is none of those. */
static double plain_operations(const report_call *c)
{
    const double m = (double)c->m, n = (double)c->n, k = (double)c->k;
    const double sizes[] = {[M_N_K] = m * n * k, [N_N_K] = n * n * k, [N_N_N] = n * n * n};
    for (size_t i = 0; i < sizeof routines / sizeof *routines; i++)
        if (strstr(c->function, routines[i].part))
            return routines[i].factor * sizes[routines[i].sizes];
    return -1.0;
}

double merged_rate(const merged_line *line)
{
    const report_call *c = &line->call;
    const bool is_complex = strncmp(c->type, "complex", strlen("complex")) == 0;
    const double one = merged_seconds_of_one(line);
    const double real = c->letters.triangle ? triangle_operations(c) : plain_operations(c);
    if (real < 0.0 || one <= 0.0) return -1.0;
    return real * (is_complex ? 4.0 : 1.0) * (double)c->batch / one;
}

/* ---- orders ---- */

static double weight_of(const merged_line *line, merged_order order)
{
    switch (order) {
    case ORDER_CALLS:
        return (double)line->call.count;
    case ORDER_GAIN:
        return merged_gain(line);
    case ORDER_ERROR:
        return line->call.is_verified ? line->call.verified.worst : -1.0;
    default:
        return line->seconds;
    }
}

static int compare_weights(const void *left, const void *right, void *order)
{
    const merged_line *a = *(merged_line *const *)left, *b = *(merged_line *const *)right;
    const double of_a = weight_of(a, *(merged_order *)order);
    const double of_b = weight_of(b, *(merged_order *)order);
    return of_a != of_b ? (of_a < of_b ? 1 : -1) : compare_numbers(a->number, b->number);
}

void merged_sort(merged *m, merged_order order)
{
    if (m->count) qsort_r(m->lines, (size_t)m->count, sizeof *m->lines, compare_weights, &order);
}
