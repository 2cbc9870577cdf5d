/* eigen.h - the eigenvectors of a symmetric matrix: cuSOLVER's of a copy in binary32, refined by
 * products of a mode until what they leave of A X - X D and of X'X - I is as small as of cuSOLVER's
 * in binary64. */
#ifndef TD_ENGINES_EIGEN_H
#define TD_ENGINES_EIGEN_H

#include "../../cuda/device.h"
#include "../engine.h"

/* Columns of A X - X D, over the largest magnitude of D, and of X'X - I have norms of at most
 * TD_EIGEN_LEVEL sqrt(n) 2^-53. */
#define TD_EIGEN_LEVEL 3.0

/* Runs in p->stream, for which it waits. p is a valid problem of kind TD_EIGEN, binary64, with
 * elements, values, an info and a solver, and the engine is as accurate as binary64. TD_RUN_DONE
 * or, if nothing of A, its values and info has been touched, the reason: TD_RUN_NOT_REFINED among
 * them. The rest as for td_engine_run. */
td_run_status td_eigen(const td_problem *p, const td_engine *engine, td_parameter parameter,
                       td_device *device, size_t workspace_limit, td_counters *counters);

#endif
