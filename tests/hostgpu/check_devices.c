/* check_devices.c - several devices, several contexts of one, and what a reset leaves. Run with
 * HOSTGPU_DEVICES=3 and HOSTGPU_MEMORY=64M. */
#include <pthread.h>
#include <cublas_v2.h>
#include <cuda.h>

#include "../../hostgpu/executor.h"
#include "executor_kernels.h"
#include "expect.h"

enum { DEVICES = 3, COUNT = 100 };

static struct cudaPointerAttributes attributes_of(const void *pointer)
{
    struct cudaPointerAttributes attributes;

    expect_success(cudaPointerGetAttributes(&attributes, pointer));
    return attributes;
}

/* ---- the driver's functions, found as programs find them ---- */

static struct {
    CUresult (*get_current)(CUcontext *);
    CUresult (*set_current)(CUcontext);
    CUresult (*get_id)(CUcontext, unsigned long long *);
    CUresult (*create)(CUcontext *, unsigned, CUdevice);
    CUresult (*destroy)(CUcontext);
    CUresult (*reset_primary)(CUdevice);
} driver;

static int find_driver(void **state)
{
    const struct {
        const char *name;
        unsigned version;
        void *function;
    } wanted[] = {
        {"cuCtxGetCurrent", 4000, &driver.get_current},
        {"cuCtxSetCurrent", 4000, &driver.set_current},
        {"cuCtxGetId", 12000, &driver.get_id},
        {"cuCtxCreate", 4000, &driver.create},
        {"cuCtxDestroy", 4000, &driver.destroy},
        {"cuDevicePrimaryCtxReset", 11000, &driver.reset_primary},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (cudaGetDriverEntryPointByVersion(wanted[i].name, wanted[i].function, wanted[i].version,
                                             0, NULL) != cudaSuccess)
            return 1;
    return 0;
}

static unsigned long long context_id(void)
{
    unsigned long long id = 0;

    assert_int_equal(driver.get_id(NULL, &id), CUDA_SUCCESS);
    return id;
}

/* ---- several devices ---- */

TEST(test_choice_of_a_device)
{
    struct cudaDeviceProp first, second;
    int count = 0, device = -1;

    expect_success(cudaGetDeviceCount(&count));
    assert_int_equal(count, DEVICES);
    expect_success(cudaSetDevice(2));
    expect_success(cudaGetDevice(&device));
    assert_int_equal(device, 2);
    expect_error(cudaSetDevice(DEVICES), cudaErrorInvalidDevice);
    expect_success(cudaGetDevice(&device));
    assert_int_equal(device, 2);
    expect_success(cudaGetDeviceProperties(&first, 0));
    expect_success(cudaGetDeviceProperties(&second, 1));
    assert_memory_not_equal(&first.uuid, &second.uuid, sizeof first.uuid);
    expect_success(cudaDeviceGetByPCIBusId(&device, "0000:00:01.0"));
    assert_int_equal(device, 1);
    expect_error(cudaDeviceGetByPCIBusId(&device, "0000:00:03.0"), cudaErrorInvalidDevice);
    expect_success(cudaDeviceCanAccessPeer(&count, 0, 1));
    assert_int_equal(count, 0);
    expect_error(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessUnsupported);
    expect_success(cudaSetDevice(0));
}

static void *device_of_thread(void *device)
{
    return cudaGetDevice(device) || *(int *)device != 0 || cudaSetDevice(1) ? NULL : device;
}

TEST(test_threads_choose_for_themselves)
{
    pthread_t thread;
    void *result = NULL;
    int device = -1;

    expect_success(cudaSetDevice(2));
    pthread_create(&thread, NULL, device_of_thread, &device);
    pthread_join(thread, &result);
    assert_non_null(result);
    expect_success(cudaGetDevice(&device));
    assert_int_equal(device, 2);
    expect_success(cudaSetDevice(0));
}

TEST(test_memory_belongs_to_a_device)
{
    char *on[2], *managed = NULL;

    for (int d = 0; d < 2; d++) {
        expect_success(cudaSetDevice(d));
        expect_success(cudaMalloc((void **)&on[d], 1000));
        assert_int_equal(free_bytes(), DEVICE_BYTES - 1000);
    }
    expect_success(cudaSetDevice(2));
    assert_int_equal(free_bytes(), DEVICE_BYTES);
    expect_success(cudaMallocManaged((void **)&managed, 8, cudaMemAttachGlobal));
    for (int d = 0; d < 2; d++) assert_int_equal(attributes_of(on[d] + 5).device, d);
    assert_int_equal(attributes_of(managed).device, 2);

    memset(on[0], 1, 1000);
    expect_success(cudaMemcpyPeer(on[1], 1, on[0], 0, 1000));
    assert_int_equal(on[1][999], 1);
    expect_error(cudaMemcpyPeer(on[1], 0, on[0], 0, 1000), cudaErrorInvalidValue);
    expect_error(cudaMemcpyPeer(on[1], DEVICES, on[0], 0, 1000), cudaErrorInvalidDevice);
    for (int d = 0; d < 2; d++) expect_success(cudaFree(on[d]));
    expect_success(cudaFree(managed));
    for (int d = 0; d < DEVICES; d++) {
        expect_success(cudaSetDevice(d));
        assert_int_equal(free_bytes(), DEVICE_BYTES);
    }
    expect_success(cudaSetDevice(0));
}

TEST(test_pools_belong_to_a_device)
{
    cudaMemPool_t of[2], own = NULL;
    cudaStream_t stream = NULL;
    void *memory = NULL;
    struct cudaMemPoolProps properties = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice, .id = 1},
    };

    expect_success(cudaDeviceGetDefaultMemPool(&of[0], 0));
    expect_success(cudaDeviceGetDefaultMemPool(&of[1], 1));
    assert_ptr_not_equal(of[0], of[1]);
    expect_error(cudaDeviceGetDefaultMemPool(&of[0], DEVICES), cudaErrorInvalidDevice);
    expect_error(cudaDeviceSetMemPool(0, of[1]), cudaErrorInvalidValue);
    expect_success(cudaMemPoolCreate(&own, &properties));
    expect_success(cudaMallocFromPoolAsync(&memory, 8, own, NULL));
    assert_int_equal(attributes_of(memory).device, 1);
    expect_success(cudaFree(memory));
    expect_success(cudaMemPoolDestroy(own));
    properties.location.id = DEVICES;
    expect_error(cudaMemPoolCreate(&own, &properties), cudaErrorInvalidValue);

    expect_success(cudaSetDevice(1));
    expect_success(cudaStreamCreate(&stream));
    expect_success(cudaSetDevice(0));
    expect_success(cudaMallocAsync(&memory, 8, stream)); /* where the stream is */
    assert_int_equal(attributes_of(memory).device, 1);
    expect_success(cudaFreeAsync(memory, stream));
    expect_success(cudaStreamDestroy(stream));
}

