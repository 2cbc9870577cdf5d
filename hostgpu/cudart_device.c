/* cudart_device.c - properties and limits of the devices, which are all alike. Limits are those of
 * compute capability 9.0; speeds and caches say nothing. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cuda_profiler_api.h>

#include "cudart_internal.h"
#include "settings.h"
#include "worker.h"

#define DEVICE_NAME "Tandem host device (no GPU)"
#define BUS_ID      "0000:00:%02x.0"

enum { THREADS_PER_MULTIPROCESSOR = 2048, BLOCKS_PER_MULTIPROCESSOR = 32 };

static cudaError_t check_device(int device)
{
    return hostgpu_record(hostgpu_is_device(device) ? cudaSuccess : cudaErrorInvalidDevice);
}

/* Stores a result that does not depend on anything. */
#define RETURN_VALUE(pointer, value)                                                               \
    do {                                                                                           \
        if (!(pointer)) return hostgpu_record(cudaErrorInvalidValue);                              \
        *(pointer) = (value);                                                                      \
        return cudaSuccess;                                                                        \
    } while (0)

/* ---- versions ---- */

cudaError_t cudaDriverGetVersion(int *version) { RETURN_VALUE(version, CUDART_VERSION); }
cudaError_t cudaRuntimeGetVersion(int *version) { RETURN_VALUE(version, CUDART_VERSION); }
cudaError_t cudaGetDeviceFlags(unsigned *flags) { RETURN_VALUE(flags, cudaDeviceMapHost); }
cudaError_t cudaProfilerStart(void) { return cudaSuccess; }
cudaError_t cudaProfilerStop(void) { return cudaSuccess; }
cudaError_t cudaCtxResetPersistingL2Cache(void) { return cudaSuccess; }

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    return hostgpu_record(flags & ~(unsigned)cudaDeviceMask ? cudaErrorInvalidValue : cudaSuccess);
}

/* ---- properties ---- */

static void set_limits(struct cudaDeviceProp *p)
{
    p->warpSize = HOSTGPU_WARP_SIZE;
    p->maxThreadsPerBlock = HOSTGPU_MAX_THREADS;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = INT32_MAX;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->sharedMemPerBlock = HOSTGPU_DEFAULT_SHARED;
    p->sharedMemPerBlockOptin = HOSTGPU_MAX_SHARED;
    p->sharedMemPerMultiprocessor = HOSTGPU_MAX_SHARED + 1024;
    p->reservedSharedMemPerBlock = 1024;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->maxThreadsPerMultiProcessor = THREADS_PER_MULTIPROCESSOR;
    p->maxBlocksPerMultiProcessor = BLOCKS_PER_MULTIPROCESSOR;
    p->memPitch = INT32_MAX;
    p->totalConstMem = 64 << 10;
    p->textureAlignment = 512;
    p->texturePitchAlignment = 32;
}

static void set_abilities(struct cudaDeviceProp *p)
{
    p->integrated = 1;
    p->canMapHostMemory = 1;
    p->unifiedAddressing = 1;
    p->managedMemory = 1;
    p->concurrentManagedAccess = 1;
    p->hostNativeAtomicSupported = 1;
    p->canUseHostPointerForRegisteredMem = 1;
    p->hostRegisterSupported = 1;
    p->memoryPoolsSupported = 1;
    p->streamPrioritiesSupported = 1;
    p->deviceNumaId = p->hostNumaId = -1;
}

/* Processes have one card if their devices have their memory together. */
static void set_uuid(cudaUUID_t *uuid, int device)
{
    const uint64_t owner = hostgpu_memory_owner();

    memcpy(uuid->bytes, "tandem-host-dev", sizeof uuid->bytes);
    memcpy(uuid->bytes + sizeof uuid->bytes - 1 - sizeof owner, &owner, sizeof owner);
    uuid->bytes[sizeof uuid->bytes - 1] = (char)device;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    if (!p) return hostgpu_record(cudaErrorInvalidValue);
    if (!hostgpu_is_device(device)) return check_device(device);
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", DEVICE_NAME);
    set_uuid(&p->uuid, device);
    p->pciDeviceID = device;
    p->totalGlobalMem = hostgpu_get_settings()->memory_bytes;
    p->multiProcessorCount = (int)hostgpu_core_count();
    p->major = 9;
    p->l2CacheSize = 1 << 20;
    p->memoryBusWidth = 64;
    set_limits(p);
    set_abilities(p);
    return cudaSuccess;
}

