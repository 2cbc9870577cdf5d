/* cost.h - what a product costs in each mode: what the rows of the registry say of themselves to
 * model.h. Pure: no CUDA calls. */
#ifndef TD_COST_H
#define TD_COST_H

#include "../routine/mode.h"

/* A td_engine's `cost`. The counts are those of docs/kernels.md. */
#define TD_COST(id)                                                                                \
    void td_cost_##id(const td_real_product *p, td_parameter parameter, td_cost *cost)
TD_COST(native);
TD_COST(df);
TD_COST(ts);
TD_COST(dd);
TD_COST(ds);
TD_COST(ozaki_sgemm);
TD_COST(ozaki1);
TD_COST(ozaki2);
TD_COST(faithful);
TD_COST(fp64);

/* The moduli of a product by residues in a mode with that parameter: which ones, and how many, or
 * the fewest that the data may choose. A mode that is exact takes those of complex numbers only
 * where these leave few elements to exact sums. */
td_parameter td_moduli_of(const td_real_product *p, bool is_exact, td_parameter parameter);

#endif
