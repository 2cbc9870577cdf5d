/* real.h - the product of plain lines of real numbers that a lowered product (lower.h) is
 * unfolded to (../engines/unfold.h). Pure: no CUDA calls. */
#ifndef TD_REAL_H
#define TD_REAL_H

#include "../../kernels/unfold/unfold.h"
#include "product.h"

/* Factor A (0) or B (1) of a lowered product: the first part (0) or the second (1) of one that is
 * joined of two. */
td_folded td_folded_of(const td_product *product, int which, int part);

/* True if the product is written over the factor. */
bool td_is_in_place(const td_product *product, int which);

/* True if factor A (0) or B (1) of a lowered product has to be written out before an engine can
 * read it: it is stored in a triangle, joined of two, or complex and not a pair of columns as it
 * is, or it is C itself. Not if td_has_lines_of_a. */
bool td_is_unfolded(const td_product *product, int which);

/* True of a complex product of a matrix with its own conjugate transpose, of which op(B)'s lines
 * are every other one of op(A)'s that are written out: (re, -im) of each term. */
bool td_has_lines_of_a(const td_product *product);

/* True if engines cannot run the product as it is: a factor is to be unfolded, or its matrices are
 * complex. */
bool td_is_folded(const td_product *p);

/* True if engines cannot make C where it is: it lies in rows, or what beta multiplies is not C
 * (../engines/result.h). */
bool td_moves_result(const td_product *p);

/* The product of plain real lines that a lowered one is unfolded to: its sizes, operations, and C.
 * Where a factor has to be written out its matrix is not yet known. A product of plain real lines
 * is that itself. */
td_real_product td_real_product_of(const td_product *product);

#endif
