/* cublas_handle.c - handles, their properties, versions, names of statuses, and copies of vectors and matrices. */
#include <stdio.h>
#include <stdlib.h>

#include "cublas_internal.h"
#include "executor.h"

bool hostgpu_check_operand(const char *function, const char *operand, const void *pointer,
                           size_t bytes)
{
    if (!bytes || hostgpu_is_device_memory(pointer, bytes)) return true;
    fprintf(stderr, "tandem: host device: %s: %s, %zu bytes at %p, is not all in device memory\n",
            function, operand, bytes, pointer);
    return false;
}

/* ---- handles ---- */

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    REQUIRE(handle, CUBLAS_STATUS_INVALID_VALUE);
    *handle = calloc(1, sizeof **handle); /* all properties start as 0 */
    return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    REQUIRE(handle, CUBLAS_STATUS_NOT_INITIALIZED);
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
    (void)workspace;
    (void)bytes;
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    REQUIRE(handle, CUBLAS_STATUS_NOT_INITIALIZED);
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream)
{
    REQUIRE(handle, CUBLAS_STATUS_NOT_INITIALIZED);
    REQUIRE(stream, CUBLAS_STATUS_INVALID_VALUE);
    *stream = handle->stream;
    return CUBLAS_STATUS_SUCCESS;
}

static bool is_pointer_mode(cublasPointerMode_t mode) { return (unsigned)mode <= 1; }
static bool is_atomics_mode(cublasAtomicsMode_t mode) { return (unsigned)mode <= 1; }
static bool is_strategy(cublasEmulationStrategy_t strategy) { return (unsigned)strategy <= 2; }
static bool is_sm_count(int count) { return count >= 0; }

static bool is_math_mode(cublasMath_t mode)
{
    return ((unsigned)mode & 0xf) <= CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH && (unsigned)mode < 0x20;
}

/* Properties of a handle that are stored and given back. */
#define PROPERTIES(X)                                                                              \
    X(PointerMode_v2, cublasPointerMode_t, pointer_mode, is_pointer_mode)                          \
    X(AtomicsMode, cublasAtomicsMode_t, atomics_mode, is_atomics_mode)                             \
    X(MathMode, cublasMath_t, math_mode, is_math_mode)                                             \
    X(SmCountTarget, int, sm_count_target, is_sm_count)                                            \
    X(EmulationStrategy, cublasEmulationStrategy_t, emulation_strategy, is_strategy)

#define DEFINE_PROPERTY(name, type, field, is_valid)                                               \
    cublasStatus_t cublasGet##name(cublasHandle_t handle, type *value)                             \
    {                                                                                              \
        REQUIRE(handle, CUBLAS_STATUS_NOT_INITIALIZED);                                            \
        REQUIRE(value, CUBLAS_STATUS_INVALID_VALUE);                                               \
        *value = handle->field;                                                                    \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }                                                                                              \
    cublasStatus_t cublasSet##name(cublasHandle_t handle, type value)                              \
    {                                                                                              \
        REQUIRE(handle, CUBLAS_STATUS_NOT_INITIALIZED);                                            \
        REQUIRE(is_valid(value), CUBLAS_STATUS_INVALID_VALUE);                                     \
        handle->field = value;                                                                     \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }
PROPERTIES(DEFINE_PROPERTY)

/* ---- versions, logging ---- */

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
    (void)handle; /* a device's cuBLAS asks for none either */
    REQUIRE(version, CUBLAS_STATUS_INVALID_VALUE);
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
    static const int numbers[] = {
        [MAJOR_VERSION] = CUBLAS_VER_MAJOR,
        [MINOR_VERSION] = CUBLAS_VER_MINOR,
        [PATCH_LEVEL] = CUBLAS_VER_PATCH,
    };

    REQUIRE(value && (unsigned)type <= PATCH_LEVEL, CUBLAS_STATUS_INVALID_VALUE);
    *value = numbers[type];
    return CUBLAS_STATUS_SUCCESS;
}

size_t cublasGetCudartVersion(void) { return CUDART_VERSION; }

