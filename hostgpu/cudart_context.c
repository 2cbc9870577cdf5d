/* cudart_context.c - devices, contexts, and which of them a thread works in. A context has lives: a
 * reset ends one, with all that belongs to it, and the next call that needs the context begins
 * another. A device's primary context is always at the same address, and the memory of destroyed
 * contexts and handles is used again: an old one is known by its life alone. */
#include <pthread.h>
#include <stdlib.h>

#include "cudart_internal.h"
#include "settings.h"

enum { MAX_STACK = 64 };

pthread_mutex_t hostgpu_contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long last_life;
static struct CUctx_st primary[HOSTGPU_MAX_DEVICES];
static struct CUctx_st *created; /* by hostgpu_context_create, also those that are destroyed */

/* The contexts of the calling thread, the current one last; without any it works in its device's
 * primary one. */
static __thread struct {
    int device;
    int depth;
    hostgpu_life stack[MAX_STACK];
} self;

/* ---- lives ---- */

static unsigned long long begin_life(CUcontext context)
{
    unsigned long long life = atomic_load(&context->life);

    if (life) return life;
    pthread_mutex_lock(&hostgpu_contexts_lock);
    life = atomic_load(&context->life);
    if (!life) {
        life = ++last_life;
        atomic_store(&context->life, life);
    }
    pthread_mutex_unlock(&hostgpu_contexts_lock);
    return life;
}

bool hostgpu_is_alive(hostgpu_life life)
{
    return life.context && atomic_load(&life.context->life) == life.number;
}

void hostgpu_context_end(CUcontext context)
{
    const hostgpu_life ended = {context, atomic_exchange(&context->life, 0)};

    if (!ended.number) return;
    hostgpu_release_memory(ended);
    hostgpu_drop_captures();
}

/* ---- the calling thread's context ---- */

CUcontext hostgpu_primary_context(int device) { return &primary[device]; }

bool hostgpu_is_primary(CUcontext context)
{
    return context >= primary && context < primary + HOSTGPU_MAX_DEVICES;
}

int hostgpu_device_of(CUcontext context)
{
    return hostgpu_is_primary(context) ? (int)(context - primary) : context->device;
}

hostgpu_life hostgpu_bound(void)
{
    return self.depth ? self.stack[self.depth - 1] : (hostgpu_life){NULL, 0};
}

bool hostgpu_push(CUcontext context)
{
    if (self.depth == MAX_STACK) return false;
    self.stack[self.depth++] =
        (hostgpu_life){context, hostgpu_is_primary(context) ? 0 : atomic_load(&context->life)};
    return true;
}

CUcontext hostgpu_pop(void) { return self.depth ? self.stack[--self.depth].context : NULL; }

int hostgpu_current_device(void)
{
    CUcontext bound = hostgpu_bound().context;

    return bound ? hostgpu_device_of(bound) : self.device;
}

cudaError_t hostgpu_enter(hostgpu_life *life)
{
    if (!hostgpu_is_device(0)) return cudaErrorNoDevice;
    if (!self.depth) (void)hostgpu_push(hostgpu_primary_context(self.device));
    const hostgpu_life bound = hostgpu_bound();
    if (!hostgpu_is_primary(bound.context)) {
        *life = bound;
        return hostgpu_is_alive(bound) ? cudaSuccess : cudaErrorContextIsDestroyed;
    }
    life->context = bound.context;
    life->number = begin_life(life->context);
    return cudaSuccess;
}

unsigned long long hostgpu_context_number(void)
{
    hostgpu_life life;

    return hostgpu_enter(&life) ? 0 : life.number;
}

bool hostgpu_is_context_number(unsigned long long number)
{
    bool is_there = false;

    for (int i = 0; i < HOSTGPU_MAX_DEVICES; i++)
        is_there |= number && atomic_load(&primary[i].life) == number;
    pthread_mutex_lock(&hostgpu_contexts_lock);
    for (CUcontext c = created; c; c = c->next)
        is_there |= number && atomic_load(&c->life) == number;
    pthread_mutex_unlock(&hostgpu_contexts_lock);
    return is_there;
}

