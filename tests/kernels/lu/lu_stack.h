/* lu_stack.h - stacks of small matrices of the four types for the tests of LU kernels: on the host
 * and on the device, with NaN between the columns, between the matrices and after the last. */
#ifndef LU_STACK_H
#define LU_STACK_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>

#include "kernels/lu/lu.h"
#include "tests/support/random.h"

typedef struct {
    td_lu_type type;
    int rows, cols, ld, count;
    size_t number_bytes, matrix_bytes, bytes;
    char *host, *device;
    void **pointers; /* on the device */
} lu_stack;

/* All numbers are poison; with `pad` more rows than there are. */
lu_stack lu_stack_make(td_lu_type type, int rows, int cols, int pad, int count);
lu_stack lu_stack_copy(const lu_stack *s);
void lu_stack_free(lu_stack *s);
void lu_stack_upload(const lu_stack *s);
void lu_stack_download(lu_stack *s);

static inline void *lu_stack_at(const lu_stack *s, int index)
{
    return s->host + (size_t)index * s->matrix_bytes;
}

double complex lu_get(const lu_stack *s, int index, int i, int j);
void lu_put(const lu_stack *s, int index, int i, int j, double complex x);

/* Fails unless the two have the same bits, poison included; a NaN is like any other. */
void lu_stack_compare(const lu_stack *given, const lu_stack *wanted, const char *what);

/* Kinds of matrices. */
typedef enum {
    LU_RANDOM,
    LU_GRADED,   /* rows and columns of very different size */
    LU_SINGULAR, /* a column of zeros, or two equal rows of powers of two */
    LU_PERMUTED, /* a triangle, rows in any order */
    LU_HILBERT,
    LU_KAHAN,
    LU_TIES,    /* small integers, so that many candidates are equal */
    LU_EXTREME, /* subnormal numbers, and near overflow */
    LU_SPECIAL, /* a NaN, an infinity */
    LU_TINY,    /* too small for their reciprocals */
    LU_KINDS
} lu_kind;
extern const char *const lu_kind_names[LU_KINDS];
void lu_fill(const lu_stack *s, int index, lu_kind kind, test_random *random);

/* Random for the first `from` steps of a factorisation, n - 1 at most, and of a kind from then on:
 * singular, ties, extreme, special or tiny. */
void lu_fill_late(const lu_stack *s, int index, lu_kind kind, int from, test_random *random);

#endif
