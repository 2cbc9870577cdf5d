/* view.h - how kernels see an operand of a product: which lines it has, and how their elements are
 * reached. A line is a row of op(A) or a column of op(B). For host C and for kernels. */
#ifndef TD_VIEW_H
#define TD_VIEW_H

#include "../arithmetic/float32.h"
#include "types.h"

/* How element l of line i is reached. Kernels read elements with td_view_load (access.h), where
 * another way to reach one is one more case; what computes addresses of its own, or has blocks
 * copied, takes plain views alone (td_view_is_plain). Ways that routines still to come will need:
 * a symmetric matrix stored in one triangle, a triangle with zeros beside it and perhaps a unit
 * diagonal, a complex matrix as 2 x 2 blocks of real numbers, and its conjugate. */
typedef enum {
    TD_REACH_PLAIN, /* it is stored at offset + i * line_step + l * k_step */
} td_reach;

/* Lines of op(A) or op(B). Steps and the offset count elements of the matrix, from the first
 * element of a batch member; one of the steps is 1. */
typedef struct {
    td_matrix matrix;
    int64_t offset, line_step, k_step;
    int64_t k; /* elements of a line */
    int lines;
    td_reach reach;
} td_view;

TD_BOTH bool td_view_is_plain(const td_view *view) { return view->reach == TD_REACH_PLAIN; }

#endif
