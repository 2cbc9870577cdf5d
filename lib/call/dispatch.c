#include "dispatch.h"

#include <pthread.h>
#include <stdatomic.h>

#include "../engines/ozaki/branch.h"
#include "../model/device_model.h"
#include "adaptive.h"
#include "known.h"
#include "../verify/failures.h"
#include "rules.h"
#include "scope.h"
#include "process.h"

bool td_dispatch_wants(const td_options *o, td_entry entry)
{
    return (td_policy_emulates(o) || o->report.text[0] || td_report_is_on() || o->verify ||
            o->rules.text[0]) &&
           td_policy_intercepts(o, entry);
}

static td_call keep_native(const td_question *q, const td_decision *decision)
{
    const td_options *o = td_options_in_force();
    int ordinal = -1;
    if (!td_cuda_ok(cudaGetDevice(&ordinal))) ordinal = -1;
    td_device *device = o->verify ? td_device_current() : NULL;
    const td_call call = td_call_begin(o, q, decision, device, ordinal);
    td_call_count(&call, q, decision);
    return call;
}

td_call td_dispatch_refuse(const td_question *q, const char *reason)
{
    const td_decision decision = td_policy_native(reason);
    return keep_native(q, &decision);
}

td_call td_dispatch_native(td_entry entry, const td_problem *p, const char *reason)
{
    td_question q;
    td_ask(entry, p, &q);
    return td_dispatch_refuse(&q, reason);
}

/* What becomes of a run that enqueued nothing: the reason in the report, and a line in the log,
 * said once; NULL: others have said it, or cuBLAS's own status will. */
static const struct {
    const char *reason, *line;
} refusals[] = {
    [TD_RUN_NO_MEMORY] = {td_reason_memory, "not enough device memory to emulate a product"},
    [TD_RUN_NOT_CAPTURED] = {td_reason_capture,
                             "no device memory that a captured product could keep"},
    [TD_RUN_WAITS] = {td_reason_waits, NULL},
    [TD_RUN_TOO_LARGE] = {td_reason_large,
                          "a product has more rows, columns or terms than the mode can count"},
    [TD_RUN_NO_PANELS] = {td_reason_panels, NULL},
    [TD_RUN_NO_CUBLAS] = {td_reason_cublas, NULL},
    [TD_RUN_NO_STREAM] = {td_reason_refused, NULL},
    [TD_RUN_UNREACHABLE] = {td_reason_operand, NULL},
    [TD_RUN_UNALIGNED] = {td_reason_unaligned, NULL},
    [TD_RUN_NOT_REFINED] = {td_reason_refined, NULL},
    [TD_RUN_FAILED] = {td_reason_launch, "the device refused a kernel, or cuBLAS a product"},
};

static td_call refuse_run(const td_question *q, td_run_status status)
{
    static atomic_uint said[sizeof refusals / sizeof *refusals];
    const char *line = refusals[status].line;
    if (line) td_log_capped(&said[status], 1, TD_LOG_WARN, "%s; it runs native (said once)", line);
    return td_dispatch_refuse(q, refusals[status].reason);
}

/* ---- emulation ---- */

/* Runs the call; one that was not done, or not to its end, is still to be counted or dropped. */
static td_run_status attempt(const td_options *o, const td_question *q, const td_decision *decision,
                             td_device *device, td_call *call)
{
    *call = td_call_begin(o, q, decision, device, device->ordinal);
    return q->method->run(q, decision, device, td_device_limit(device, o->workspace),
                          td_call_counters(call, decision, device));
}

static void count(td_call *call, const td_question *q, const td_decision *decision, bool is_done)
{
    td_call_count(call, q, decision);
    td_call_end(call, is_done);
}

static td_call emulate(const td_options *o, const td_question *q, const td_decision *decision,
                       td_device *device)
{
    td_call call;
    const td_run_status status = attempt(o, q, decision, device, &call);
    if (status != TD_RUN_DONE && status != TD_RUN_BROKEN) {
        td_call_drop(&call);
        return refuse_run(q, status);
    }
    if (status == TD_RUN_BROKEN) {
        td_log(TD_LOG_ERROR, "%s: a kernel launch failed half way; the call returns an error",
               td_entries[q->entry].name);
        call.outcome = TD_CALL_BROKEN;
    }
    count(&call, q, decision, status == TD_RUN_DONE);
    return call;
}

/* ---- rules ---- */

static td_rules *rules; /* those of the file that TANDEM_RULES names; NULL: it has faults */
static const td_options *with_rules; /* what was in force when they were read */

static void read_named(void)
{
    const td_options *const o = td_process_options();
    (void)td_failures_open(o);
    if (!o->rules.text[0]) return;
    rules = td_rules_read(o->rules.text, o);
    with_rules = o;
    if (rules)
        td_rules_warn_unused(rules, o->rules.text);
    else
        td_log(TD_LOG_ERROR, "TANDEM_RULES has faults, so products run native");
}

void td_dispatch_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, read_named);
}

/* The options for one call: those in force, whose mode a rule may replace. NULL if there are rules
 * with faults. A rule's own options have all else as it was at the start: they also count where
 * there is no memory for others. */
