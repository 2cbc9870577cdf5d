/* engine_df.h - mode df for operands that are double-float already. */
#ifndef TD_ENGINE_DF_H
#define TD_ENGINE_DF_H

#include "engine.h"

#include "../include/tandem.h"

/* C <- alpha op(A) op(B) + beta C in double-float: as an engine's run, but the matrices of p hold tandem_df (behind
 * casts), its own alpha and beta are not used, and its batch is 1. */
td_run_status td_df_run_typed(const td_gemm *p, tandem_df alpha, tandem_df beta, td_device *device,
                              size_t workspace_limit);

#endif
