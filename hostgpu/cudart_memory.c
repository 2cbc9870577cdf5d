/* cudart_memory.c - allocation. Device memory is host memory of the exact size, aligned to 256
 * bytes, so that AddressSanitizer sees what lies beyond; fresh, it is what nobody wrote
 * (unwritten.h). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cudart_internal.h"
#include "settings.h"
#include "unwritten.h"

enum { ALIGNMENT = 256, PITCH = 512 };

/* Bytes in use of each device: the process's own, or those of all processes that name one file. */
static atomic_size_t own_used_bytes[HOSTGPU_MAX_DEVICES];
static atomic_size_t *used_bytes = own_used_bytes;
static uint64_t owner; /* the file's number, or the process's */

static void share_used_bytes(void)
{
    const char *path = secure_getenv("HOSTGPU_MEMORY_FILE");
    const int file = path && *path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    void *shared = MAP_FAILED;
    struct stat status;

    owner = (uint64_t)getpid();
    if (!path || !*path) return;
    if (file >= 0 && fstat(file, &status) == 0) owner = (uint64_t)status.st_ino;
    if (file >= 0 && ftruncate(file, sizeof own_used_bytes) == 0)
        shared = mmap(NULL, sizeof own_used_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (shared != MAP_FAILED)
        used_bytes = shared;
    else
        fprintf(stderr, "tandem: host device: HOSTGPU_MEMORY_FILE='%s' cannot be written: %s\n",
                path, strerror(errno));
}

static atomic_size_t *used_of(int device)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, share_used_bytes);
    return &used_bytes[device];
}

uint64_t hostgpu_memory_owner(void)
{
    (void)used_of(0);
    return owner;
}

static bool take_device_memory(int device, size_t bytes)
{
    const size_t total = hostgpu_get_settings()->memory_bytes;
    size_t used = atomic_load(used_of(device));

    do {
        if (used > total || bytes > total - used) return false;
    } while (!atomic_compare_exchange_weak(used_of(device), &used, used + bytes));
    return true;
}

static cudaError_t allocate_host_range(void **pointer, hostgpu_range *range)
{
    void *memory = NULL;

    if (posix_memalign(&memory, ALIGNMENT, range->bytes)) return cudaErrorMemoryAllocation;
    range->start = (uintptr_t)memory;
    if (!hostgpu_registry_add(range)) {
        free(memory);
        return cudaErrorMemoryAllocation;
    }
    *pointer = memory;
    return cudaSuccess;
}

cudaError_t hostgpu_allocate_range(void **pointer, hostgpu_range *range)
{
    if (hostgpu_fails(HOSTGPU_FAULT_ALLOCATION)) return cudaErrorMemoryAllocation;
    if (!take_device_memory(range->device, range->bytes)) return cudaErrorMemoryAllocation;
    if (allocate_host_range(pointer, range)) {
        atomic_fetch_sub(used_of(range->device), range->bytes);
        return cudaErrorMemoryAllocation;
    }
    hostgpu_unset(*pointer, range->bytes);
    return cudaSuccess;
}

cudaError_t hostgpu_allocate(void **pointer, size_t bytes, hostgpu_memory_kind kind,
                             cudaMemPool_t pool)
{
    hostgpu_range range = {.bytes = bytes, .kind = kind, .pool = pool};

    if (!pointer) return cudaErrorInvalidValue;
    *pointer = NULL;
    cudaError_t error = pool ? cudaSuccess : hostgpu_enter(&range.life);
    if (error || !bytes) return error;
    range.device = pool ? hostgpu_pool_device(pool) : hostgpu_current_device();
    error = hostgpu_pool_take(pool, bytes);
    if (error) return error;
    error = hostgpu_allocate_range(pointer, &range);
    if (error) hostgpu_pool_give(pool, bytes);
    return error;
}

void hostgpu_release_range(const hostgpu_range *range)
{
    if (range->kind == HOSTGPU_DEVICE || range->kind == HOSTGPU_MANAGED)
        atomic_fetch_sub(used_of(range->device), range->bytes);
    hostgpu_pool_give(range->pool, range->bytes);
    if (range->kind == HOSTGPU_REGISTERED) return;
    if (hostgpu_draws_unwritten()) hostgpu_unset((void *)range->start, range->bytes);
    free((void *)range->start);
}

void hostgpu_release_memory(hostgpu_life life)
{
    hostgpu_range range;

    while (hostgpu_registry_take_owned(life, &range)) hostgpu_release_range(&range);
}

/* ---- device memory ---- */

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    cudaError_t error = hostgpu_refuse_unsafe();

    return hostgpu_record(error ? error : hostgpu_allocate(pointer, bytes, HOSTGPU_DEVICE, NULL));
}

cudaError_t cudaMallocManaged(void **pointer, size_t bytes, unsigned flags)
{
    cudaError_t error = hostgpu_refuse_unsafe();

    if (error) return hostgpu_record(error);
    if (!bytes || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
        return hostgpu_record(cudaErrorInvalidValue);
    return hostgpu_record(hostgpu_allocate(pointer, bytes, HOSTGPU_MANAGED, NULL));
}

cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
    if (!pitch || width > SIZE_MAX - PITCH) return hostgpu_record(cudaErrorInvalidValue);
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    if (height && *pitch > SIZE_MAX / height) return hostgpu_record(cudaErrorMemoryAllocation);
    return cudaMalloc(pointer, *pitch * height);
}

/* Memory of a graph goes with the graph: freed in a stream, it may be allocated by the next
 * launch. */
