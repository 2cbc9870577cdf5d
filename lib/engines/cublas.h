/* cublas.h - cuBLAS as engines use it: exact products of panels of small numbers, on the tensor cores where it has them.
 * It is the cuBLAS of the process, or, where the process has none, the newest that the loader finds; the handles are
 * Tandem's own, one for each context. */
#ifndef TD_CUBLAS_H
#define TD_CUBLAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#include "../device.h"

/* Elements of A and B; those of C are int32 and float. int32 sums are modulo 2^32; float is IEEE's, never a shorter
 * type, but its sums are in an order of cuBLAS's choice. */
typedef enum { TD_PANEL_INT8, TD_PANEL_FLOAT } td_panel_type;

/* C = A B^T, `count` times: A is m lines, B is n lines, elements of k next to each other; C is m x n, column-major. Sizes
 * and leading dimensions are below 2^31; all count elements, not bytes. Tensor cores take int8 panels of which m and n
 * are multiples of 16, k is one of 64, leading dimensions and strides are of 16, and pointers of 256 bytes. */
typedef struct {
    td_panel_type type;
    int64_t m, n, k;
    const void *a, *b; /* [m][ld_a], [n][ld_b] */
    void *c;           /* [n][ld_c] */
    int64_t ld_a, ld_b, ld_c, stride_a, stride_b, stride_c;
    int count;
    bool accumulate; /* C += A B^T; else C need not hold numbers */

    /* Device memory that is cuBLAS's until the product is done, 256-byte aligned. Without enough of it cuBLAS takes
     * slower ways, or, below TD_CUBLAS_LEAST_WORKSPACE, may find none; it never takes memory of another stream. */
    void *workspace;
    size_t workspace_bytes;
} td_panels;

/* Bytes: the most that the vendor recommends for any device, and what no product fails for the lack of. */
enum { TD_CUBLAS_WORKSPACE = 32 << 20, TD_CUBLAS_LEAST_WORKSPACE = 16 << 10 };

/* Makes the handle of a device, which must be the current one, at the first call. False, said once in the log, if there
 * is no cuBLAS to be had. Safe in any thread and during stream capture. */
bool td_cublas_ready(td_device *device);

/* Enqueues; the device must be the current one. False, said once in the log, if cuBLAS refuses: then C may
 * hold anything. */
bool td_cublas_multiply(td_device *device, const td_panels *panels, cudaStream_t stream);

#endif
