/* asked.h - what the policy makes of a call. */
#ifndef TEST_ASKED_H
#define TEST_ASKED_H

#include "lib/call/policy.h"

static inline td_decision decide_call(const td_options *o, const td_problem *p,
                                      const td_model *model)
{
    td_question q;
    td_ask(TD_ENTRY_cublasDgemm_v2, p, &q);
    return td_policy_decide(o, &q, model);
}

#endif
