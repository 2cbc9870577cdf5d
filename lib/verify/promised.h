/* promised.h - what the elements of a call may be off, by what runs it: what TANDEM_VERIFY holds
 * them against. Pure: no CUDA calls. */
#ifndef TD_PROMISED_H
#define TD_PROMISED_H

#include "../routine/decision.h"
#include "../routine/entries.h"

typedef struct {
    td_sample_bound bound; /* `relative` is infinite if nothing is promised */

    /* What an alpha or beta with an imaginary part adds to bound.relative; 0 if it is in it. */
    double of_scalars;
    bool is_native;
} td_promise;

/* What the decision promises of a product's elements, or of a solve's residuals. */
td_promise td_promised(const td_decision *decision, td_entry entry, const td_problem *p);

#endif