cudaError_t hostgpu_free(void *pointer)
{
    hostgpu_range range;

    if (!pointer) return cudaSuccess;
    if (hostgpu_registry_find(pointer, &range) && range.is_of_graph &&
        range.start == (uintptr_t)pointer)
        return cudaSuccess;
    if (!hostgpu_registry_take(pointer, HOSTGPU_DEVICE, &range) &&
        !hostgpu_registry_take(pointer, HOSTGPU_MANAGED, &range))
        return cudaErrorInvalidValue;
    hostgpu_release_range(&range);
    return cudaSuccess;
}

cudaError_t cudaFree(void *pointer)
{
    hostgpu_life life;
    cudaError_t error = hostgpu_enter(&life); /* cudaFree(NULL) is how programs begin a context */

    if (!error && pointer) error = hostgpu_refuse_unsafe();
    return hostgpu_record(error ? error : hostgpu_free(pointer));
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    if (!free_bytes || !total_bytes) return hostgpu_record(cudaErrorInvalidValue);
    *total_bytes = hostgpu_get_settings()->memory_bytes;
    *free_bytes = *total_bytes - atomic_load(used_of(hostgpu_current_device()));
    return cudaSuccess;
}

/* ---- host memory ---- */

cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    hostgpu_range range = {.bytes = bytes, .kind = HOSTGPU_HOST, .flags = flags};
    const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;

    if (!pointer || (flags & ~known)) return hostgpu_record(cudaErrorInvalidValue);
    *pointer = NULL;
    cudaError_t error = hostgpu_refuse_unsafe();
    if (!error) error = hostgpu_enter(&range.life);
    if (error || !bytes) return hostgpu_record(error);
    range.device = hostgpu_current_device();
    return hostgpu_record(allocate_host_range(pointer, &range));
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes)
{
    return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void *pointer)
{
    hostgpu_range range;

    if (!pointer) return cudaSuccess;
    if (hostgpu_refuse_unsafe()) return hostgpu_record(cudaErrorStreamCaptureUnsupported);
    if (!hostgpu_registry_take(pointer, HOSTGPU_HOST, &range))
        return hostgpu_record(cudaErrorInvalidValue);
    hostgpu_release_range(&range);
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned flags)
{
    hostgpu_range range = {
        .start = (uintptr_t)pointer, .bytes = bytes, .kind = HOSTGPU_REGISTERED, .flags = flags};
    hostgpu_range other;

    if (!pointer || !bytes) return hostgpu_record(cudaErrorInvalidValue);
    cudaError_t error = hostgpu_refuse_unsafe();
    if (!error) error = hostgpu_enter(&range.life);
    if (error) return hostgpu_record(error);
    range.device = hostgpu_current_device();
    if (hostgpu_registry_find(pointer, &other) ||
        hostgpu_registry_find((const char *)pointer + bytes - 1, &other))
        return hostgpu_record(cudaErrorHostMemoryAlreadyRegistered);
    if (hostgpu_fails(HOSTGPU_FAULT_ALLOCATION) || !hostgpu_registry_add(&range))
        return hostgpu_record(cudaErrorMemoryAllocation);
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *pointer)
{
    hostgpu_range range;

    if (hostgpu_refuse_unsafe()) return hostgpu_record(cudaErrorStreamCaptureUnsupported);
    if (hostgpu_registry_take(pointer, HOSTGPU_REGISTERED, &range)) return cudaSuccess;
    return hostgpu_record(cudaErrorHostMemoryNotRegistered);
}

static bool find_host_range(const void *pointer, hostgpu_range *range)
{
    return hostgpu_registry_find(pointer, range) &&
           (range->kind == HOSTGPU_HOST || range->kind == HOSTGPU_REGISTERED);
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    hostgpu_range range;

    if (!device || flags || !find_host_range(host, &range))
        return hostgpu_record(cudaErrorInvalidValue);
    *device = host;
    return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned *flags, void *host)
{
    hostgpu_range range;

    if (!flags || !find_host_range(host, &range)) return hostgpu_record(cudaErrorInvalidValue);
    *flags = range.flags | cudaHostAllocMapped;
    return cudaSuccess;
}

/* ---- what a pointer is ---- */

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
    static const enum cudaMemoryType types[] = {
        [HOSTGPU_DEVICE] = cudaMemoryTypeDevice,
        [HOSTGPU_MANAGED] = cudaMemoryTypeManaged,
        [HOSTGPU_HOST] = cudaMemoryTypeHost,
        [HOSTGPU_REGISTERED] = cudaMemoryTypeHost,
    };
    hostgpu_range range;

    if (!attributes) return hostgpu_record(cudaErrorInvalidValue);
    memset(attributes, 0, sizeof *attributes);
    if (!hostgpu_registry_find(pointer, &range)) {
        attributes->type = cudaMemoryTypeUnregistered;
        attributes->device = -2; /* cudaInvalidDeviceId */
        attributes->hostPointer = (void *)(uintptr_t)pointer;
        return cudaSuccess;
    }
    attributes->type = types[range.kind];
    attributes->device = range.device;
    attributes->devicePointer = (void *)(uintptr_t)pointer;
    if (range.kind != HOSTGPU_DEVICE) attributes->hostPointer = (void *)(uintptr_t)pointer;
    return cudaSuccess;
}

cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location)
{
    (void)pointer, (void)bytes, (void)advice, (void)location;
    return cudaSuccess;
}

cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, struct cudaMemLocation location,
                                 unsigned flags, cudaStream_t stream)
{
    (void)pointer, (void)bytes, (void)location, (void)flags;
    return hostgpu_record(hostgpu_is_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}
HOSTGPU_ALSO(cudaMemPrefetchAsync, _ptsz);
