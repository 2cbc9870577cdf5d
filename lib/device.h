/* device.h - what Tandem keeps for each GPU: its limits, a stream-ordered memory pool, and counters that kernels
 * write. Made at the first call on a device, kept for the life of the process. */
#ifndef TD_DEVICE_H
#define TD_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda_runtime_api.h>

#include "../kernels/counters.h"

typedef struct td_device {
    int ordinal;
    int multiprocessors;
    size_t shared_per_multiprocessor; /* bytes */
    size_t workspace_bytes;           /* a quarter of the memory that was free at the first call */
    cudaMemPool_t pool;

    /* TD_COUNTER_SLOTS each: in host memory, the same as kernels see them, and in the device's memory. */
    td_counters *counters, *mapped_counters, *device_counters;
} td_device;

enum { TD_MAX_DEVICES = 64 }; /* further devices run native */

/* True for success; else leaves no error of ours behind for the next user of the same CUDA runtime. */
bool td_cuda_ok(cudaError_t error);

/* The calling thread's current device, or NULL if it cannot run Tandem's kernels (said once in the log). Safe in
 * any thread and during stream capture. */
td_device *td_device_current(void);

/* The most device memory that one problem may use at a time: what was asked for, or, for 0, what the device was found to
 * have. */
static inline size_t td_device_limit(const td_device *device, size_t asked_bytes)
{
    return asked_bytes ? asked_bytes : device->workspace_bytes;
}

/* What CUDA calls a device; false if it does not say. */
typedef struct {
    char text[256];
} td_device_text;
bool td_device_name(int ordinal, td_device_text *name);

/* True if kernels on `device` may use the memory at p without another device's help: p was allocated there, or is
 * managed or registered host memory. */
bool td_device_reaches(const td_device *device, const void *p);

/* True if the stream is being captured into a graph. */
bool td_stream_is_capturing(cudaStream_t stream);

/* Memory that is the stream's from here on until it is released, in stream order; a node of the graph if the
 * stream is being captured. NULL if there is not enough. */
void *td_workspace_acquire(td_device *device, size_t bytes, cudaStream_t stream);
void td_workspace_release(void *workspace, cudaStream_t stream); /* accepts NULL */

#endif
