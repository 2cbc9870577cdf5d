/* result.h - products whose C engines cannot make where it is, because it lies in rows, or because
 * beta multiplies another matrix (td_moves_result): brings the latter to where C can be made, has
 * an engine make C there, and brings it to its place. So the arithmetic knows of columns alone, and
 * bits do not depend on the order of a matrix. */
#ifndef TD_ENGINES_RESULT_H
#define TD_ENGINES_RESULT_H

#include "../cuda/device.h"
#include "engine.h"

/* Enqueues such a product; the engine is prepared. A C in rows is made in columns in memory of the
 * pool, as many members of the batch at a time as have room in half the workspace's limit; a member
 * that has no room in that limit is TD_RUN_NO_MEMORY. */
td_run_status td_move_and_run(const td_engine *engine, const td_product *p, td_parameter parameter,
                              td_device *device, size_t workspace_limit, td_counters *counters);

#endif
