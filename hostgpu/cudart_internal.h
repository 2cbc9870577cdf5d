/* cudart_internal.h - shared by the files of the stand-in for the CUDA runtime. */
#ifndef HOSTGPU_CUDART_INTERNAL_H
#define HOSTGPU_CUDART_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

/* For functions that are also called under the name that nvcc's per-thread default stream gives them. */
#define HOSTGPU_ALSO(function, suffix)                                                             \
    extern __typeof__(function) function##suffix __attribute__((alias(#function)))

/* cudart_error.c: remembers an error as the calling thread's last one; returns it. */
cudaError_t hostgpu_record(cudaError_t error);

/* cudart_kernel.c: dynamic shared memory that a kernel may ask for, in bytes. */
size_t hostgpu_shared_limit(const void *function);

/* cudart_stream.c: true for the default streams and for live streams. */
bool hostgpu_is_stream(cudaStream_t stream);

/* ---- registry.c: the memory that the runtime knows ---- */

typedef enum {
    HOSTGPU_DEVICE,    /* cudaMalloc and its kin */
    HOSTGPU_MANAGED,   /* cudaMallocManaged */
    HOSTGPU_HOST,      /* cudaHostAlloc */
    HOSTGPU_REGISTERED /* cudaHostRegister: the application's own */
} hostgpu_memory_kind;

typedef struct {
    uintptr_t start;
    size_t bytes;
    hostgpu_memory_kind kind;
    unsigned flags;     /* of cudaHostAlloc or cudaHostRegister */
    cudaMemPool_t pool; /* NULL: none */
} hostgpu_range;

/* False if memory for the entry cannot be had. */
bool hostgpu_registry_add(const hostgpu_range *range);

/* Takes out the range that starts at `start`; false if there is none of that kind. */
bool hostgpu_registry_take(const void *start, hostgpu_memory_kind kind, hostgpu_range *taken);

/* The range that holds the address; false if there is none. */
bool hostgpu_registry_find(const void *address, hostgpu_range *found);

/* Takes out any range of the kind; false when none is left. */
bool hostgpu_registry_take_any(hostgpu_memory_kind kind, hostgpu_range *taken);

/* ---- cudart_memory.c ---- */

/* `bytes` bytes of fresh device memory of the kind, all 0xFF. */
cudaError_t hostgpu_allocate(void **pointer, size_t bytes, hostgpu_memory_kind kind,
                             cudaMemPool_t pool);

/* cudart_pool.c: accounts for memory of a pool. `take` fails where the pool would grow beyond its limit. */
cudaError_t hostgpu_pool_take(cudaMemPool_t pool, size_t bytes);
void hostgpu_pool_give(cudaMemPool_t pool, size_t bytes);

#endif
