/* shapes.cu - which kernel shape is the fastest. */
#include "factor.h"

int td_lu_shape_of(td_lu_type type, int n)
{
    static const int shared_to[TD_LU_TYPES] = {TD_LU_MOST, 224, 224, 160};
    if (n <= 8) return TD_LU_LANES_8;
    if (n <= 16) return TD_LU_LANES_16;
    if (n <= 32) return TD_LU_LANES_32;
    return n <= shared_to[type] && td_lu_shape_fits(type, n, TD_LU_SHARED) ? TD_LU_SHARED : TD_LU_IN_PLACE;
}

int td_lu_threads_of(td_lu_type, int) { return 32; }

cudaError_t td_lu_prepare(void)
{
    const cudaError_t error = td_lu_factor_prepare();
    return error == cudaSuccess ? td_lu_solve_prepare() : error;
}
