/* graph_memory.c - what belongs to graphs beside their nodes: memory that nodes allocate, at an
 * address that never changes, and the program's own objects. */
#include <stdlib.h>

#include "cudart_internal.h"
#include "graph.h"
#include "unwritten.h"

/* ---- memory ---- */

typedef struct {
    void *address;
    size_t bytes;
} allocation;

/* What a launch finds there is what nobody wrote. */
static cudaError_t clear(void *arguments)
{
    const allocation *a = arguments;

    hostgpu_unset(a->address, a->bytes);
    return cudaSuccess;
}

static void release(void *arguments)
{
    const allocation *a = arguments;
    hostgpu_range range;

    if (hostgpu_registry_take(a->address, HOSTGPU_DEVICE, &range)) hostgpu_release_range(&range);
}

cudaError_t hostgpu_graph_allocate(cudaGraph_t graph, const hostgpu_nodes *needs,
                                   cudaMemPool_t pool, size_t bytes, void **address,
                                   cudaGraphNode_t *node)
{
    hostgpu_range range = {.bytes = bytes,
                           .kind = HOSTGPU_DEVICE,
                           .device = hostgpu_pool_device(pool),
                           .is_of_graph = true};
    allocation a = {.bytes = bytes};
    const cudaError_t error = hostgpu_allocate_range(&a.address, &range);

    if (error) return error;
    *address = a.address;
    hostgpu_work *work =
        hostgpu_work_create(cudaGraphNodeTypeMemAlloc, clear, &a, sizeof a, release);
    if (!work) release(&a);
    *node = work ? hostgpu_graph_add(graph, work, needs) : NULL;
    return *node ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t hostgpu_graph_free(cudaGraph_t graph, const hostgpu_nodes *needs, void *address,
                               cudaGraphNode_t *node)
{
    hostgpu_range range;

    if (!hostgpu_registry_find(address, &range) || !range.is_of_graph ||
        range.start != (uintptr_t)address)
        return cudaErrorInvalidValue;
    hostgpu_work *work = hostgpu_work_create(cudaGraphNodeTypeMemFree, NULL, NULL, 0, NULL);
    *node = work ? hostgpu_graph_add(graph, work, needs) : NULL;
    return *node ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* ---- objects of the program's ---- */

struct CUuserObject_st {
    atomic_uint references;
    void *data;
    cudaHostFn_t destroy;
};

static void give_back(cudaUserObject_t object, unsigned count)
{
    if (atomic_fetch_sub(&object->references, count) != count) return;
    object->destroy(object->data);
    free(object);
}

static bool hold(hostgpu_objects **list, cudaUserObject_t object, unsigned count)
{
    hostgpu_objects *held = malloc(sizeof *held);

    if (!held) return false;
    *held = (hostgpu_objects){object, count, *list};
    *list = held;
    return true;
}

bool hostgpu_objects_copy(hostgpu_objects **target, const hostgpu_objects *source)
{
    for (const hostgpu_objects *o = source; o; o = o->next) {
        if (!hold(target, o->object, 1)) return false;
        atomic_fetch_add(&o->object->references, 1);
    }
    return true;
}

void hostgpu_objects_release(hostgpu_objects **list)
{
    while (*list) {
        hostgpu_objects *held = *list;

        *list = held->next;
        give_back(held->object, held->count);
        free(held);
    }
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t *object, void *data, cudaHostFn_t destroy,
                                 unsigned count, unsigned flags)
{
    cudaUserObject_t fresh;

    if (!object || !destroy || !count || flags != cudaUserObjectNoDestructorSync)
        return hostgpu_record(cudaErrorInvalidValue);
    fresh = malloc(sizeof *fresh);
    if (!fresh) return hostgpu_record(cudaErrorMemoryAllocation);
    atomic_init(&fresh->references, count);
    fresh->data = data;
    fresh->destroy = destroy;
    *object = fresh;
    return cudaSuccess;
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count)
{
    if (!object || !count) return hostgpu_record(cudaErrorInvalidValue);
    atomic_fetch_add(&object->references, count);
    return cudaSuccess;
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count)
{
    if (!object || !count) return hostgpu_record(cudaErrorInvalidValue);
    give_back(object, count);
    return cudaSuccess;
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count,
                                      unsigned flags)
{
    if (!hostgpu_is_graph(graph) || !object || !count ||
        (flags & ~(unsigned)cudaGraphUserObjectMove))
        return hostgpu_record(cudaErrorInvalidValue);
    if (!hold(&graph->objects, object, count)) return hostgpu_record(cudaErrorMemoryAllocation);
    if (!(flags & cudaGraphUserObjectMove)) atomic_fetch_add(&object->references, count);
    return cudaSuccess;
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count)
{
    hostgpu_objects **place;

    if (!hostgpu_is_graph(graph) || !count) return hostgpu_record(cudaErrorInvalidValue);
    for (place = &graph->objects; *place && (*place)->object != object;) place = &(*place)->next;
    if (!*place || (*place)->count < count) return hostgpu_record(cudaErrorInvalidValue);
    (*place)->count -= count;
    if (!(*place)->count) {
        hostgpu_objects *empty = *place;

        *place = empty->next;
        free(empty);
    }
    give_back(object, count);
    return cudaSuccess;
}
