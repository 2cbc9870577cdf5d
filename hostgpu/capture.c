/* capture.c - stream capture: what is enqueued in a captured stream becomes nodes of a graph. A
 * stream's next node comes after the nodes of its tail; waiting for an event that was recorded in
 * the capture adds to the tail, and brings a stream in. What CUDA forbids meanwhile is refused as
 * there, and makes the capture void. */
#include <pthread.h>
#include <stdlib.h>

#include "cudart_internal.h"

struct hostgpu_capture {
    unsigned long long number;
    enum cudaStreamCaptureMode mode;
    pthread_t thread; /* that began it */
    cudaGraph_t graph;
    bool owns_graph;              /* until it ends well */
    cudaStream_t origin, streams; /* the origin among them */
    bool is_void;
    struct hostgpu_capture *next;
};

pthread_mutex_t hostgpu_captures_lock = PTHREAD_MUTEX_INITIALIZER;
static hostgpu_capture *captures; /* under way */
static atomic_uint capture_count; /* of them */
static __thread enum cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

static bool is_legacy(cudaStream_t stream) { return stream == NULL || stream == cudaStreamLegacy; }

/* The functions below, up to the next heading, are called under the lock. */

static hostgpu_capture *capture_of(cudaStream_t stream)
{
    return hostgpu_is_default(stream) ? NULL : stream->capture;
}

static hostgpu_capture *capture_numbered(unsigned long long number)
{
    hostgpu_capture *c = captures;

    while (c && c->number != number) c = c->next;
    return c;
}

static void leave(cudaStream_t stream)
{
    cudaStream_t *place = &stream->capture->streams;

    while (*place != stream) place = &(*place)->next;
    *place = stream->next;
    stream->capture = NULL;
    hostgpu_nodes_clear(&stream->tail);
}

static void enter(cudaStream_t stream, hostgpu_capture *c)
{
    stream->capture = c;
    stream->next = c->streams;
    c->streams = stream;
}

static void end_capture(hostgpu_capture *c)
{
    hostgpu_capture **place = &captures;

    while (c->streams) leave(c->streams);
    while (*place != c) place = &(*place)->next;
    *place = c->next;
    atomic_fetch_sub(&capture_count, 1);
    if (c->owns_graph) (void)cudaGraphDestroy(c->graph);
    free(c);
}

/* Fails, and spoils the capture. */
static cudaError_t spoil(hostgpu_capture *c, cudaError_t error)
{
    c->is_void = true;
    return error;
}

/* True if the legacy default stream, which is the calling thread's context's, waits for a stream of
 * the capture. */
static bool holds_up_legacy(const hostgpu_capture *c)
{
    for (cudaStream_t s = c->streams; s; s = s->next)
        if (!(s->flags & cudaStreamNonBlocking) && hostgpu_is_own_stream(s)) return true;
    return false;
}

static bool forbids(const hostgpu_capture *c)
{
    if (thread_mode == cudaStreamCaptureModeRelaxed || c->mode == cudaStreamCaptureModeRelaxed)
        return false;
    return pthread_equal(c->thread, pthread_self()) ||
           (thread_mode == cudaStreamCaptureModeGlobal && c->mode == cudaStreamCaptureModeGlobal);
}

/* Spoils the captures that meet a condition; fails if there are any. */
static cudaError_t spoil_all(bool (*is_met)(const hostgpu_capture *), cudaError_t failure)
{
    cudaError_t error = cudaSuccess;

    for (hostgpu_capture *c = captures; c; c = c->next)
        if (is_met(c)) error = spoil(c, failure);
    return error;
}

/* For work in the legacy default stream, and for what a capture forbids. */
static cudaError_t check_legacy(void)
{
    return spoil_all(holds_up_legacy, cudaErrorStreamCaptureImplicit);
}

static cudaError_t check_unsafe(void)
{
    return spoil_all(forbids, cudaErrorStreamCaptureUnsupported);
}

/* The node becomes the stream's tail. */
static cudaError_t move_tail(cudaStream_t stream, cudaGraphNode_t node)
{
    stream->tail.count = 0;
    if (node && hostgpu_nodes_add(&stream->tail, &node, 1)) return cudaSuccess;
    return spoil(stream->capture, cudaErrorMemoryAllocation);
}

static cudaGraphNode_t add(cudaStream_t stream, enum cudaGraphNodeType type, hostgpu_action *run,
                           const void *arguments, size_t bytes)
{
    cudaGraph_t graph = stream->capture->graph;

    if (type == cudaGraphNodeTypeGraph)
        return hostgpu_graph_add_executable(graph, *(const cudaGraphExec_t *)arguments,
                                            &stream->tail);
    hostgpu_work *work = hostgpu_work_create(type, run, arguments, bytes, NULL);
    return work ? hostgpu_graph_add(graph, work, &stream->tail) : NULL;
}