/* Attributes that are members of cudaDeviceProp, and those that have a number of their own. */
static const struct {
    enum cudaDeviceAttr attribute;
    size_t offset;
    enum { INT, SIZE, NUMBER } type;
    int number;
} attributes[] = {
#define AN_INT(attribute, member)                                                                  \
    {                                                                                              \
        attribute, offsetof(struct cudaDeviceProp, member), INT, 0                                 \
    }
#define A_SIZE(attribute, member)                                                                  \
    {                                                                                              \
        attribute, offsetof(struct cudaDeviceProp, member), SIZE, 0                                \
    }
#define A_NUMBER(attribute, number)                                                                \
    {                                                                                              \
        attribute, 0, NUMBER, number                                                               \
    }
    AN_INT(cudaDevAttrMaxThreadsPerBlock, maxThreadsPerBlock),
    AN_INT(cudaDevAttrMaxBlockDimX, maxThreadsDim[0]),
    AN_INT(cudaDevAttrMaxBlockDimY, maxThreadsDim[1]),
    AN_INT(cudaDevAttrMaxBlockDimZ, maxThreadsDim[2]),
    AN_INT(cudaDevAttrMaxGridDimX, maxGridSize[0]),
    AN_INT(cudaDevAttrMaxGridDimY, maxGridSize[1]),
    AN_INT(cudaDevAttrMaxGridDimZ, maxGridSize[2]),
    A_SIZE(cudaDevAttrMaxSharedMemoryPerBlock, sharedMemPerBlock),
    A_SIZE(cudaDevAttrMaxSharedMemoryPerBlockOptin, sharedMemPerBlockOptin),
    A_SIZE(cudaDevAttrMaxSharedMemoryPerMultiprocessor, sharedMemPerMultiprocessor),
    A_SIZE(cudaDevAttrReservedSharedMemoryPerBlock, reservedSharedMemPerBlock),
    A_SIZE(cudaDevAttrTotalConstantMemory, totalConstMem),
    AN_INT(cudaDevAttrWarpSize, warpSize),
    A_SIZE(cudaDevAttrMaxPitch, memPitch),
    AN_INT(cudaDevAttrMaxRegistersPerBlock, regsPerBlock),
    AN_INT(cudaDevAttrMaxRegistersPerMultiprocessor, regsPerMultiprocessor),
    A_SIZE(cudaDevAttrTextureAlignment, textureAlignment),
    A_SIZE(cudaDevAttrTexturePitchAlignment, texturePitchAlignment),
    AN_INT(cudaDevAttrMultiProcessorCount, multiProcessorCount),
    AN_INT(cudaDevAttrMaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor),
    AN_INT(cudaDevAttrMaxBlocksPerMultiprocessor, maxBlocksPerMultiProcessor),
    AN_INT(cudaDevAttrComputeCapabilityMajor, major),
    AN_INT(cudaDevAttrComputeCapabilityMinor, minor),
    AN_INT(cudaDevAttrL2CacheSize, l2CacheSize),
    AN_INT(cudaDevAttrGlobalMemoryBusWidth, memoryBusWidth),
    A_NUMBER(cudaDevAttrClockRate, 1000000),       /* kHz; no division by zero in callers */
    A_NUMBER(cudaDevAttrMemoryClockRate, 1000000), /* kHz; no division by zero in callers */
    A_NUMBER(cudaDevAttrSingleToDoublePrecisionPerfRatio, 2),
    AN_INT(cudaDevAttrIntegrated, integrated),
    AN_INT(cudaDevAttrCanMapHostMemory, canMapHostMemory),
    AN_INT(cudaDevAttrUnifiedAddressing, unifiedAddressing),
    AN_INT(cudaDevAttrManagedMemory, managedMemory),
    AN_INT(cudaDevAttrConcurrentManagedAccess, concurrentManagedAccess),
    AN_INT(cudaDevAttrHostNativeAtomicSupported, hostNativeAtomicSupported),
    AN_INT(cudaDevAttrCanUseHostPointerForRegisteredMem, canUseHostPointerForRegisteredMem),
    AN_INT(cudaDevAttrHostRegisterSupported, hostRegisterSupported),
    AN_INT(cudaDevAttrMemoryPoolsSupported, memoryPoolsSupported),
    AN_INT(cudaDevAttrStreamPrioritiesSupported, streamPrioritiesSupported),
    AN_INT(cudaDevAttrNumaId, deviceNumaId),
    AN_INT(cudaDevAttrHostNumaId, hostNumaId),
#undef AN_INT
#undef A_SIZE
#undef A_NUMBER
};

