/* check_runtime.c - the stand-in for the CUDA runtime. */
#include "expect.h"

#include <math.h>

#include "../../hostgpu/unwritten.h"

static enum cudaMemoryType type_of(const void *pointer)
{
    struct cudaPointerAttributes attributes;

    expect_success(cudaPointerGetAttributes(&attributes, pointer));
    return attributes.type;
}

/* ---- the device ---- */

TEST(test_device)
{
    struct cudaDeviceProp properties;
    int count = 0, device = -1, value = 0;

    expect_success(cudaGetDeviceCount(&count));
    assert_int_equal(count, 1);
    expect_success(cudaGetDevice(&device));
    assert_int_equal(device, 0);
    expect_success(cudaSetDevice(0));
    expect_error(cudaSetDevice(1), cudaErrorInvalidDevice);

    expect_success(cudaGetDeviceProperties(&properties, 0));
    assert_string_equal(properties.name, "Tandem host device (no GPU)");
    assert_int_equal(properties.totalGlobalMem, DEVICE_BYTES);
    expect_error(cudaGetDeviceProperties(&properties, 1), cudaErrorInvalidDevice);

    expect_success(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
    assert_int_equal(value, 9);
    expect_success(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    assert_int_equal(value, 227 << 10);
    expect_error(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)100000, 0),
                 cudaErrorInvalidValue);
    expect_success(cudaRuntimeGetVersion(&value));
    assert_int_equal(value, CUDART_VERSION);
}

