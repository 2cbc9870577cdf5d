/* product.h - C <- alpha op(A) op(B) + beta C as engines make it: the product that a routine is
 * lowered to (lower.h), and the product of plain real lines that this one is unfolded to (real.h).
 * Pure: no CUDA calls. */
#ifndef TD_PRODUCT_H
#define TD_PRODUCT_H

#include "problem.h"

/* Elements of C that are made of a product whose factors are all there: m x n of them from row i
 * and column j on, of which the region has some. m is 0: all of C. */
typedef struct {
    int64_t i, j, m, n;
} td_window;

/* Who is told how much of C is enqueued while a product is: made() is called after each strip of so
 * many columns, or never. The first `done` columns of what is made of C are complete behind what
 * the product's stream has. */
typedef struct td_progress {
    int64_t columns; /* a multiple of TD_TILE */
    void (*made)(struct td_progress *progress, int64_t done);
} td_progress;

/* A product. op(A) is m x k, op(B) k x n, C m x n; a triangle is of a square C. */
typedef struct td_product {
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

    /* A tile: this product is the part of another, larger one that begins at this row and column of
     * its C. Modes that decide by all lines of the factors (td_engine.sees_all_lines) decide by
     * those of `whole`, so that the tile has the bits that it has there. `whole` has no C that
     * could be read. NULL: it stands for itself. */
    const struct td_product *whole;
    int64_t row, column;

    td_window window;      /* of td_product_in_whole */
    td_progress *progress; /* NULL: nobody is told */
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
    td_window window;
    td_progress *progress; /* NULL: nobody is told, as what is made of C is not the result yet */
    int64_t batch;
    td_stream stream;
    td_loan lent;
} td_real_product;

/* True if all columns of so many real matrices begin at multiples of 16 bytes, as far as the host
 * knows: kernels copy others number by number. */
bool td_matrix_is_aligned(const td_matrix *x, int64_t batch);

/* The matrix that begins so many rows and columns further on: an address that nobody may use as it
 * is, where these are negative. */
td_matrix td_matrix_moved(const td_matrix *x, int64_t rows, int64_t columns, td_type type);

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

/* A tile as its whole product, of which only the tile's window of C is made. The matrix C begins
 * where all of it would: elements outside of the window must not be read or written. */
td_product td_product_in_whole(const td_product *tile);

/* What is made of C, and the matrix that begins there. */
td_window td_product_made(const td_product *p);
td_window td_real_made(const td_real_product *p);
td_matrix td_product_made_c(const td_product *p);
td_matrix td_real_made_c(const td_real_product *p);

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
