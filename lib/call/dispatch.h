/* dispatch.h - one intercepted product from its description to kernels on the stream, or to the
 * word that the original function must run. */
#ifndef TD_DISPATCH_H
#define TD_DISPATCH_H

#include "call.h"
#include "../options/options.h"

/* Reads what options name: the rules, and the folder of TANDEM_VERIFY_DUMP. Once: when the library
 * is loaded, or at a product that another library's constructor makes before that. */
void td_dispatch_open(void);

/* True if calls of this entry have to be looked at: an arithmetic is asked for, or a report. */
bool td_dispatch_wants(const td_options *o, td_entry entry);

/* True if td_dispatch is known to leave p to the original function, and nobody wants to hear of it:
 * all that it would do is to find that out once more. */
bool td_dispatch_is_idle(const td_options *o, td_entry entry, const td_problem *p);

/* Runs p if the options ask for it and the device can, and counts it in the report. */
td_call td_dispatch(const td_options *o, td_entry entry, const td_problem *p);

/* What is to run p on the current device. Nothing is asked of p's matrices, nor of its site: what
 * strategy adaptive then makes of the decision is open. */
td_decision td_dispatch_decide(const td_options *o, td_entry entry, const td_problem *p);

/* Runs a part of a call, whose matrices are copies on the current device, as was decided for the
 * call, and counts it in the report; the part is a product that a routine was lowered to, or a
 * triangular solve. Else returns a reason (a string that stays): then nothing was counted, and the
 * copy of the result may have been written. */
const char *td_dispatch_part(const td_options *o, const td_question *part,
                             const td_decision *decision);

/* A call that cannot be described as a problem that Tandem runs, or that it does not run: native,
 * with its reason (a string that stays). */
td_call td_dispatch_native(td_entry entry, const td_problem *p, const char *reason);
td_call td_dispatch_refuse(const td_question *q, const char *reason);

#endif