TEST(test_errors)
{
    int value;

    assert_int_equal(cudaSetDevice(7), cudaErrorInvalidDevice);
    expect_success(cudaGetDevice(&value)); /* success does not clear the last error */
    assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    assert_string_equal(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
    assert_string_equal(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
    assert_string_equal(cudaGetErrorName((cudaError_t)123456), "unrecognized error code");
}

/* ---- allocation ---- */

TEST(test_allocation)
{
    const size_t before = free_bytes();
    unsigned char *pointer = NULL;

    expect_success(cudaMalloc((void **)&pointer, 1000));
    assert_int_equal((uintptr_t)pointer % 256, 0);
    assert_int_equal(free_bytes(), before - 1000);
    /* NaN, and no two alike. */
    const double *const numbers = (const double *)(const void *)pointer;
    for (int i = 0; i < 125; i++) assert_true(isnan(numbers[i]));
    for (int i = 1; i < 125; i++)
        assert_memory_not_equal(numbers + i, numbers + i - 1, sizeof *numbers);
    expect_error(cudaFree(pointer + 1), cudaErrorInvalidValue);
    expect_error(cudaFreeHost(pointer), cudaErrorInvalidValue);
    expect_success(cudaFree(pointer));
    expect_error(cudaFree(pointer), cudaErrorInvalidValue);
    assert_int_equal(free_bytes(), before);
    expect_success(cudaFree(NULL));
    expect_success(cudaMalloc((void **)&pointer, 0));
    assert_null(pointer);
}

/* The first word of fresh memory of the default pool, which is that again where pools are unset. */
static uint64_t pooled_word(size_t bytes)
{
    uint64_t *memory, word;

    expect_success(cudaMallocAsync((void **)&memory, bytes, NULL));
    word = *memory;
    *memory = 4711;
    hostgpu_unset_pools();
    assert_int_equal(*memory, word);
    *memory = 4711;
    expect_success(cudaFreeAsync(memory, NULL));
    return word;
}

/* A seed draws what nobody has written, in memory that is had again, too. Unsetting pools leaves
 * other memory alone. */
TEST(test_unwritten_memory_is_drawn)
{
    enum { ZEROS = 11, ONES = 12, COUNTS = 13, RANDOM = 18, OTHERS = 28 };
    uint64_t *other, drawn;

    expect_success(cudaMalloc((void **)&other, sizeof *other));
    *other = 42;
    hostgpu_draw_unwritten(ZEROS);
    assert_int_equal(pooled_word(4096), 0);
    hostgpu_draw_unwritten(ONES);
    assert_int_equal(pooled_word(4096), UINT64_MAX);
    hostgpu_draw_unwritten(COUNTS);
    assert_int_equal(pooled_word(4096) & 0xfffffff0fffffff0, 0);
    hostgpu_draw_unwritten(RANDOM);
    drawn = pooled_word(4096);
    assert_int_equal(pooled_word(4096), drawn);
    hostgpu_draw_unwritten(OTHERS);
    assert_int_not_equal(pooled_word(4096), drawn);
    hostgpu_draw_unwritten(0);
    assert_int_equal(*other, 42);
    expect_success(cudaFree(other));
}

TEST(test_out_of_memory)
{
    void *large = NULL, *small = NULL;

    expect_error(cudaMalloc(&large, DEVICE_BYTES + 1), cudaErrorMemoryAllocation);
    assert_null(large);
    expect_success(cudaMalloc(&large, DEVICE_BYTES - 100));
    expect_error(cudaMalloc(&small, 101), cudaErrorMemoryAllocation);
    expect_error(cudaMallocManaged(&small, 101, cudaMemAttachGlobal), cudaErrorMemoryAllocation);
    expect_error(cudaMallocAsync(&small, 101, 0), cudaErrorMemoryAllocation);
    expect_success(cudaMalloc(&small, 100));
    free_memory(small, large);
    expect_error(cudaMalloc(&large, SIZE_MAX), cudaErrorMemoryAllocation);
}

TEST(test_pointer_kinds)
{
    double own[4];
    char *device = NULL, *managed = NULL, *pinned = NULL;

    expect_success(cudaMalloc((void **)&device, 64));
    expect_success(cudaMallocManaged((void **)&managed, 64, cudaMemAttachGlobal));
    expect_success(cudaMallocHost((void **)&pinned, 64));
    assert_int_equal(type_of(device), cudaMemoryTypeDevice);
    assert_int_equal(type_of(device + 63), cudaMemoryTypeDevice);
    assert_int_equal(type_of(device + 64), cudaMemoryTypeUnregistered);
    assert_int_equal(type_of(managed + 5), cudaMemoryTypeManaged);
    assert_int_equal(type_of(pinned + 5), cudaMemoryTypeHost);
    assert_int_equal(type_of(own), cudaMemoryTypeUnregistered);

    expect_success(cudaHostRegister(own, sizeof own, cudaHostRegisterDefault));
    assert_int_equal(type_of(own + 1), cudaMemoryTypeHost);
    expect_error(cudaHostRegister(own + 1, 8, 0), cudaErrorHostMemoryAlreadyRegistered);
    expect_success(cudaHostUnregister(own));
    expect_error(cudaHostUnregister(own), cudaErrorHostMemoryNotRegistered);
    assert_int_equal(type_of(own), cudaMemoryTypeUnregistered);

    expect_success(cudaFreeHost(pinned));
    free_memory(managed, device);
}

TEST(test_mapped_memory)
{
    void *host = NULL, *device = NULL;

    expect_success(cudaHostAlloc(&host, 64, cudaHostAllocMapped));
    expect_success(cudaHostGetDevicePointer(&device, host, 0));
    assert_ptr_equal(host, device);
    expect_success(cudaFreeHost(host));
    expect_error(cudaHostGetDevicePointer(&device, &host, 0), cudaErrorInvalidValue);
}

TEST(test_pools)
{
    const size_t before = free_bytes();
    const struct cudaMemPoolProps properties = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice},
        .maxSize = 5000,
    };
    cudaMemPool_t pool = NULL;
    uint64_t used = 0, threshold = 123;
    void *first = NULL, *second = NULL;

    expect_success(cudaMemPoolCreate(&pool, &properties));
    expect_success(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    threshold = 0;
    expect_success(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    assert_int_equal(threshold, 123);

    expect_success(cudaMallocFromPoolAsync(&first, 4000, pool, 0));
    expect_error(cudaMallocFromPoolAsync(&second, 1001, pool, 0), cudaErrorMemoryAllocation);
    expect_success(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    assert_int_equal(used, 4000);
    expect_success(cudaFreeAsync(first, 0));
    expect_success(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    assert_int_equal(used, 0);
    expect_success(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used));
    assert_int_equal(used, 4000);
    expect_success(cudaMemPoolTrimTo(pool, 0));
    expect_success(cudaMemPoolDestroy(pool));
    assert_int_equal(free_bytes(), before);
}

/* ---- copies ---- */

TEST(test_copy_kinds)
{
    char host[64] = "text", back[64] = "";
    char *device = NULL;

    expect_success(cudaMalloc((void **)&device, sizeof host));
    expect_success(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    expect_success(cudaMemcpy(back, device, sizeof host, cudaMemcpyDefault));
    assert_string_equal(back, "text");

    expect_error(cudaMemcpy(back, host, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    expect_error(cudaMemcpy(device, host, 8, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    expect_error(cudaMemcpy(device, host, 8, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
    expect_error(cudaMemcpy(back, device, 8, cudaMemcpyHostToHost), cudaErrorInvalidValue);
    expect_error(cudaMemcpy(device + 60, host, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    expect_error(cudaMemcpy(device, host, 8, (enum cudaMemcpyKind)9),
                 cudaErrorInvalidMemcpyDirection);
    expect_error(cudaMemset(host, 0, 8), cudaErrorInvalidValue);
    expect_error(cudaMemset(device + 1, 0, 64), cudaErrorInvalidValue);
    expect_success(cudaFree(device));
}

TEST(test_copy_2d)
{
    int host[4][5], back[3][2];
    int *device = NULL;
    size_t pitch = 0;

    for (int i = 0; i < 20; i++) host[i / 5][i % 5] = i;
    expect_success(cudaMallocPitch((void **)&device, &pitch, 2 * sizeof(int), 3));
    assert_int_equal(pitch % 512, 0);
    expect_success(cudaMemcpy2D(device, pitch, &host[1][1], sizeof host[0], 2 * sizeof(int), 3,
                                cudaMemcpyHostToDevice));
    expect_success(cudaMemcpy2DAsync(back, sizeof back[0], device, pitch, 2 * sizeof(int), 3,
                                     cudaMemcpyDeviceToHost, 0));
    for (int i = 0; i < 6; i++) assert_int_equal(back[i / 2][i % 2], 6 + 5 * (i / 2) + i % 2);
    expect_error(cudaMemcpy2D(device, 4, host, 20, 8, 3, cudaMemcpyHostToDevice),
                 cudaErrorInvalidPitchValue);
    expect_error(cudaMemcpy2D(device, pitch, host, 20, 8, 4, cudaMemcpyHostToDevice),
                 cudaErrorInvalidValue);
    expect_success(cudaMemset2D(device, pitch, 0, 4, 3));
    assert_int_equal(device[0], 0);
    assert_int_equal(device[1], 7);
    expect_success(cudaFree(device));
}

/* ---- streams and events ---- */

static void count_call(void *count) { ++*(int *)count; }

static void CUDART_CB count_callback(cudaStream_t stream, cudaError_t error, void *count)
{
    (void)stream;
    assert_int_equal(error, cudaSuccess);
    ++*(int *)count;
}

TEST(test_streams)
{
    cudaStream_t stream = NULL;
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    unsigned flags = 9;
    int calls = 0;

    expect_success(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    expect_success(cudaStreamGetFlags(stream, &flags));
    assert_int_equal(flags, cudaStreamNonBlocking);
    expect_success(cudaLaunchHostFunc(stream, count_call, &calls));
    expect_success(cudaStreamAddCallback(stream, count_callback, &calls, 0));
    assert_int_equal(calls, 2);
    expect_success(cudaStreamQuery(stream));
    expect_success(cudaStreamIsCapturing(stream, &status));
    assert_int_equal(status, cudaStreamCaptureStatusNone);
    expect_success(cudaStreamDestroy(stream));
    expect_success(cudaStreamSynchronize(cudaStreamLegacy));
    expect_success(cudaStreamSynchronize(cudaStreamPerThread));
    expect_error(cudaStreamDestroy(NULL), cudaErrorInvalidResourceHandle);
}

TEST(test_events)
{
    cudaEvent_t start = NULL, stop = NULL, untimed = NULL;
    float milliseconds = -1;

    expect_success(cudaEventCreate(&start));
    expect_success(cudaEventCreate(&stop));
    expect_success(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    expect_error(cudaEventElapsedTime(&milliseconds, start, stop), cudaErrorInvalidResourceHandle);
    expect_success(cudaEventRecord(start, 0));
    usleep(2000);
    expect_success(cudaEventRecord(stop, cudaStreamPerThread));
    expect_success(cudaEventSynchronize(stop));
    expect_success(cudaEventElapsedTime(&milliseconds, start, stop));
    assert_true(milliseconds >= 2 && milliseconds < 10000);
    expect_success(cudaEventRecord(untimed, 0));
    expect_success(cudaStreamWaitEvent(0, untimed, 0));
    expect_error(cudaEventElapsedTime(&milliseconds, start, untimed),
                 cudaErrorInvalidResourceHandle);
    expect_error(cudaEventRecord(NULL, 0), cudaErrorInvalidResourceHandle);
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    cudaEventDestroy(untimed);
}

/* ---- kernels of nvcc ---- */

TEST(test_foreign_kernel)
{
    const dim3 one = {1, 1, 1};
    capture c = start_capture();
    cudaError_t first = cudaLaunchKernel((const void *)test_errors, one, one, NULL, 0, 0);
    cudaError_t second = cudaLaunchKernel((const void *)test_errors, one, one, NULL, 0, 0);

    char *said = end_capture(c);
    assert_int_equal(first, cudaErrorNoKernelImageForDevice);
    assert_int_equal(second, cudaErrorNoKernelImageForDevice);
    assert_int_equal(cudaGetLastError(), cudaErrorNoKernelImageForDevice);
    assert_memory_equal(said, "tandem: host device: ", 21);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* one line, once */
    free(said);
}

TEST(test_reset)
{
    void *pointer = NULL;

    expect_success(cudaMalloc(&pointer, 1000));
    expect_success(cudaDeviceReset());
    assert_int_equal(free_bytes(), DEVICE_BYTES);
    expect_error(cudaFree(pointer), cudaErrorInvalidValue);
}
