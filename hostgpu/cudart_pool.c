/* cudart_pool.c - memory pools and stream-ordered allocation. Streams run in order at once, so a
 * freed block goes straight back: a pool only counts. Pools belong to a device, and with what is
 * allocated from them outlive its contexts. */
#include <pthread.h>
#include <stdlib.h>

#include "cudart_internal.h"
#include "settings.h"
#include "unwritten.h"

struct CUmemPoolHandle_st {
    int device;
    uint64_t used, used_high, release_threshold;
    uint64_t max_bytes; /* 0: no limit of its own */
    int reuse[4];       /* by attribute, cudaMemPoolReuse... */
};

pthread_mutex_t hostgpu_pools_lock = PTHREAD_MUTEX_INITIALIZER; /* of all pools */
static struct CUmemPoolHandle_st default_pool[HOSTGPU_MAX_DEVICES];
static cudaMemPool_t current_pool[HOSTGPU_MAX_DEVICES]; /* NULL: the default one */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_default_pools(void)
{
    for (int i = 0; i < HOSTGPU_MAX_DEVICES; i++)
        default_pool[i] = (struct CUmemPoolHandle_st){.device = i, .reuse = {0, 1, 1, 1}};
}

static cudaMemPool_t get_default_pool(int device)
{
    pthread_once(&once, make_default_pools);
    return &default_pool[device];
}

int hostgpu_pool_device(cudaMemPool_t pool) { return pool->device; }

cudaError_t hostgpu_pool_take(cudaMemPool_t pool, size_t bytes)
{
    if (!pool) return cudaSuccess;
    pthread_mutex_lock(&hostgpu_pools_lock);
    const bool fits =
        !pool->max_bytes || (bytes <= pool->max_bytes && pool->used <= pool->max_bytes - bytes);
    if (fits) pool->used += bytes;
    if (pool->used > pool->used_high) pool->used_high = pool->used;
    pthread_mutex_unlock(&hostgpu_pools_lock);
    return fits ? cudaSuccess : cudaErrorMemoryAllocation;
}

void hostgpu_pool_give(cudaMemPool_t pool, size_t bytes)
{
    if (!pool) return;
    pthread_mutex_lock(&hostgpu_pools_lock);
    pool->used -= bytes;
    pthread_mutex_unlock(&hostgpu_pools_lock);
}

static void unset_if_pooled(const hostgpu_range *range)
{
    if (range->pool) hostgpu_unset((void *)range->start, range->bytes);
}

void hostgpu_unset_pools(void) { hostgpu_registry_visit(unset_if_pooled); }

/* ---- pools ---- */

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
    cudaMemPool_t fresh;

    if (!pool || !properties || properties->allocType != cudaMemAllocationTypePinned)
        return hostgpu_record(cudaErrorInvalidValue);
    if (properties->handleTypes != cudaMemHandleTypeNone)
        return hostgpu_record(cudaErrorNotSupported);
    if (properties->location.type != cudaMemLocationTypeDevice ||
        !hostgpu_is_device(properties->location.id))
        return hostgpu_record(cudaErrorInvalidValue);
    fresh = malloc(sizeof *fresh);
    if (!fresh) return hostgpu_record(cudaErrorMemoryAllocation);
    *fresh = (struct CUmemPoolHandle_st){
        .device = properties->location.id, .reuse = {0, 1, 1, 1}, .max_bytes = properties->maxSize};
    *pool = fresh;
    return cudaSuccess;
}

/* Precondition, as on a device: no memory of the pool is in use. */
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    if (!pool || pool == get_default_pool(pool->device))
        return hostgpu_record(cudaErrorInvalidValue);
    pthread_mutex_lock(&hostgpu_pools_lock);
    if (current_pool[pool->device] == pool) current_pool[pool->device] = NULL;
    pthread_mutex_unlock(&hostgpu_pools_lock);
    free(pool);
    return cudaSuccess;
}

static void set_attribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, const void *value)
{
    if (attribute <= cudaMemPoolReuseAllowInternalDependencies)
        pool->reuse[attribute] = *(const int *)value;
    else if (attribute == cudaMemPoolAttrReleaseThreshold)
        pool->release_threshold = *(const uint64_t *)value;
    else
        pool->used_high = pool->used; /* resetting a high-water mark; reserved is used here */
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    const bool is_high =
        attribute == cudaMemPoolAttrReservedMemHigh || attribute == cudaMemPoolAttrUsedMemHigh;

    if (!pool || !value || attribute < cudaMemPoolReuseFollowEventDependencies ||
        (attribute > cudaMemPoolAttrReleaseThreshold && !is_high) ||
        (is_high && *(const uint64_t *)value))
        return hostgpu_record(cudaErrorInvalidValue);
    pthread_mutex_lock(&hostgpu_pools_lock);
    set_attribute(pool, attribute, value);
    pthread_mutex_unlock(&hostgpu_pools_lock);
    return cudaSuccess;
}

