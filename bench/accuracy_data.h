/* accuracy_data.h - operands of bench/accuracy, binary64: magnitudes spread in the ways that fixed
 * point finds easy and hard. */
#ifndef BENCH_ACCURACY_DATA_H
#define BENCH_ACCURACY_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Both operands of a product: (u - shift) exp(phi g), u uniform in (0, 1), g normal. Bits are
 * ranges of exponents: a factor 2^x, x whole and uniform in [-bits/2, bits/2], for each row, column
 * or index along k. */
typedef struct {
    double shift, phi;
    int lines;   /* bits, of rows of A and columns of B */
    int along_a; /* bits, of columns of A */
    int along_b; /* bits, of rows of B; -along_a: the inverses of the factors of A */

    /* E > 0: instead of all this the BLAS grading "Test 4", x_l 2^e_l in A and x_l 2^-e_l in B: x_l
     * in (1, 2), e_l from E down to -E, l the sum of row and column modulo k. */
    int circulant;

    /* The second half of a sum undoes the first but for 2^-30 of it. k is even. */
    bool cancelling;
} accuracy_pattern;

typedef enum { ACCURACY_A, ACCURACY_B } accuracy_operand;

/* Enqueues on the default stream: A, lines x k, or B, k x lines, column-major without padding. The
 * line factors and those along k depend on the index alone, all else on the seed. */
cudaError_t accuracy_fill(const accuracy_pattern *pattern, accuracy_operand operand, uint64_t seed,
                          int64_t lines, int64_t k, double *matrix);

#ifdef __cplusplus
}
#endif

#endif
