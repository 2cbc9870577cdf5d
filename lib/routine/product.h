/* product.h - C <- alpha op(A) op(B) + beta C as engines make it: the product that a routine is
 * lowered to (lower.h), and the product of plain real lines that this one is unfolded to (real.h).
 * Pure: no CUDA calls. */
#ifndef TD_PRODUCT_H
#define TD_PRODUCT_H

#include "problem.h"

/* A product. op(A) is m x k, op(B) k x n, C m x n; a triangle is of a square C. */
typedef struct {
    td_type type; /* of matrices and scalars */
    td_op op_a, op_b;
    td_form form_a, form_b; /* how A and B are stored */
    td_kind routine;        /* that was lowered; TD_PRODUCT: it was a product */
    td_region_kind region;  /* the elements of C that it reads and writes */

    /* These scalars are stored as real numbers, though the matrices are complex; conj(alpha) times
     * the conjugate transpose of op(A) op(B) is added; imaginary parts of C's diagonal become 0. */
    bool alpha_is_real, beta_is_real, adds_mirror, has_real_diagonal;

    int64_t m, n, k;
    td_scalar alpha, beta;
    td_matrix a, b, c;

    /* If these have data or an array, the factors are [A rest_a] and [B; rest_b], of k / 2 terms
     * each. */
    td_matrix rest_a, rest_b;

    /* What beta multiplies, where it is not C; and which of the two matrices lie in rows: `c` or
     * `addend` is the transpose of such a matrix in columns. Beta is 0 where a factor is
     * triangular. */
    td_matrix addend;
    bool c_in_rows, addend_in_rows;
    int64_t batch;
    td_stream stream;
    td_loan lent;
} td_product;

/* A product of matrices of real numbers that are stored in full, whose C lies in columns. */
typedef struct {
    td_type type;
    td_op op_a, op_b;
    td_kind routine; /* that the product stands for */
    td_region_kind region;

    /* It stands for one of complex matrices: rows 2i and 2i + 1 of op(A) are (re, -im) and (im, re)
     * of the terms of row i, columns of op(B) have (re, im) of theirs, and rows 2i and 2i + 1 of C
     * are the parts of row i. m and k are even, the lines of op(A) and op(B) stand along k in
     * memory, and the region counts complex elements. */
    bool is_paired;

    /* op(B)' has op(A)'s lines, or those of the terms' first parts if it is_paired, but for the
     * signs of elements. */
    bool is_gram;

    /* What is read and written to unfold the factors, and to move the result. */
    double unfolded_bytes;

    int64_t m, n, k;
    td_scalar alpha, beta;
    td_matrix a, b, c;
    int64_t batch;
    td_stream stream;
    td_loan lent;
} td_real_product;

/* True if the factors are joined of two along k. */
bool td_product_has_rest(const td_product *p);

/* True if the result has no elements. */
bool td_product_is_empty(const td_product *p);

/* True if the factors do not count, as far as the host knows: k or alpha is 0. */
bool td_product_only_scales(const td_product *p);
bool td_real_only_scales(const td_real_product *p);

/* True if beta multiplies something, as far as the host knows: it is not 0. */
bool td_product_has_beta(const td_product *p);
bool td_real_has_beta(const td_real_product *p);

/* True if what beta multiplies is to be read from elsewhere than C, as far as the host knows. */
bool td_product_has_addend(const td_product *p);

/* What it reads and writes. */
td_memory td_product_memory(const td_product *p);

/* The elements of C that it reads and writes, from C's first element. */
static inline td_region td_product_region(const td_product *p)
{
    return (td_region){p->region, 0, 0};
}

static inline td_region td_real_region(const td_real_product *p)
{
    return (td_region){p->region, 0, p->is_paired};
}

/* The call of a product whose matrices are stored in full and that makes all of C. Of others its
 * type, operations and sizes alone count. */
td_problem td_call_of_product(const td_product *p);

#endif
