/* factor.h - what the kernels that factor matrices share, and the table of their shapes. */
#ifndef TD_LU_FACTOR_H
#define TD_LU_FACTOR_H

#include "lu.h"
#include "number.h"

/* The fastest shape, from bench/lu. */
int td_lu_shape_of(td_lu_type type, int n);
int td_lu_threads_of(td_lu_type type, int n); /* vectors of a block */

/* of(0), the 0 being a number of the type. */
template <class function> auto td_lu_with_number(td_lu_type type, function of)
{
    switch (type) {
    case TD_LU_S:
        return of(0.0f);
    case TD_LU_D:
        return of(0.0);
    case TD_LU_C:
        return of(td_complex<float>{});
    default:
        return of(td_complex<double>{});
    }
}

/* Inverses in registers: cudaErrorInvalidConfiguration if lanes do not have enough for the
 * order. */
cudaError_t td_lu_invert_factors(const td_lu_vectors *p, cudaStream_t stream);

cudaError_t td_lu_factor_prepare(void);
cudaError_t td_lu_invert_prepare(void);
cudaError_t td_lu_solve_prepare(void);

#endif
