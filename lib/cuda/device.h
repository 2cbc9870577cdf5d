/* device.h - what Tandem keeps of a GPU in each of its contexts: its limits, a stream-ordered
 * memory pool, counters that kernels write, and which kernels are loaded. Made at the first call in
 * a context, and again if it is reset. */
#ifndef TD_CUDA_DEVICE_H
#define TD_CUDA_DEVICE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <cuda_runtime_api.h>

#include "../../kernels/device/counters.h"
#include "../../kernels/sample/sample.h"
#include "context.h"

/* Loads kernels into the current context: those that an engine needs for one of its ways (0, if it
 * has one alone). */
typedef cudaError_t td_loader(int which);
enum { TD_MOST_LOADERS = 32 };

/* Defines a loader that calls functions one after the other, until one fails. */
#define TD_LOADER(name, ...)                                                                       \
    static cudaError_t name(int unused)                                                            \
    {                                                                                              \
        cudaError_t (*const loading[])(void) = {__VA_ARGS__};                                      \
        cudaError_t error = cudaSuccess;                                                           \
        (void)unused;                                                                              \
        for (size_t i = 0; i < sizeof loading / sizeof *loading && error == cudaSuccess; i++)      \
            error = loading[i]();                                                                  \
        return error;                                                                              \
    }

typedef struct td_device {
    td_context *context;
    atomic_uint life;         /* of the context, that all of this belongs to */
    atomic_bool is_refused;   /* it cannot run kernels, or not yet */
    atomic_bool lacks_memory; /* it may run them, or have a larger workspace, once there is some */
    atomic_uint uses;         /* since then */
    int ordinal;
    int multiprocessors;
    size_t shared_per_multiprocessor; /* bytes */
    /* a rank's share of a quarter of what the first call found free, or of the most that later ones
     * did where that was little */
    _Atomic size_t workspace_bytes;
    cudaMemPool_t pool;               /* the GPU's, which no reset touches */
    struct td_cublas *cublas;         /* of ../engines/ozaki/cublas.c */
    struct td_branches *branches;     /* of ../engines/ozaki/branch.c */
    struct td_aheads *aheads;         /* of ../engines/factor/ahead.c */
    _Atomic(struct td_sites *) sites; /* of ../call/adaptive.c */

    /* For memory of graphs, once td_device_allow_graphs() has made them. */
    cudaMemPool_t graph_pool;  /* the GPU's; it never has one stream wait for another */
    cudaStream_t graph_stream; /* nothing but allocations */

    /* What has been loaded: the first `loaded` of these. */
    struct {
        td_loader *loader;
        int which;
    } load[TD_MOST_LOADERS];
    atomic_uint loaded;

    /* TD_COUNTER_SLOTS each: in host memory, the same as kernels see them, and in the device's
     * memory, where TD_CALL_SLOTS for single calls follow. */
    td_counters *counters, *mapped_counters, *device_counters;

    /* What TANDEM_VERIFY measures, TD_SAMPLE_SLOTS each: in host memory, as kernels see it, and in
     * the device's memory. In host memory alone: the first element outside of its bound, and room
     * for the lines of A and B that it is of, NULL until td_device_keep_lines() has made it. */
    td_sample_counts *samples, *mapped_samples, *device_samples;
    td_sample_failure *failure, *mapped_failure;
    /* Mantissa bits that cuBLAS's own emulation tells, for a line of the report each,
     * TD_COUNTER_SLOTS of them: 0: not told, -1: it did not emulate. */
    int *mantissa_bits, *mapped_mantissa_bits;
    double *lines, *mapped_lines;
} td_device;

enum { TD_MAX_DEVICES = 64 }; /* further devices run native */

/* The calling thread's current device, or NULL if it cannot run Tandem's kernels (said once in the
 * log). Safe in any thread and during stream capture. */
td_device *td_device_current(void);

/* Has the loader load its kernels if it has not yet, the device being the current one; false if the
 * device refuses. Safe in any thread and during stream capture. */
bool td_device_load(td_device *device, td_loader *loader, int which);

/* Makes graph_pool and graph_stream if they are not there; false if the device refuses. */
bool td_device_allow_graphs(td_device *device);

/* Host memory at *memory, zeros if it is made now, as kernels of the current context see it; NULL
 * if that fails. The memory is not CUDA's: it can still be read when the context or the process
 * ends, and is to be mapped again in the context's next life. Safe during stream capture. */
void *td_device_map(void **memory, size_t bytes);

/* Makes the lines of a failure if they are not there; false without memory. Safe in any thread
 * and during stream capture. */
bool td_device_keep_lines(td_device *device);

/* The most device memory that one problem may use at a time: what was asked for, or, for 0, what
 * the device was found to have. */
static inline size_t td_device_limit(const td_device *device, size_t asked_bytes)
{
    return asked_bytes ? asked_bytes : device->workspace_bytes;
}

/* What CUDA calls a device; false if it does not say. */
typedef struct {
    char text[256];
} td_device_text;
bool td_device_name(int ordinal, td_device_text *name);

/* True if kernels on `device` may use the memory at p without another device's help: p was
 * allocated there, or is managed or registered host memory. */
bool td_device_reaches(const td_device *device, const void *p);

/* True if a device could have another one's memory mapped: they are peers. */
bool td_device_sees(int ordinal, int peer);

/* True if the current device, or another, copies memory of the peer's pool without the host: the
 * peer's pool is then mapped on it. Devices are named by their ordinals, and the peer's pool is
 * there. */
bool td_device_reaches_pool(int ordinal, int peer);

/* True if the stream is being captured into a graph. */
bool td_stream_is_capturing(cudaStream_t stream);

/* For fork() alone (../call/process.c). */
extern pthread_mutex_t td_devices_lock;

#endif
