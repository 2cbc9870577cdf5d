/* executor.h - calls of cublasXt, whose matrices are on the host or on any device, run by the
 * devices of their handle: in as few stages as there is memory for, each by tiles (tiles.h). */
#ifndef TD_EXECUTOR_H
#define TD_EXECUTOR_H

#include "call.h"

/* Runs the call by the engine that was decided on, on the handle's devices, and leaves any of them
 * current. NULL: the call is over, with *status. Else a reason for which the call has to be
 * cublasXt's: then nothing has been written. */
const char *td_xt_run(const td_xt_call *x, const td_xt_selection *devices,
                      const td_decision *decision, cublasStatus_t *status);

/* Runs one stage of the call, a product or a triangular solve, with what td_xt_run returns. */
const char *td_xt_run_tiles(const td_xt_call *x, const td_xt_selection *devices,
                            const td_decision *decision, const td_tile *stage,
                            cublasStatus_t *status);

/* True if the devices may have room for the smallest tile of a stage. */
bool td_xt_has_tiles(const td_xt_call *x, const td_xt_selection *devices, const td_tile *stage);

#endif
