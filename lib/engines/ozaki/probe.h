/* probe.h - runs a product only if a look at a few lines says that residues are worth their time;
 * else cuBLAS's own routine makes C. Both are enqueued, and the device goes one way. */
#ifndef TD_ENGINES_PROBE_H
#define TD_ENGINES_PROBE_H

#include "../engine.h"

/* True if a product is to be probed: its prices say what native products cost. */
bool td_probe_wants(const td_engine *engine, td_parameter parameter);

/* Enqueues the probe, cuBLAS's routine for the verdict that C is made by it, and then `run`, whose
 * kernels end at once after that verdict. Where cuBLAS's routine cannot be enqueued in this way, as
 * in a stream that is captured, the verdict is that sums in binary64 make C. The arguments are
 * those of td_engine_run. */
td_run_status td_probe_and_run(const td_engine *engine, const td_product *p, td_parameter parameter,
                               td_device *device, size_t workspace_limit, td_counters *counters,
                               __typeof__(td_engine_run) *run);

#endif
