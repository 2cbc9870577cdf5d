/* cudart_kernel.c - kernels: attributes of those compiled for the host, and a clear refusal for
 * those that nvcc compiled for a GPU, so that a program which has some starts and can go on without
 * them. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudart_internal.h"
#include "worker.h"

/* ---- attributes ---- */

/* A kernel that is loaded into a context. */
typedef struct {
    const void *function;
    unsigned long long context; /* its life's number */
    size_t shared_limit;        /* dynamic shared memory that it may use */
} loaded_kernel;

static loaded_kernel *loaded;
static size_t loaded_count, loaded_room;
pthread_mutex_t hostgpu_kernels_lock = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. */
static loaded_kernel *find(const void *function, unsigned long long context)
{
    for (size_t i = 0; i < loaded_count; i++)
        if (loaded[i].function == function && loaded[i].context == context) return &loaded[i];
    return NULL;
}

/* Under the lock; in place of one whose context is gone, if there is one. */
static bool add(const void *function, unsigned long long context)
{
    const loaded_kernel fresh = {function, context, HOSTGPU_DEFAULT_SHARED};
    const size_t more = loaded_room ? 2 * loaded_room : 64;
    loaded_kernel *grown;

    for (size_t i = 0; i < loaded_count; i++)
        if (!hostgpu_is_context_number(loaded[i].context)) {
            loaded[i] = fresh;
            return true;
        }
    if (loaded_count == loaded_room) {
        grown = realloc(loaded, more * sizeof *grown);
        if (!grown) return false;
        loaded = grown;
        loaded_room = more;
    }
    loaded[loaded_count++] = fresh;
    return true;
}

cudaError_t hostgpu_load(const void *function)
{
    const unsigned long long context = hostgpu_context_number();
    cudaError_t error = cudaSuccess;

    pthread_mutex_lock(&hostgpu_kernels_lock);
    if (!find(function, context)) {
        error = hostgpu_refuse_unsafe();
        if (!error && hostgpu_fails(HOSTGPU_FAULT_LOAD)) error = cudaErrorNoKernelImageForDevice;
        if (!error && !add(function, context)) error = cudaErrorMemoryAllocation;
    }
    pthread_mutex_unlock(&hostgpu_kernels_lock);
    return error;
}

size_t hostgpu_loaded_kernels(void)
{
    const unsigned long long context = hostgpu_context_number();
    size_t count = 0;

    pthread_mutex_lock(&hostgpu_kernels_lock);
    for (size_t i = 0; i < loaded_count; i++) count += loaded[i].context == context;
    pthread_mutex_unlock(&hostgpu_kernels_lock);
    return count;
}

size_t hostgpu_shared_limit(const void *function)
{
    const unsigned long long context = hostgpu_context_number();

    pthread_mutex_lock(&hostgpu_kernels_lock);
    const loaded_kernel *kernel = find(function, context);
    const size_t bytes = kernel ? kernel->shared_limit : HOSTGPU_DEFAULT_SHARED;
    pthread_mutex_unlock(&hostgpu_kernels_lock);
    return bytes;
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
    const unsigned long long context = hostgpu_context_number();

    if (!function) return hostgpu_record(cudaErrorInvalidDeviceFunction);
    const cudaError_t error = hostgpu_load(function);
    if (error || attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
        return hostgpu_record(error);
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        value > HOSTGPU_MAX_SHARED)
        return hostgpu_record(cudaErrorInvalidValue);
    pthread_mutex_lock(&hostgpu_kernels_lock);
    find(function, context)->shared_limit = (size_t)value;
    pthread_mutex_unlock(&hostgpu_kernels_lock);
    return cudaSuccess;
}

cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config)
{
    (void)config;
    return hostgpu_record(function ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
    if (!attributes) return hostgpu_record(cudaErrorInvalidValue);
    if (!function) return hostgpu_record(cudaErrorInvalidDeviceFunction);
    const cudaError_t error = hostgpu_load(function);
    if (error) return hostgpu_record(error);
    memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = HOSTGPU_MAX_THREADS;
    attributes->numRegs = 32;
    attributes->ptxVersion = attributes->binaryVersion = 90;
    attributes->maxDynamicSharedSizeBytes = (int)hostgpu_shared_limit(function);
    return cudaSuccess;
}

/* As many blocks as fit by threads and by dynamic shared memory. */
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *function, int block_size, size_t shared_bytes, unsigned flags)
{
    enum { THREADS = 2048, BLOCKS = 32 };

    (void)flags;
    if (!blocks || block_size < 1) return hostgpu_record(cudaErrorInvalidValue);
    if (!function) return hostgpu_record(cudaErrorInvalidDeviceFunction);
    *blocks = block_size > HOSTGPU_MAX_THREADS ? 0 : THREADS / block_size;
    if (*blocks > BLOCKS) *blocks = BLOCKS;
    const size_t by_memory = shared_bytes ? HOSTGPU_MAX_SHARED / shared_bytes : BLOCKS;
    if (by_memory < (size_t)*blocks) *blocks = (int)by_memory;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                          int block_size, size_t shared_bytes)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size,
                                                                  shared_bytes, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function,
                                                      int blocks, int block_size)
{
    if (!bytes || blocks < 1 || block_size < 1) return hostgpu_record(cudaErrorInvalidValue);
    if (!function) return hostgpu_record(cudaErrorInvalidDeviceFunction);
    *bytes = HOSTGPU_MAX_SHARED / (size_t)blocks;
    return cudaSuccess;
}

/* ---- kernels compiled by nvcc ---- */

static cudaError_t refuse_launch(void)
{
    static atomic_flag is_said = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&is_said))
        fprintf(stderr, "tandem: host device: the program launches a GPU kernel of its own; only "
                        "kernels compiled for the host device can run without a GPU\n");
    return hostgpu_record(cudaErrorNoKernelImageForDevice);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                             size_t shared_bytes, cudaStream_t stream)
{
    (void)function, (void)grid, (void)block, (void)arguments, (void)shared_bytes, (void)stream;
    return refuse_launch();
}
HOSTGPU_ALSO(cudaLaunchKernel, _ptsz);

cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block,
                                        void **arguments, size_t shared_bytes, cudaStream_t stream)
{
    return cudaLaunchKernel(function, grid, block, arguments, shared_bytes, stream);
}
HOSTGPU_ALSO(cudaLaunchCooperativeKernel, _ptsz);

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
                                void **arguments)
{
    (void)config, (void)function, (void)arguments;
    return refuse_launch();
}
HOSTGPU_ALSO(cudaLaunchKernelExC, _ptsz);

cudaError_t cudaFuncGetName(const char **name, const void *function)
{
    if (name) *name = NULL;
    return hostgpu_record(name && function ? cudaErrorInvalidDeviceFunction
                                           : cudaErrorInvalidValue);
}

cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
    if (bytes) *bytes = 0;
    return hostgpu_record(bytes && symbol ? cudaErrorInvalidSymbol : cudaErrorInvalidValue);
}

/* ---- what code generated by nvcc calls; declared in no public header ---- */

void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, uint3 *thread, uint3 *block, dim3 *block_size,
                            dim3 *grid_size, int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_external,
                       size_t bytes, int is_constant, int is_global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                              int is_external, size_t bytes, int is_constant, int is_global);
char __cudaInitModule(void **handle);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared_bytes, cudaStream_t stream);

void **__cudaRegisterFatBinary(void *binary)
{
    static void *handle;

    (void)binary;
    return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }
void __cudaUnregisterFatBinary(void **handle) { (void)handle; }

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, uint3 *thread, uint3 *block, dim3 *block_size,
                            dim3 *grid_size, int *warp_size)
{
    (void)handle, (void)host, (void)device, (void)name, (void)limit, (void)thread, (void)block,
        (void)block_size, (void)grid_size, (void)warp_size;
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_external,
                       size_t bytes, int is_constant, int is_global)
{
    (void)handle, (void)host, (void)device, (void)name, (void)is_external, (void)bytes,
        (void)is_constant, (void)is_global;
}

/* The program reads and writes a managed variable through *host. */
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                              int is_external, size_t bytes, int is_constant, int is_global)
{
    (void)handle, (void)device, (void)name, (void)is_external, (void)is_constant, (void)is_global;
    *host = calloc(1, bytes);
}

char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

/* The configuration of kernel<<<...>>> between its two halves. */
static __thread struct {
    dim3 grid, block;
    size_t shared_bytes;
    void *stream;
} configuration;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, void *stream)
{
    configuration.grid = grid;
    configuration.block = block;
    configuration.shared_bytes = shared_bytes;
    configuration.stream = stream;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream)
{
    *grid = configuration.grid;
    *block = configuration.block;
    *shared_bytes = configuration.shared_bytes;
    *(void **)stream = configuration.stream;
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
    *kernel = (cudaKernel_t)(uintptr_t)function;
    return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared_bytes, cudaStream_t stream)
{
    return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}
HOSTGPU_ALSO(__cudaLaunchKernel, _ptsz);
