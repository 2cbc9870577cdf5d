/* cudart_copy.c - copying and setting memory, at once. As on a device, the kind of copy must fit where the
 * pointers point, and a copy must not leave its allocation. */
#include <string.h>

#include "cudart_internal.h"
#include "executor.h"

/* Whether `bytes` bytes from pointer may be the device's side of a copy, or the host's. */
int hostgpu_is_device_memory(const void *pointer, size_t bytes)
{
    hostgpu_range range;

    if (!hostgpu_registry_find(pointer, &range)) return 0;
    return bytes <= range.start + range.bytes - (uintptr_t)pointer;
}

static bool is_device_side(const void *pointer, size_t bytes)
{
    return hostgpu_is_device_memory(pointer, bytes);
}

static bool is_host_side(const void *pointer, size_t bytes)
{
    hostgpu_range range;

    if (!hostgpu_registry_find(pointer, &range)) return true;
    return range.kind != HOSTGPU_DEVICE && hostgpu_is_device_memory(pointer, bytes);
}

static bool is_either_side(const void *pointer, size_t bytes)
{
    return hostgpu_is_device_memory(pointer, bytes) || is_host_side(pointer, bytes);
}

static cudaError_t check_sides(const void *target, size_t target_bytes, const void *source,
                               size_t source_bytes, enum cudaMemcpyKind kind)
{
    typedef bool side(const void *, size_t);
    static side *const sides[][2] = {
        [cudaMemcpyHostToHost] = {is_host_side, is_host_side},
        [cudaMemcpyHostToDevice] = {is_device_side, is_host_side},
        [cudaMemcpyDeviceToHost] = {is_host_side, is_device_side},
        [cudaMemcpyDeviceToDevice] = {is_device_side, is_device_side},
        [cudaMemcpyDefault] = {is_either_side, is_either_side},
    };

    if ((unsigned)kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (!target || !source) return cudaErrorInvalidValue;
    if (!sides[kind][0](target, target_bytes) || !sides[kind][1](source, source_bytes))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

static cudaError_t check_stream(cudaStream_t stream)
{
    return hostgpu_is_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

/* From the first to behind the last byte of `height` rows. */
static size_t extent(size_t pitch, size_t width, size_t height)
{
    return (height - 1) * pitch + width;
}

/* ---- copies ---- */

cudaError_t cudaMemcpy(void *target, const void *source, size_t bytes, enum cudaMemcpyKind kind)
{
    cudaError_t error;

    if (!bytes) return cudaSuccess;
    error = check_sides(target, bytes, source, bytes, kind);
    if (!error) memmove(target, source, bytes);
    return hostgpu_record(error);
}
HOSTGPU_ALSO(cudaMemcpy, _ptds);

cudaError_t cudaMemcpyAsync(void *target, const void *source, size_t bytes,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    cudaError_t error = check_stream(stream);

    return error ? hostgpu_record(error) : cudaMemcpy(target, source, bytes, kind);
}
HOSTGPU_ALSO(cudaMemcpyAsync, _ptsz);

cudaError_t cudaMemcpy2D(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind)
{
    cudaError_t error;

    if (!width || !height) return cudaSuccess;
    if (width > target_pitch || width > source_pitch)
        return hostgpu_record(cudaErrorInvalidPitchValue);
    error = check_sides(target, extent(target_pitch, width, height), source,
                        extent(source_pitch, width, height), kind);
    for (size_t i = 0; i < height && !error; i++)
        memmove((char *)target + i * target_pitch, (const char *)source + i * source_pitch, width);
    return hostgpu_record(error);
}
HOSTGPU_ALSO(cudaMemcpy2D, _ptds);

cudaError_t cudaMemcpy2DAsync(void *target, size_t target_pitch, const void *source,
                              size_t source_pitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    cudaError_t error = check_stream(stream);

    if (error) return hostgpu_record(error);
    return cudaMemcpy2D(target, target_pitch, source, source_pitch, width, height, kind);
}
HOSTGPU_ALSO(cudaMemcpy2DAsync, _ptsz);

cudaError_t cudaMemcpyPeer(void *target, int target_device, const void *source, int source_device,
                           size_t bytes)
{
    if (target_device || source_device) return hostgpu_record(cudaErrorInvalidDevice);
    return cudaMemcpy(target, source, bytes, cudaMemcpyDeviceToDevice);
}

cudaError_t cudaMemcpyPeerAsync(void *target, int target_device, const void *source,
                                int source_device, size_t bytes, cudaStream_t stream)
{
    cudaError_t error = check_stream(stream);

    if (error) return hostgpu_record(error);
    return cudaMemcpyPeer(target, target_device, source, source_device, bytes);
}

/* ---- variables of kernel sources, which are ordinary variables here ---- */

cudaError_t cudaGetSymbolAddress(void **address, const void *symbol)
{
    if (!address || !symbol) return hostgpu_record(cudaErrorInvalidValue);
    *address = (void *)(uintptr_t)symbol;
    return cudaSuccess;
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *source, size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind)
{
    if (!symbol || !source) return hostgpu_record(cudaErrorInvalidValue);
    if (kind == cudaMemcpyDeviceToHost) return hostgpu_record(cudaErrorInvalidMemcpyDirection);
    memmove((char *)(uintptr_t)symbol + offset, source, bytes);
    return cudaSuccess;
}
HOSTGPU_ALSO(cudaMemcpyToSymbol, _ptds);

cudaError_t cudaMemcpyFromSymbol(void *target, const void *symbol, size_t bytes, size_t offset,
                                 enum cudaMemcpyKind kind)
{
    if (!symbol || !target) return hostgpu_record(cudaErrorInvalidValue);
    if (kind == cudaMemcpyHostToDevice) return hostgpu_record(cudaErrorInvalidMemcpyDirection);
    memmove(target, (const char *)symbol + offset, bytes);
    return cudaSuccess;
}
HOSTGPU_ALSO(cudaMemcpyFromSymbol, _ptds);

/* ---- setting ---- */

cudaError_t cudaMemset(void *target, int value, size_t bytes)
{
    if (!bytes) return cudaSuccess;
    if (!hostgpu_is_device_memory(target, bytes)) return hostgpu_record(cudaErrorInvalidValue);
    memset(target, value, bytes);
    return cudaSuccess;
}
HOSTGPU_ALSO(cudaMemset, _ptds);

cudaError_t cudaMemsetAsync(void *target, int value, size_t bytes, cudaStream_t stream)
{
    cudaError_t error = check_stream(stream);

    return error ? hostgpu_record(error) : cudaMemset(target, value, bytes);
}
HOSTGPU_ALSO(cudaMemsetAsync, _ptsz);

cudaError_t cudaMemset2D(void *target, size_t pitch, int value, size_t width, size_t height)
{
    if (!width || !height) return cudaSuccess;
    if (width > pitch || !hostgpu_is_device_memory(target, extent(pitch, width, height)))
        return hostgpu_record(cudaErrorInvalidValue);
    for (size_t i = 0; i < height; i++) memset((char *)target + i * pitch, value, width);
    return cudaSuccess;
}
HOSTGPU_ALSO(cudaMemset2D, _ptds);

cudaError_t cudaMemset2DAsync(void *target, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream)
{
    cudaError_t error = check_stream(stream);

    return error ? hostgpu_record(error) : cudaMemset2D(target, pitch, value, width, height);
}
HOSTGPU_ALSO(cudaMemset2DAsync, _ptsz);
