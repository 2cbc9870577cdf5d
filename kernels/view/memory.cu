/* memory.cu - whether the memory of a call is there: asked on the host device alone. */
#include "memory.h"
#include "../device/portable.h"

#if TD_HAS_CUDA_DEVICE

cudaError_t td_memory_check(td_memory (*)(const void *), const void *, cudaStream_t)
{
    return cudaSuccess;
}

#else

/* Bytes from the first to behind the last element of a matrix; more than there are where they
 * cannot be counted. */
static size_t bytes_of(const td_extent &x, int64_t element_bytes)
{
    int64_t elements, bytes;
    if (__builtin_mul_overflow(x.columns - 1, x.matrix.ld, &elements) ||
        __builtin_add_overflow(elements, x.rows, &elements) ||
        __builtin_mul_overflow(elements, element_bytes, &bytes))
        return SIZE_MAX / 2;
    return (size_t)bytes;
}

static const char *member(const td_matrix &x, int64_t i, int64_t element_bytes)
{
    if (x.array) return static_cast<const char *>(x.array[i]);
    const uint64_t offset = (uint64_t)i * (uint64_t)x.stride * (uint64_t)element_bytes;
    return reinterpret_cast<const char *>(reinterpret_cast<uintptr_t>(x.data) + offset);
}

static bool is_there(const td_memory &m, const td_extent &x)
{
    if (x.rows == 0 || x.columns == 0) return true;
    const size_t bytes = bytes_of(x, m.element_bytes);
    if (x.matrix.array &&
        !hostgpu_is_device_memory(x.matrix.array, (size_t)m.batch * sizeof *x.matrix.array))
        return false;
    for (int64_t i = 0; i < m.batch; i++)
        if (!hostgpu_is_device_memory(member(x.matrix, i, m.element_bytes), bytes)) return false;
    return true;
}

static bool are_there(const td_ints &x)
{
    return !x.data || hostgpu_is_device_memory(x.data, (size_t)x.count * sizeof *x.data);
}

/* A scalar in device memory, which is there, and 0 in all its bytes. */
static bool is_zero(const void *scalar, int64_t bytes)
{
    static const char zeros[sizeof(td_value)] = {};
    return scalar && memcmp(scalar, zeros, (size_t)bytes) == 0;
}

static cudaError_t check(void *of)
{
    const td_memory &m = *static_cast<const td_memory *>(of);
    if ((m.alpha && !hostgpu_is_device_memory(m.alpha, (size_t)m.alpha_bytes)) ||
        (m.beta && !hostgpu_is_device_memory(m.beta, (size_t)m.beta_bytes)))
        return cudaErrorIllegalAddress;
    bool all = is_there(m, m.written) && are_there(m.ints[0]) && are_there(m.ints[1]) &&
               (is_zero(m.beta, m.beta_bytes) || is_there(m, m.added));
    for (const td_extent &x : m.read)
        all = all && (is_zero(m.alpha, m.alpha_bytes) || is_there(m, x));
    return all ? cudaSuccess : cudaErrorIllegalAddress;
}

cudaError_t td_memory_check(td_memory (*describe)(const void *call), const void *call,
                            cudaStream_t stream)
{
    td_memory memory = describe(call);
    return hostgpu_enqueue(stream, cudaGraphNodeTypeKernel, check, &memory, sizeof memory);
}

#endif
