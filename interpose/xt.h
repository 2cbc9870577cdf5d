/* xt.h - cublasXt's routines, whose matrices are on the host or on any device, in parts of the
 * wrappers (xt.c): which devices a handle has, and a call run by tiles on these. */
#ifndef TD_XT_H
#define TD_XT_H

#include <cublasXt.h>

#include "../lib/call/call.h"
#include "../lib/cuda/device.h"
#include "../lib/loader/originals.h"

/* The devices that a handle was told to use; count is 1 or more. */
typedef struct {
    cublasXtHandle_t handle;
    int count, ordinal[TD_MAX_DEVICES];
} td_xt_selection;

/* Copies what is known of the handle; false if nothing is. */
bool td_xt_recall(cublasXtHandle_t handle, td_xt_selection *copy);

/* One call of cublasXt. The scalars are on the host. */
typedef struct {
    td_entry entry;
    td_library *library; /* the caller's cuBLAS */
    cublasXtHandle_t handle;
    td_problem p; /* with the caller's matrices */
} td_xt_call;

/* Runs the call by the engine that was decided on, on the handle's devices, and leaves any of them
 * current. NULL: the call is over, with *status. Else a reason for which the call has to be
 * cublasXt's: then nothing has been written. */
const char *td_xt_run(const td_xt_call *x, const td_xt_selection *devices,
                      const td_decision *decision, cublasStatus_t *status);

/* Runs a stage of the call, a product or a triangular solve, in the same way. */
const char *td_xt_run_tiles(const td_xt_call *x, const td_xt_selection *devices,
                            const td_decision *decision, const td_problem *whole,
                            cublasStatus_t *status);

/* True if the devices may have room for the smallest tile of a stage. */
bool td_xt_has_tiles(const td_xt_call *x, const td_xt_selection *devices, const td_problem *whole);

#endif
