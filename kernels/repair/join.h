/* join.h - scalars for a product that was made without them. For host C. */
#ifndef TD_JOIN_H
#define TD_JOIN_H

#include <cuda_runtime_api.h>

#include "../view/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C <- alpha T + beta C where the target's region is, or, with its mirror, alpha (T + T') + beta C,
 * of all of a square C; T, m x n, follows column by column without gaps. C is not read if beta is
 * 0, nor T if alpha is 0, wherever the scalars are. Of a batch the first member alone. */
cudaError_t td_join_run(const td_target *target, const double *t, bool with_mirror,
                        cudaStream_t stream);

/* Loads the kernel on the current device: once, before the first launch. */
cudaError_t td_join_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
