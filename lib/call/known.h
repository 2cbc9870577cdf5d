/* known.h - what this process decided lately, so that a call that comes again needs no prediction.
 * Pure: no CUDA calls. */
#ifndef TD_KNOWN_H
#define TD_KNOWN_H

#include <pthread.h>

#include "policy.h"

/* As td_policy_decide, from memory if a call like this one was decided before: with the same
 * options and the same model, which must both be there and stay as they are for as long as the
 * process lives, and with an equal call. Of matrices count all but where they are; of addresses,
 * what is left of them modulo 256, and which of them are the same; of scalars, whether their parts
 * are 0, 1 or -1. The caller, the stream, lent memory and what `enqueue` is called with do not
 * count. May be called by all threads. */
td_decision td_known_decide(const td_options *options, const td_question *q, const td_model *model);

/* True if td_known_decide knows what it would say of the question that td_ask makes of a call: then
 * nobody has to ask, which takes longer than to remember. */
bool td_known_find(const td_options *options, td_entry entry, const td_problem *p,
                   const td_model *model, td_decision *decision);

/* For fork() alone (process.c). */
extern pthread_mutex_t td_known_lock;

#endif
