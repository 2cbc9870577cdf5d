/* partition.h - streams whose kernels leave some of the device's multiprocessors to all others, by
 * a green context of the driver's. */
#ifndef TD_CUDA_PARTITION_H
#define TD_CUDA_PARTITION_H

#include <stdbool.h>

#include <cuda_runtime_api.h>

/* Makes `count` streams of these priorities, whose kernels never run on so many multiprocessors, or
 * some more, on which the largest cluster of thread blocks has room. False: the driver has no such
 * streams, or the current context is not the device's primary one, which all of them belong to; no
 * stream is made then. They last as long as the context. */
bool td_partition_streams(int multiprocessors, const int *priorities, cudaStream_t *streams,
                          int count);

#endif
