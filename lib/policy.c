#include "policy.h"

const char td_reason_mode[] = "mode native";
const char td_reason_invalid[] = "invalid arguments";
const char td_reason_empty[] = "nothing to compute";
const char td_reason_device[] = "unsupported device";
const char td_reason_pointer[] = "C is not memory of the current device";
const char td_reason_stream[] = "stream unknown";
const char td_reason_memory[] = "out of device memory";
const char td_reason_launch[] = "kernel launch refused";

bool td_policy_intercepts(const td_options *options, td_entry entry)
{
    return options->families >> td_entries[entry].family & 1;
}

const td_engine *td_policy_choose(const td_options *options, const td_gemm *p, const char **reason)
{
    *reason = NULL;
    if (!options->engine->run)
        *reason = td_reason_mode;
    else if (!td_gemm_is_valid(p))
        *reason = td_reason_invalid;
    else if (td_gemm_is_empty(p))
        *reason = td_reason_empty;
    return *reason ? NULL : options->engine;
}
