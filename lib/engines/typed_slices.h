/* typed_slices.h - products of triple-single matrices by slices and SGEMM. */
#ifndef TD_TYPED_SLICES_H
#define TD_TYPED_SLICES_H

#include "../../include/tandem.h"
#include "engine.h"
#include "scheme_slices.h"

/* C <- alpha op(A) op(B) + beta C: as an engine's run, but the matrices of p hold tandem_ts (behind casts), its own alpha
 * and beta are not used, its batch is 1, and neither k nor alpha is 0. slices: TD_LEAST_SLICES .. TD_MOST_FLOAT_SLICES, or 0. */
td_run_status td_typed_slices_run(const td_gemm *p, int slices, tandem_ts alpha, tandem_ts beta,
                                  td_device *device, size_t workspace_limit);

#endif
