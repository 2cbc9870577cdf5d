/* proven.h - what each mode promises of every element of C, for any finite operands
 * (docs/numerics.md): the `proven` of the rows of the registry. TANDEM_VERIFY holds products
 * against it. Pure: no CUDA calls. */
#ifndef TD_PROVEN_H
#define TD_PROVEN_H

#include "engine.h"

#define TD_PROVEN(id) td_sample_bound td_proven_##id(td_parameter parameter, int64_t k)
TD_PROVEN(native);
TD_PROVEN(df);
TD_PROVEN(ts);
TD_PROVEN(dd);
TD_PROVEN(ds);
TD_PROVEN(certified);
TD_PROVEN(fp64);
TD_PROVEN(faithful);

#endif
