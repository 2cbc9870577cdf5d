/* join.cu - scalars for a product that was made without them, element by element of C. */
#include "../view/access.h"
#include "join.h"

enum { THREADS = 256, MOST_COLUMNS = 8192 };

/* Grid: blocks over columns. */
static __global__ void join_kernel(const td_target target, const double *t)
{
    const double alpha = td_scalar_value(target.alpha), beta = td_scalar_value(target.beta);
    double *const c = td_target_c<double>(target);
    for (int64_t j = blockIdx.x; j < target.n; j += gridDim.x)
        for (int64_t i = threadIdx.x; i < target.m; i += blockDim.x) {
            double *const element = c + i + j * target.c.ld;
            if (!td_region_has(&target.region, i, j)) continue;
            *element = alpha == 0.0 ? td_scaled(beta, element)
                                    : td_axpby(alpha, t[i + j * target.m], beta, element);
        }
}

cudaError_t td_join_run(const td_target *target, const double *t, cudaStream_t stream)
{
    return TD_LAUNCH(join_kernel, dim3((unsigned)min(target->n, MOST_COLUMNS)), THREADS, 0, stream,
                     *target, t);
}

cudaError_t td_join_prepare(void) { return td_load(cudaSuccess, join_kernel); }
