/* cudart_stream.c - streams. Everything is done when the call that asks for it returns, unless it
 * is captured, so a stream is always idle. */

#include "cudart_internal.h"

bool hostgpu_is_default(cudaStream_t stream)
{
    return stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

bool hostgpu_is_stream(cudaStream_t stream)
{
    return hostgpu_is_default(stream) || hostgpu_handle_is(stream, HOSTGPU_STREAM);
}

int hostgpu_stream_device(cudaStream_t stream)
{
    return hostgpu_is_default(stream) ? hostgpu_current_device()
                                      : hostgpu_device_of(stream->handle.life.context);
}

bool hostgpu_is_own_stream(cudaStream_t stream)
{
    return hostgpu_is_default(stream) || stream->handle.life.number == hostgpu_context_number();
}

static cudaError_t check_stream(cudaStream_t stream)
{
    return hostgpu_record(hostgpu_is_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    static atomic_ullong last_id = 2; /* 1 and 2: the default streams */
    hostgpu_life life;
    cudaStream_t fresh;

    if (!stream || (flags & ~(unsigned)cudaStreamNonBlocking))
        return hostgpu_record(cudaErrorInvalidValue);
    const cudaError_t error = hostgpu_enter(&life);
    if (error) return hostgpu_record(error);
    fresh = hostgpu_handle_create(HOSTGPU_STREAM, sizeof *fresh, life);
    if (!fresh) return hostgpu_record(cudaErrorMemoryAllocation);
    fresh->flags = flags;
    fresh->priority = priority < 0 ? priority : 0;
    fresh->id = atomic_fetch_add(&last_id, 1) + 1;
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
    if (hostgpu_is_default(stream)) return hostgpu_record(cudaErrorInvalidResourceHandle);
    if (!hostgpu_handle_is(stream, HOSTGPU_STREAM))
        return hostgpu_record(cudaErrorInvalidResourceHandle);
    hostgpu_capture_leave(stream);
    hostgpu_handle_destroy(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return hostgpu_record(hostgpu_refuse_waiting(stream));
}
HOSTGPU_ALSO(cudaStreamSynchronize, _ptsz);

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return hostgpu_record(hostgpu_refuse_waiting(stream));
}
HOSTGPU_ALSO(cudaStreamQuery, _ptsz);

/* Stores a property of a stream: `normal` for the default streams. */
#define RETURN_PROPERTY(stream, pointer, normal, own)                                              \
    do {                                                                                           \
        if (!(pointer)) return hostgpu_record(cudaErrorInvalidValue);                              \
        if (!hostgpu_is_stream(stream)) return hostgpu_record(cudaErrorInvalidResourceHandle);     \
        *(pointer) = hostgpu_is_default(stream) ? (normal) : (own);                                \
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
    RETURN_PROPERTY(stream, device, hostgpu_current_device(), hostgpu_stream_device(stream));
}
HOSTGPU_ALSO(cudaStreamGetDevice, _ptsz);

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t bytes,
                                     unsigned flags)
{
    (void)pointer, (void)bytes, (void)flags;
    return check_stream(stream);
}
HOSTGPU_ALSO(cudaStreamAttachMemAsync, _ptsz);

/* ---- host functions ---- */

typedef struct {
    cudaHostFn_t function;
    void *data;
} host_call;

static cudaError_t call_host(void *arguments)
{
    const host_call *call = arguments;

    call->function(call->data);
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    host_call call = {function, data};

    if (!function) return hostgpu_record(cudaErrorInvalidValue);
    return hostgpu_record(
        hostgpu_enqueue(stream, cudaGraphNodeTypeHost, call_host, &call, sizeof call));
}
HOSTGPU_ALSO(cudaLaunchHostFunc, _ptsz);

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data,
                                  unsigned flags)
{
    cudaError_t error = hostgpu_refuse_waiting(stream); /* callbacks cannot be captured */

    if (error) return hostgpu_record(error);
    if (!callback || flags) return hostgpu_record(cudaErrorInvalidValue);
    callback(stream, cudaSuccess, data);
    return cudaSuccess;
}
HOSTGPU_ALSO(cudaStreamAddCallback, _ptsz);
