/* cublas_handle.c - handles, their properties, versions, names of statuses, and copies of vectors
 * and matrices. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "cublas_internal.h"
#include "faults.h"
#include "texts.h"

bool hostgpu_check_scalar(const char *function, const char *operand, cublasPointerMode_t mode,
                          const void *pointer, size_t bytes)
{
    if (mode != CUBLAS_POINTER_MODE_HOST)
        return hostgpu_check_operand(function, operand, pointer, bytes);
    if ((uintptr_t)pointer % bytes == 0) return true;
    fprintf(stderr, "tandem: host device: %s: %s at %p is not aligned to its %zu bytes\n", function,
            operand, pointer, bytes);
    return false;
}

/* ---- handles ---- */

cublasStatus_t hostgpu_check_handle(cublasHandle_t handle, const char *function)
{
    REQUIRE(is_handle(handle), CUBLAS_STATUS_NOT_INITIALIZED);
    REQUIRE(hostgpu_check_context(handle->context, function), CUBLAS_STATUS_EXECUTION_FAILED);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t hostgpu_check_not_captured(cublasHandle_t handle, const char *function)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    const cublasStatus_t status = hostgpu_check_handle(handle, function);

    if (status) return status;
    if (!cudaStreamIsCapturing(handle->stream, &capture) && capture == cudaStreamCaptureStatusNone)
        return CUBLAS_STATUS_SUCCESS;
    fprintf(stderr, "tandem: host device: %s: only products of matrices can be captured\n",
            function);
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

pthread_mutex_t hostgpu_handles_lock = PTHREAD_MUTEX_INITIALIZER;
static cublasHandle_t handles, destroyed; /* under the lock */

/* Under the lock: one that is used again, or a fresh one; NULL without memory. */
static cublasHandle_t take_handle(void)
{
    cublasHandle_t h = destroyed;

    if (h) {
        destroyed = h->next_destroyed;
    } else if ((h = calloc(1, sizeof *h))) {
        h->next = handles;
        handles = h;
    }
    return h;
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    const unsigned long long context = hostgpu_context_number();

    REQUIRE(handle, CUBLAS_STATUS_INVALID_VALUE);
    *handle = NULL;
    REQUIRE(context, CUBLAS_STATUS_NOT_INITIALIZED);
    /* As that of cuBLAS 13.10, whose work in the legacy stream ends captures that hold it up. */
    REQUIRE(cudaStreamSynchronize(cudaStreamLegacy) == cudaSuccess, CUBLAS_STATUS_INTERNAL_ERROR);
    REQUIRE(!hostgpu_fails(HOSTGPU_FAULT_ALLOCATION), CUBLAS_STATUS_ALLOC_FAILED);
    pthread_mutex_lock(&hostgpu_handles_lock);
    *handle = take_handle();
    if (*handle) /* all properties start as 0 */
        **handle =
            (struct cublasContext){.next = (*handle)->next,
                                   .is_handle = IS_HANDLE,
                                   .context = context,
                                   .special_values = CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT};
    pthread_mutex_unlock(&hostgpu_handles_lock);
    return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    REQUIRE(handle, CUBLAS_STATUS_NOT_INITIALIZED);
    pthread_mutex_lock(&hostgpu_handles_lock);
    const bool was_handle = is_handle(handle);
    if (was_handle) {
        handle->is_handle = 0;
        handle->next_destroyed = destroyed;
        destroyed = handle;
    }
    pthread_mutex_unlock(&hostgpu_handles_lock);
    return was_handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
    (void)workspace, (void)bytes;
    return is_handle(handle) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

/* Properties of a handle that are stored and given back, and which values are taken. */
#define PROPERTIES(X)                                                                              \
    X(Stream_v2, cudaStream_t, stream, true)                                                       \
    X(PointerMode_v2, cublasPointerMode_t, pointer_mode, (unsigned)value <= 1)                     \
    X(AtomicsMode, cublasAtomicsMode_t, atomics_mode, (unsigned)value <= 1)                        \
    X(MathMode, cublasMath_t, math_mode,                                                           \
      (unsigned)value < 2 * CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)                      \
    X(SmCountTarget, int, sm_count_target, value >= 0)                                             \
    X(EmulationStrategy, cublasEmulationStrategy_t, emulation_strategy, (unsigned)value <= 2)      \
    X(EmulationSpecialValuesSupport, cudaEmulationSpecialValuesSupport, special_values,            \
      value <= 0xFFFF)                                                                             \
    X(FixedPointEmulationMantissaControl, cudaEmulationMantissaControl, mantissa_control,          \
      (unsigned)value <= 1)                                                                        \
    X(FixedPointEmulationMaxMantissaBitCount, int, most_mantissa_bits, value >= 0)                 \
    X(FixedPointEmulationMantissaBitOffset, int, mantissa_bit_offset, true)                        \
    X(FixedPointEmulationMantissaBitCountPointer, int *, emulated_bits, true)

#define DEFINE_PROPERTY(...)                                                                       \
    HOSTGPU_DEFINE_PROPERTY(CUBLAS, cublasStatus_t, cublas, cublasHandle_t, is_handle, __VA_ARGS__)
PROPERTIES(DEFINE_PROPERTY)

/* ---- versions, logging ---- */

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
    (void)handle; /* a device's cuBLAS asks for none either */
    REQUIRE(version, CUBLAS_STATUS_INVALID_VALUE);
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

HOSTGPU_DEFINE_VERSION_PARTS(CUBLAS, cublasStatus_t, cublasGetProperty)

size_t cublasGetCudartVersion(void) { return CUDART_VERSION; }

/* There is nothing to log. */
cublasStatus_t cublasLoggerConfigure(int is_on, int to_stdout, int to_stderr, const char *file)
{
    (void)is_on, (void)to_stdout, (void)to_stderr, (void)file;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasLogCallback log_callback;

cublasStatus_t cublasSetLoggerCallback(cublasLogCallback callback)
{
    log_callback = callback;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetLoggerCallback(cublasLogCallback *callback)
{
    REQUIRE(callback, CUBLAS_STATUS_INVALID_VALUE);
    *callback = log_callback;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- statuses ---- */

#define STATUSES(X)                                                                                \
    X(CUBLAS_STATUS_SUCCESS, "the operation completed successfully")                               \
    X(CUBLAS_STATUS_NOT_INITIALIZED, "the library was not initialized")                            \
    X(CUBLAS_STATUS_ALLOC_FAILED, "the resource allocation failed")                                \
    X(CUBLAS_STATUS_INVALID_VALUE, "an unsupported value or parameter was passed")                 \
    X(CUBLAS_STATUS_ARCH_MISMATCH, "the device lacks a feature that the function needs")           \
    X(CUBLAS_STATUS_MAPPING_ERROR, "an access to device memory failed")                            \
    X(CUBLAS_STATUS_EXECUTION_FAILED, "the program failed to execute on the device")               \
    X(CUBLAS_STATUS_INTERNAL_ERROR, "an internal operation failed")                                \
    X(CUBLAS_STATUS_NOT_SUPPORTED, "the parameters are not supported")                             \
    X(CUBLAS_STATUS_LICENSE_ERROR, "no license was found")

HOSTGPU_DEFINE_TEXTS(cublasGetStatusName, cublasStatus_t, STATUSES, HOSTGPU_NAME_CASE,
                     "CUBLAS_STATUS_UNKNOWN")
HOSTGPU_DEFINE_TEXTS(cublasGetStatusString, cublasStatus_t, STATUSES, HOSTGPU_TEXT_CASE,
                     "unknown status")

/* ---- copies ---- */

/* In a stream, or, if there is none, at once. */
static cublasStatus_t copy_rows(void *to, int64_t to_pitch, const void *from, int64_t from_pitch,
                                int64_t width, int64_t height, enum cudaMemcpyKind kind,
                                const cudaStream_t *stream)
{
    const size_t pitch[] = {(size_t)to_pitch, (size_t)from_pitch}, row = (size_t)width;
    const cudaError_t error =
        stream ? cudaMemcpy2DAsync(to, pitch[0], from, pitch[1], row, (size_t)height, kind, *stream)
               : cudaMemcpy2D(to, pitch[0], from, pitch[1], row, (size_t)height, kind);

    return error ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t copy_vector(int64_t n, int64_t element_bytes, const void *x, int64_t step_x,
                                  void *y, int64_t step_y, enum cudaMemcpyKind kind,
                                  const cudaStream_t *stream)
{
    REQUIRE(n >= 0 && element_bytes > 0 && step_x > 0 && step_y > 0, CUBLAS_STATUS_INVALID_VALUE);
    return copy_rows(y, step_y * element_bytes, x, step_x * element_bytes, element_bytes, n, kind,
                     stream);
}

static cublasStatus_t copy_matrix(int64_t rows, int64_t columns, int64_t element_bytes,
                                  const void *a, int64_t lda, void *b, int64_t ldb,
                                  enum cudaMemcpyKind kind, const cudaStream_t *stream)
{
    REQUIRE(rows >= 0 && columns >= 0 && element_bytes > 0, CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(is_ld(lda, rows) && is_ld(ldb, rows), CUBLAS_STATUS_INVALID_VALUE);
    return copy_rows(b, ldb * element_bytes, a, lda * element_bytes, rows * element_bytes, columns,
                     kind, stream);
}

#define DEFINE_COPY(verb, integer, width, kind)                                                    \
    cublasStatus_t cublas##verb##Vector##width(integer n, integer bytes, const void *x,            \
                                               integer step_x, void *y, integer step_y)            \
    {                                                                                              \
        return copy_vector(n, bytes, x, step_x, y, step_y, kind, NULL);                            \
    }                                                                                              \
    cublasStatus_t cublas##verb##VectorAsync##width(integer n, integer bytes, const void *x,       \
                                                    integer step_x, void *y, integer step_y,       \
                                                    cudaStream_t stream)                           \
    {                                                                                              \
        return copy_vector(n, bytes, x, step_x, y, step_y, kind, &stream);                         \
    }                                                                                              \
    cublasStatus_t cublas##verb##Matrix##width(integer rows, integer columns, integer bytes,       \
                                               const void *a, integer lda, void *b, integer ldb)   \
    {                                                                                              \
        return copy_matrix(rows, columns, bytes, a, lda, b, ldb, kind, NULL);                      \
    }                                                                                              \
    cublasStatus_t cublas##verb##MatrixAsync##width(integer rows, integer columns, integer bytes,  \
                                                    const void *a, integer lda, void *b,           \
                                                    integer ldb, cudaStream_t stream)              \
    {                                                                                              \
        return copy_matrix(rows, columns, bytes, a, lda, b, ldb, kind, &stream);                   \
    }
#define DEFINE_COPIES(integer, width)                                                              \
    DEFINE_COPY(Set, integer, width, cudaMemcpyHostToDevice)                                       \
    DEFINE_COPY(Get, integer, width, cudaMemcpyDeviceToHost)
FOR_BOTH_WIDTHS(DEFINE_COPIES)
