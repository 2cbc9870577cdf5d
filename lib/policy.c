#include "policy.h"

#include "engines/lu_limits.h"

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

/* Routines that need the arithmetic of no mode, but are faster by Tandem's own kernels. */
static td_decision decide_native_arithmetic(const td_problem *p)
{
    const char *refusal = td_lu_refusal(p);
    if (refusal) return td_policy_native(refusal);
    return (td_decision){
        .engine = &td_engine_lu, .text = td_engine_lu.name, .seconds = TD_NOT_PREDICTED};
}

static bool is_lu(const td_problem *p)
{
    const td_kind kind = p->kind;
    return kind == TD_LU_FACTOR || kind == TD_LU_SOLVE || kind == TD_LU_INVERT ||
           kind == TD_INVERT || (kind == TD_TRIANGULAR_SOLVE && p->a.array);
}

td_decision td_policy_decide(const td_options *options, const td_problem *p)
{
    if (!options->mode.engine->run) return td_policy_native(td_reason_mode);
    if (!td_problem_is_valid(p)) return td_policy_native(td_reason_invalid);
    if (td_problem_is_empty(p)) return td_policy_native(td_reason_empty);
    if (is_lu(p)) return decide_native_arithmetic(p);
    if (p->kind != TD_PRODUCT || p->type != TD_BINARY64) return td_policy_native(td_reason_routine);
    return (td_decision){.engine = options->mode.engine,
                         .parameter = options->mode.parameter,
                         .text = options->mode.text,
                         .seconds = TD_NOT_PREDICTED};
}
