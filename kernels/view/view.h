/* view.h - how kernels see an operand of a product: which lines it has, and where their elements are stored. For host C
 * and for kernels. A line is a row of op(A) or a column of op(B). */
#ifndef TD_VIEW_H
#define TD_VIEW_H

#include "../arithmetic/float32.h"
#include "types.h"

/* What an element of a view is made from. A kernel that computes addresses of its own takes only plain views
 * (td_view_is_plain); every other kernel reads elements with td_view_load (access.h), where another way to reach an
 * element is one more case. */
typedef enum {
    TD_REACH_PLAIN, /* element l of line i is stored at offset + i * line_step + l * k_step */
} td_reach;

/* Lines of op(A) or op(B). Steps and the offset count elements of the matrix, from the first element of a batch member;
 * one of the steps is 1. */
typedef struct {
    td_matrix matrix;
    int64_t offset, line_step, k_step;
    int64_t k; /* elements of a line */
    int lines;
    td_reach reach;
} td_view;

TD_BOTH int td_view_is_plain(const td_view *view) { return view->reach == TD_REACH_PLAIN; }

#endif
