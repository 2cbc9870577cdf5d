/* counters.cu - counts of one call from the device's memory to the host's. */
#include "counters.h"
#include "portable.h"

#if TD_HAS_CUDA_DEVICE

static __device__ td_counters device_counters[TD_COUNTER_SLOTS];

cudaError_t td_counters_find(td_counters **counters)
{
    void *address = NULL;
    const cudaError_t error = cudaGetSymbolAddress(&address, device_counters);
    *counters = static_cast<td_counters *>(address);
    return error;
}

#else

static td_counters device_counters[TD_COUNTER_SLOTS];

cudaError_t td_counters_find(td_counters **counters)
{
    *counters = device_counters;
    return cudaSuccess;
}

#endif

static __global__ void move_kernel(td_counters *from, td_counters *to)
{
    const unsigned long long repaired = atomicExch(&from->repaired, 0ull);
    const unsigned long long tiles = atomicExch(&from->tiles, 0ull);
    const unsigned long long planes = atomicExch(&from->planes, 0ull);
    if (repaired) atomicAdd(&to->repaired, repaired);
    if (tiles) atomicAdd(&to->tiles, tiles);
    if (planes) atomicMax(&to->planes, planes);
}

cudaError_t td_counters_move(td_counters *from, td_counters *to, cudaStream_t stream)
{
    return TD_LAUNCH(move_kernel, dim3(1), dim3(1), 0, stream, from, to);
}

cudaError_t td_counters_prepare(void) { return td_load(cudaSuccess, move_kernel); }