static void get_attribute(const struct CUmemPoolHandle_st *pool, enum cudaMemPoolAttr attribute,
                          void *value)
{
    if (attribute <= cudaMemPoolReuseAllowInternalDependencies)
        *(int *)value = pool->reuse[attribute];
    else if (attribute == cudaMemPoolAttrReleaseThreshold)
        *(uint64_t *)value = pool->release_threshold;
    else if (attribute == cudaMemPoolAttrReservedMemCurrent ||
             attribute == cudaMemPoolAttrUsedMemCurrent)
        *(uint64_t *)value = pool->used;
    else
        *(uint64_t *)value = pool->used_high;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    if (!pool || !value || attribute < cudaMemPoolReuseFollowEventDependencies ||
        attribute > cudaMemPoolAttrUsedMemHigh)
        return hostgpu_record(cudaErrorInvalidValue);
    pthread_mutex_lock(&hostgpu_pools_lock);
    get_attribute(pool, attribute, value);
    pthread_mutex_unlock(&hostgpu_pools_lock);
    return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
    (void)keep;
    return hostgpu_record(pool ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list,
                                 size_t count)
{
    return hostgpu_record(pool && (list || !count) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool,
                                 struct cudaMemLocation *location)
{
    if (!flags || !pool || !location) return hostgpu_record(cudaErrorInvalidValue);
    *flags = cudaMemAccessFlagsProtReadWrite;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    if (!hostgpu_is_device(device)) return hostgpu_record(cudaErrorInvalidDevice);
    if (!pool) return hostgpu_record(cudaErrorInvalidValue);
    *pool = get_default_pool(device);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
    if (!hostgpu_is_device(device)) return hostgpu_record(cudaErrorInvalidDevice);
    if (!pool) return hostgpu_record(cudaErrorInvalidValue);
    pthread_mutex_lock(&hostgpu_pools_lock);
    *pool = current_pool[device] ? current_pool[device] : get_default_pool(device);
    pthread_mutex_unlock(&hostgpu_pools_lock);
    return cudaSuccess;
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    if (!hostgpu_is_device(device)) return hostgpu_record(cudaErrorInvalidDevice);
    if (!pool || pool->device != device) return hostgpu_record(cudaErrorInvalidValue);
    pthread_mutex_lock(&hostgpu_pools_lock);
    current_pool[device] = pool;
    pthread_mutex_unlock(&hostgpu_pools_lock);
    return cudaSuccess;
}

/* ---- allocation in the order of a stream ---- */

cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
    bool is_captured;

    if (!hostgpu_is_stream(stream)) return hostgpu_record(cudaErrorInvalidResourceHandle);
    if (!pool || !pointer) return hostgpu_record(cudaErrorInvalidValue);
    *pointer = NULL;
    cudaError_t error = hostgpu_capture_allocate(stream, pool, bytes, pointer, &is_captured);
    if (!error && !is_captured) error = hostgpu_allocate(pointer, bytes, HOSTGPU_DEVICE, pool);
    return hostgpu_record(error);
}
HOSTGPU_ALSO(cudaMallocFromPoolAsync, _ptsz);

cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream)
{
    cudaMemPool_t pool = NULL;

    if (!hostgpu_is_stream(stream)) return hostgpu_record(cudaErrorInvalidResourceHandle);
    cudaDeviceGetMemPool(&pool, hostgpu_stream_device(stream));
    return cudaMallocFromPoolAsync(pointer, bytes, pool, stream);
}
HOSTGPU_ALSO(cudaMallocAsync, _ptsz);

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream)
{
    bool is_captured;

    if (!hostgpu_is_stream(stream)) return hostgpu_record(cudaErrorInvalidResourceHandle);
    if (!pointer) return cudaSuccess;
    cudaError_t error = hostgpu_capture_free(stream, pointer, &is_captured);
    if (!error && !is_captured) error = hostgpu_free(pointer);
    return hostgpu_record(error);
}
HOSTGPU_ALSO(cudaFreeAsync, _ptsz);
