/* question.h - one call as all see it who decide, run, verify and report it: made once, by td_ask
 * (../engines/methods.h), and handed down. Pure: no CUDA calls. */
#ifndef TD_QUESTION_H
#define TD_QUESTION_H

#include "entries.h"
#include "product.h"

struct td_method; /* ../engines/methods.h */

/* How the device leaves a call to cuBLAS's own routine, which is a body of a conditional node. */
typedef enum {
    TD_BRANCH_OF_TWO, /* the mode's kernels are the other body, where CUDA has nodes of two */
    TD_BRANCH_OF_ONE, /* they come after the node: it is part of a graph that is captured */
    TD_BRANCH_NONE    /* not at all: sums in binary64 take the routine's place */
} td_branch_form;

typedef struct {
    td_entry entry;
    const td_problem *called; /* as the program made the call */

    /* The product that the routine is (lower.h), and the product of plain real lines that this one
     * is unfolded to (real.h), if is_lowered. */
    bool is_lowered;
    td_product product;
    td_real_product real;

    td_branch_form branch;

    const struct td_method *method; /* by which Tandem makes the call; NULL: it has none for it,
                                    or the call's sizes are not countable */
} td_question;

#endif
