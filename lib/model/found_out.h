/* found_out.h - the third number of a decision: what a product takes whose data turn out to be bad.
 * Pure: no CUDA calls. */
#ifndef TD_MODEL_FOUND_OUT_H
#define TD_MODEL_FOUND_OUT_H

#include "../routine/question.h"
#include "model.h"

/* Seconds that mode `auto` takes for a product of binary64 matrices of which a probe finds that
 * residues are not worth their time (../engines/ozaki/probe.h): cuBLAS's routine then, which takes
 * `native` seconds of random numbers, or, without a branch, sums in binary64. Native products of
 * bad data take less: what comes on top counts for so much more that the sum compares with `native`
 * as it does with their time. */
double td_model_found_out(const td_model *model, const td_real_product *p, double native,
                          td_branch_form branch);

/* Seconds of such a product of which lines alone certify what the probe looks at, but others spoil
 * all of C: cuBLAS's routine, or as long, once all lines have been measured. 0 of a batch, whose
 * members are found out one by one. */
double td_model_found_late(const td_model *model, const td_real_product *p, double native);

/* Seconds of the probe and of kernels that come after it for nothing, where cuBLAS's routine has no
 * branch or a single product takes long. */
double td_model_seconds_to_find_out(const td_real_product *p);

/* The most that finding out may cost: a call is emulated only if it takes at most so many times
 * native's time when its data are bad. */
#define TD_WORST_CASE 1.05

#endif
