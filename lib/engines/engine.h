/* engine.h - how the engines of the modes are run, and those that belong to no mode. */
#ifndef TD_ENGINE_H
#define TD_ENGINE_H

#include "../routine/mode.h"

#define MODE(id, file) extern const td_engine td_engine_##id;
#include "modes.def"
#undef MODE

/* TD_RUN_DONE, or TD_RUN_FAILED if the device refused the call. */
td_run_status td_done_if(cudaError_t error);

/* TD_RUN_DONE if the memory that a solve or a factorisation reads and writes is there, and aligned
 * as kernels load it, TD_RUN_UNREACHABLE, TD_RUN_UNALIGNED or TD_RUN_NO_STREAM: to be asked before
 * anything is written. Whether the matrices of an array of pointers are aligned is not known. */
td_run_status td_engine_check(const td_problem *p);

/* TD_RUN_DONE if all operands of a product are there, else TD_RUN_UNREACHABLE or
 * TD_RUN_NO_STREAM. */
td_run_status td_engine_check_product(const td_product *p);

/* engine->run, after engine->prepare at the first product of its way in a context. */
td_run_status td_engine_run(const td_engine *engine, const td_product *p, td_parameter parameter,
                            td_device *device, size_t workspace_limit, td_counters *counters);

/* A product in mode fp64, whose call has begun to write its result and cannot go back: where the
 * whole has no room, parts of C are made one after the other, halves or smaller. Bits are the
 * same. A complex product needs memory for its factors as real ones; other statuses are
 * td_engine_run's. */
td_run_status td_engine_run_fp64(const td_product *p, td_device *device, size_t workspace_limit,
                                 td_counters *counters);

/* Runs a product by an engine that is prepared and a call that is checked, and whose C is a matrix
 * in columns that has all that beta multiplies (result.h); returns what td_engine_run does. */
td_run_status td_engine_run_in_place(const td_engine *engine, const td_product *p,
                                     td_parameter parameter, td_device *device,
                                     size_t workspace_limit, td_counters *counters);

/* No mode: its routines are the same in all but native. It makes no products; the calls that it
 * takes (batched_lu/limits.h) are run as by td_engine_run. */
extern const td_engine td_engine_batched_lu;
td_run_status td_batched_lu_run(const td_problem *p, td_device *device);

/* No mode, either: what mode auto makes of an update of a triangle where cuBLAS's own routine is
 * slower than its products (dgemm/engine.c). */
extern const td_engine td_engine_dgemm;

#endif
