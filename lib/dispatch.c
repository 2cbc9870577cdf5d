#include "dispatch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "../include/tandem.h"
#include "device.h"
#include "policy.h"
#include "report.h"

extern char **environ;

static td_options options;
static pthread_once_t options_once = PTHREAD_ONCE_INIT;

static void read_options(void)
{
    (void)td_options_read(&options, environ); /* says what is wrong, and then has the defaults */
    td_log_open(options.log_level, options.log_file[0] ? options.log_file : NULL);
    td_report_open(&options, tandem_version());
#ifdef TD_HOSTGPU
    td_report_set_host_device();
#endif
}

const td_options *td_options_in_force(void)
{
    pthread_once(&options_once, read_options);
    return &options;
}

size_t td_workspace_limit(const td_device *device)
{
    const td_options *o = td_options_in_force();
    return o->workspace_bytes ? o->workspace_bytes : device->workspace_bytes;
}

bool td_dispatch_wants(td_entry entry)
{
    const td_options *o = td_options_in_force();
    return (o->engine->run || o->report_file[0]) && td_policy_intercepts(o, entry);
}

static td_record *record_of(td_entry entry, const td_gemm *p, const char *mode, const char *reason,
                            int device)
{
    const td_report_key key = {
        .entry = entry,
        .mode = mode,
        .reason = reason,
        .device = device,
        .op_a = p->op_a,
        .op_b = p->op_b,
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .batch = p->batch,
    };
    return td_report_find(&key);
}

/* Tells the report, once for each device, what it is called. */
static void name_device(int ordinal)
{
    static atomic_bool named[TD_MAX_DEVICES];
    td_device_text name;
    if (ordinal < 0 || ordinal >= TD_MAX_DEVICES || atomic_exchange(&named[ordinal], true)) return;
    if (td_device_name(ordinal, &name)) td_report_set_device(ordinal, name.text);
}

td_call td_dispatch_native(td_entry entry, const td_gemm *p, const char *reason)
{
    td_call call = {.outcome = TD_CALL_NATIVE, .stream = p->stream};
    int device = -1;
    if (!td_cuda_ok(cudaGetDevice(&device))) device = -1;
    call.record = record_of(entry, p, "native", reason, device);
    if (call.record) name_device(device);
    if (reason != td_reason_invalid && td_report_wants_time(call.record))
        call.timer = td_timer_start(p->stream);
    td_report_count(call.record);
    td_log(TD_LOG_DEBUG, "%s m=%lld n=%lld k=%lld: native (%s)", td_entries[entry].name,
           (long long)p->m, (long long)p->n, (long long)p->k, reason);
    return call;
}

void td_dispatch_end(td_call *call) { td_timer_stop(call->timer, call->stream, call->record); }

/* The number of the counters that kernels of this record's calls increment on the device; TD_COUNTER_SLOTS: none. */
static unsigned counters_of(td_record *record, const td_device *device)
{
    const unsigned slot = record ? td_record_number(record) : TD_COUNTER_SLOTS;
    if (slot >= TD_COUNTER_SLOTS) return TD_COUNTER_SLOTS;
    td_report_set_counters(record, &device->counters[slot]);
    return slot;
}

static td_run_status run(const td_gemm *p, const td_engine *engine, td_device *device,
                         unsigned slot)
{
    const int parameter = td_options_in_force()->parameter;
    td_counters *counters = slot < TD_COUNTER_SLOTS ? &device->device_counters[slot] : NULL;
    const td_run_status status =
        engine->run(p, parameter, device, td_workspace_limit(device), counters);
    if (counters && status == TD_RUN_DONE) /* if this fails, a count is late, or missing */
        td_cuda_ok(td_counters_move(counters, &device->mapped_counters[slot], p->stream));
    return status;
}

static td_call emulate(td_entry entry, const td_gemm *p, const td_engine *engine, td_device *device)
{
    const td_options *o = td_options_in_force();
    td_call call = {.outcome = TD_CALL_EMULATED, .stream = p->stream};
    call.record = record_of(entry, p, o->mode_text, NULL, device->ordinal);
    const unsigned slot = counters_of(call.record, device);
    if (call.record) name_device(device->ordinal);
    if (td_report_wants_time(call.record)) call.timer = td_timer_start(p->stream);
    switch (run(p, engine, device, slot)) {
    case TD_RUN_DONE:
        break;
    case TD_RUN_BROKEN:
        td_log(TD_LOG_ERROR, "%s: a kernel launch failed half way; the call returns an error",
               td_entries[entry].name);
        call.outcome = TD_CALL_BROKEN;
        break;
    case TD_RUN_NO_MEMORY:
        td_timer_drop(call.timer);
        TD_LOG_ONCE(TD_LOG_WARN,
                    "not enough device memory to emulate a product; it runs native (said once)");
        return td_dispatch_native(entry, p, td_reason_memory);
    case TD_RUN_NO_CUBLAS:
    case TD_RUN_FAILED:
        td_timer_drop(call.timer);
        TD_LOG_ONCE(TD_LOG_WARN,
                    "the device refused a kernel, or cuBLAS a product; it runs native (said once)");
        return td_dispatch_native(entry, p, td_reason_launch);
    }
    td_report_count(call.record);
    td_timer_stop(call.timer, p->stream, call.record);
    td_log(TD_LOG_DEBUG, "%s m=%lld n=%lld k=%lld: %s", td_entries[entry].name, (long long)p->m,
           (long long)p->n, (long long)p->k, o->mode_text);
    return call;
}

/* Registered after the CUDA runtime's own handlers, so that it runs before them and events can still be read. */
static void finish_at_exit(void) { (void)atexit(td_dispatch_finish); }

td_call td_dispatch(td_entry entry, const td_gemm *p)
{
    static pthread_once_t exit_once = PTHREAD_ONCE_INIT;
    pthread_once(&exit_once, finish_at_exit);
    const char *reason;
    const td_engine *engine = td_policy_choose(td_options_in_force(), p, &reason);
    if (!engine) return td_dispatch_native(entry, p, reason);
    td_device *device = td_device_current();
    if (!device) return td_dispatch_native(entry, p, td_reason_device);
    const void *c = p->c.array ? (const void *)p->c.array : (const void *)p->c.data;
    if (!td_device_reaches(device, c)) return td_dispatch_native(entry, p, td_reason_pointer);
    return emulate(entry, p, engine, device);
}

void td_dispatch_finish(void)
{
    static atomic_flag finished = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&finished)) return;
    td_timer_collect();
    td_report_write();
}