/* ---- what other files ask ---- */

/* *capture: NULL where the work is to be done now. Leaves the lock held if there is one. */
static cudaError_t begin_node(cudaStream_t stream, hostgpu_capture **capture)
{
    cudaError_t error = cudaSuccess;

    *capture = NULL;
    if (!hostgpu_is_stream(stream)) return cudaErrorInvalidResourceHandle;
    if (!atomic_load(&capture_count)) return cudaSuccess;
    pthread_mutex_lock(&hostgpu_captures_lock);
    *capture = capture_of(stream);
    if (*capture && (*capture)->is_void) error = cudaErrorStreamCaptureInvalidated;
    if (is_legacy(stream)) error = check_legacy();
    if (*capture && !error) return cudaSuccess;
    pthread_mutex_unlock(&hostgpu_captures_lock);
    return error;
}

cudaError_t hostgpu_enqueue(cudaStream_t stream, enum cudaGraphNodeType type, hostgpu_action *run,
                            void *arguments, size_t bytes)
{
    hostgpu_capture *c;
    cudaError_t error = begin_node(stream, &c);

    if (error || !c) return error ? error : run(arguments);
    error = move_tail(stream, add(stream, type, run, arguments, bytes));
    pthread_mutex_unlock(&hostgpu_captures_lock);
    return error;
}

cudaError_t hostgpu_capture_allocate(cudaStream_t stream, cudaMemPool_t pool, size_t bytes,
                                     void **address, bool *is_captured)
{
    hostgpu_capture *c;
    cudaGraphNode_t node;
    cudaError_t error = begin_node(stream, &c);

    *is_captured = c && !error;
    if (!*is_captured) return error;
    error = hostgpu_graph_allocate(c->graph, &stream->tail, pool, bytes, address, &node);
    if (!error) error = move_tail(stream, node);
    pthread_mutex_unlock(&hostgpu_captures_lock);
    return error;
}

cudaError_t hostgpu_capture_free(cudaStream_t stream, void *address, bool *is_captured)
{
    hostgpu_capture *c;
    cudaGraphNode_t node;
    cudaError_t error = begin_node(stream, &c);

    *is_captured = c && !error;
    if (!*is_captured) return error;
    error = hostgpu_graph_free(c->graph, &stream->tail, address, &node);
    if (!error) error = move_tail(stream, node);
    pthread_mutex_unlock(&hostgpu_captures_lock);
    return error;
}

bool hostgpu_captures(void) { return atomic_load(&capture_count) > 0; }

cudaError_t hostgpu_refuse_unsafe(void)
{
    if (!atomic_load(&capture_count)) return cudaSuccess;
    pthread_mutex_lock(&hostgpu_captures_lock);
    const cudaError_t error = check_unsafe();
    pthread_mutex_unlock(&hostgpu_captures_lock);
    return error;
}

cudaError_t hostgpu_refuse_synchronous(void)
{
    if (!atomic_load(&capture_count)) return cudaSuccess;
    pthread_mutex_lock(&hostgpu_captures_lock);
    cudaError_t error = check_legacy();
    if (!error) error = check_unsafe();
    pthread_mutex_unlock(&hostgpu_captures_lock);
    return error;
}

cudaError_t hostgpu_refuse_waiting(cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;

    if (!hostgpu_is_stream(stream)) return cudaErrorInvalidResourceHandle;
    if (!atomic_load(&capture_count)) return cudaSuccess;
    pthread_mutex_lock(&hostgpu_captures_lock);
    hostgpu_capture *c = capture_of(stream);
    if (c) error = spoil(c, cudaErrorStreamCaptureUnsupported);
    if (is_legacy(stream)) error = check_legacy();
    if (!error) error = check_unsafe();
    pthread_mutex_unlock(&hostgpu_captures_lock);
    return error;
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t error = cudaSuccess;

    if (!atomic_load(&capture_count)) return cudaSuccess;
    pthread_mutex_lock(&hostgpu_captures_lock);
    for (hostgpu_capture *c = captures; c; c = c->next)
        if (hostgpu_is_own_stream(c->origin)) error = spoil(c, cudaErrorStreamCaptureUnsupported);
    pthread_mutex_unlock(&hostgpu_captures_lock);
    return hostgpu_record(error);
}

cudaError_t hostgpu_capture_event(cudaStream_t stream, cudaEvent_t event, bool *is_captured)
{
    hostgpu_capture *c;
    cudaError_t error = begin_node(stream, &c);

    *is_captured = c && !error;
    if (!*is_captured) {
        event->capture = 0;
        return error;
    }
    event->capture = c->number;
    event->nodes.count = 0;
    if (!hostgpu_nodes_add(&event->nodes, stream->tail.node, stream->tail.count))
        error = spoil(c, cudaErrorMemoryAllocation);
    pthread_mutex_unlock(&hostgpu_captures_lock);
    return error;
}

