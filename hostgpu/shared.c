/* shared.c - shared memory: one heap block of the exact size for every array, so that
 * AddressSanitizer sees what lies beyond. At the start of a block it is what nobody wrote. */
#include <stdlib.h>
#include <string.h>

#include "unwritten.h"
#include "worker.h"

enum { ALIGNMENT = 128 };

/* All bits set, which is a NaN, unless a seed draws what nobody wrote: that takes longer. */
static void unset(void *memory, size_t bytes)
{
    if (hostgpu_draws_unwritten())
        hostgpu_unset(memory, bytes);
    else
        memset(memory, 0xff, bytes);
}

bool hostgpu_acquire_shared(hostgpu_worker *w)
{
    void *memory = NULL;
    size_t bytes = w->job->kernel->shared_bytes;

    w->shared_count = 0;
    if (bytes && posix_memalign(&memory, ALIGNMENT, bytes)) return false;
    hostgpu_here.dynamic_shared = memory;
    return true;
}

void hostgpu_clear_shared(const hostgpu_worker *w)
{
    hostgpu_ignore_begin();
    if (hostgpu_here.dynamic_shared)
        unset(hostgpu_here.dynamic_shared, w->job->kernel->shared_bytes);
    hostgpu_ignore_end();
}

void hostgpu_release_shared(hostgpu_worker *w)
{
    for (unsigned i = 0; i < w->shared_count; i++) free(w->shared[i].data);
    w->shared_count = 0;
    free(hostgpu_here.dynamic_shared);
    hostgpu_here.dynamic_shared = NULL;
}

static shared_array *find(hostgpu_worker *w, const void *key)
{
    for (unsigned i = 0; i < w->shared_count; i++)
        if (w->shared[i].key == key) return &w->shared[i];
    return NULL;
}

static shared_array *add(hostgpu_worker *w, const void *key, const char *name, size_t bytes)
{
    size_t total = bytes;
    void *data;

    for (unsigned i = 0; i < w->shared_count; i++) total += w->shared[i].bytes;
    if (total > HOSTGPU_DEFAULT_SHARED)
        hostgpu_fault(w, "%zu bytes of static shared memory with '%s'; a device has %d", total,
                      name, HOSTGPU_DEFAULT_SHARED);
    if (total + w->job->kernel->shared_bytes > HOSTGPU_MAX_SHARED)
        hostgpu_fault(w, "%zu bytes of static and dynamic shared memory with '%s'; a device has %d",
                      total + w->job->kernel->shared_bytes, name, HOSTGPU_MAX_SHARED);
    if (w->shared_count == HOSTGPU_MAX_SHARED_ARRAYS)
        hostgpu_fault(w, "'%s' is one static shared array more than the %d of the host device",
                      name, HOSTGPU_MAX_SHARED_ARRAYS);
    if (posix_memalign(&data, ALIGNMENT, bytes))
        hostgpu_fault(w, "no memory for the %zu bytes of shared array '%s'", bytes, name);
    w->shared[w->shared_count] = (shared_array){.key = key, .data = data, .bytes = bytes};
    return &w->shared[w->shared_count++];
}

void *hostgpu_static_shared(const void *key, const char *name, size_t bytes)
{
    hostgpu_worker *w = hostgpu_here.worker;
    shared_array *array = find(w, key);

    if (array && array->block == w->block) return array->data;
    hostgpu_ignore_begin();
    if (!array) array = add(w, key, name, bytes);
    unset(array->data, array->bytes);
    array->block = w->block;
    hostgpu_ignore_end();
    return array->data;
}
