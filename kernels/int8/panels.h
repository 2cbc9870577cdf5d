/* panels.h - products of int8 panels of which only the device knows how many are wanted. */
#ifndef TD_INT8_MULTIPLY_H
#define TD_INT8_MULTIPLY_H

#include "../ozaki/ozaki.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C = A B^T for each plane of each member of a batch: A is m lines, B is n lines of int8, elements of k next to each
 * other; C is m x n of int32, column-major, modulo 2^32. m, n and the leading dimensions are multiples of TD_LINE_PAD, k is
 * one of TD_K_PAD; panels and all distances between them are multiples of 16 bytes, those of C of 8. All of these count
 * elements. */
typedef struct {
    const int8_t *a, *b; /* [m][ld_a], [n][ld_b] */
    int32_t *c;          /* [n][ld_c] */
    int64_t m, n, k, ld_a, ld_b, ld_c;
    int64_t stride_a, stride_b, stride_c; /* from one plane to the next */
    int64_t batch_a, batch_b, batch_c;    /* from one member to the next */
    int planes, batch;
    int accumulate; /* C += A B^T; else C need not hold numbers */

    /* [batch]: plane p is wanted if plane_first + p < parameter; NULL: all are. */
    const td_choice *choice;
    int plane_first;
} td_int8_multiply;
cudaError_t td_int8_multiply_run(const td_int8_multiply *multiply, cudaStream_t stream);

/* Loads the kernels on the current device: once, before the first launch. */
cudaError_t td_int8_multiply_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