static const td_options *options_of_call(const td_options *in_force, const td_question *q,
                                         bool *is_by_rule)
{
    *is_by_rule = false;
    td_dispatch_open();
    if (!in_force->rules.text[0]) return in_force;
    if (!rules) return NULL;
    const td_site *site = td_rules_ask_caller(rules) ? td_site_find(q->called->caller) : NULL;
    const td_options *found = td_rules_find(rules, q->entry, q->called, site), *now = NULL;
    if (!found) return in_force;
    *is_by_rule = true;
    if (in_force != with_rules) now = td_scope_in_mode(in_force, found->mode.text);
    return now ? now : found;
}

/* What runs a call, and whether that is a rule's word. */
static td_decision decide(const td_options *o, bool is_by_rule, const td_question *q,
                          const td_device *device)
{
    const td_model *model = device ? td_device_model(device->ordinal) : NULL;
    td_decision d = model ? td_known_decide(o, q, model) : td_policy_decide(o, q, model);
    if (!is_by_rule) return d;
    if (d.reason == td_reason_mode) d.reason = td_reason_rule;
    if (d.engine && !d.choice) d.choice = td_choice_rule;
    return d;
}

/* True if it is remembered that a call stays native, and why. */
static bool is_known_native(const td_options *o, td_entry entry, const td_problem *p,
                            td_decision *known)
{
    if (o->rules.text[0] || !td_policy_predicts(o)) return false;
    const td_device *device = td_device_current();
    const td_model *model = device ? td_device_model(device->ordinal) : NULL;
    return model && td_known_find(o, entry, p, model, known) && !known->engine;
}

bool td_dispatch_is_idle(const td_options *o, td_entry entry, const td_problem *p)
{
    td_decision known;
    if (td_call_is_looked_at(o) || td_log_is_on(TD_LOG_DEBUG)) return false;
    return is_known_native(o, entry, p, &known) &&
           !(known.forecast.found_out > 0.0 && td_stream_is_capturing(p->stream));
}

td_decision td_dispatch_decide(const td_options *in_force, td_entry entry, const td_problem *p)
{
    td_question q;
    td_decision known;
    if (is_known_native(in_force, entry, p, &known)) return known;
    td_ask(entry, p, &q);
    bool is_by_rule;
    const td_options *o = options_of_call(in_force, &q, &is_by_rule);
    if (!o) return td_policy_native(td_reason_rules);
    td_device *device = td_policy_emulates(o) ? td_device_current() : NULL;
    const td_decision decision = decide(o, is_by_rule, &q, device);
    return decision.engine && !device ? td_policy_native(td_reason_device) : decision;
}

const char *td_dispatch_part(const td_options *o, const td_question *part,
                             const td_decision *decision)
{
    td_call call;
    td_process_watch_exit();
    td_device *device = td_device_current();
    if (!device) return td_reason_device;
    const td_run_status status = attempt(o, part, decision, device, &call);
    if (status == TD_RUN_DONE) {
        count(&call, part, decision, true);
        return NULL;
    }
    td_call_drop(&call);
    return status == TD_RUN_BROKEN ? td_reason_launch : refusals[status].reason;
}

/* True if kernels of the current device can write the call's result. */
static bool can_write(const td_problem *p, const td_device *device)
{
    const td_matrix *result = td_problem_result(p);
    return td_device_reaches(device, result->array ? (const void *)result->array : result->data);
}

/* How a call whose stream is captured is left to cuBLAS. */
static td_branch_form branch_in_graph(const td_options *o, const td_question *q, td_device *device)
{
    const bool may_branch = o->graph_branch && q->branch != TD_BRANCH_NONE &&
                            q->method == &td_method_product && td_branch_captures(device);
    return may_branch ? TD_BRANCH_OF_ONE : TD_BRANCH_NONE;
}

/* What was decided, by options, of a call as if its stream were not captured, is decided anew. */
static void decide_in_graph(const td_options *o, bool is_by_rule, td_question *q, td_device *device,
                            td_decision *decision)
{
    const bool is_emulated_elsewhere = decision->engine;
    q->branch = branch_in_graph(o, q, device);
    *decision = decide(o, is_by_rule, q, device);
    if (is_emulated_elsewhere && decision->reason == td_reason_worst)
        decision->reason = td_reason_in_graph;
}

td_call td_dispatch(const td_options *in_force, td_entry entry, const td_problem *p)
{
    td_question q;
    td_ask(entry, p, &q);
    td_process_watch_exit();
    bool is_by_rule;
    const td_options *o = options_of_call(in_force, &q, &is_by_rule);
    if (!o) return td_dispatch_refuse(&q, td_reason_rules);
    td_device *device = td_policy_predicts(o) ? td_device_current() : NULL;
    td_decision decision = decide(o, is_by_rule, &q, device);
    if (decision.forecast.found_out > 0.0 && td_stream_is_capturing(p->stream))
        decide_in_graph(o, is_by_rule, &q, device, &decision);
    if (!decision.engine) return keep_native(&q, &decision);
    if (!device) device = td_device_current();
    if (!device) return td_dispatch_refuse(&q, td_reason_device);
    if (!can_write(p, device)) return td_dispatch_refuse(&q, td_reason_pointer);
    decision = td_adaptive_weigh(&q, &decision, device);
    if (!decision.engine) return keep_native(&q, &decision);
    return emulate(o, &q, &decision, device);
}