bool hostgpu_is_captured_event(cudaEvent_t event) { return event->capture != 0; }

/* Under the lock; one of stream and event is part of a capture. */
static cudaError_t wait_in_capture(cudaStream_t stream, cudaEvent_t event)
{
    hostgpu_capture *of_stream = capture_of(stream), *of_event = capture_numbered(event->capture);

    if (!event->capture) return spoil(of_stream, cudaErrorStreamCaptureIsolation);
    if (!of_event) return cudaErrorCapturedEvent; /* its capture has ended */
    if (of_event->is_void) return cudaErrorStreamCaptureInvalidated;
    if (hostgpu_is_default(stream)) return spoil(of_event, cudaErrorStreamCaptureImplicit);
    if (of_stream && of_stream != of_event) {
        (void)spoil(of_event, cudaSuccess);
        return spoil(of_stream, cudaErrorStreamCaptureMerge);
    }
    if (!of_stream) enter(stream, of_event);
    if (hostgpu_nodes_add(&stream->tail, event->nodes.node, event->nodes.count)) return cudaSuccess;
    return spoil(of_event, cudaErrorMemoryAllocation);
}

cudaError_t hostgpu_capture_wait(cudaStream_t stream, cudaEvent_t event)
{
    cudaError_t error = cudaSuccess;

    pthread_mutex_lock(&hostgpu_captures_lock);
    if (event->capture || (event->is_recorded && capture_of(stream)))
        error = wait_in_capture(stream, event);
    pthread_mutex_unlock(&hostgpu_captures_lock);
    return error;
}

void hostgpu_capture_leave(cudaStream_t stream)
{
    pthread_mutex_lock(&hostgpu_captures_lock);
    if (stream->capture) {
        const bool is_origin = stream->capture->origin == stream;

        (void)spoil(stream->capture, cudaSuccess);
        if (is_origin)
            end_capture(stream->capture);
        else
            leave(stream);
    }
    hostgpu_nodes_clear(&stream->tail);
    pthread_mutex_unlock(&hostgpu_captures_lock);
}

void hostgpu_drop_captures(void)
{
    pthread_mutex_lock(&hostgpu_captures_lock);
    for (hostgpu_capture *c = captures; c;) {
        hostgpu_capture *next = c->next;

        if (!hostgpu_is_alive(c->origin->handle.life)) end_capture(c);
        c = next;
    }
    pthread_mutex_unlock(&hostgpu_captures_lock);
}

/* ---- beginning and ending ---- */

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    const enum cudaStreamCaptureMode old = thread_mode;

    if (!mode || (unsigned)*mode > cudaStreamCaptureModeRelaxed)
        return hostgpu_record(cudaErrorInvalidValue);
    thread_mode = *mode;
    *mode = old;
    return cudaSuccess;
}

/* Under the lock. No graph: one of the capture's own. */
static cudaError_t begin(cudaStream_t stream, cudaGraph_t graph, const hostgpu_nodes *tail,
                         enum cudaStreamCaptureMode mode)
{
    static unsigned long long last_number; /* under the lock */
    hostgpu_capture *c;

    if (stream->capture) return cudaErrorIllegalState;
    c = malloc(sizeof *c);
    if (!c) return cudaErrorMemoryAllocation;
    *c = (hostgpu_capture){.number = ++last_number,
                           .mode = mode,
                           .thread = pthread_self(),
                           .graph = graph,
                           .owns_graph = !graph,
                           .origin = stream,
                           .next = captures};
    const bool done = hostgpu_nodes_add(&stream->tail, tail->node, tail->count) &&
                      (graph || !cudaGraphCreate(&c->graph, 0));
    if (!done) {
        free(c);
        return cudaErrorMemoryAllocation;
    }
    captures = c;
    atomic_fetch_add(&capture_count, 1);
    enter(stream, c);
    return cudaSuccess;
}

static cudaError_t check_and_begin(cudaStream_t stream, cudaGraph_t graph,
                                   const hostgpu_nodes *tail, enum cudaStreamCaptureMode mode)
{
    if (hostgpu_is_default(stream)) return hostgpu_record(cudaErrorStreamCaptureUnsupported);
    if (!hostgpu_is_stream(stream)) return hostgpu_record(cudaErrorInvalidResourceHandle);
    if ((unsigned)mode > cudaStreamCaptureModeRelaxed) return hostgpu_record(cudaErrorInvalidValue);
    pthread_mutex_lock(&hostgpu_captures_lock);
    const cudaError_t error = begin(stream, graph, tail, mode);
    pthread_mutex_unlock(&hostgpu_captures_lock);
    return hostgpu_record(error);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    return check_and_begin(stream, NULL, &(hostgpu_nodes){NULL, 0}, mode);
}
HOSTGPU_ALSO(cudaStreamBeginCapture, _ptsz);

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t *needs,
                                          const cudaGraphEdgeData *data, size_t count,
                                          enum cudaStreamCaptureMode mode)
{
    const hostgpu_nodes tail = {(cudaGraphNode_t *)(uintptr_t)needs, count};

