/* repair.cu - the elements of C that an engine left out, recomputed from the original operands; and
 * the products that need no operands. Shared by all engines. */
#include "../view/access.h"
#include "repair.h"

cudaError_t td_repair_run(const td_repair *p, int batch, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    if (p->kind == TD_REPAIR_EXACT) error = td_exact_narrow_run(p, batch, stream);
    if (error == cudaSuccess && !p->is_bounded) error = td_exact_wide_run(p, batch, stream);
    return error == cudaSuccess ? td_binary64_run(p, batch, stream) : error;
}

/* Grid: blocks over columns, 1, batch member. */
static __global__ void scale_kernel(const td_target target)
{
    const double beta = td_scalar_value(target.beta);
    double *c = td_target_c<double>(target);
    for (int64_t j = blockIdx.x; j < target.n; j += gridDim.x)
        for (int64_t i = threadIdx.x; i < target.m; i += blockDim.x) {
            double *element = c + i + j * target.c.ld;
            if (!td_region_has(&target.region, i, j)) continue;
            *element = td_scaled(beta, element);
        }
}

cudaError_t td_scale_run(const td_target *target, int batch, cudaStream_t stream)
{
    dim3 grid((unsigned)min(target->n, 8192), 1, (unsigned)batch);
    return TD_LAUNCH(scale_kernel, grid, 256, 0, stream, *target);
}

cudaError_t td_repair_prepare(void)
{
    cudaError_t error = td_exact_narrow_prepare();
    if (error == cudaSuccess) error = td_exact_wide_prepare();
    if (error == cudaSuccess) error = td_binary64_prepare();
    return td_load(error, scale_kernel);
}
