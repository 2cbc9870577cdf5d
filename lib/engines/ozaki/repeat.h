/* repeat.h - a product that is made again and again, and is so small that launching its kernels one
 * by one takes as long as they do: their graph is launched (branch.h). */
#ifndef TD_ENGINES_REPEAT_H
#define TD_ENGINES_REPEAT_H

#include "../engine.h"

/* True if launching decides how long the product takes, and a graph may hold it. */
bool td_repeat_wants(const td_engine *engine, const td_product *p, td_parameter parameter);

/* Launches the graph of what `run` enqueues, if the call was made before; else calls `run`. The
 * arguments are those of td_engine_run. */
td_run_status td_repeat_and_run(const td_engine *engine, const td_product *p,
                                td_parameter parameter, td_device *device, size_t workspace_limit,
                                td_counters *counters, __typeof__(td_engine_run) *run);

#endif
