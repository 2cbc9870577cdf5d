/* method.c - method `batched_lu`: batches of small factorisations, solutions and inverses. */
#include "../engine.h"
#include "../methods.h"
#include "limits.h"

static bool accepts(const td_question *q)
{
    const td_kind kind = q->called->kind;
    return kind == TD_LU_FACTOR || kind == TD_LU_INVERT || kind == TD_INVERT ||
           ((kind == TD_LU_SOLVE || kind == TD_TRIANGULAR_SOLVE) && q->called->a.array);
}

static const char *refusal(const td_question *q) { return td_lu_refusal(q->called); }

static td_run_status run(const td_question *q, const td_decision *decision, td_device *device,
                         size_t workspace_limit, td_counters *counters)
{
    (void)decision, (void)workspace_limit, (void)counters;
    return td_batched_lu_run(q->called, device);
}

const td_method td_method_batched_lu = {
    .name = "batched_lu",
    .accepts = accepts,
    .refusal = refusal,
    .engine = &td_engine_batched_lu,
    .run = run,
};
