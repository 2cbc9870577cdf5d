/* cudart_copy.c - copying and setting memory. As on a device, the kind of copy must fit where the
 * pointers point, and a copy must not leave its allocation. */
#include <string.h>

#include "cudart_internal.h"
#include "executor.h"

static bool is_device_side(const void *pointer, size_t bytes)
{
    hostgpu_range range;

    if (!hostgpu_registry_find(pointer, &range)) return false;
    return bytes <= range.start + range.bytes - (uintptr_t)pointer;
}

/* Kernels reach the memory of the current device, and what is the host's. */
int hostgpu_is_device_memory(const void *pointer, size_t bytes)
{
    hostgpu_range range;

    return is_device_side(pointer, bytes) && hostgpu_registry_find(pointer, &range) &&
           (range.kind != HOSTGPU_DEVICE || range.device == hostgpu_current_device());
}

static bool is_host_side(const void *pointer, size_t bytes)
{
    hostgpu_range range;

    if (!hostgpu_registry_find(pointer, &range)) return true;
    return range.kind != HOSTGPU_DEVICE && is_device_side(pointer, bytes);
}

static bool is_either_side(const void *pointer, size_t bytes)
{
    return is_device_side(pointer, bytes) || is_host_side(pointer, bytes);
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

/* From the first to behind the last byte of `height` rows. */
static size_t extent(size_t pitch, size_t width, size_t height)
{
    return (height - 1) * pitch + width;
}

/* ---- copies ---- */

/* `height` rows of `width` bytes each. */
typedef struct {
    void *target;
    const void *source;
    size_t target_pitch, source_pitch, width, height;
    enum cudaMemcpyKind kind;
} copy;

/* Again when a graph runs: the memory may be gone by then. */
static cudaError_t check_copy(const copy *c)
{
    if (c->width > c->target_pitch || c->width > c->source_pitch) return cudaErrorInvalidPitchValue;
    return check_sides(c->target, extent(c->target_pitch, c->width, c->height), c->source,
                       extent(c->source_pitch, c->width, c->height), c->kind);
}

static cudaError_t run_copy(void *arguments)
{
    const copy *c = arguments;
    const cudaError_t error = check_copy(c);

    for (size_t i = 0; i < c->height && !error; i++)
        memmove((char *)c->target + i * c->target_pitch,
                (const char *)c->source + i * c->source_pitch, c->width);
    return error;
}

static cudaError_t copy_at_once(copy c)
{
    cudaError_t error = hostgpu_refuse_synchronous();

    return hostgpu_record(error || !c.width || !c.height ? error : run_copy(&c));
}

static cudaError_t copy_in_stream(copy c, cudaStream_t stream)
{
    cudaError_t error = hostgpu_is_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;

    if (error || !c.width || !c.height) return hostgpu_record(error);
    error = check_copy(&c);
    if (!error) error = hostgpu_enqueue(stream, cudaGraphNodeTypeMemcpy, run_copy, &c, sizeof c);
    return hostgpu_record(error);
}

cudaError_t cudaMemcpy(void *target, const void *source, size_t bytes, enum cudaMemcpyKind kind)
{
    return copy_at_once((copy){target, source, bytes, bytes, bytes, 1, kind});
}
HOSTGPU_ALSO(cudaMemcpy, _ptds);

cudaError_t cudaMemcpyAsync(void *target, const void *source, size_t bytes,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy_in_stream((copy){target, source, bytes, bytes, bytes, 1, kind}, stream);
}
HOSTGPU_ALSO(cudaMemcpyAsync, _ptsz);

/* cudaDevAttrMaxPitch is the most that rows may be apart, however many there are. */
static bool are_pitches(size_t target, size_t source)
{
    return target <= INT32_MAX && source <= INT32_MAX;
}

cudaError_t cudaMemcpy2D(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind)
{
    if (!are_pitches(target_pitch, source_pitch)) return hostgpu_record(cudaErrorInvalidPitchValue);
    return copy_at_once((copy){target, source, target_pitch, source_pitch, width, height, kind});
}
HOSTGPU_ALSO(cudaMemcpy2D, _ptds);

cudaError_t cudaMemcpy2DAsync(void *target, size_t target_pitch, const void *source,
                              size_t source_pitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    if (!are_pitches(target_pitch, source_pitch)) return hostgpu_record(cudaErrorInvalidPitchValue);
    return copy_in_stream((copy){target, source, target_pitch, source_pitch, width, height, kind},
                          stream);
}
HOSTGPU_ALSO(cudaMemcpy2DAsync, _ptsz);

static bool is_on(const void *pointer, int device)
{
    hostgpu_range range;

    return hostgpu_registry_find(pointer, &range) && range.device == device;
}

static cudaError_t check_peers(const void *target, int target_device, const void *source,
                               int source_device, size_t bytes)
{
    if (!hostgpu_is_device(target_device) || !hostgpu_is_device(source_device))
        return cudaErrorInvalidDevice;
    if (bytes && (!is_on(target, target_device) || !is_on(source, source_device)))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

cudaError_t cudaMemcpyPeer(void *target, int target_device, const void *source, int source_device,
                           size_t bytes)
{
    cudaError_t error = check_peers(target, target_device, source, source_device, bytes);

    if (error) return hostgpu_record(error);
    return cudaMemcpy(target, source, bytes, cudaMemcpyDeviceToDevice);
}

cudaError_t cudaMemcpyPeerAsync(void *target, int target_device, const void *source,
                                int source_device, size_t bytes, cudaStream_t stream)
{
    cudaError_t error = check_peers(target, target_device, source, source_device, bytes);

    if (error) return hostgpu_record(error);
    return cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, stream);
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
    if (hostgpu_refuse_synchronous()) return hostgpu_record(cudaErrorStreamCaptureUnsupported);
    memmove((char *)(uintptr_t)symbol + offset, source, bytes);
    return cudaSuccess;
}
HOSTGPU_ALSO(cudaMemcpyToSymbol, _ptds);

cudaError_t cudaMemcpyFromSymbol(void *target, const void *symbol, size_t bytes, size_t offset,
                                 enum cudaMemcpyKind kind)
{
    if (!symbol || !target) return hostgpu_record(cudaErrorInvalidValue);
    if (kind == cudaMemcpyHostToDevice) return hostgpu_record(cudaErrorInvalidMemcpyDirection);
    if (hostgpu_refuse_synchronous()) return hostgpu_record(cudaErrorStreamCaptureUnsupported);
    memmove(target, (const char *)symbol + offset, bytes);
    return cudaSuccess;
}
HOSTGPU_ALSO(cudaMemcpyFromSymbol, _ptds);

/* ---- setting ---- */

typedef struct {
    void *target;
    int value;
    size_t pitch, width, height;
} fill;

static cudaError_t run_fill(void *arguments)
{
    const fill *f = arguments;

    if (f->width > f->pitch || !is_device_side(f->target, extent(f->pitch, f->width, f->height)))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < f->height; i++)
        memset((char *)f->target + i * f->pitch, f->value, f->width);
    return cudaSuccess;
}

