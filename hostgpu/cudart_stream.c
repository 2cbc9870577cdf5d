/* cudart_stream.c - streams and events. Everything is done when the call that asks for it returns, so a stream is
 * always idle and an event that was recorded has happened. Capture is not supported. */
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "cudart_internal.h"

/* Marks of live objects, so that a handle of another kind, or one destroyed, is most likely refused. */
#define STREAM_MARK 0x7374726d
#define EVENT_MARK  0x65766e74

struct CUstream_st {
    unsigned mark;
    unsigned flags;
    int priority;
    unsigned long long id;
};

struct CUevent_st {
    unsigned mark;
    unsigned flags;
    bool is_recorded;
    struct timespec when;
};

/* ---- streams ---- */

static bool is_default(cudaStream_t stream)
{
    return stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

bool hostgpu_is_stream(cudaStream_t stream)
{
    return is_default(stream) || stream->mark == STREAM_MARK;
}

static cudaError_t check_stream(cudaStream_t stream)
{
    return hostgpu_record(hostgpu_is_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    static atomic_ullong last_id = 2; /* 1 and 2: the default streams */
    cudaStream_t fresh;

    if (!stream || (flags & ~(unsigned)cudaStreamNonBlocking))
        return hostgpu_record(cudaErrorInvalidValue);
    fresh = malloc(sizeof *fresh);
    if (!fresh) return hostgpu_record(cudaErrorMemoryAllocation);
    *fresh = (struct CUstream_st){.mark = STREAM_MARK,
                                  .flags = flags,
                                  .priority = priority < 0 ? priority : 0,
                                  .id = atomic_fetch_add(&last_id, 1) + 1};
    *stream = fresh;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (is_default(stream) || stream->mark != STREAM_MARK)
        return hostgpu_record(cudaErrorInvalidResourceHandle);
    stream->mark = 0;
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return check_stream(stream); }
HOSTGPU_ALSO(cudaStreamSynchronize, _ptsz);

cudaError_t cudaStreamQuery(cudaStream_t stream) { return check_stream(stream); }
HOSTGPU_ALSO(cudaStreamQuery, _ptsz);

/* Stores a property of a stream: `normal` for the default streams. */
#define RETURN_PROPERTY(stream, pointer, normal, own)                                              \
    do {                                                                                           \
        if (!(pointer)) return hostgpu_record(cudaErrorInvalidValue);                              \
        if (!hostgpu_is_stream(stream)) return hostgpu_record(cudaErrorInvalidResourceHandle);     \
        *(pointer) = is_default(stream) ? (normal) : (own);                                        \
        return cudaSuccess;                                                                        \
    } while (0)

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
    RETURN_PROPERTY(stream, flags, cudaStreamDefault, stream->flags);
}
HOSTGPU_ALSO(cudaStreamGetFlags, _ptsz);

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    RETURN_PROPERTY(stream, priority, 0, stream->priority);
}
HOSTGPU_ALSO(cudaStreamGetPriority, _ptsz);

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
    RETURN_PROPERTY(stream, id, stream == cudaStreamPerThread ? 2 : 1, stream->id);
}
HOSTGPU_ALSO(cudaStreamGetId, _ptsz);

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device)
{
    RETURN_PROPERTY(stream, device, 0, 0);
}
HOSTGPU_ALSO(cudaStreamGetDevice, _ptsz);

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t bytes,
                                     unsigned flags)
{
    (void)pointer;
    (void)bytes;
    (void)flags;
    return check_stream(stream);
}
HOSTGPU_ALSO(cudaStreamAttachMemAsync, _ptsz);

