/* policy.h - which engine runs a call, or why cuBLAS does. Pure: no CUDA calls. */
#ifndef TD_POLICY_H
#define TD_POLICY_H

#include "engines/engine.h"
#include "entries.h"
#include "options.h"
#include "problem.h"

/* Why a call stays native; printed in the report and the log. */
extern const char td_reason_mode[], td_reason_invalid[], td_reason_empty[], td_reason_routine[],
    td_reason_device[], td_reason_pointer[], td_reason_stream[], td_reason_memory[],
    td_reason_capture[], td_reason_large[], td_reason_cublas[], td_reason_launch[];

/* What runs a call: made once, and handed down. */
typedef struct {
    const td_engine *engine; /* NULL: cuBLAS */
    td_parameter parameter;
    const char *text;   /* the mode, for report and log */
    const char *reason; /* why cuBLAS; NULL for an engine */
    double seconds;     /* predicted; TD_NOT_PREDICTED: nobody can say */
} td_decision;
#define TD_NOT_PREDICTED (-1.0)

/* True if the option TANDEM_ENTRY lets entry be intercepted. */
bool td_policy_intercepts(const td_options *options, td_entry entry);

/* What is to run p, if device and memory allow it. Its strings live as long as the options. */
td_decision td_policy_decide(const td_options *options, const td_problem *p);

/* cuBLAS, for a reason (a string that stays). */
td_decision td_policy_native(const char *reason);

#endif
