/* promised.h - what the elements of a call may be off, by what runs it: what TANDEM_VERIFY holds
 * them against. Pure: no CUDA calls. */
#ifndef TD_PROMISED_H
#define TD_PROMISED_H

#include "../routine/decision.h"

typedef struct {
    td_sample_bound bound; /* `relative` is infinite if nothing is promised */

    /* What an alpha or beta with an imaginary part adds to bound.relative; 0 if it is in it. */
    double of_scalars;
    bool is_native;
} td_promise;

/* Of the elements of a product that an engine makes, or, is_native, cuBLAS. */
td_promise td_promised_of_product(const td_engine *engine, td_parameter parameter,
                                  const td_product *product, bool is_native);

#endif
