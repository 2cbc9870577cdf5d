/* slices.h - how many slices the schemes take, and slices of triple-single operands: as td_scheme,
 * for lib/engines/ozaki/typed.c. */
#ifndef TD_OZAKI_SLICES_H
#define TD_OZAKI_SLICES_H

#include "../../../include/tandem.h"
#include "scheme.h"

/* TD_LIMBS of kernels/slice/sums.h hold what as many give. */
enum { TD_LEAST_SLICES = 2, TD_MOST_INT8_SLICES = 10, TD_MOST_FLOAT_SLICES = 12 };

int64_t td_ts_slices_most_k(int slices, int64_t k);
size_t td_ts_slices_bytes(int slices, int64_t m, int64_t n, int64_t k_pass);

/* For td_measure_ts. */
int td_ts_slices_width(int slices, int64_t k);

/* Enqueues everything from operands and their lines to C. Of part->fixed and part->finish, only
 * operands, lines, alpha (on the host, not 0) and the target's C are used; the batch is 1. */
cudaError_t td_ts_slices_run(const td_scheme_part *part, tandem_ts alpha, tandem_ts beta);

#endif
