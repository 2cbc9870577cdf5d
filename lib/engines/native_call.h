/* native_call.h - a problem's routine by cuBLAS itself, on a handle of Tandem's own: what the
 * program's call would have enqueued. */
#ifndef TD_NATIVE_CALL_H
#define TD_NATIVE_CALL_H

#include <cublas_api.h>

#include "../routine/problem.h"
#include "../loader/originals.h"

/* Enqueues the routine of p, which td_native_knows (native_knows.h), in the handle's stream. The
 * handle's pointer mode is the host's before and after. */
cublasStatus_t td_native_call(td_library *library, cublasHandle_t handle, const td_problem *p);

#endif
