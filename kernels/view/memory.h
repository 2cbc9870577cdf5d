/* memory.h - the memory that a call reads and writes, and whether it is there, for host C. */
#ifndef TD_VIEW_MEMORY_H
#define TD_VIEW_MEMORY_H

#include <cuda_runtime_api.h>

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A matrix of every member of the batch: rows x columns elements are read or written. 0 rows:
 * nothing is. */
typedef struct {
    td_matrix matrix;
    int64_t rows, columns;
} td_extent;

/* Whole numbers, such as the pivots of all members; data NULL: there are none. */
typedef struct {
    const int *data;
    int64_t count;
} td_ints;

typedef struct {
    td_extent written, read[4];
    td_extent added; /* with a beta of 0 it is not read */
    td_ints ints[2];
    const void *alpha,
        /* in device memory; NULL: elsewhere. With an alpha of 0 nothing of `read` is read. */
        *beta;
    int64_t batch, element_bytes, alpha_bytes, beta_bytes;
} td_memory;

/* In the stream's order: cudaErrorIllegalAddress if the current device cannot reach all of the
 * memory that describe(call) says. A GPU finds that out by itself, so that nothing is described or
 * done for it; the host device, whose kernels would read or end the program's own memory, asks. */
cudaError_t td_memory_check(td_memory (*describe)(const void *call), const void *call,
                            cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
