#include "call.h"

#include <stdatomic.h>

#include "process.h"

/* Tells the report, once for each device, what it is called. */
static void name_device(int ordinal)
{
    static atomic_bool named[TD_MAX_DEVICES];
    td_device_text name;
    if (ordinal < 0 || ordinal >= TD_MAX_DEVICES || atomic_exchange(&named[ordinal], true)) return;
    if (td_device_name(ordinal, &name)) td_report_set_device(ordinal, name.text);
}

/* Where its predictions come from, once. */
static void name_figures(int ordinal)
{
    static atomic_bool named[TD_MAX_DEVICES];
    if (ordinal < 0 || ordinal >= TD_MAX_DEVICES || atomic_exchange(&named[ordinal], true)) return;
    const td_device *device = td_device_current();
    if (device) td_report_set_figures(ordinal, device->model.source);
}

td_call td_call_begin(td_entry entry, const td_problem *p, const td_decision *decision, int ordinal)
{
    const td_report_key key = td_report_key_of(entry, p, decision, ordinal);
    td_call call = {.outcome = decision->engine ? TD_CALL_EMULATED : TD_CALL_NATIVE,
                    .record = td_report_find(&key),
                    .stream = p->stream};
    if (call.record) name_device(ordinal);
    if (call.record && decision->forecast.mode) name_figures(ordinal);
    if (decision->reason != td_reason_invalid && td_report_wants_time(call.record))
        call.timer = td_timer_start(p->stream);
    return call;
}

td_counters *td_call_counters(td_call *call, const td_device *device)
{
    const unsigned slot = call->record ? td_record_number(call->record) : TD_COUNTER_SLOTS;
    if (slot >= TD_COUNTER_SLOTS) return NULL;
    td_report_add_counters(call->record, &device->counters[slot]);
    call->counters = &device->device_counters[slot];
    call->mapped_counters = &device->mapped_counters[slot];
    return call->counters;
}

void td_call_count(const td_call *call, td_entry entry, const td_problem *p,
                   const td_decision *decision)
{
    const char *why = decision->reason ? decision->reason : decision->choice;
    td_report_count(call->record);
    td_log(TD_LOG_DEBUG, "%s m=%lld n=%lld k=%lld: %s%s%s%s", td_entries[entry].name,
           (long long)p->m, (long long)p->n, (long long)p->k, decision->text, why ? " (" : "",
           why ? why : "", why ? ")" : "");
}

void td_call_end(td_call *call)
{
    /* If this fails, a count is late, or missing. */
    if (call->counters && call->outcome == TD_CALL_EMULATED)
        td_cuda_ok(td_counters_move(call->counters, call->mapped_counters, call->stream));
    td_timer_stop(call->timer, call->stream, call->record);
    td_process_keep_report();
}

void td_call_drop(td_call *call) { td_timer_drop(call->timer); }
