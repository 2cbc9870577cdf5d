/* cholesky.cu - the Cholesky factor of a panel of real numbers (cholesky_tasks.h). */
#include "cholesky_tasks.h"

namespace
{

static_assert((int)shape_of<double>::TILE == (int)TD_CHOLESKY_TILE,
              "tiles are those of the header");

/* True if neighbours can be copied in pairs: both ends of each pair are there, and aligned. */
bool has_pairs(const td_cholesky_panel *p)
{
    return reinterpret_cast<uintptr_t>(p->a) % (2 * sizeof(double)) == 0 && p->ld % 2 == 0 &&
           (p->is_upper || p->rows % 2 == 0);
}

/* By is_upper, then by has_pairs(). */
cholesky_of_panel *const kernels[2][2] = {
    {cholesky_kernel<false, 1, double>, cholesky_kernel<false, 2, double>},
    {cholesky_kernel<true, 1, double>, cholesky_kernel<true, 2, double>}};

} // namespace

bool td_cholesky_fits(void)
{
    int bytes = 0;
    return td_block_shared_bytes(&bytes) == cudaSuccess &&
           bytes >= shared_size<double>() + (int)sizeof(notes_of_block);
}

size_t td_cholesky_bytes(int64_t rows) { return panel_bytes<double>(rows); }

cudaError_t td_cholesky_run(const td_cholesky_panel *panel, cudaStream_t stream)
{
    return run_panel<double>(kernels[panel->is_upper][has_pairs(panel)], panel, stream);
}

cudaError_t td_cholesky_prepare(void)
{
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < 4; i++)
        error = td_allow_shared(error, kernels[i / 2][i % 2], shared_size<double>());
    return error;
}
