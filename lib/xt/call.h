/* call.h - one call of cublasXt: what it asks for, what its handle says, and what copies of its
 * matrices take. */
#ifndef TD_XT_CALL_H
#define TD_XT_CALL_H

#include <cublasXt.h>

#include "../cuda/device.h"
#include "../loader/originals.h"
#include "../routine/decision.h"
#include "../routine/entries.h"
#include "../routine/question.h"
#include "tiles.h"

/* The devices that a handle was told to use; count is 1 or more. */
typedef struct {
    cublasXtHandle_t handle;
    int count, ordinal[TD_MAX_DEVICES];
} td_xt_selection;

/* One call of cublasXt. The scalars are on the host. */
typedef struct td_xt_call {
    td_entry entry;
    td_library *library; /* the caller's cuBLAS */
    cublasXtHandle_t handle;
    td_problem p; /* with the caller's matrices */

    /* Has cublasXt run a stage of the call, for a reason (a string that stays): a plain product,
     * one half of an update, or a smaller solve. */
    cublasStatus_t (*run_original)(const struct td_xt_call *x, const td_tile *stage,
                                   const char *reason);
} td_xt_call;

/* What a tile asks for that is on the current device. *call becomes the tile's own, as long as *q
 * lives. */
void td_xt_ask(const td_xt_call *x, const td_tile *tile, td_problem *call, td_question *q);

/* Sets what the copies of x->p's matrices to the devices take: its copying_seconds and
 * native_copying_seconds (costs.c). */
void td_xt_price_copies(td_xt_call *x, const td_xt_selection *devices);

/* The side of cublasXt's own tiles. */
int64_t td_xt_block(const td_xt_call *x);

/* True if the handle lets cublasXt pin memory for the time of a call. */
bool td_xt_may_pin(const td_xt_call *x);

#endif
