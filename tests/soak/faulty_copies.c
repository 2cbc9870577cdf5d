/* faulty_copies.c - in soak's own place before the CUDA runtime: some copies to the host end with
 * another last bit in their first number, and some lose a mebibyte of the device's memory. A soak
 * that finds neither is worth nothing. */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdatomic.h>

enum { PERIOD = 5, LOST_BYTES = 1 << 20 };

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    static atomic_uint count;
    __typeof__(&cudaMemcpyAsync) original;
    void *lost;
    *(void **)&original = dlsym(RTLD_NEXT, "cudaMemcpyAsync");
    const cudaError_t status =
        original ? original(to, from, bytes, kind, stream) : cudaErrorSharedObjectSymbolNotFound;
    if (kind != cudaMemcpyDeviceToHost || atomic_fetch_add(&count, 1) % PERIOD) return status;
    (void)cudaStreamSynchronize(stream);
    *(char *)to ^= 1;
    (void)cudaMalloc(&lost, LOST_BYTES);
    return status;
}
