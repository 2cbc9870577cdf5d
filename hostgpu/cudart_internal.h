/* cudart_internal.h - shared by the files of the stand-in for the CUDA runtime. */
#ifndef HOSTGPU_CUDART_INTERNAL_H
#define HOSTGPU_CUDART_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "faults.h"

/* For functions that are also called under the name that nvcc's per-thread default stream gives
 * them. */
#define HOSTGPU_ALSO(function, suffix)                                                             \
    extern __typeof__(function) function##suffix __attribute__((alias(#function)))

/* cudart_error.c: remembers an error as the calling thread's last one; returns it. */
cudaError_t hostgpu_record(cudaError_t error);

/* ---- fork.c ---- */

/* The locks of the runtime. A thread that holds one takes none that is above it. */
extern pthread_mutex_t hostgpu_launching, hostgpu_pool_lock, hostgpu_kernels_lock,
    hostgpu_captures_lock, hostgpu_contexts_lock, hostgpu_registry_lock, hostgpu_pools_lock;

/* launch.c: in a child of fork(), which has none of its parent's threads. Under the locks. */
void hostgpu_forget_helpers(void);

/* ---- cudart_context.c ---- */

struct CUctx_st {
    int device;
    /* number of the present one, unique in the process; 0: none has begun, or it has ended */
    atomic_ullong life;
    struct CUctx_st *next;
};

/* One life of a context, for what does not outlive it. */
typedef struct {
    CUcontext context;
    unsigned long long number;
} hostgpu_life;

bool hostgpu_is_alive(hostgpu_life life);

/* The context that the calling thread works in, begun if need be. Fails if it was destroyed. */
cudaError_t hostgpu_enter(hostgpu_life *life);

bool hostgpu_is_device(int device);
int hostgpu_current_device(void);
int hostgpu_device_of(CUcontext context);

/* For driver.c. The thread's own choice, with no life if it is a primary context; none: the context
 * is NULL. */
hostgpu_life hostgpu_bound(void);
bool hostgpu_push(CUcontext context);
CUcontext hostgpu_pop(void);
CUcontext hostgpu_primary_context(int device);
bool hostgpu_is_primary(CUcontext context);
CUcontext hostgpu_context_create(int device); /* NULL without memory */
void hostgpu_context_end(CUcontext context);  /* with all that is in it */

/* Streams and events, which begin with this. A destroyed one is kept, for the next of its kind: so
 * what is no handle any more can be asked about, and is refused. */
typedef enum {
    HOSTGPU_NO_HANDLE,
    HOSTGPU_STREAM,
    HOSTGPU_EVENT,
    HOSTGPU_HANDLE_KINDS
} hostgpu_handle_kind;

typedef struct hostgpu_handle {
    hostgpu_handle_kind kind;
    hostgpu_life life;
    struct hostgpu_handle *next, *next_destroyed;
} hostgpu_handle;

void *hostgpu_handle_create(hostgpu_handle_kind kind, size_t bytes, hostgpu_life life);
bool hostgpu_handle_is(const void *handle, hostgpu_handle_kind kind); /* and its context lives */
void hostgpu_handle_destroy(void *handle);

/* ---- cudart_kernel.c ---- */

/* Dynamic shared memory that a kernel may ask for in the current context, in bytes. */
size_t hostgpu_shared_limit(const void *function);

/* Loads the kernel into the current context, if it is not: the calling thread must be allowed
 * to. */
cudaError_t hostgpu_load(const void *function);

/* ---- graph.c ---- */

/* What a node does, shared by the graphs that it is copied into. */
typedef struct hostgpu_work hostgpu_work;

/* With a copy of the arguments. release, if not NULL, gets that copy when no graph has the work any
 * more. */
hostgpu_work *hostgpu_work_create(enum cudaGraphNodeType type, hostgpu_action *run,
                                  const void *arguments, size_t bytes, void (*release)(void *));

/* A set of nodes of one graph. */
typedef struct {
    cudaGraphNode_t *node;
    size_t count;
} hostgpu_nodes;

bool hostgpu_nodes_add(hostgpu_nodes *set, const cudaGraphNode_t *nodes, size_t count);
void hostgpu_nodes_clear(hostgpu_nodes *set);

/* A node after `needs`, which takes the work over; NULL, and the work is gone, without memory. */
cudaGraphNode_t hostgpu_graph_add(cudaGraph_t graph, hostgpu_work *work,
                                  const hostgpu_nodes *needs);

/* A node that runs all that the executable runs. */
cudaGraphNode_t hostgpu_graph_add_executable(cudaGraph_t graph, cudaGraphExec_t executable,
                                             const hostgpu_nodes *needs);

/* True if every node of `nodes` is in `ends`, or before one of them. */
bool hostgpu_graph_leads_to(cudaGraph_t graph, const hostgpu_nodes *nodes,
                            const hostgpu_nodes *ends);

bool hostgpu_is_graph(cudaGraph_t graph);

/* ---- graph_memory.c: memory and objects of a graph ---- */

/* The address of `bytes` bytes of the pool that the graph's node, added here, allocates. */
cudaError_t hostgpu_graph_allocate(cudaGraph_t graph, const hostgpu_nodes *needs,
                                   cudaMemPool_t pool, size_t bytes, void **address,
                                   cudaGraphNode_t *node);
cudaError_t hostgpu_graph_free(cudaGraph_t graph, const hostgpu_nodes *needs, void *address,
                               cudaGraphNode_t *node);

