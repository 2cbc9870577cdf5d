#include "dispatch.h"

#include <stdatomic.h>

#include "lower.h"
#include "process.h"
#include "../options/rules.h"

bool td_dispatch_wants(const td_options *o, td_entry entry)
{
    return (td_policy_emulates(o) || o->report.text[0] || o->verify || o->rules.text[0]) &&
           td_policy_intercepts(o, entry);
}

static td_call keep_native(td_entry entry, const td_problem *p, const td_decision *decision)
{
    const td_options *o = td_options_in_force();
    int ordinal = -1;
    if (!td_cuda_ok(cudaGetDevice(&ordinal))) ordinal = -1;
    td_device *device = o->verify ? td_device_current() : NULL;
    const td_call call = td_call_begin(o, entry, p, decision, device, ordinal);
    td_call_count(&call, entry, p, decision);
    return call;
}

td_call td_dispatch_native(td_entry entry, const td_problem *p, const char *reason)
{
    const td_decision decision = td_policy_native(reason);
    return keep_native(entry, p, &decision);
}

/* What becomes of a run that enqueued nothing: the reason in the report, and a line in the log, said once; NULL: others
 * have said it. */
static const struct {
    const char *reason, *line;
} refusals[] = {
    [TD_RUN_NO_MEMORY] = {td_reason_memory, "not enough device memory to emulate a product"},
    [TD_RUN_NOT_CAPTURED] = {td_reason_capture,
                             "no device memory that a captured product could keep"},
    [TD_RUN_TOO_LARGE] = {td_reason_large,
                          "a product has more rows, columns or terms than the mode can count"},
    [TD_RUN_NO_CUBLAS] = {td_reason_cublas, NULL},
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
    td_call call = td_call_begin(o, entry, p, decision, device, device->ordinal);
    td_counters *counters = td_call_counters(&call, device);
    td_problem product;
    const td_problem *const run = td_lower(p, &product) ? &product : p;
    const td_run_status status = td_engine_run(decision->engine, run, decision->parameter, device,
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
    td_call_end(&call, status == TD_RUN_DONE);
    return call;
}

/* ---- rules ---- */

static td_rules *rules; /* those of the file that TANDEM_RULES names; NULL: it has faults */

void td_dispatch_open(const td_options *o)
{
    td_sampling_open(o);
    if (!o->rules.text[0]) return;
    rules = td_rules_read(o->rules.text, o);
    if (!rules) td_log(TD_LOG_ERROR, "TANDEM_RULES has faults, so products run native");
}

/* The options for one call; NULL if there are rules with faults. */
static const td_options *options_of_call(const td_options *o, td_entry entry, const td_problem *p)
{
    if (!o->rules.text[0]) return o;
    if (!rules) return NULL;
    const td_site *site = td_rules_ask_caller(rules) ? td_site_find(p->caller) : NULL;
    const td_options *found = td_rules_find(rules, entry, p, site);
    return found ? found : o;
}

/* What runs a call, and whether that is a rule's word. */
static td_decision decide(const td_options *in_force, const td_options *o, const td_problem *p,
                          const td_device *device)
{
    td_decision d = td_policy_decide(o, p, device ? &device->model : NULL);
    if (o == in_force) return d;
    if (d.reason == td_reason_mode) d.reason = td_reason_rule;
    if (d.engine && !d.choice) d.choice = td_choice_rule;
    return d;
}

td_call td_dispatch(const td_options *in_force, td_entry entry, const td_problem *p)
{
    td_process_watch_exit();
    const td_options *o = options_of_call(in_force, entry, p);
    if (!o) return td_dispatch_native(entry, p, td_reason_rules);
    td_device *device = td_policy_predicts(o) ? td_device_current() : NULL;
    const td_decision decision = decide(in_force, o, p, device);
    if (!decision.engine) return keep_native(entry, p, &decision);
    if (!device) device = td_device_current();
    if (!device) return td_dispatch_native(entry, p, td_reason_device);
    const td_matrix *result = td_problem_result(p);
    const void *written = result->array ? (const void *)result->array : result->data;
    if (!td_device_reaches(device, written)) return td_dispatch_native(entry, p, td_reason_pointer);
    return emulate(o, entry, p, &decision, device);
}