/* ---- host functions ---- */

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    cudaError_t error = check_stream(stream);

    if (error) return error;
    if (!function) return hostgpu_record(cudaErrorInvalidValue);
    function(data);
    return cudaSuccess;
}
HOSTGPU_ALSO(cudaLaunchHostFunc, _ptsz);

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data,
                                  unsigned flags)
{
    cudaError_t error = check_stream(stream);

    if (error) return error;
    if (!callback || flags) return hostgpu_record(cudaErrorInvalidValue);
    callback(stream, cudaSuccess, data);
    return cudaSuccess;
}
HOSTGPU_ALSO(cudaStreamAddCallback, _ptsz);

/* ---- capture ---- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    (void)stream;
    (void)mode;
    return hostgpu_record(cudaErrorNotSupported);
}
HOSTGPU_ALSO(cudaStreamBeginCapture, _ptsz);

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    (void)stream;
    if (graph) *graph = NULL;
    return hostgpu_record(cudaErrorNotSupported);
}
HOSTGPU_ALSO(cudaStreamEndCapture, _ptsz);

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    RETURN_PROPERTY(stream, status, cudaStreamCaptureStatusNone, cudaStreamCaptureStatusNone);
}
HOSTGPU_ALSO(cudaStreamIsCapturing, _ptsz);

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **dependencies,
                                     const cudaGraphEdgeData **edges, size_t *count)
{
    (void)id;
    if (graph) *graph = NULL;
    if (dependencies) *dependencies = NULL;
    if (edges) *edges = NULL;
    if (count) *count = 0;
    return cudaStreamIsCapturing(stream, status);
}
HOSTGPU_ALSO(cudaStreamGetCaptureInfo, _ptsz);

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    static __thread enum cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
    enum cudaStreamCaptureMode old = current;

    if (!mode) return hostgpu_record(cudaErrorInvalidValue);
    current = *mode;
    *mode = old;
    return cudaSuccess;
}

/* ---- events ---- */

static bool is_event(cudaEvent_t event) { return event && event->mark == EVENT_MARK; }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming;
    cudaEvent_t fresh;

    if (!event) return hostgpu_record(cudaErrorInvalidValue);
    if (flags & cudaEventInterprocess) return hostgpu_record(cudaErrorNotSupported);
    if (flags & ~known) return hostgpu_record(cudaErrorInvalidValue);
    fresh = malloc(sizeof *fresh);
    if (!fresh) return hostgpu_record(cudaErrorMemoryAllocation);
    *fresh = (struct CUevent_st){.mark = EVENT_MARK, .flags = flags};
    *event = fresh;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (!is_event(event)) return hostgpu_record(cudaErrorInvalidResourceHandle);
    event->mark = 0;
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    if (!is_event(event) || !hostgpu_is_stream(stream))
        return hostgpu_record(cudaErrorInvalidResourceHandle);
    if (flags) return hostgpu_record(cudaErrorInvalidValue); /* only of use in a capture */
    clock_gettime(CLOCK_MONOTONIC, &event->when);
    event->is_recorded = true;
    return cudaSuccess;
}
HOSTGPU_ALSO(cudaEventRecordWithFlags, _ptsz);

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}
HOSTGPU_ALSO(cudaEventRecord, _ptsz);

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return hostgpu_record(is_event(event) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) { return cudaEventQuery(event); }

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    if (flags) return hostgpu_record(cudaErrorInvalidValue);
    return is_event(event) ? check_stream(stream) : hostgpu_record(cudaErrorInvalidResourceHandle);
}
HOSTGPU_ALSO(cudaStreamWaitEvent, _ptsz);

static bool has_time(cudaEvent_t event)
{
    return is_event(event) && event->is_recorded && !(event->flags & cudaEventDisableTiming);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    if (!milliseconds) return hostgpu_record(cudaErrorInvalidValue);
    if (!has_time(from) || !has_time(to)) return hostgpu_record(cudaErrorInvalidResourceHandle);
    *milliseconds = (float)(1e3 * (double)(to->when.tv_sec - from->when.tv_sec) +
                            1e-6 * (double)(to->when.tv_nsec - from->when.tv_nsec));
    return cudaSuccess;
}
