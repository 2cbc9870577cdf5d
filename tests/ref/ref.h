/* ref.h - what products should be, in plain C for matrices in host memory: the definition of mode df bit for bit, a
 * plain binary64 loop, and the distance from the exact product. */
#ifndef REF_H
#define REF_H

#include <stdint.h>

#include "../../include/tandem.h"

/* C <- alpha op(A) op(B) + beta C; column-major, as for tandem_dgemm. */
typedef struct {
    tandem_op op_a, op_b;
    int64_t m, n, k;
    double alpha, beta;
    const double *a, *b;
    double *c;
    int64_t lda, ldb, ldc;
} ref_gemm;

/* The same with double-float matrices and scalars. */
typedef struct {
    tandem_op op_a, op_b;
    int64_t m, n, k;
    tandem_df alpha, beta;
    const tandem_df *a, *b;
    tandem_df *c;
    int64_t lda, ldb, ldc;
} ref_dfgemm;

/* Mode df. Returns how many elements were left to binary64. */
int64_t ref_df(const ref_gemm *p);
void ref_df_typed(const ref_dfgemm *p);

/* One chain of binary64 FMAs for each element, in the order of k: NaN and infinities as IEEE 754 has them. */
void ref_ieee(const ref_gemm *p);

/* The distance of `value` from element (i, j) of the exact alpha op(A) op(B) + beta C, relative to that element of
 * |alpha||A||B| + |beta||C|, where C holds what it was before the product. Not counted: the roundings of a result
 * below 2^-1022. 0 for an infinite value where the exact one is beyond binary64. Operands must be finite. */
double ref_error(const ref_gemm *p, int64_t i, int64_t j, double value);

/* The same for double-float operands and value. */
double ref_error_typed(const ref_dfgemm *p, int64_t i, int64_t j, tandem_df value);

static inline int64_t ref_index_a(tandem_op op, int64_t i, int64_t l, int64_t ld)
{
    return op == TANDEM_OP_N ? i + l * ld : l + i * ld;
}

static inline int64_t ref_index_b(tandem_op op, int64_t l, int64_t j, int64_t ld)
{
    return op == TANDEM_OP_N ? l + j * ld : j + l * ld;
}

#endif
