/* cublas.h - cuBLAS as engines use it: exact products of panels of small numbers, on the tensor
 * cores where it has them. And native products of binary64 matrices, where these are to be
 * compared.
 * It is the cuBLAS of the process, or, where the process has none, the newest that the loader
 * finds; the handles are Tandem's own, one for each context. */
#ifndef TD_CUBLAS_H
#define TD_CUBLAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#include "../../../kernels/igemm/plane_gemm.h"
#include "../../cuda/device.h"
#include "../../routine/parts.h"
#include "../../routine/problem.h"

/* Makes the handle of a device, which must be the current one, at the first call. False, said once
 * in the log, if there is no cuBLAS to be had; or if none was made before a stream that the legacy
 * stream waits for began to be captured. Safe in any thread and during stream capture. */
bool td_cublas_ready(td_device *device);

/* Enqueues; the device must be the current one. A single plane of int8 or float, or a single
 * member. False, said once in the log, if cuBLAS refuses: then C may hold anything. */
bool td_cublas_multiply(td_device *device, const td_panels *panels, cudaStream_t stream);

/* True if an int of cuBLAS counts the terms and leading dimensions of A and B, of which there is
 * one each: parts have fewer rows and columns anyway. */
bool td_cublas_counts(int64_t k, int64_t batch, const td_matrix *a, const td_matrix *b);

/* Enqueues a routine that td_native_knows (../native_call.h) in p->stream, in the arithmetic that a
 * program's own call has: CUBLAS_COMPUTE_64F_PEDANTIC takes 1.3 times as long on an H100. The
 * workspace is cuBLAS's to use, and may be NULL. False as above. */
bool td_cublas_run(td_device *device, const td_problem *p, void *workspace, size_t workspace_bytes);

/* In a child of fork(), which makes handles of its own. */
void td_cublas_after_fork(void);

#endif
