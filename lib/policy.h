/* policy.h - which engine runs a product, or why cuBLAS does. Pure: no CUDA calls. */
#ifndef TD_POLICY_H
#define TD_POLICY_H

#include "engines/engine.h"
#include "entries.h"
#include "options.h"
#include "problem.h"

/* Why a product stays native; printed in the report and the log. */
extern const char td_reason_mode[], td_reason_invalid[], td_reason_empty[], td_reason_device[],
    td_reason_pointer[], td_reason_stream[], td_reason_memory[], td_reason_launch[];

/* True if the option TANDEM_ENTRY lets entry be intercepted. */
bool td_policy_intercepts(const td_options *options, td_entry entry);

/* The engine for p, or NULL and the reason. */
const td_engine *td_policy_choose(const td_options *options, const td_gemm *p, const char **reason);

#endif
