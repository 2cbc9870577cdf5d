/* problem.h - products to test: a description of a few numbers, and the matrices that follow from
 * it. */
#ifndef SUPPORT_PROBLEM_H
#define SUPPORT_PROBLEM_H

#include <stdbool.h>

#include "tests/ref/ref.h"
#include "tests/support/matrix.h"
#include "tests/support/random.h"

/* Where an element lies: element l of k of line `line` of operand 0 (rows of op(A)) or 1 (columns
 * of op(B)). */
typedef struct {
    int which;
    int64_t line, lines, l, k;
} place;

typedef struct {
    const char *name;
    double (*element)(test_random *r, const place *at);
    /* every second product takes all but so much of the one before away; 0: no */
    double cancels_to;
    bool is_hostile; /* built against the mode: the error bound of ordinary data does not hold */
    bool overflows;  /* sums overflow half way: cuBLAS makes NaN where the result is finite */
} distribution;

extern const distribution distributions[];
extern const int distribution_count;
const distribution *distribution_find(const char *name);

typedef struct {
    const char *data; /* a distribution's name */
    tandem_op op_a, op_b;
    int64_t m, n, k;
    int pad_a, pad_b, pad_c; /* added to the least leading dimensions */
    int guard;               /* elements around each matrix; odd: not aligned to 16 bytes */
    double alpha, beta;
    uint64_t seed;
    bool takes_product; /* C is alpha op(A) op(B) rounded: beta = -1 leaves a mode's errors */
} product;

/* A B of those sizes, all the rest plain; operations by the last two bits of `which`. */
product product_plain(const char *data, int64_t m, int64_t n, int64_t k);
void product_set_ops(product *of, int which);

/* Of those sizes; `which` decides its operations, what is beside the matrices, its scalars and its
 * seed. */
product product_varied(const char *data, int64_t m, int64_t n, int64_t k, int which);

/* The operands on the host. Elements depend on data, seed and (m, n, k) alone, not on layout. C is
 * all NaN if beta is 0, and A and B if alpha is. */
typedef struct {
    product of;
    test_matrix a, b, c;
} problem;

problem problem_make(const product *of);
void problem_free(problem *p);

/* For the references, with C at c. */
ref_gemm problem_gemm(const problem *p, test_matrix *c);

/* One line for a failure: everything that makes the problem again. The text lives until the next
 * call. */
const char *product_text(const product *of);

#endif
