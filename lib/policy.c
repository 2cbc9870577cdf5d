#include "policy.h"

const char td_reason_mode[] = "mode native";
const char td_reason_invalid[] = "invalid arguments";
const char td_reason_empty[] = "nothing to compute";
const char td_reason_routine[] = "the mode has no such routine";
const char td_reason_device[] = "unsupported device";
const char td_reason_pointer[] = "C is not memory of the current device";
const char td_reason_stream[] = "stream unknown";
const char td_reason_memory[] = "out of device memory";
const char td_reason_capture[] = "no memory for a captured product";
const char td_reason_large[] = "too large for the mode";
const char td_reason_cublas[] = "no cuBLAS for the mode";
const char td_reason_launch[] = "kernel launch refused";

bool td_policy_intercepts(const td_options *options, td_entry entry)
{
    return options->families >> td_entries[entry].family & 1;
}

td_decision td_policy_native(const char *reason)
{
    return (td_decision){.text = "native", .reason = reason, .seconds = TD_NOT_PREDICTED};
}

td_decision td_policy_decide(const td_options *options, const td_problem *p)
{
    if (!options->mode.engine->run) return td_policy_native(td_reason_mode);
    if (!td_problem_is_valid(p)) return td_policy_native(td_reason_invalid);
    if (td_problem_is_empty(p)) return td_policy_native(td_reason_empty);
    if (p->kind != TD_PRODUCT || p->type != TD_BINARY64) return td_policy_native(td_reason_routine);
    return (td_decision){.engine = options->mode.engine,
                         .parameter = options->mode.parameter,
                         .text = options->mode.text,
                         .seconds = TD_NOT_PREDICTED};
}
