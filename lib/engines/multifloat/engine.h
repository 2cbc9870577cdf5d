/* engine.h - the multi-float modes for operands that are of a multi-float type already. */
#ifndef TD_MULTIFLOAT_ENGINE_H
#define TD_MULTIFLOAT_ENGINE_H

#include "../../../kernels/multifloat/multifloat.h"
#include "../engine.h"

/* A product in the arithmetic of `format`: as an engine's run, but of a multi-float type that the
 * format has, with scalars on the host and a batch of 1. */
td_run_status td_multifloat_run(const td_real_product *p, const td_format *format,
                                td_device *device, size_t workspace_limit);

#endif
