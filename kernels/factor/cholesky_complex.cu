/* cholesky_complex.cu - the Cholesky factor of a panel of complex numbers (cholesky_tasks.h). */
#include "cholesky_tasks.h"

namespace
{

typedef td_complex<double> pair;

/* By is_upper. */
cholesky_of_panel *const kernels[2] = {cholesky_kernel<false, 1, pair>,
                                       cholesky_kernel<true, 1, pair>};

} // namespace

size_t td_cholesky_complex_bytes(int64_t rows) { return panel_bytes<pair>(rows); }

cudaError_t td_cholesky_complex_run(const td_cholesky_panel *panel, cudaStream_t stream)
{
    return run_panel<pair>(kernels[panel->is_upper], panel, stream);
}

cudaError_t td_cholesky_complex_prepare(void)
{
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < 2; i++) error = td_allow_shared(error, kernels[i], shared_size<pair>());
    return error;
}
