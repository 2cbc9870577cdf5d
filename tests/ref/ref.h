/* ref.h - what products should be, in plain C for matrices in host memory: the definition of every
 * multi-float mode and of every typed product bit for bit, a plain binary64 loop, and the distance
 * from the exact product. */
#ifndef REF_H
#define REF_H

#include <stdbool.h>
#include <stddef.h>
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

typedef struct ref_format ref_format;

/* A product with matrices and scalars of a multi-float type. */
typedef struct {
    const ref_format *format;
    tandem_op op_a, op_b;
    int64_t m, n, k;
    const void *alpha, *beta;
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
} ref_typed;

/* A multi-float format: a mode, and a type. */
struct ref_format {
    const char *mode, *type; /* as in TANDEM_MODE; as in tandem_TYPE */
    size_t bytes, alignment; /* of the type */
    int parts;

    /* The mode. Returns how many elements were repaired. */
    int64_t (*product)(const ref_gemm *p);
    void (*typed)(const ref_typed *p);

    /* One element, from and to binary64. */
    void (*split)(double x, void *s);
    double (*join)(const void *s);

    /* The parts of *s, the largest first. */
    void (*get)(const void *s, double part[3]);
};

extern const ref_format ref_df_format, ref_ts_format, ref_dd_format, ref_ds_format;
enum { REF_FORMATS = 4 };
extern const ref_format *const ref_formats[REF_FORMATS];

/* The format of a mode, or NULL. */
const ref_format *ref_find(const char *mode);

/* tandem_tsgemm_sliced, for products of tandem_ts. */
void ref_ts_sliced(int slices, const ref_typed *p);

/* Bits of one slice, and of all: numbers are rounded to multiples of 2^(1 - all) times the power of
 * two above the largest of their row or column. slices: 0 is the default. */
int ref_slice_bits(int64_t k);
int64_t ref_sliced_bits(int slices, int64_t k);

/* The product of binary64 matrices as one of a type with a single part. Only for distances from the
 * exact product. */
ref_typed ref_as_typed(const ref_gemm *p);

/* C <- beta C, where alpha or k is 0: no mode does it otherwise. C stays as it is if beta is 1;
 * else a zero is +0. */
void ref_scale(const ref_gemm *p);

/* Elements of k that repairs in binary64 add up to a sum of its own: kernels/repair/binary64.h. */
int64_t ref_binary64_block(int64_t k);

/* Mode fp64: blocks of ref_binary64_block() elements of k, each a chain of FMAs, whose sums are
 * added up in order; then alpha and beta as cuBLAS has them. */
void ref_binary64_product(const ref_gemm *p);

/* One chain of binary64 FMAs for each element, in the order of k: NaN and infinities as IEEE 754
 * has them. */
void ref_ieee(const ref_gemm *p);

/* Mode faithful, and its variants: each element of the exact alpha op(A) op(B) + beta C rounded
 * once to binary64, ties to even, +0 for 0. Where alpha, beta, a C that counts, or anything in the
 * row or column is not finite: as ref_ieee. */
bool ref_is_faithful(const char *mode);
void ref_faithful_product(const ref_gemm *p);
void ref_faithful_element(const ref_gemm *p, int64_t i, int64_t j); /* this one alone */

/* How far a value is from element (i, j) of the exact alpha op(A) op(B) + beta C, relative to that
 * element of |alpha||A||B| + |beta||C|, where C holds what it was before the product. Operands must
 * be finite. */
typedef struct {
    /* Not counted: rounding a result below 2^-1022 to 53 bits, then to a multiple of 2^-1074. */
    double error;
    /* nor half a unit in the last place of the value: what was wrong before it was rounded, at
     * least */
    double unrounded;
    double nearest;        /* the exact element rounded to binary64 */
    long double off, size; /* the distance itself, and what errors are relative to */
} ref_distance;

/* An infinite value where the exact one is beyond binary64 has no error, and elsewhere that of the
 * least sum that is rounded to infinity. */
ref_distance ref_measure(const ref_gemm *p, int64_t i, int64_t j, double value);

/* Of a typed value; without the exceptions above. */
double ref_error_typed(const ref_typed *p, int64_t i, int64_t j, const void *value);

static inline int64_t ref_index_a(tandem_op op, int64_t i, int64_t l, int64_t ld)
{
    return op == TANDEM_OP_N ? i + l * ld : l + i * ld;
}

static inline int64_t ref_index_b(tandem_op op, int64_t l, int64_t j, int64_t ld)
{
    return op == TANDEM_OP_N ? l + j * ld : j + l * ld;
}

#endif
