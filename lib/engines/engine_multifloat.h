/* engine_multifloat.h - the multi-float modes for operands that are of a multi-float type already. */
#ifndef TD_ENGINE_MULTIFLOAT_H
#define TD_ENGINE_MULTIFLOAT_H

#include "../../kernels/multifloat/multifloat.h"
#include "engine.h"

/* C <- alpha op(A) op(B) + beta C in the arithmetic of `format`: as an engine's run, but the matrices of p hold elements of
 * `type` (behind casts), its own alpha and beta are not used, and its batch is 1. */
td_run_status td_multifloat_run(const td_gemm *p, const td_format *format, td_type type,
                                td_value alpha, td_value beta, bool alpha_is_zero,
                                td_device *device, size_t workspace_limit);

#endif
