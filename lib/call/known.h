/* known.h - what this process decided lately, so that a call that comes again needs no prediction.
 * Pure: no CUDA calls. */
#ifndef TD_KNOWN_H
#define TD_KNOWN_H

#include "policy.h"

/* As td_policy_decide, from memory if a call like this one was decided before: with the same
 * options and the same model, which must both be there and stay as they are for as long as the
 * process lives, and with an equal call. Of matrices count all but where they are; of addresses,
 * what is left of them modulo 256, and which of them are the same. The caller, the stream, lent
 * memory and what `enqueue` is called with do not count. May be called by all threads. */
td_decision td_known_decide(const td_options *options, const td_question *q, const td_model *model);

#endif
