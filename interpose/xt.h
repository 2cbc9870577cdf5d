/* xt.h - what the wrappers of cublasXt share (xt.c): which devices a handle has, and the original
 * functions of a call's stages. */
#ifndef TD_XT_H
#define TD_XT_H

#include "../lib/xt/executor.h"

/* Copies what is known of the handle; false if nothing is. */
bool td_xt_recall(cublasXtHandle_t handle, td_xt_selection *copy);

/* A td_xt_call's `run_original`. */
cublasStatus_t td_xt_run_original(const td_xt_call *x, const td_tile *stage, const char *reason);

#endif