    (void)data;
    if (!hostgpu_is_graph(graph)) return hostgpu_record(cudaErrorInvalidValue);
    return check_and_begin(stream, graph, &tail, mode);
}
HOSTGPU_ALSO(cudaStreamBeginCaptureToGraph, _ptsz);

/* Whether the work of all other streams comes before the end of the capture's first. */
static bool is_joined(const hostgpu_capture *c)
{
    for (cudaStream_t s = c->streams; s; s = s->next)
        if (!hostgpu_graph_leads_to(c->graph, &s->tail, &c->origin->tail)) return false;
    return true;
}

/* Under the lock. */
static cudaError_t end(cudaStream_t stream, cudaGraph_t *graph)
{
    hostgpu_capture *c = stream->capture;
    cudaError_t error = cudaSuccess;

    if (!c) return cudaErrorIllegalState;
    if (c->origin != stream) return spoil(c, cudaErrorStreamCaptureUnmatched);
    if (c->mode != cudaStreamCaptureModeRelaxed && !pthread_equal(c->thread, pthread_self()))
        return cudaErrorStreamCaptureWrongThread;
    if (c->is_void)
        error = cudaErrorStreamCaptureInvalidated;
    else if (!is_joined(c))
        error = cudaErrorStreamCaptureUnjoined;
    if (!error) *graph = c->graph;
    if (!error) c->owns_graph = false;
    end_capture(c);
    return error;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    if (!graph) return hostgpu_record(cudaErrorInvalidValue);
    *graph = NULL;
    if (hostgpu_is_default(stream)) return hostgpu_record(cudaErrorIllegalState);
    if (!hostgpu_is_stream(stream)) return hostgpu_record(cudaErrorInvalidResourceHandle);
    pthread_mutex_lock(&hostgpu_captures_lock);
    const cudaError_t error = end(stream, graph);
    pthread_mutex_unlock(&hostgpu_captures_lock);
    return hostgpu_record(error);
}
HOSTGPU_ALSO(cudaStreamEndCapture, _ptsz);

/* ---- asking ---- */

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **needs, const cudaGraphEdgeData **data,
                                     size_t *count)
{
    static const hostgpu_capture none;
    const hostgpu_capture *c;
    cudaError_t error = cudaSuccess;

    if (!status) return hostgpu_record(cudaErrorInvalidValue);
    if (!hostgpu_is_stream(stream)) return hostgpu_record(cudaErrorInvalidResourceHandle);
    pthread_mutex_lock(&hostgpu_captures_lock);
    for (c = is_legacy(stream) ? captures : NULL; c && !error; c = c->next)
        if (holds_up_legacy(c)) error = cudaErrorStreamCaptureImplicit;
    c = capture_of(stream);
    *status = !c           ? cudaStreamCaptureStatusNone
              : c->is_void ? cudaStreamCaptureStatusInvalidated
                           : cudaStreamCaptureStatusActive;
    if (id) *id = (c ? c : &none)->number;
    if (graph) *graph = (c ? c : &none)->graph;
    if (needs) *needs = c ? stream->tail.node : NULL;
    if (data) *data = NULL;
    if (count) *count = c ? stream->tail.count : 0;
    pthread_mutex_unlock(&hostgpu_captures_lock);
    return hostgpu_record(error);
}
HOSTGPU_ALSO(cudaStreamGetCaptureInfo, _ptsz);

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    return cudaStreamGetCaptureInfo(stream, status, NULL, NULL, NULL, NULL, NULL);
}
HOSTGPU_ALSO(cudaStreamIsCapturing, _ptsz);

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *needs,
                                                const cudaGraphEdgeData *data, size_t count,
                                                unsigned flags)
{
    hostgpu_capture *c;
    cudaError_t error = begin_node(stream, &c);

    (void)data;
    if (error || !c) return hostgpu_record(error ? error : cudaErrorIllegalState);
    if (flags == cudaStreamSetCaptureDependencies) stream->tail.count = 0;
    if (!hostgpu_nodes_add(&stream->tail, needs, count)) error = cudaErrorMemoryAllocation;
    pthread_mutex_unlock(&hostgpu_captures_lock);
    return hostgpu_record(error);
}
HOSTGPU_ALSO(cudaStreamUpdateCaptureDependencies, _ptsz);
