/* factor.h - what the kernels that factor matrices share, and the table of their shapes. */
#ifndef TD_LU_FACTOR_H
#define TD_LU_FACTOR_H

#include "lu.h"

/* The fastest shape, from bench/lu. */
int td_lu_shape_of(td_lu_type type, int n);
int td_lu_threads_of(td_lu_type type, int n); /* vectors of a block */

/* Inverses in registers: cudaErrorInvalidConfiguration if lanes do not have enough for the order. */
cudaError_t td_lu_invert_factors(const td_lu_vectors *p, cudaStream_t stream);

cudaError_t td_lu_factor_prepare(void);
cudaError_t td_lu_invert_prepare(void);
cudaError_t td_lu_solve_prepare(void);

#endif