/* There is nothing to log. */
cublasStatus_t cublasLoggerConfigure(int is_on, int to_stdout, int to_stderr, const char *file)
{
    (void)is_on;
    (void)to_stdout;
    (void)to_stderr;
    (void)file;
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

const char *cublasGetStatusName(cublasStatus_t status)
{
#define NAME(name, text)                                                                           \
    case name:                                                                                     \
        return #name;
    switch (status) {
        STATUSES(NAME)
    default:
        return "CUBLAS_STATUS_UNKNOWN";
    }
#undef NAME
}

const char *cublasGetStatusString(cublasStatus_t status)
{
#define TEXT(name, text)                                                                           \
    case name:                                                                                     \
        return text;
    switch (status) {
        STATUSES(TEXT)
    default:
        return "unknown status";
    }
#undef TEXT
}

/* ---- copies ---- */

static cublasStatus_t copy_vector(int64_t n, int64_t element_bytes, const void *x, int64_t step_x,
                                  void *y, int64_t step_y, enum cudaMemcpyKind kind)
{
    const size_t bytes = (size_t)element_bytes;

    REQUIRE(n >= 0 && element_bytes > 0 && step_x > 0 && step_y > 0, CUBLAS_STATUS_INVALID_VALUE);
    if (!cudaMemcpy2D(y, (size_t)step_y * bytes, x, (size_t)step_x * bytes, bytes, (size_t)n, kind))
        return CUBLAS_STATUS_SUCCESS;
    return CUBLAS_STATUS_MAPPING_ERROR;
}

static cublasStatus_t copy_matrix(int64_t rows, int64_t columns, int64_t element_bytes,
                                  const void *a, int64_t lda, void *b, int64_t ldb,
                                  enum cudaMemcpyKind kind)
{
    const size_t bytes = (size_t)element_bytes;

    REQUIRE(rows >= 0 && columns >= 0 && element_bytes > 0, CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(is_ld(lda, rows) && is_ld(ldb, rows), CUBLAS_STATUS_INVALID_VALUE);
    if (!cudaMemcpy2D(b, (size_t)ldb * bytes, a, (size_t)lda * bytes, (size_t)rows * bytes,
                      (size_t)columns, kind))
        return CUBLAS_STATUS_SUCCESS;
    return CUBLAS_STATUS_MAPPING_ERROR;
}

#define DEFINE_COPY(verb, integer, width, kind)                                                    \
    cublasStatus_t cublas##verb##Vector##width(integer n, integer bytes, const void *x,            \
                                               integer step_x, void *y, integer step_y)            \
    {                                                                                              \
        return copy_vector(n, bytes, x, step_x, y, step_y, kind);                                  \
    }                                                                                              \
    cublasStatus_t cublas##verb##VectorAsync##width(integer n, integer bytes, const void *x,       \
                                                    integer step_x, void *y, integer step_y,       \
                                                    cudaStream_t stream)                           \
    {                                                                                              \
        (void)stream;                                                                              \
        return copy_vector(n, bytes, x, step_x, y, step_y, kind);                                  \
    }                                                                                              \
    cublasStatus_t cublas##verb##Matrix##width(integer rows, integer columns, integer bytes,       \
                                               const void *a, integer lda, void *b, integer ldb)   \
    {                                                                                              \
        return copy_matrix(rows, columns, bytes, a, lda, b, ldb, kind);                            \
    }                                                                                              \
    cublasStatus_t cublas##verb##MatrixAsync##width(integer rows, integer columns, integer bytes,  \
                                                    const void *a, integer lda, void *b,           \
                                                    integer ldb, cudaStream_t stream)              \
    {                                                                                              \
        (void)stream;                                                                              \
        return copy_matrix(rows, columns, bytes, a, lda, b, ldb, kind);                            \
    }
#define DEFINE_COPIES(integer, width)                                                              \
    DEFINE_COPY(Set, integer, width, cudaMemcpyHostToDevice)                                       \
    DEFINE_COPY(Get, integer, width, cudaMemcpyDeviceToHost)
FOR_BOTH_WIDTHS(DEFINE_COPIES)
