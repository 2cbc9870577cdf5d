/* double_split.h - products of binary64 digits, whose sums over k are whole numbers below 2^53 and
 * so exact: mode faithful:fp64. Digits are as slices.h has them. Those of the weight p + q are
 * added up in one plane, of the weights below `slices` alone. Most digits of the last slices are
 * often zero: what is zero or sparse is found out, line by line, and not multiplied, or element by
 * element. For host C and for kernels; every function enqueues on `stream`, waits for nothing, and
 * returns the launch's status. */
#ifndef TD_DOUBLE_SPLIT_H
#define TD_DOUBLE_SPLIT_H

#include <cuda_runtime_api.h>

#include "../crt/finish_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a part of a product, for one pass over k; of op(A) and of op(B). */
typedef struct {
    int slices, batch;
    /* [batch]: of a member's slices only the first choice.parameter are used */
    const td_choice *choice;
    int bits;         /* log2 of the base */
    int lines[2];     /* padded to TD_LINE_PAD */
    int64_t k;        /* padded to TD_K_PAD */
    double *digit[2]; /* [batch][slices][lines][k] */

    /* Digits that are not zero: how many, but of those beyond `capacity` only that there are more;
     * and where on k, if there are not. */
    int32_t *count[2]; /* [batch][slices][lines] */
    int32_t *where[2]; /* [batch][slices][lines][capacity] */
    int capacity;

    double *sum;      /* [batch][slices][lines[1]][lines[0]]: by weight, the largest first */
    int accumulate;   /* sums are added to; else they need not hold numbers */
    td_region region; /* of C: sums of tiles that it does not meet are not made */
} td_double_slices;

/* Counts and places. */
cudaError_t td_double_slices_count(const td_double_slices *slices, cudaStream_t stream);

/* Sums: first of the pairs of slices that are dense, and zeros; then of the others. */
cudaError_t td_double_slices_multiply(const td_double_slices *slices, cudaStream_t stream);
cudaError_t td_double_slices_multiply_sparse(const td_double_slices *slices, cudaStream_t stream);

/* C and masks. X is the sum of plane i times base^(slices - 1 - i), of TD_EXACT_LIMBS. */
cudaError_t td_double_slices_finish(const td_double_slices *slices, const td_finish *finish,
                                    cudaStream_t stream);

/* Loads these kernels on the current device: once, before the first launch. */
cudaError_t td_double_slices_prepare(void);
cudaError_t td_double_multiply_prepare(void);
cudaError_t td_double_sparse_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
