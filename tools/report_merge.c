#include "tools/report_merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const merged_orders[ORDERS] = {"time", "calls", "gain", "error"};

/* ---- one line of several ---- */

static bool is_same(const report_call *a, const report_call *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->batch == b->batch &&
           a->op_a == b->op_a && a->op_b == b->op_b && strcmp(a->function, b->function) == 0 &&
           strcmp(a->type, b->type) == 0 && strcmp(a->mode, b->mode) == 0 &&
           strcmp(a->native_reason, b->native_reason) == 0 && strcmp(a->site, b->site) == 0;
}

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
}

/* The sum of two counts, of which a negative one is not known. */
static long long add_counted(long long a, long long b) { return a < 0 ? b : b < 0 ? a : a + b; }

static void add_to(report_call *to, const report_call *from)
{
    to->count += from->count;
    to->timed += from->timed;
    to->seconds = add_known(to->seconds, from->seconds);
    to->repaired = add_counted(to->repaired, from->repaired);
    to->tiles = add_counted(to->tiles, from->tiles);
    if (from->planes > to->planes) to->planes = from->planes;
    to->native_seconds = larger(to->native_seconds, from->native_seconds);
    add_verified(to, from);
}

/* ---- all ---- */

static bool take_call(const report_call *call, void *context)
{
    merged *m = context;
    for (int i = 0; i < m->count; i++)
        if (is_same(&m->calls[i], call)) {
            add_to(&m->calls[i], call);
            return true;
        }
    report_call *grown = realloc(m->calls, ((size_t)m->count + 1) * sizeof *grown);
    if (!grown) return false;
    m->calls = grown;
    m->calls[m->count++] = *call;
    return true;
}

static void take_head(const report_head *head, void *context)
{
    merged *m = context;
    m->reports++;
    m->intercepted += head->intercepted;
    m->emulated += head->emulated;
    m->native += head->native;
    m->unlisted += head->unlisted;
    m->is_host_device |= head->is_host_device;
    if (!m->program[0]) snprintf(m->program, sizeof m->program, "%s", head->program);
    if (!m->device[0]) snprintf(m->device, sizeof m->device, "%s", head->device);
}

bool merged_add(merged *m, const char *path) { return report_read(path, take_head, take_call, m); }

void merged_free(merged *m)
{
    free(m->calls);
    *m = (merged){0};
}

/* ---- what follows ---- */

static double seconds_of_one(const report_call *c)
{
    return c->timed > 0 && c->seconds >= 0.0 ? c->seconds / (double)c->timed : -1.0;
}

double merged_seconds(const report_call *c)
{
    const double one = seconds_of_one(c);
    return one < 0.0 ? -1.0 : one * (double)c->count;
}

double merged_gain(const report_call *c)
{
    const double one = seconds_of_one(c);
    const bool is_emulated = !c->native_reason[0];
    return is_emulated && one > 0.0 && c->native_seconds > 0.0 ? c->native_seconds / one : -1.0;
}

double merged_rate(const report_call *c)
{
    const double one = seconds_of_one(c);
    const bool is_product = strstr(c->function, "emm") && strcmp(c->type, "binary64") == 0;
    if (!is_product || one <= 0.0) return -1.0;
    return 2.0 * (double)c->m * (double)c->n * (double)c->k * (double)c->batch / one;
}

static double weight_of(const report_call *c, merged_order order)
{
    switch (order) {
    case ORDER_CALLS:
        return (double)c->count;
    case ORDER_GAIN:
        return merged_gain(c);
    case ORDER_ERROR:
        return c->is_verified ? c->verified.worst : -1.0;
    default:
        return merged_seconds(c);
    }
}

/* A stable sort, by insertion into what is sorted already: reports have some hundred lines. */
void merged_sort(merged *m, merged_order order)
{
    for (int i = 1; i < m->count; i++) {
        const report_call c = m->calls[i];
        int at = i;
        for (; at > 0 && weight_of(&m->calls[at - 1], order) < weight_of(&c, order); at--)
            m->calls[at] = m->calls[at - 1];
        m->calls[at] = c;
    }
}
