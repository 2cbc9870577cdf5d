/* report_sums.c - what a report's counters say together: those of a line, and of all lines. */
#include "report_internal.h"

static const volatile td_counters *counters_of(const td_counted *c) { return c->counts; }

long long td_record_unread(const td_record *record)
{
    const long long expected = record->expected, timed = record->timed;
    return expected > timed ? expected - timed : 0;
}

double td_record_nanoseconds(const td_record *record)
{
    return record->timed ? (double)record->nanoseconds : TD_UNKNOWN;
}

long long td_record_repaired(const td_record *record)
{
    unsigned long long sum = 0;
    for (const td_counted *c = record->counters; c; c = c->next) sum += counters_of(c)->repaired;
    return record->counters ? (long long)sum : TD_UNKNOWN;
}

long long td_record_tiles(const td_record *record)
{
    unsigned long long sum = 0;
    for (const td_counted *c = record->counters; c; c = c->next) sum += counters_of(c)->tiles;
    return record->counters ? (long long)sum : TD_UNKNOWN;
}

long long td_record_planes(const td_record *record)
{
    unsigned long long most = 0;
    for (const td_counted *c = record->counters; c; c = c->next) {
        const unsigned long long planes = counters_of(c)->planes;
        if (planes > most) most = planes;
    }
    return most ? (long long)most : TD_UNKNOWN;
}

long long td_record_mantissa_bits(const td_record *record)
{
    long long most = TD_UNKNOWN;
    for (const td_counted *c = record->mantissa_bits; c; c = c->next) {
        const int told = *(const volatile int *)c->counts, bits = told < 0 ? 0 : told;
        if (told != 0 && bits > most) most = bits;
    }
    return most;
}

td_sample_counts td_record_samples(const td_record *record)
{
    td_sample_counts sum = {0};
    for (const td_counted *c = record->samples; c; c = c->next) {
        const volatile td_sample_counts *of = c->counts;
        sum.elements += of->elements;
        sum.special += of->special;
        sum.unjudged += of->unjudged;
        sum.outside += of->outside;
        sum.sum += of->sum;
        sum.sum_ulps += of->sum_ulps;
        if (of->worst > sum.worst) sum.worst = of->worst;
        if (of->worst_ulps > sum.worst_ulps) sum.worst_ulps = of->worst_ulps;
    }
    return sum;
}

td_report_totals td_report_add_up(const td_report *report)
{
    td_report_totals totals = {.intercepted = report->unlisted,
                               .unlisted = report->unlisted,
                               .seconds = TD_UNKNOWN,
                               .repaired = TD_UNKNOWN,
                               .verified = TD_UNKNOWN,
                               .outside = TD_UNKNOWN};
    for (const td_record *record = report->first; record; record = record->next) {
        const td_sample_counts samples = td_record_samples(record);
        const td_report_totals of_line = {
#define TOTAL(name, type, need, merge, value, ...) .name = (value),
#include "json_fields.def"
        };
        td_fields_merge(td_total_fields, &totals, &of_line);
    }
    totals.seconds /= 1e9; /* only now, as sums of whole nanoseconds are exact */
    return totals;
}
