#include "tools/bench_report.h"

#include <stdio.h>
#include <string.h>

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

static void add_verified(bench_report *sums, const report_verified *v)
{
    sums->is_verified = true;
    sums->outside += v->outside;
    if (v->worst > sums->worst_error) sums->worst_error = v->worst;
}

static bool add_call(const report_call *call, void *context)
{
    bench_report *sums = context;
    if (call->timed > 0 && call->seconds >= 0.0) {
        sums->is_timed = true;
        sums->seconds += call->seconds / (double)call->timed * (double)call->count;
    } else {
        sums->untimed += call->count;
    }
    if (call->native_reason[0]) add_reason(sums, call->native_reason, call->count);
    if (call->is_verified) add_verified(sums, &call->verified);
    return true;
}

static void add_head(const report_head *head, void *context)
{
    bench_report *sums = context;
    sums->incomplete += !head->is_complete;
    sums->calls += head->intercepted;
    sums->emulated += head->emulated;
    sums->native += head->native;
    sums->untimed += head->unlisted;
    if (!sums->device[0]) snprintf(sums->device, sizeof sums->device, "%s", head->device);
    if (head->repaired < 0) return;
    sums->repaired += (unsigned long long)head->repaired;
    sums->is_counted = true;
}

bool bench_report_add(bench_report *sums, const char *path)
{
    return report_read(path, add_head, add_call, sums);
}
