#include "device.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

#include "../kernels/multifloat/multifloat.h"
#include "../kernels/ozaki/double_slices.h"
#include "../kernels/int8/panels.h"
#include "../kernels/ozaki/ozaki.h"
#include "../kernels/product.h"
#include "../kernels/ozaki/residues.h"
#include "../kernels/ozaki/slices.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(td_device *) devices[TD_MAX_DEVICES]; /* set once, under the lock */
static bool refused[TD_MAX_DEVICES];                 /* under the lock */

bool td_cuda_ok(cudaError_t error)
{
    if (error != cudaSuccess) (void)cudaGetLastError();
    return error == cudaSuccess;
}

static cudaError_t create_pool(td_device *d)
{
    struct cudaMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = d->ordinal;
    cudaError_t error = cudaMemPoolCreate(&d->pool, &props);
    if (error != cudaSuccess) return error;
    uint64_t keep = d->workspace_bytes;
    return cudaMemPoolSetAttribute(d->pool, cudaMemPoolAttrReleaseThreshold, &keep);
}

/* Own memory that is registered, not CUDA's: it can still be read when the process ends. */
static cudaError_t create_counters(td_device *d)
{
    const size_t bytes = TD_COUNTER_SLOTS * sizeof *d->counters;
    d->counters = aligned_alloc(4096, bytes);
    if (!d->counters) return cudaErrorMemoryAllocation;
    memset(d->counters, 0, bytes);
    cudaError_t error = cudaHostRegister(d->counters, bytes, cudaHostRegisterMapped);
    if (error != cudaSuccess) return error;
    void *mapped = NULL;
    error = cudaHostGetDevicePointer(&mapped, d->counters, 0);
    d->mapped_counters = mapped;
    return error == cudaSuccess ? td_counters_find(&d->device_counters) : error;
}

static cudaError_t query(td_device *d)
{
    int value = 0;
    size_t free_bytes = 0, total_bytes = 0;
    cudaError_t error = cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolsSupported, d->ordinal);
    if (error == cudaSuccess && !value) error = cudaErrorNotSupported;
    if (error == cudaSuccess)
        error =
            cudaDeviceGetAttribute(&d->multiprocessors, cudaDevAttrMultiProcessorCount, d->ordinal);
    if (error == cudaSuccess)
        error =
            cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerMultiprocessor, d->ordinal);
    d->shared_per_multiprocessor = (size_t)value;
    if (error == cudaSuccess) error = cudaMemGetInfo(&free_bytes, &total_bytes);
    d->workspace_bytes = free_bytes / 4;
    return error;
}

bool td_device_name(int ordinal, td_device_text *name)
{
    struct cudaDeviceProp props;
    if (!td_cuda_ok(cudaGetDeviceProperties(&props, ordinal))) return false;
    _Static_assert(sizeof name->text == sizeof props.name, "as long as CUDA's");
    memcpy(name->text, props.name, sizeof name->text);
    return true;
}

static void destroy(td_device *d)
{
    if (!d) return;
    if (d->mapped_counters) td_cuda_ok(cudaHostUnregister(d->counters));
    free(d->counters);
    if (d->pool) td_cuda_ok(cudaMemPoolDestroy(d->pool));
    free(d);
}

static td_device *create(int ordinal)
{
    cudaError_t error = cudaErrorMemoryAllocation;
    td_device *d = calloc(1, sizeof *d);
    if (!d) goto out;
    d->ordinal = ordinal;
    error = query(d);
    if (error == cudaSuccess) error = create_pool(d);
    if (error == cudaSuccess) error = create_counters(d);
    if (error == cudaSuccess) error = td_counters_prepare();
    if (error == cudaSuccess) error = td_scan_prepare();
    if (error == cudaSuccess) error = td_format_df.prepare();
    if (error == cudaSuccess) error = td_format_ts.prepare();
    if (error == cudaSuccess) error = td_format_dd.prepare();
    if (error == cudaSuccess) error = td_repair_prepare();
    if (error == cudaSuccess) error = td_lines_prepare();
    if (error == cudaSuccess) error = td_choose_prepare();
    if (error == cudaSuccess) error = td_certify_prepare();
    if (error == cudaSuccess) error = td_residues_prepare();
    if (error == cudaSuccess) error = td_mma_prepare();
    if (error == cudaSuccess) error = td_wgmma_prepare();
    if (error == cudaSuccess) error = td_crt_prepare();
    if (error == cudaSuccess) error = td_slices_prepare();
    if (error == cudaSuccess) error = td_double_slices_prepare();
    if (error == cudaSuccess) error = td_double_multiply_prepare();
    if (error == cudaSuccess) error = td_double_sparse_prepare();
    if (error == cudaSuccess) error = td_slices_ts_prepare();
out:
    if (td_cuda_ok(error)) return d;
    td_log(TD_LOG_WARN, "device %d cannot run Tandem's kernels (%s); its products stay native",
           ordinal, cudaGetErrorString(error));
    destroy(d);
    return NULL;
}

/* Allocating, and loading kernels, are refused in a thread that captures unless it says that it means it. */
static td_device *create_while_capturing(int ordinal)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    td_cuda_ok(cudaThreadExchangeStreamCaptureMode(&mode));
    td_device *d = create(ordinal);
    td_cuda_ok(cudaThreadExchangeStreamCaptureMode(&mode));
    return d;
}

td_device *td_device_current(void)
{
    int ordinal;
    if (!td_cuda_ok(cudaGetDevice(&ordinal)) || ordinal < 0 || ordinal >= TD_MAX_DEVICES)
        return NULL;
    td_device *d = devices[ordinal];
    if (d) return d;
    pthread_mutex_lock(&lock);
    d = devices[ordinal];
    if (!d && !refused[ordinal]) {
        d = create_while_capturing(ordinal);
        refused[ordinal] = !d;
        devices[ordinal] = d;
    }
    pthread_mutex_unlock(&lock);
    return d;
}

bool td_device_reaches(const td_device *device, const void *p)
{
    struct cudaPointerAttributes attributes;
    if (!td_cuda_ok(cudaPointerGetAttributes(&attributes, p))) return false;
    switch (attributes.type) {
    case cudaMemoryTypeDevice:
        return attributes.device == device->ordinal;
    case cudaMemoryTypeHost:
    case cudaMemoryTypeManaged:
        return true;
    default:
        return false;
    }
}

bool td_stream_is_capturing(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return !td_cuda_ok(cudaStreamIsCapturing(stream, &status)) ||
           status != cudaStreamCaptureStatusNone;
}

void *td_workspace_acquire(td_device *device, size_t bytes, cudaStream_t stream)
{
    void *p = NULL;
    return td_cuda_ok(cudaMallocFromPoolAsync(&p, bytes, device->pool, stream)) ? p : NULL;
}

void td_workspace_release(void *workspace, cudaStream_t stream)
{
    if (workspace) td_cuda_ok(cudaFreeAsync(workspace, stream));
}
