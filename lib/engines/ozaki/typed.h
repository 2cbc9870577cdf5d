/* typed.h - products of triple-single matrices by slices and SGEMM. */
#ifndef TD_OZAKI_TYPED_H
#define TD_OZAKI_TYPED_H

#include "../../../include/tandem.h"
#include "../engine.h"
#include "slices.h"

/* A product of TD_TS: as an engine's run, but with scalars on the host and a batch of 1, and
 * neither k nor alpha is 0. slices: TD_LEAST_SLICES .. TD_MOST_FLOAT_SLICES, or 0. */
td_run_status td_typed_slices_run(const td_real_product *p, int slices, td_device *device,
                                  size_t workspace_limit);

#endif
