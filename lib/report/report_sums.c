/* report_sums.c - what a report's counters say together: those of a line, and of all lines. */
#include "report_internal.h"

static const volatile td_counters *counters_of(const td_counted *c) { return c->counts; }

unsigned long long td_record_unread(const td_record *record)
{
    const unsigned long long expected = record->expected, timed = record->timed;
    return expected > timed ? expected - timed : 0;
}

unsigned long long td_record_repaired(const td_record *record)
{
    unsigned long long sum = 0;
    for (const td_counted *c = record->counters; c; c = c->next) sum += counters_of(c)->repaired;
    return sum;
}

unsigned long long td_record_tiles(const td_record *record)
{
    unsigned long long sum = 0;
    for (const td_counted *c = record->counters; c; c = c->next) sum += counters_of(c)->tiles;
    return sum;
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

unsigned long long td_record_planes(const td_record *record)
{
    unsigned long long most = 0;
    for (const td_counted *c = record->counters; c; c = c->next) {
        const unsigned long long planes = counters_of(c)->planes;
        if (planes > most) most = planes;
    }
    return most;
}

td_report_totals td_report_add_up(const td_report *from)
{
    td_report_totals totals = {.unlisted = from->unlisted};
    totals.intercepted = totals.unlisted;
    for (const td_record *record = from->first; record; record = record->next) {
        totals.intercepted += record->count;
        *(record->key.reason ? &totals.native : &totals.emulated) += record->count;
        totals.timed += record->timed;
        totals.unread += td_record_unread(record);
        totals.nanoseconds += record->nanoseconds;
        totals.repaired += td_record_repaired(record);
        totals.is_counted |= record->count != 0 && record->counters;
        const td_sample_counts samples = td_record_samples(record);
        totals.verified += samples.elements;
        totals.outside += samples.outside;
        totals.is_verified |= samples.elements != 0;
    }
    return totals;
}
