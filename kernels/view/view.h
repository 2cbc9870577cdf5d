/* view.h - how kernels see an operand of a product: which lines it has, and how their elements are
 * reached. A line is a row of op(A) or a column of op(B). For host C and for kernels. */
#ifndef TD_VIEW_H
#define TD_VIEW_H

#include "../arithmetic/float32.h"
#include "types.h"

/* Lines of op(A) or op(B), of real numbers: element l of line i is at offset + i * line_step +
 * l * k_step. Steps and the offset count elements of the matrix, from the first element of a batch
 * member; one of the steps is 1. A matrix that is stored in another way (in one triangle, or of
 * complex numbers) is unfolded first (../unfold/unfold.h). */
typedef struct {
    td_matrix matrix;
    int64_t offset, line_step, k_step;
    int64_t k; /* elements of a line */
    int lines;
} td_view;

#endif