/* ---- capture.c ---- */

typedef struct hostgpu_capture hostgpu_capture;

/* True if any stream is being captured. */
bool hostgpu_captures(void);

/* For calls that a thread may not make during a capture: an error, and the capture is void. */
cudaError_t hostgpu_refuse_unsafe(void);

/* Refuses, during a capture, calls that wait for the legacy default stream or that work in it: an
 * error, and the capture is void. */
cudaError_t hostgpu_refuse_synchronous(void);

/* For calls that wait for the stream, which a captured one does not allow. */
cudaError_t hostgpu_refuse_waiting(cudaStream_t stream);

/* If the stream is being captured, the event stands for what is captured so far. */
cudaError_t hostgpu_capture_event(cudaStream_t stream, cudaEvent_t event, bool *is_captured);
bool hostgpu_is_captured_event(cudaEvent_t event);

/* If stream or event are part of a capture: the stream's further work comes after the event. */
cudaError_t hostgpu_capture_wait(cudaStream_t stream, cudaEvent_t event);

/* If the stream is being captured: memory as nodes of the graph. */
cudaError_t hostgpu_capture_allocate(cudaStream_t stream, cudaMemPool_t pool, size_t bytes,
                                     void **address, bool *is_captured);
cudaError_t hostgpu_capture_free(cudaStream_t stream, void *address, bool *is_captured);

void hostgpu_capture_leave(cudaStream_t stream); /* before the stream is destroyed */
void hostgpu_drop_captures(void);                /* of streams that a context took along */

/* ---- cudart_stream.c, cudart_event.c ---- */

struct CUstream_st {
    hostgpu_handle handle;
    unsigned flags;
    int priority;
    unsigned long long id;

    hostgpu_capture *capture; /* under capture.c's lock, as what follows; NULL: none */
    hostgpu_nodes tail;       /* what the next node comes after */
    cudaStream_t next;        /* in the same capture */
};

struct CUevent_st {
    hostgpu_handle handle;
    unsigned flags;
    bool is_recorded;
    struct timespec when;

    unsigned long long capture; /* number of the capture that it was recorded in last; 0: none */
    hostgpu_nodes nodes;        /* under capture.c's lock */
};

/* NULL, cudaStreamLegacy and cudaStreamPerThread, which belong to the current context. */
bool hostgpu_is_default(cudaStream_t stream);

/* True for the default streams and for live streams. */
bool hostgpu_is_stream(cudaStream_t stream);

/* The device of a stream that is one. */
int hostgpu_stream_device(cudaStream_t stream);

/* Of such a stream, true if it belongs to the current context. */
bool hostgpu_is_own_stream(cudaStream_t stream);

/* ---- registry.c: the memory that the runtime knows ---- */

typedef enum {
    HOSTGPU_DEVICE,    /* cudaMalloc and its kin */
    HOSTGPU_MANAGED,   /* cudaMallocManaged */
    HOSTGPU_HOST,      /* cudaHostAlloc */
    HOSTGPU_REGISTERED /* cudaHostRegister: the application's own */
} hostgpu_memory_kind;

typedef struct {
    uintptr_t start;
    size_t bytes;
    hostgpu_memory_kind kind;
    unsigned flags;     /* of cudaHostAlloc or cudaHostRegister */
    int device;         /* where it is, or was current when it was allocated */
    cudaMemPool_t pool; /* NULL: none */
    hostgpu_life life;  /* that it ends with; none: memory of a pool, or of a graph */
    bool is_of_graph;
} hostgpu_range;

/* False if memory for the entry cannot be had. */
bool hostgpu_registry_add(const hostgpu_range *range);

/* Takes out the range that starts at `start`; false if there is none of that kind. */
bool hostgpu_registry_take(const void *start, hostgpu_memory_kind kind, hostgpu_range *taken);

/* The range that holds the address; false if there is none. */
bool hostgpu_registry_find(const void *address, hostgpu_range *found);

/* Has every range visited, under the registry's lock. */
void hostgpu_registry_visit(void (*visit)(const hostgpu_range *range));

/* Takes out any range that ends with the life; false when none is left. */
bool hostgpu_registry_take_owned(hostgpu_life life, hostgpu_range *taken);

/* ---- cudart_memory.c ---- */

/* `bytes` bytes of fresh device memory of the kind, unset: of the pool, or of the current
 * context. */
cudaError_t hostgpu_allocate(void **pointer, size_t bytes, hostgpu_memory_kind kind,
                             cudaMemPool_t pool);

/* Device memory for range->bytes on range->device, unset, entered into the registry. */
cudaError_t hostgpu_allocate_range(void **pointer, hostgpu_range *range);

/* Frees device or managed memory, wherever the calling thread stands. */
cudaError_t hostgpu_free(void *pointer);

/* Gives a range back that was taken out of the registry; memory of a device only. */
void hostgpu_release_range(const hostgpu_range *range);

/* All memory that ends with the life. */
void hostgpu_release_memory(hostgpu_life life);

/* What has the memory of devices: this process, or several that name one file. */
uint64_t hostgpu_memory_owner(void);

/* ---- cudart_pool.c ---- */

/* Accounts for memory of a pool. `take` fails where the pool would grow beyond its limit. */
cudaError_t hostgpu_pool_take(cudaMemPool_t pool, size_t bytes);
void hostgpu_pool_give(cudaMemPool_t pool, size_t bytes);
int hostgpu_pool_device(cudaMemPool_t pool);

#endif
