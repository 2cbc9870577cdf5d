#include "call.h"

#include <stdatomic.h>

#include "../model/device_model.h"
#include "../report/range.h"
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
    const td_model *model = td_device_model(ordinal);
    if (model) td_report_set_figures(ordinal, model->source);
}

/* For profilers; true if one watches. */
static bool begin_range(const td_report_key *key)
{
    char text[TD_CALL_TEXT];
    if (!td_range_is_watched()) return false;
    td_report_print_call(key, text);
    td_range_begin(text);
    return true;
}

static void end_range(td_call *call)
{
    if (call->has_range) td_range_end();
    call->has_range = false;
}

/* A negative number if nobody can say. */
static double native_seconds(const td_model *model, const td_question *q)
{
    if (!q->method || !q->method->predict_one) return -1.0;
    return q->method->predict_one(model, q, td_engines[0], (td_parameter){0}).seconds;
}

/* What cuBLAS would take, once for a line of the report, where the device is known. */
static void name_native_time(const td_call *call, const td_question *q, const td_device *device)
{
    if (!device || !td_report_wants_native(call->record)) return;
    const td_model *model = td_device_model(device->ordinal);
    td_report_set_native(call->record, model ? native_seconds(model, q) : -1.0);
}

/* Captured work takes no time when it is called. */
static void start_time(td_call *call)
{
    call->is_to_be_timed =
        td_report_wants_time(call->record) && !td_stream_is_capturing(call->stream);
    if (call->is_to_be_timed) call->timer = td_timer_start(call->stream);
}

static void stop_time(td_call *call)
{
    if (!call->is_to_be_timed) return;
    td_report_expect_time(call->record);
    td_timer_stop(call->timer, call->stream, call->record);
}

/* Most of what a call costs the host is for these. */
bool td_call_is_looked_at(const td_options *o)
{
    return td_report_is_on() || o->verify || td_range_is_watched();
}

td_call td_call_begin(const td_options *o, const td_question *q, const td_decision *decision,
                      td_device *device, int ordinal)
{
    td_call call = {.outcome = decision->engine ? TD_CALL_EMULATED : TD_CALL_NATIVE,
                    .maker = td_entry_maker(q->entry),
                    .stream = q->called->stream};
    if (!td_call_is_looked_at(o)) return call;
    const td_promise promise = td_promised(q, decision);
    const td_report_key key =
        td_report_key_of(q->entry, q->called, decision, promise.bound, ordinal);
    call.record = td_report_find(&key);
    if (call.record) name_device(ordinal);
    if (call.record && decision->forecast.mode) name_figures(ordinal);
    if (decision->reason == td_reason_invalid || decision->reason == td_reason_stream) return call;
    name_native_time(&call, q, device);
    td_sampling_begin(&call.sampling, o, q, &promise, device, call.record);
    start_time(&call);
    call.has_range = begin_range(&key);
    return call;
}

td_counters *td_call_counters(td_call *call, const td_decision *decision, const td_device *device)
{
    const unsigned slot = call->record ? td_record_number(call->record) : TD_COUNTER_SLOTS;
    call->counts = decision->counts;
    if (slot >= TD_COUNTER_SLOTS) return call->counts.from;
    td_report_add_counters(call->record, &device->counters[slot]);
    if (!call->counts.from) call->counts.from = &device->device_counters[slot];
    call->counts.to = &device->mapped_counters[slot];
    return call->counts.from;
}

int *td_call_mantissa_bits(td_call *call)
{
    const td_device *device = call->record ? td_device_current() : NULL;
    const unsigned slot = device ? td_record_number(call->record) : TD_COUNTER_SLOTS;
    if (slot >= TD_COUNTER_SLOTS) return NULL;
    td_report_add_mantissa_bits(call->record, &device->mantissa_bits[slot]);
    return &device->mapped_mantissa_bits[slot];
}

/* What runs the call and why, and the times that decided. */
static void log_decision(const td_question *q, const td_decision *decision)
{
    enum { DECIMALS = 4 };
    char forecast[TD_FORECAST_TEXT] = "";
    const td_problem *p = q->called;
    const char *why = decision->reason ? decision->reason : decision->choice;
    if (decision->forecast.mode) td_forecast_print(&decision->forecast, DECIMALS, forecast);
    td_log(TD_LOG_DEBUG, "%s m=%lld n=%lld k=%lld: %s%s%s%s%s%s", td_entries[q->entry].name,
           (long long)p->m, (long long)p->n, (long long)p->k, decision->text, why ? " (" : "",
           why ? why : "", why && forecast[0] ? ": " : "", forecast, why ? ")" : "");
}

void td_call_count(const td_call *call, const td_question *q, const td_decision *decision)
{
    td_report_count(call->record);
    if (td_log_is_on(TD_LOG_DEBUG)) log_decision(q, decision);
}

void td_call_wait(td_call *call)
{
    end_range(call);
    td_timer_drop(call->timer);
    call->timer = NULL;
    call->is_to_be_timed = false;
}

void td_call_resume(td_call *call) { start_time(call); }

void td_call_end(td_call *call, bool is_done)
{
    end_range(call);
    /* If this fails, a count is late, or missing. */
    if (call->counts.from && call->outcome == TD_CALL_EMULATED)
        td_cuda_ok(td_counters_move(&call->counts, call->stream));
    stop_time(call);
    td_sampling_end(&call->sampling, is_done);
    td_process_keep_report();
}

void td_call_drop(td_call *call)
{
    end_range(call);
    td_timer_drop(call->timer);
    td_sampling_end(&call->sampling, false);
}
