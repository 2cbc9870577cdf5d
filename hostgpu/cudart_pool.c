/* cudart_pool.c - memory pools and stream-ordered allocation. Streams run in order at once, so a freed block goes
 * straight back: a pool only counts. */
#include <pthread.h>
#include <stdlib.h>

#include "cudart_internal.h"

struct CUmemPoolHandle_st {
    uint64_t used, used_high, release_threshold;
    uint64_t max_bytes; /* 0: no limit of its own */
    int reuse[4];       /* by attribute, cudaMemPoolReuse... */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all pools */
static struct CUmemPoolHandle_st default_pool = {.reuse = {0, 1, 1, 1}};
static cudaMemPool_t current_pool = &default_pool;

cudaError_t hostgpu_pool_take(cudaMemPool_t pool, size_t bytes)
{
    bool fits;

    if (!pool) return cudaSuccess;
    pthread_mutex_lock(&lock);
    fits = !pool->max_bytes || (bytes <= pool->max_bytes && pool->used <= pool->max_bytes - bytes);
    if (fits) pool->used += bytes;
    if (pool->used > pool->used_high) pool->used_high = pool->used;
    pthread_mutex_unlock(&lock);
    return fits ? cudaSuccess : cudaErrorMemoryAllocation;
}

void hostgpu_pool_give(cudaMemPool_t pool, size_t bytes)
{
    if (!pool) return;
    pthread_mutex_lock(&lock);
    pool->used -= bytes;
    pthread_mutex_unlock(&lock);
}

/* ---- pools ---- */

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
    cudaMemPool_t fresh;

    if (!pool || !properties || properties->allocType != cudaMemAllocationTypePinned)
        return hostgpu_record(cudaErrorInvalidValue);
    if (properties->handleTypes != cudaMemHandleTypeNone)
        return hostgpu_record(cudaErrorNotSupported);
    fresh = malloc(sizeof *fresh);
    if (!fresh) return hostgpu_record(cudaErrorMemoryAllocation);
    *fresh = (struct CUmemPoolHandle_st){.reuse = {0, 1, 1, 1}, .max_bytes = properties->maxSize};
    *pool = fresh;
    return cudaSuccess;
}

/* Precondition, as on a device: no memory of the pool is in use. */
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    if (!pool || pool == &default_pool) return hostgpu_record(cudaErrorInvalidValue);
    pthread_mutex_lock(&lock);
    if (current_pool == pool) current_pool = &default_pool;
    pthread_mutex_unlock(&lock);
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
    pthread_mutex_lock(&lock);
    set_attribute(pool, attribute, value);
    pthread_mutex_unlock(&lock);
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
    pthread_mutex_lock(&lock);
    get_attribute(pool, attribute, value);
    pthread_mutex_unlock(&lock);
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
    if (device) return hostgpu_record(cudaErrorInvalidDevice);
    if (!pool) return hostgpu_record(cudaErrorInvalidValue);
    *pool = &default_pool;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
    if (device) return hostgpu_record(cudaErrorInvalidDevice);
    if (!pool) return hostgpu_record(cudaErrorInvalidValue);
    pthread_mutex_lock(&lock);
    *pool = current_pool;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    if (device) return hostgpu_record(cudaErrorInvalidDevice);
    if (!pool) return hostgpu_record(cudaErrorInvalidValue);
    pthread_mutex_lock(&lock);
    current_pool = pool;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

/* ---- allocation in the order of a stream ---- */

cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
    if (!hostgpu_is_stream(stream)) return hostgpu_record(cudaErrorInvalidResourceHandle);
    if (!pool) return hostgpu_record(cudaErrorInvalidValue);
    return hostgpu_record(hostgpu_allocate(pointer, bytes, HOSTGPU_DEVICE, pool));
}
HOSTGPU_ALSO(cudaMallocFromPoolAsync, _ptsz);

cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream)
{
    cudaMemPool_t pool = NULL;

    cudaDeviceGetMemPool(&pool, 0);
    return cudaMallocFromPoolAsync(pointer, bytes, pool, stream);
}
HOSTGPU_ALSO(cudaMallocAsync, _ptsz);

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream)
{
    if (!hostgpu_is_stream(stream)) return hostgpu_record(cudaErrorInvalidResourceHandle);
    return cudaFree(pointer);
}
HOSTGPU_ALSO(cudaFreeAsync, _ptsz);
