/* unfold.h - products whose factors are no plain lines of real numbers: makes such lines of them,
 * has an engine multiply these, and does what a complex product needs beside a real one. */
#ifndef TD_ENGINES_UNFOLD_H
#define TD_ENGINES_UNFOLD_H

#include "../../kernels/unfold/scalars.h"
#include "../cuda/device.h"
#include "engine.h"

/* What C is made of once there is a T of a complex product: its scalars, region and C, of the
 * batch's first members. T and what C was before have no place of their own yet. */
td_complex_scalars td_unfold_scalars(const td_product *p);

/* Enqueues such a product; the engine is prepared. The lines are kept in memory of the pool, as
 * many members of the batch at a time as have room in half the workspace's limit; a member whose
 * lines have no room in that limit is TD_RUN_NO_MEMORY. */
td_run_status td_unfold_and_run(const td_engine *engine, const td_product *p,
                                td_parameter parameter, td_device *device, size_t workspace_limit,
                                td_counters *counters);

#endif
