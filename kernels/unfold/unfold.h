/* unfold.h - factors of a product that are no plain lines of real numbers (../view/view.h), written
 * out as such: matrices stored in one triangle, of complex numbers, or joined side by side along k.
 * Kernels of engines then read real lines alone. For host C.
 *
 * A complex product of m x n elements and k terms is a real one of 2m x n and 2k: C has its parts
 * as neighbouring rows in memory as it is; a line of op(B) becomes pairs (re, im) along k; and a
 * term of a line of op(A) a block [re -im; im re] of two lines. */
#ifndef TD_UNFOLD_H
#define TD_UNFOLD_H

#include <cuda_runtime_api.h>

#include "../view/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* op(X), where X is what a matrix stands for by its form. */
typedef struct {
    td_matrix matrix; /* of complex numbers if is_complex, else real */
    td_form form;
    bool is_complex, is_transposed, is_conjugate;
} td_folded;

/* One factor of a product: one matrix, or two of k terms each that are joined along k. */
typedef struct {
    td_folded part[2];
    int parts;
    bool has_rows;    /* lines are rows of op(X), as those of the left factor; else columns */
    bool has_blocks;  /* complex terms become 2 x 2 blocks; else pairs along k */
    int64_t lines, k; /* of each part, in elements of the matrix */
    int64_t batch_first;
    td_scalar scalar; /* that it is multiplied by, of the parts' type; if it is 0 nothing is read */
    bool scalar_is_real;
    const int32_t *verdict; /* a td_verdict: nothing is read if C is made; or NULL */
    td_matrix to;           /* of real numbers: td_unfolded_lines columns of td_unfolded_k */
} td_unfold;

/* Lines, and real numbers of a line, that a factor becomes. */
static inline int64_t td_unfolded_lines(const td_unfold *u)
{
    return u->part[0].is_complex && u->has_blocks ? 2 * u->lines : u->lines;
}
static inline int64_t td_unfolded_k(const td_unfold *u)
{
    return u->parts * (u->part[0].is_complex ? 2 * u->k : u->k);
}

/* Most lines, or elements of a line, that can be unfolded. */
enum { TD_UNFOLD_MOST = 1 << 30 };

/* Enqueues the writing of `batch` members. */
cudaError_t td_unfold_run(const td_unfold *unfold, int batch, cudaStream_t stream);

/* A triangular factor's zeros take no part in the product, whatever they would be multiplied by.
 * After a product of unfolded lines, in which 0 times infinity was NaN: makes the elements anew
 * whose other line has infinities or NaN, as sums in binary64 of the terms in the triangle. */
typedef struct {
    td_view triangle, other; /* as the product had them; the triangle's lines are unfolded */
    bool is_left;            /* the triangle is op(A) */
    bool is_lower;           /* its line i has terms 0 .. i; else i .. */
    int term_shift;          /* 1: two real numbers are a term */
    int line_shift;          /* 1: two lines of the triangle are one of complex numbers */
    td_matrix c;             /* of real numbers */
    td_scalar alpha;         /* real; beta is 0, as triangular products have no other */
    int64_t batch_first;
    const int32_t *verdict; /* a td_verdict: nothing is done if C is made; or NULL */
} td_triangle_specials;
cudaError_t td_triangle_specials_run(const td_triangle_specials *specials, int batch,
                                     cudaStream_t stream);

/* Loads the kernels on the current device. */
cudaError_t td_unfold_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
