/* fixed.h - operands in fixed point, from which the Ozaki family makes exact products. For host C
 * and for kernels.
 *
 * Every line (a row of op(A), a column of op(B)) becomes whole numbers A' = RN(a 2^(shift +
 * scale)), ties to even: the scale belongs to the line, the shift to the index of k (rows of op(B)
 * have its negative). A scheme cuts A' and B' into planes of small numbers, multiplies these
 * exactly, and puts X = A' B' together, or a stated part of it; then C = alpha X 2^-(scale of row +
 * scale of column) + beta C. */
#ifndef TD_FIXED_H
#define TD_FIXED_H

#include "../measure/line.h"
#include "../view/target.h"
#include "choice.h"

/* Part of a product that becomes planes. The first line of member z of the part is at line[o] + z *
 * lines_of_member[o]. */
typedef struct {
    td_view operand[2];
    td_scalar alpha; /* nothing is read if it is 0 */
    int64_t batch_first;
    int batch;
    int64_t k_first, k_count; /* of this pass over k */
    const td_line *line[2];
    int64_t lines_of_member[2];
    const int16_t *shift;    /* [batch][k] */
    const int32_t *shifted;  /* [batch]: 0 if the shifts are not used */
    const td_choice *choice; /* [batch] */
} td_fixed;

#endif