/* 0 for what the host device does not have. */
static int attribute_of(const struct cudaDeviceProp *p, enum cudaDeviceAttr attribute)
{
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        const char *member = (const char *)p + attributes[i].offset;
        if (attributes[i].attribute != attribute) continue;
        switch (attributes[i].type) {
        case INT:
            return *(const int *)(const void *)member;
        case SIZE:
            return (int)*(const size_t *)(const void *)member;
        case NUMBER:
            return attributes[i].number;
        }
    }
    return 0;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    struct cudaDeviceProp properties;

    if (!value || attribute < cudaDevAttrMaxThreadsPerBlock || attribute >= cudaDevAttrMax)
        return hostgpu_record(cudaErrorInvalidValue);
    if (!hostgpu_is_device(device)) return check_device(device);
    cudaGetDeviceProperties(&properties, device);
    *value = attribute_of(&properties, attribute);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int bytes, int device)
{
    if (!text || bytes <= 0) return hostgpu_record(cudaErrorInvalidValue);
    if (!hostgpu_is_device(device)) return check_device(device);
    snprintf(text, (size_t)bytes, BUS_ID, (unsigned)device);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *text)
{
    unsigned number;

    if (!device || !text) return hostgpu_record(cudaErrorInvalidValue);
    if (sscanf(text, BUS_ID, &number) != 1) return hostgpu_record(cudaErrorInvalidDevice);
    *device = (int)number;
    return check_device(*device);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least) *least = 0;
    if (greatest) *greatest = 0;
    return cudaSuccess;
}

/* ---- limits and preferences: accepted, and without effect ---- */

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
    if (!value) return hostgpu_record(cudaErrorInvalidValue);
    switch (limit) {
    case cudaLimitStackSize:
        *value = hostgpu_get_settings()->stack_bytes;
        return cudaSuccess;
    case cudaLimitPrintfFifoSize:
        *value = 1 << 20;
        return cudaSuccess;
    case cudaLimitMallocHeapSize:
        *value = 8 << 20;
        return cudaSuccess;
    default:
        return hostgpu_record(cudaErrorUnsupportedLimit);
    }
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    size_t old;

    (void)value;
    return cudaDeviceGetLimit(&old, limit);
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config)
{
    RETURN_VALUE(config, cudaFuncCachePreferNone);
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
    (void)config;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config)
{
    RETURN_VALUE(config, cudaSharedMemBankSizeFourByte);
}

cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
    (void)config;
    return cudaSuccess;
}

/* ---- peers: no device reaches another's memory, unless HOSTGPU_PEERS is 1 ---- */

/* Which devices each was told to reach; nothing but the calls about peers knows of it. */
static atomic_bool reaches[HOSTGPU_MAX_DEVICES][HOSTGPU_MAX_DEVICES];

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    if (!hostgpu_is_device(device) || !hostgpu_is_device(peer)) return check_device(-1);
    RETURN_VALUE(can, hostgpu_get_settings()->are_peers && device != peer);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    const int device = hostgpu_current_device();

    if (!hostgpu_is_device(peer) || peer == device) return check_device(-1);
    if (flags) return hostgpu_record(cudaErrorInvalidValue);
    if (!hostgpu_get_settings()->are_peers) return hostgpu_record(cudaErrorPeerAccessUnsupported);
    return hostgpu_record(atomic_exchange(&reaches[device][peer], true)
                              ? cudaErrorPeerAccessAlreadyEnabled
                              : cudaSuccess);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    if (!hostgpu_is_device(peer)) return check_device(peer);
    return hostgpu_record(atomic_exchange(&reaches[hostgpu_current_device()][peer], false)
                              ? cudaSuccess
                              : cudaErrorPeerAccessNotEnabled);
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int source,
                                      int target)
{
    (void)attribute;
    if (!hostgpu_is_device(source) || !hostgpu_is_device(target) || source == target)
        return check_device(-1);
    RETURN_VALUE(value, 0);
}