TEST(test_streams_belong_to_a_device)
{
    cudaStream_t stream = NULL;
    cudaEvent_t here = NULL, there = NULL;
    double *y = NULL;
    float milliseconds;
    int device = -1;

    expect_success(cudaSetDevice(0));
    expect_success(cudaMalloc((void **)&y, COUNT * sizeof *y));
    expect_success(cudaEventCreate(&here));
    expect_success(cudaSetDevice(1));
    expect_success(cudaStreamCreate(&stream));
    expect_success(cudaEventCreate(&there));
    expect_success(launch_update(0, 1, COUNT, y, stream));
    expect_success(cudaSetDevice(0));
    expect_success(cudaStreamGetDevice(stream, &device));
    assert_int_equal(device, 1);
    expect_error(launch_update(0, 1, COUNT, y, stream), cudaErrorInvalidResourceHandle);
    expect_success(cudaMemsetAsync(y, 0, 8, stream)); /* this may be */
    expect_error(cudaEventRecord(here, stream), cudaErrorInvalidResourceHandle);
    expect_error(cudaEventRecord(there, NULL), cudaErrorInvalidResourceHandle);
    expect_success(cudaEventRecord(there, stream));
    expect_success(cudaEventRecord(here, NULL));
    expect_success(cudaStreamWaitEvent(stream, here, 0));
    expect_success(cudaEventSynchronize(there));
    expect_error(cudaEventElapsedTime(&milliseconds, here, there), cudaErrorInvalidResourceHandle);
    expect_success(cudaEventDestroy(here));
    expect_success(cudaEventDestroy(there));
    expect_success(cudaStreamDestroy(stream));
    expect_success(cudaFree(y));
}

static cublasStatus_t multiply(cublasHandle_t handle, const double *x)
{
    const double one = 1;

    return cublasDscal(handle, 1, &one, (double *)(uintptr_t)x, 1);
}

static cublasStatus_t multiply_quietly(cublasHandle_t handle, const double *x, const char *says)
{
    capture c = start_capture();
    const cublasStatus_t status = multiply(handle, x);
    char *said = end_capture(c);

    assert_non_null(strstr(said, says));
    free(said);
    return status;
}

