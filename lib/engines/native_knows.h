/* native_knows.h - which calls Tandem can hand to cuBLAS on a handle of its own. Pure: no CUDA
 * calls. */
#ifndef TD_NATIVE_KNOWS_H
#define TD_NATIVE_KNOWS_H

#include <stdbool.h>

#include "../routine/problem.h"

/* True if td_native_call (native_call.h) knows the routine, and an int of cuBLAS counts its sizes
 * and leading dimensions. Scalars are both on the host or both in device memory. */
bool td_native_knows(const td_problem *p);

#endif
