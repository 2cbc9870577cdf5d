#include "tools/report_merge.h"

#include <errno.h>
#include <search.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/timed.h"
#include "lib/routine/entries.h"
#include "lib/routine/operations.h"

const char *const merged_orders[ORDERS] = {"time", "calls", "gain", "error"};

/* ---- lines ---- */

static int compare_kinds(const void *a, const void *b)
{
    return td_report_call_compare(a, b, true);
}

static int compare_kinds_and_modes(const void *a, const void *b)
{
    return td_report_call_compare(a, b, false);
}

static __compar_fn_t comparison_of(const merged *m)
{
    _Static_assert(offsetof(merged_line, call) == 0, "a line is found by its call");
    return m->has_any_mode ? compare_kinds : compare_kinds_and_modes;
}

/* The line of a call that is the first of its kind; NULL without memory. */
static merged_line *add_line(merged *m, const td_report_call *call)
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

static bool take_call(merged *m, const td_report_call *call)
{
    merged_line *const *found = tfind(call, &m->tree, comparison_of(m));
    merged_line *line = found ? *found : add_line(m, call);
    if (!line) return false;
    const double seconds = td_timed_seconds(call);
    if (found) td_fields_merge(td_call_fields, &line->call, call);
    if (seconds >= 0.0) line->seconds = line->seconds < 0.0 ? seconds : line->seconds + seconds;
    line->timed += td_timed_calls(call);
    line->untimed += td_timed_leave(call);
    if (call->unread) line->unread += td_timed_leave(call);
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
    m->incomplete += !r->head.is_complete;
    td_fields_merge(td_total_fields, &m->totals, &r->head.totals);
    m->is_host_device |= r->head.host_device;
    bool is_taken = true;
    for (int i = 0; is_taken && i < r->call_count; i++) is_taken = take_call(m, &r->calls[i]);
    return is_taken;
}

/* The place of the report of the same process: the same one, or one that was written at another
 * time. -1 if there is none, or the report is of a version that does not tell processes apart. */
static int find_same_process(const merged *m, const report *r)
{
    for (int i = 0; i < m->report_count && r->head.process[0]; i++)
        if (strcmp(m->reports[i].head.process, r->head.process) == 0 &&
            strcmp(m->reports[i].head.host, r->head.host) == 0)
            return i;
    return -1;
}

/* True if the process wrote a after b. Its counts only grow; its clock may have been set. */
static bool is_later(const td_report_head *a, const td_report_head *b)
{
    if (a->totals.intercepted != b->totals.intercepted)
        return a->totals.intercepted > b->totals.intercepted;
    if (a->is_complete != b->is_complete) return a->is_complete;
    return strcmp(a->written, b->written) > 0;
}

/* Leaves one of two reports of a process: the later one, or else the one that was there. */
static void keep_later(merged *m, int at, report *r, const char *path)
{
    m->left_out = path;
    if (is_later(&r->head, &m->reports[at].head)) {
        const report earlier = m->reports[at];
        m->left_out = m->paths[at];
        m->paths[at] = path;
        m->reports[at] = *r;
        *r = earlier;
    }
    report_free(r);
}

bool merged_add(merged *m, const char *path, char why[REPORT_WHY_BYTES])
{
    report r;
    if (!report_read(path, &r, why)) return false;
    const int same = find_same_process(m, &r);
    if (same >= 0) {
        keep_later(m, same, &r, path);
        errno = EEXIST;
        snprintf(why, REPORT_WHY_BYTES, "it is of the same process as '%s'", m->paths[same]);
        return false;
    }
    if (grow(m)) {
        m->paths[m->report_count] = path;
        m->reports[m->report_count++] = r;
        return true;
    }
    report_free(&r);
    errno = ENOMEM;
    snprintf(why, REPORT_WHY_BYTES, "%s", strerror(errno));
    return false;
}

bool merged_sum_up(merged *m)
{
    bool are_taken = true;
    for (int i = 0; are_taken && i < m->report_count; i++)
        are_taken = take_report(m, &m->reports[i]);
    return are_taken;
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

/* Negative if the function is none that this version of Tandem knows. */
static double operations_of(const td_report_call *c)
{
    const td_entry entry = td_entry_find(c->function);
    if (entry == TD_ENTRY_COUNT) return -1.0;
    const bool is_complex = strncmp(c->type, "complex", strlen("complex")) == 0;
    const td_problem p = {.kind = td_routines[td_entries[entry].routine].kind,
                          .type = is_complex ? TD_COMPLEX_BINARY64 : TD_BINARY64,
                          .side = c->side == 'R' ? TD_RIGHT : TD_LEFT,
                          .lacks_vectors = c->job == 'N',
                          .m = c->m,
                          .n = c->n,
                          .k = c->k};
    return td_operations(&p) * (double)c->batch;
}

double merged_rate(const merged_line *line)
{
    const double one = merged_seconds_of_one(line), operations = operations_of(&line->call);
    return operations < 0.0 || one <= 0.0 ? -1.0 : operations / one;
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
        return td_report_error(&line->call, line->call.verified.worst);
    default:
        return line->seconds;
    }
}

static int compare_weights(const void *left, const void *right, void *order)
{
    const merged_line *a = *(merged_line *const *)left, *b = *(merged_line *const *)right;
    const double of_a = weight_of(a, *(merged_order *)order);
    const double of_b = weight_of(b, *(merged_order *)order);
    return of_a != of_b ? (of_a < of_b ? 1 : -1) : a->number - b->number;
}

void merged_sort(merged *m, merged_order order)
{
    if (m->count) qsort_r(m->lines, (size_t)m->count, sizeof *m->lines, compare_weights, &order);
}
