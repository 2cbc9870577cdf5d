/* cudart_event.c - events. What was recorded has happened, unless it was in a capture: then the
 * event stands for nodes of a graph, and only streams can wait for it. */

#include "cudart_internal.h"

static bool is_event(cudaEvent_t event) { return hostgpu_handle_is(event, HOSTGPU_EVENT); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming;
    hostgpu_life life;
    cudaEvent_t fresh;

    if (!event) return hostgpu_record(cudaErrorInvalidValue);
    if (flags & cudaEventInterprocess) return hostgpu_record(cudaErrorNotSupported);
    if (flags & ~known) return hostgpu_record(cudaErrorInvalidValue);
    const cudaError_t error = hostgpu_enter(&life);
    if (error) return hostgpu_record(error);
    fresh = hostgpu_handle_create(HOSTGPU_EVENT, sizeof *fresh, life);
    if (!fresh) return hostgpu_record(cudaErrorMemoryAllocation);
    fresh->flags = flags;
    fresh->is_recorded = false;
    fresh->capture = 0;
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
    hostgpu_nodes_clear(&event->nodes);
    hostgpu_handle_destroy(event);
    return cudaSuccess;
}

static cudaError_t happen(void *argument)
{
    cudaEvent_t event = *(cudaEvent_t *)argument;

    if (!is_event(event)) return cudaErrorInvalidResourceHandle;
    clock_gettime(CLOCK_MONOTONIC, &event->when);
    event->is_recorded = true;
    return cudaSuccess;
}

static cudaError_t record(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    bool is_captured = false;
    cudaError_t error = cudaSuccess;

    if (flags == cudaEventRecordExternal) /* a node, if it is captured; else as always */
        return hostgpu_enqueue(stream, cudaGraphNodeTypeEventRecord, happen, &event,
                               sizeof(cudaEvent_t));
    error = hostgpu_capture_event(stream, event, &is_captured);
    return error || is_captured ? error : happen(&event);
}

/* The event and the stream are of one context. */
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    if (!is_event(event) || !hostgpu_is_stream(stream))
        return hostgpu_record(cudaErrorInvalidResourceHandle);
    if (event->handle.life.number !=
        (hostgpu_is_default(stream) ? hostgpu_context_number() : stream->handle.life.number))
        return hostgpu_record(cudaErrorInvalidResourceHandle);
    if (flags & ~(unsigned)cudaEventRecordExternal) return hostgpu_record(cudaErrorInvalidValue);
    return hostgpu_record(record(event, stream, flags));
}
HOSTGPU_ALSO(cudaEventRecordWithFlags, _ptsz);

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}
HOSTGPU_ALSO(cudaEventRecord, _ptsz);

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    if (!is_event(event)) return hostgpu_record(cudaErrorInvalidResourceHandle);
    if (hostgpu_is_captured_event(event)) return hostgpu_record(cudaErrorCapturedEvent);
    return hostgpu_record(hostgpu_refuse_unsafe());
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) { return cudaEventQuery(event); }

static cudaError_t nothing(void *argument)
{
    (void)argument;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    if (flags & ~(unsigned)cudaEventWaitExternal) return hostgpu_record(cudaErrorInvalidValue);
    if (!is_event(event) || !hostgpu_is_stream(stream))
        return hostgpu_record(cudaErrorInvalidResourceHandle);
    if (flags)
        return hostgpu_record(
            hostgpu_enqueue(stream, cudaGraphNodeTypeWaitEvent, nothing, NULL, 0));
    return hostgpu_record(hostgpu_capture_wait(stream, event));
}
HOSTGPU_ALSO(cudaStreamWaitEvent, _ptsz);

static bool has_time(cudaEvent_t event)
{
    return is_event(event) && event->is_recorded && !(event->flags & cudaEventDisableTiming);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    if (!milliseconds) return hostgpu_record(cudaErrorInvalidValue);
    if (!has_time(from) || !has_time(to) || from->handle.life.number != to->handle.life.number)
        return hostgpu_record(cudaErrorInvalidResourceHandle);
    *milliseconds = (float)(1e3 * (double)(to->when.tv_sec - from->when.tv_sec) +
                            1e-6 * (double)(to->when.tv_nsec - from->when.tv_nsec));
    return cudaSuccess;
}