CUcontext hostgpu_context_create(int device)
{
    CUcontext context;

    pthread_mutex_lock(&hostgpu_contexts_lock);
    for (context = created; context && atomic_load(&context->life);) context = context->next;
    if (!context) {
        context = calloc(1, sizeof *context);
        if (context) context->next = created;
        if (context) created = context;
    }
    if (context) {
        context->device = device;
        atomic_store(&context->life, ++last_life);
    }
    pthread_mutex_unlock(&hostgpu_contexts_lock);
    return context;
}

/* ---- handles ---- */

static hostgpu_handle *all_handles;                     /* under the lock */
static hostgpu_handle *destroyed[HOSTGPU_HANDLE_KINDS]; /* under the lock */

void *hostgpu_handle_create(hostgpu_handle_kind kind, size_t bytes, hostgpu_life life)
{
    pthread_mutex_lock(&hostgpu_contexts_lock);
    hostgpu_handle *h = destroyed[kind];
    if (h) {
        destroyed[kind] = h->next_destroyed;
    } else if ((h = calloc(1, bytes))) {
        h->next = all_handles; /* keeps it in reach, whatever the program forgets */
        all_handles = h;
    }
    if (h) {
        h->kind = kind;
        h->life = life;
    }
    pthread_mutex_unlock(&hostgpu_contexts_lock);
    return h;
}

bool hostgpu_handle_is(const void *handle, hostgpu_handle_kind kind)
{
    const hostgpu_handle *h = handle;

    return h && h->kind == kind && hostgpu_is_alive(h->life);
}

void hostgpu_handle_destroy(void *handle)
{
    hostgpu_handle *h = handle;

    pthread_mutex_lock(&hostgpu_contexts_lock);
    h->next_destroyed = destroyed[h->kind];
    destroyed[h->kind] = h;
    h->kind = HOSTGPU_NO_HANDLE;
    pthread_mutex_unlock(&hostgpu_contexts_lock);
}

/* ---- the runtime's choice of a device ---- */

bool hostgpu_is_device(int device)
{
    return device >= 0 && device < (int)hostgpu_get_settings()->devices;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    if (!count) return hostgpu_record(cudaErrorInvalidValue);
    *count = (int)hostgpu_get_settings()->devices;
    return hostgpu_record(*count ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int *device)
{
    if (!device) return hostgpu_record(cudaErrorInvalidValue);
    *device = hostgpu_current_device();
    return hostgpu_record(hostgpu_is_device(0) ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device)
{
    if (!hostgpu_is_device(0)) return hostgpu_record(cudaErrorNoDevice);
    if (!hostgpu_is_device(device)) return hostgpu_record(cudaErrorInvalidDevice);
    self.device = device;
    (void)hostgpu_pop();
    (void)hostgpu_push(hostgpu_primary_context(device));
    (void)begin_life(hostgpu_bound().context);
    return cudaSuccess;
}

cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    (void)device_flags, (void)flags;
    if (!hostgpu_is_device(device)) return hostgpu_record(cudaErrorInvalidDevice);
    (void)begin_life(hostgpu_primary_context(device));
    return cudaSuccess;
}

cudaError_t cudaSetValidDevices(int *devices, int count)
{
    for (int i = 0; i < count && devices; i++)
        if (!hostgpu_is_device(devices[i])) return hostgpu_record(cudaErrorInvalidDevice);
    return cudaSuccess;
}

cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wish)
{
    (void)wish;
    if (!device) return hostgpu_record(cudaErrorInvalidValue);
    *device = 0;
    return cudaSuccess;
}

/* Of a context that is not a primary one, only what the runtime itself keeps goes, which is nothing
 * here. */
cudaError_t cudaDeviceReset(void)
{
    CUcontext bound = hostgpu_bound().context;

    if (!bound || hostgpu_is_primary(bound))
        hostgpu_context_end(hostgpu_primary_context(hostgpu_current_device()));
    cudaGetLastError();
    return cudaSuccess;
}
