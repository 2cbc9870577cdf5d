/* counters.h - where kernels count: in device memory, since an addition to host memory takes a
 * microsecond each. What a call counted goes to host memory when its last kernel is done. */
#ifndef TD_COUNTERS_H
#define TD_COUNTERS_H

#include <cuda_runtime_api.h>

#include "counts.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TD_COUNTER_SLOTS = 4096 };

/* The current device's own counters, TD_COUNTER_SLOTS of them, zeros at first. */
cudaError_t td_counters_find(td_counters **counters);

/* Adds up `from`, in device memory, and `to`, in host memory mapped into the device; leaves zeros
 * in `from`. Any number of streams may do so at a time. */
cudaError_t td_counters_move(td_counters *from, td_counters *to, cudaStream_t stream);

/* Loads the kernel on the current device: once, before the first launch. */
cudaError_t td_counters_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
