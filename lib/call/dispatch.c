#include "dispatch.h"

#include <stdatomic.h>

#include "process.h"

bool td_dispatch_wants(const td_options *o, td_entry entry)
{
    return (td_policy_emulates(o) || o->report.text[0]) && td_policy_intercepts(o, entry);
}

static td_call keep_native(td_entry entry, const td_problem *p, const td_decision *decision)
{
    int ordinal = -1;
    if (!td_cuda_ok(cudaGetDevice(&ordinal))) ordinal = -1;
    const td_call call = td_call_begin(entry, p, decision, ordinal);
    td_call_count(&call, entry, p, decision);
    return call;
}

td_call td_dispatch_native(td_entry entry, const td_problem *p, const char *reason)
{
    const td_decision decision = td_policy_native(reason);
    return keep_native(entry, p, &decision);
}

/* What becomes of a run that enqueued nothing: the reason in the report, and a line in the log, said once; NULL: others
 * have said it, or cuBLAS's own status will. */
static const struct {
    const char *reason, *line;
} refusals[] = {
    [TD_RUN_NO_MEMORY] = {td_reason_memory, "not enough device memory to emulate a product"},
    [TD_RUN_NOT_CAPTURED] = {td_reason_capture,
                             "no device memory that a captured product could keep"},
    [TD_RUN_TOO_LARGE] = {td_reason_large,
                          "a product has more rows, columns or terms than the mode can count"},
    [TD_RUN_NO_CUBLAS] = {td_reason_cublas, NULL},
    [TD_RUN_NO_STREAM] = {td_reason_refused, NULL},
    [TD_RUN_UNREACHABLE] = {td_reason_operand, NULL},
    [TD_RUN_FAILED] = {td_reason_launch, "the device refused a kernel, or cuBLAS a product"},
};

static td_call refuse(td_entry entry, const td_problem *p, td_run_status status)
{
    static atomic_uint said[sizeof refusals / sizeof *refusals];
    const char *line = refusals[status].line;
    if (line) td_log_capped(&said[status], 1, TD_LOG_WARN, "%s; it runs native (said once)", line);
    return td_dispatch_native(entry, p, refusals[status].reason);
}

static td_call emulate(const td_options *o, td_entry entry, const td_problem *p,
                       const td_decision *decision, td_device *device)
{
    td_call call = td_call_begin(entry, p, decision, device->ordinal);
    td_counters *counters = td_call_counters(&call, device);
    const td_run_status status = td_engine_run(decision->engine, p, decision->parameter, device,
                                               td_device_limit(device, o->workspace), counters);
    if (status != TD_RUN_DONE && status != TD_RUN_BROKEN) {
        td_call_drop(&call);
        return refuse(entry, p, status);
    }
    if (status == TD_RUN_BROKEN) {
        td_log(TD_LOG_ERROR, "%s: a kernel launch failed half way; the call returns an error",
               td_entries[entry].name);
        call.outcome = TD_CALL_BROKEN;
    }
    td_call_count(&call, entry, p, decision);
    td_call_end(&call);
    return call;
}

td_call td_dispatch(const td_options *o, td_entry entry, const td_problem *p)
{
    td_process_watch_exit();
    td_device *device = td_policy_predicts(o) ? td_device_current() : NULL;
    const td_decision decision = td_policy_decide(o, p, device ? &device->model : NULL);
    if (!decision.engine) return keep_native(entry, p, &decision);
    if (!device) device = td_device_current();
    if (!device) return td_dispatch_native(entry, p, td_reason_device);
    const td_matrix *result = td_problem_result(p);
    const void *written = result->array ? (const void *)result->array : result->data;
    if (!td_device_reaches(device, written)) return td_dispatch_native(entry, p, td_reason_pointer);
    return emulate(o, entry, p, &decision, device);
}
