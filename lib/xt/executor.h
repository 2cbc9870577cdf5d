/* executor.h - calls of cublasXt, whose matrices are on the host or on any device, run by the
 * devices of their handle: in as few stages as there is memory for, each by tiles (tiles.h). */
#ifndef TD_EXECUTOR_H
#define TD_EXECUTOR_H

#include <cublasXt.h>

#include "../cuda/device.h"
#include "../loader/originals.h"
#include "../routine/decision.h"
#include "../routine/question.h"
#include "../routine/entries.h"
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

/* Runs the call by the engine that was decided on, on the handle's devices, and leaves any of them
 * current. NULL: the call is over, with *status. Else a reason for which the call has to be
 * cublasXt's: then nothing has been written. */
const char *td_xt_run(const td_xt_call *x, const td_xt_selection *devices,
                      const td_decision *decision, cublasStatus_t *status);

/* Bytes that td_xt_run would copy from and to the host at the least, or managed memory. */
double td_xt_copied_bytes(const td_problem *p);

/* Runs one stage of the call, a product or a triangular solve, with what td_xt_run returns. */
const char *td_xt_run_tiles(const td_xt_call *x, const td_xt_selection *devices,
                            const td_decision *decision, const td_tile *stage,
                            cublasStatus_t *status);

/* True if the devices may have room for the smallest tile of a stage. */
bool td_xt_has_tiles(const td_xt_call *x, const td_xt_selection *devices, const td_tile *stage);

#endif