TEST(test_cublas_belongs_to_a_device)
{
    cublasHandle_t handle = NULL;
    double *on[2];

    for (int d = 1; d >= 0; d--) {
        expect_success(cudaSetDevice(d));
        expect_success(cudaMalloc((void **)&on[d], sizeof(double)));
    }
    assert_int_equal(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(multiply(handle, on[0]), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(multiply_quietly(handle, on[1], "device memory"),
                     CUBLAS_STATUS_EXECUTION_FAILED);
    expect_success(cudaSetDevice(1));
    assert_int_equal(multiply_quietly(handle, on[1], "is not the current one"),
                     CUBLAS_STATUS_EXECUTION_FAILED);
    expect_success(cudaSetDevice(0));
    assert_int_equal(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
    for (int d = 0; d < 2; d++) expect_success(cudaFree(on[d]));
}

/* ---- resets ---- */

/* One of everything that a context holds. */
typedef struct {
    double *memory, *host, *pooled;
    cudaStream_t stream;
    cudaEvent_t event;
    cublasHandle_t handle;
} belongings;

static belongings acquire(void)
{
    belongings b;

    expect_success(cudaMalloc((void **)&b.memory, COUNT * sizeof *b.memory));
    expect_success(cudaMallocHost((void **)&b.host, sizeof *b.host));
    expect_success(cudaMallocAsync((void **)&b.pooled, sizeof *b.pooled, NULL));
    expect_success(cudaStreamCreate(&b.stream));
    expect_success(cudaEventCreate(&b.event));
    assert_int_equal(cublasCreate(&b.handle), CUBLAS_STATUS_SUCCESS);
    expect_success(launch_update(0, 1, COUNT, b.memory, b.stream));
    return b;
}

static void check_dead(const belongings *b)
{
    assert_int_equal(attributes_of(b->memory).type, cudaMemoryTypeUnregistered);
    assert_int_equal(attributes_of(b->host).type, cudaMemoryTypeUnregistered);
    expect_error(cudaFree(b->memory), cudaErrorInvalidValue);
    expect_error(cudaFreeHost(b->host), cudaErrorInvalidValue);
    expect_error(cudaStreamSynchronize(b->stream), cudaErrorInvalidResourceHandle);
    expect_error(cudaStreamDestroy(b->stream), cudaErrorInvalidResourceHandle);
    expect_error(cudaEventQuery(b->event), cudaErrorInvalidResourceHandle);
    expect_error(cudaEventRecord(b->event, NULL), cudaErrorInvalidResourceHandle);
    expect_error(cudaEventDestroy(b->event), cudaErrorInvalidResourceHandle);
    assert_int_equal(multiply_quietly(b->handle, b->pooled, "is gone"),
                     CUBLAS_STATUS_EXECUTION_FAILED);
    assert_int_equal(cublasDestroy(b->handle), CUBLAS_STATUS_SUCCESS);

    /* CUDA: memory of pools stays. */
    assert_int_equal(attributes_of(b->pooled).type, cudaMemoryTypeDevice);
    expect_success(cudaFree(b->pooled));
}

static void release(const belongings *b)
{
    expect_success(cudaFree(b->memory));
    expect_success(cudaFreeHost(b->host));
    expect_success(cudaFree(b->pooled));
    expect_success(cudaStreamDestroy(b->stream));
    expect_success(cudaEventDestroy(b->event));
    assert_int_equal(cublasDestroy(b->handle), CUBLAS_STATUS_SUCCESS);
}

static void check_reset(bool by_driver)
{
    belongings here, there;
    unsigned long long id;
    int own = 0;

    expect_success(cudaSetDevice(1));
    there = acquire();
    expect_success(cudaSetDevice(0));
    here = acquire();
    id = context_id();
    assert_true(hostgpu_loaded_kernels() > 0);
    expect_success(cudaHostRegister(&own, sizeof own, 0));
    if (by_driver)
        assert_int_equal(driver.reset_primary(0), CUDA_SUCCESS);
    else
        expect_success(cudaDeviceReset());

    check_dead(&here);
    assert_int_equal(attributes_of(&own).type, cudaMemoryTypeUnregistered);
    assert_int_equal(free_bytes(), DEVICE_BYTES);
    assert_int_equal(hostgpu_loaded_kernels(), 0); /* and a new context is there */
    assert_int_not_equal(context_id(), id);
    here = acquire();
    release(&here);

    expect_success(cudaSetDevice(1)); /* which was not reset */
    release(&there);
    expect_success(cudaSetDevice(0));
}

TEST(test_reset)
{
    check_reset(false);
    check_reset(true);
}

/* The address of a primary context says nothing of its life. */
TEST(test_reset_keeps_the_address)
{
    CUcontext before = NULL, after = NULL;

    expect_success(cudaSetDevice(0));
    assert_int_equal(driver.get_current(&before), CUDA_SUCCESS);
    expect_success(cudaDeviceReset());
    expect_success(cudaFree(NULL));
    assert_int_equal(driver.get_current(&after), CUDA_SUCCESS);
    assert_ptr_equal(before, after);
}

/* What kernels may do is set anew in each context. */
TEST(test_attributes_of_kernels_are_reset)
{
    int *out = NULL;

    expect_success(allow_large_shared(100 << 10));
    expect_success(cudaMalloc((void **)&out, sizeof *out));
    expect_success(launch_large_shared(100 << 10, out));
    expect_success(cudaDeviceReset());
    expect_success(cudaMalloc((void **)&out, sizeof *out));
    expect_error(launch_large_shared(100 << 10, out), cudaErrorInvalidValue);
    expect_success(cudaFree(out));
}

/* ---- contexts ---- */

TEST(test_two_contexts_of_a_device)
{
    CUcontext primary = NULL, second = NULL, current = NULL;
    belongings first, others;
    unsigned long long id;
    int device = -1;

    expect_success(cudaSetDevice(1));
    first = acquire();
    id = context_id();
    assert_int_equal(driver.get_current(&primary), CUDA_SUCCESS);
    assert_int_equal(driver.create(&second, 0, 1), CUDA_SUCCESS);
    assert_int_equal(driver.get_current(&current), CUDA_SUCCESS);
    assert_ptr_equal(current, second);
    assert_int_not_equal(context_id(), id);
    expect_success(cudaGetDevice(&device));
    assert_int_equal(device, 1);
    assert_int_equal(hostgpu_loaded_kernels(), 0);
    expect_error(launch_update(0, 1, COUNT, first.memory, first.stream),
                 cudaErrorInvalidResourceHandle);
    expect_success(launch_update(0, 1, COUNT, first.memory, NULL)); /* one device: one memory */
    others = acquire();
    assert_int_equal(driver.set_current(primary), CUDA_SUCCESS);
    assert_int_equal(context_id(), id);
    release(&first);
    assert_int_equal(driver.destroy(second), CUDA_SUCCESS);
    check_dead(&others);
    assert_int_equal(driver.destroy(second), CUDA_ERROR_INVALID_CONTEXT);
    expect_success(cudaSetDevice(0));
}

static void *keep_context(void *context)
{
    void *memory = NULL;

    if (driver.set_current(context) || driver.destroy(context)) return NULL;
    return cudaMalloc(&memory, 8) ? NULL : context; /* in the primary one */
}

TEST(test_a_destroyed_context_is_refused)
{
    CUcontext second = NULL, third = NULL;
    pthread_t thread;
    void *memory = NULL, *result = NULL;

    assert_int_equal(driver.create(&second, 0, 0), CUDA_SUCCESS);
    expect_success(cudaMalloc(&memory, 8));
    pthread_create(&thread, NULL, keep_context, second);
    pthread_join(thread, &result);
    assert_non_null(result);
    expect_error(cudaMalloc(&memory, 8), cudaErrorContextIsDestroyed);
    assert_int_equal(driver.create(&third, 0, 0), CUDA_SUCCESS);
    assert_ptr_equal(third, second); /* the memory is used again; the life is another */
    assert_int_equal(driver.destroy(third), CUDA_SUCCESS);
    expect_error(cudaMalloc(&memory, 8), cudaErrorContextIsDestroyed);
    expect_success(cudaSetDevice(0));
    expect_success(cudaMalloc(&memory, 8));
    expect_success(cudaDeviceReset());
}

TEST(test_entry_points)
{
    enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSuccess;
    void *function = &function;

    expect_success(cudaGetDriverEntryPointByVersion("cuNone", &function, 13000, 0, &result));
    assert_int_equal(result, cudaDriverEntryPointSymbolNotFound);
    assert_null(function);
    expect_success(cudaGetDriverEntryPointByVersion("cuCtxGetId", &function, 11000, 0, &result));
    assert_int_equal(result, cudaDriverEntryPointVersionNotSufficent);
    expect_error(cudaGetDriverEntryPointByVersion("cuNone", &function, 13000, 0, NULL),
                 cudaErrorSymbolNotFound);
}

int main(void) { return test_run(.set_up = find_driver); }
