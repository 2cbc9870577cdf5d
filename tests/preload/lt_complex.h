/* lt_complex.h - products of complex matrices by cublasLtMatmul, for client_lt.c. */
#ifndef LT_COMPLEX_H
#define LT_COMPLEX_H

#include <cublasLt.h>

/* Every order and operation, with C in place, elsewhere and nowhere, one matrix and a batch, and
 * scalars on host and device. A line each:
 *
 *   complex KIND of ABD OPS ... ; status N ; WHAT
 *
 * KIND is `product`, or `conjugate` if an operand is to be conjugated but not transposed as
 * columns;
 * WHAT: `right` if every part of D is near the exact one, else `wrong`. */
void multiply_complex(cublasLtHandle_t handle, __typeof__(&cublasLtMatmul) matmul);

#endif
