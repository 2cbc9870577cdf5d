/* native_routine.h - calls of cuBLAS's routines of level 3. */
#ifndef TD_TOOLS_NATIVE_ROUTINE_H
#define TD_TOOLS_NATIVE_ROUTINE_H

#include <stdbool.h>

#include <cublas_v2.h>

#include "lib/call/problem.h"
#include "lib/loader/originals.h"

/* Enqueues the routine of p, which is no product and has no batch. A is on the left, in the lower
 * triangle, with a diagonal of its own, and, where that is possible, Hermitian. False if cuBLAS
 * refuses it. */
bool native_routine_run(td_library *library, cublasHandle_t handle, const td_problem *p);

#endif
