/* limits.h - which batches of small factorisations, solutions and inverses Tandem's own kernels
 * take. Pure. */
#ifndef TD_LIMITS_H
#define TD_LIMITS_H

#include "../../routine/problem.h"

/* NULL if p, which is valid, is for the kernels; else why cuBLAS has it (a string that stays). */
const char *td_lu_refusal(const td_problem *p);

extern const char td_reason_order[], td_reason_faster[], td_reason_plain[];

#endif
