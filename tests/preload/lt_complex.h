/* lt_complex.h - products of complex matrices by cublasLtMatmul, and layouts, for client_lt.c. */
#ifndef LT_COMPLEX_H
#define LT_COMPLEX_H

#include <stdbool.h>

#include <cublasLt.h>

/* A matrix in rows or in columns; `stride` elements from member to member. */
cublasLtMatrixLayout_t lt_layout(cudaDataType type, bool is_row, int64_t rows, int64_t columns,
                                 int64_t ld, int32_t members, int64_t stride);

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
