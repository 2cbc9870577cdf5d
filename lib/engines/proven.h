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

/* Of the residual of every element of a triangular solve, which is cut into blocks of so many rows
 * and whose products the engine makes, relative to |op(A)||X| + |alpha||B|. */
td_sample_bound td_proven_solve(const td_engine *engine, td_parameter parameter,
                                const td_problem *p, int64_t block_rows);

#endif
