/* driver.c - the functions of the CUDA driver that concern contexts. Programs reach them through
 * the runtime's cudaGetDriverEntryPoint; there is no libcuda. A CUresult has the number of the
 * cudaError_t that means the same. */
#include <string.h>

#include "cudart_internal.h"
#include "settings.h"

/* What every function asks first: a pointer to write to, a device that is there. */
#define REQUIRE(condition, result)                                                                 \
    do {                                                                                           \
        if (!(condition)) return result;                                                           \
    } while (0)
#define REQUIRE_DEVICE(device) REQUIRE(hostgpu_is_device(device), CUDA_ERROR_INVALID_DEVICE)

static CUresult initialize(unsigned flags)
{
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult get_version(int *version)
{
    REQUIRE(version, CUDA_ERROR_INVALID_VALUE);
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

static CUresult get_device(CUdevice *device, int ordinal)
{
    REQUIRE(device, CUDA_ERROR_INVALID_VALUE);
    REQUIRE_DEVICE(ordinal);
    *device = ordinal;
    return CUDA_SUCCESS;
}

static CUresult get_device_count(int *count)
{
    REQUIRE(count, CUDA_ERROR_INVALID_VALUE);
    *count = (int)hostgpu_get_settings()->devices;
    return CUDA_SUCCESS;
}

/* ---- the context of a thread ---- */

static CUresult get_current(CUcontext *context)
{
    REQUIRE(context, CUDA_ERROR_INVALID_VALUE);
    *context = hostgpu_bound().context;
    return CUDA_SUCCESS;
}

static bool is_usable(CUcontext context)
{
    return context && (hostgpu_is_primary(context) || atomic_load(&context->life));
}

static CUresult push_current(CUcontext context)
{
    REQUIRE(is_usable(context), CUDA_ERROR_INVALID_CONTEXT);
    return hostgpu_push(context) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult pop_current(CUcontext *context)
{
    CUcontext popped = hostgpu_pop();

    if (context) *context = popped;
    return popped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult set_current(CUcontext context)
{
    REQUIRE(!context || is_usable(context), CUDA_ERROR_INVALID_CONTEXT);
    (void)hostgpu_pop();
    return context ? push_current(context) : CUDA_SUCCESS;
}

static CUresult get_device_of_current(CUdevice *device)
{
    REQUIRE(device, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(hostgpu_bound().context, CUDA_ERROR_INVALID_CONTEXT);
    *device = hostgpu_current_device();
    return CUDA_SUCCESS;
}

static CUresult get_id(CUcontext context, unsigned long long *id)
{
    if (!context) context = hostgpu_bound().context;
    REQUIRE(context, CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(id, CUDA_ERROR_INVALID_VALUE);
    *id = atomic_load(&context->life);
    return *id ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/* ---- contexts ---- */

static CUresult create_v2(CUcontext *context, unsigned flags, CUdevice device)
{
    (void)flags;
    REQUIRE(context, CUDA_ERROR_INVALID_VALUE);
    REQUIRE_DEVICE(device);
    *context = hostgpu_context_create(device);
    REQUIRE(*context, CUDA_ERROR_OUT_OF_MEMORY);
    return push_current(*context);
}

static CUresult create_v4(CUcontext *context, CUctxCreateParams *parameters, unsigned flags,
                          CUdevice device)
{
    REQUIRE(!parameters, CUDA_ERROR_NOT_SUPPORTED);
    return create_v2(context, flags, device);
}

static CUresult destroy(CUcontext context)
{
    REQUIRE(context && !hostgpu_is_primary(context) && atomic_load(&context->life),
            CUDA_ERROR_INVALID_CONTEXT);
    if (hostgpu_bound().context == context) (void)hostgpu_pop();
    hostgpu_context_end(context);
    return CUDA_SUCCESS;
}

static CUresult retain_primary(CUcontext *context, CUdevice device)
{
    REQUIRE(context, CUDA_ERROR_INVALID_VALUE);
    REQUIRE_DEVICE(device);
    (void)cudaInitDevice(device, 0, 0);
    *context = hostgpu_primary_context(device);
    return CUDA_SUCCESS;
}

/* The runtime itself always holds a primary context that it has begun: no release ends it. */
static CUresult release_primary(CUdevice device)
{
    REQUIRE_DEVICE(device);
    return CUDA_SUCCESS;
}

static CUresult reset_primary(CUdevice device)
{
    REQUIRE_DEVICE(device);
    hostgpu_context_end(hostgpu_primary_context(device));
    return CUDA_SUCCESS;
}

static CUresult get_primary_state(CUdevice device, unsigned *flags, int *is_active)
{
    REQUIRE_DEVICE(device);
    REQUIRE(flags && is_active, CUDA_ERROR_INVALID_VALUE);
    *flags = 0;
    *is_active = atomic_load(&hostgpu_primary_context(device)->life) != 0;
    return CUDA_SUCCESS;
}

/* ---- finding them ---- */

typedef void (*any_function)(void);

/* Of several rows for a symbol, the first whose version is not above the one that is asked for. */
static const struct {
    const char *symbol;
    unsigned version; /* of the CUDA that this form of the function came with */
    any_function function;
} entries[] = {
    {"cuInit", 2000, (any_function)initialize},
    {"cuDriverGetVersion", 2020, (any_function)get_version},
    {"cuDeviceGet", 2000, (any_function)get_device},
    {"cuDeviceGetCount", 2000, (any_function)get_device_count},
    {"cuCtxGetCurrent", 4000, (any_function)get_current},
    {"cuCtxSetCurrent", 4000, (any_function)set_current},
    {"cuCtxPushCurrent", 4000, (any_function)push_current},
    {"cuCtxPopCurrent", 4000, (any_function)pop_current},
    {"cuCtxGetDevice", 2000, (any_function)get_device_of_current},
    {"cuCtxGetId", 12000, (any_function)get_id},
    {"cuCtxCreate", 12050, (any_function)create_v4},
    {"cuCtxCreate", 3020, (any_function)create_v2},
    {"cuCtxDestroy", 4000, (any_function)destroy},
    {"cuDevicePrimaryCtxRetain", 7000, (any_function)retain_primary},
    {"cuDevicePrimaryCtxRelease", 11000, (any_function)release_primary},
    {"cuDevicePrimaryCtxReset", 11000, (any_function)reset_primary},
    {"cuDevicePrimaryCtxGetState", 7000, (any_function)get_primary_state},
};

static enum cudaDriverEntryPointQueryResult find(const char *symbol, unsigned version,
                                                 void **function)
{
    enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;

    *function = NULL;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        if (strcmp(entries[i].symbol, symbol) != 0) continue;
        result = cudaDriverEntryPointVersionNotSufficent;
        if (entries[i].version > version) continue;
        memcpy(function, &entries[i].function, sizeof *function);
        return cudaDriverEntryPointSuccess;
    }
    return result;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *result)
{
    (void)flags;
    if (!symbol || !function) return hostgpu_record(cudaErrorInvalidValue);
    const enum cudaDriverEntryPointQueryResult found = find(symbol, version, function);
    if (result) *result = found;
    if (result || *function) return cudaSuccess;
    return hostgpu_record(cudaErrorSymbolNotFound);
}
HOSTGPU_ALSO(cudaGetDriverEntryPointByVersion, _ptsz);

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *result)
{
    return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, result);
}