static cudaError_t fill_in_stream(fill f, cudaStream_t stream)
{
    const cudaError_t error =
        hostgpu_is_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;

    if (error || !f.width || !f.height) return hostgpu_record(error);
    return hostgpu_record(hostgpu_enqueue(stream, cudaGraphNodeTypeMemset, run_fill, &f, sizeof f));
}

cudaError_t cudaMemset(void *target, int value, size_t bytes)
{
    return fill_in_stream((fill){target, value, bytes, bytes, 1}, cudaStreamLegacy);
}
HOSTGPU_ALSO(cudaMemset, _ptds);

cudaError_t cudaMemsetAsync(void *target, int value, size_t bytes, cudaStream_t stream)
{
    return fill_in_stream((fill){target, value, bytes, bytes, 1}, stream);
}
HOSTGPU_ALSO(cudaMemsetAsync, _ptsz);

cudaError_t cudaMemset2D(void *target, size_t pitch, int value, size_t width, size_t height)
{
    return fill_in_stream((fill){target, value, pitch, width, height}, cudaStreamLegacy);
}
HOSTGPU_ALSO(cudaMemset2D, _ptds);

cudaError_t cudaMemset2DAsync(void *target, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream)
{
    return fill_in_stream((fill){target, value, pitch, width, height}, stream);
}
HOSTGPU_ALSO(cudaMemset2DAsync, _ptsz);
