/* factor.h - what the kernels that factor matrices share, and the table of their shapes. */
#ifndef TD_LU_FACTOR_H
#define TD_LU_FACTOR_H

#include "batched_lu.h"
#include "number.h"

/* Vectors in shared memory: how many a block has, and how many lanes share one. */
typedef struct {
    int together, lanes;
} td_lu_arrangement;
td_lu_arrangement td_lu_arrangement_of(td_lu_type type, int n);

/* The lanes that share a vector where more than one does: complex ones have the work for it. */
template <class number> constexpr int td_lu_most_lanes_of()
{
    return !td_is_complex<number>::value ? 1 : td_lu_is_wide<number>::value ? 4 : 2;
}

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

/* Vectors in strips of rows (strips.cu); whether the table says so, or the caller. */
cudaError_t td_lu_solve_strips(const td_lu_vectors *p, cudaStream_t stream);
bool td_lu_takes_strips(const td_lu_vectors *p);

cudaError_t td_lu_factor_prepare(void);
cudaError_t td_lu_invert_prepare(void);
cudaError_t td_lu_solve_prepare(void);
cudaError_t td_lu_strips_prepare(void);

#endif
