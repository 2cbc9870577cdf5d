#include "tools/bench_report.h"

#include <stdio.h>
#include <string.h>

#include "lib/report/timed.h"
#include "tools/report_read.h"

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

static void add_verified(bench_report *sums, const td_report_verified *v)
{
    sums->is_verified = true;
    sums->outside += (unsigned long long)v->outside;
    if (v->worst > sums->worst_error) sums->worst_error = v->worst;
}

static void add_call(bench_report *sums, const td_report_call *call)
{
    const double seconds = td_timed_seconds(call);
    sums->untimed += (unsigned long long)td_timed_leave(call);
    if (seconds >= 0.0) {
        sums->is_timed = true;
        sums->seconds += seconds;
    }
    if (call->native_reason[0])
        add_reason(sums, call->native_reason, (unsigned long long)call->count);
    if (call->verified.is_known) add_verified(sums, &call->verified);
}

static void add_report(bench_report *sums, const report *r)
{
    const td_report_totals *totals = &r->head.totals;
    sums->incomplete += !r->head.is_complete;
    sums->calls += (unsigned long long)totals->intercepted;
    sums->emulated += (unsigned long long)totals->emulated;
    sums->native += (unsigned long long)totals->native;
    sums->untimed += (unsigned long long)totals->unlisted;
    if (!sums->device[0] && r->device_count)
        snprintf(sums->device, sizeof sums->device, "%s", r->devices[0].name);
    if (totals->repaired >= 0) {
        sums->repaired += (unsigned long long)totals->repaired;
        sums->is_counted = true;
    }
    for (int i = 0; i < r->call_count; i++) add_call(sums, &r->calls[i]);
}

bool bench_report_add(bench_report *sums, const char *path)
{
    report r;
    char why[REPORT_WHY_BYTES];
    if (!report_read(path, &r, why)) return false;
    add_report(sums, &r);
    report_free(&r);
    return true;
}
