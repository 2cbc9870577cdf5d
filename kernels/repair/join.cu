/* join.cu - scalars for a product that was made without them, element by element of C. */
#include "../view/access.h"
#include "join.h"

enum { THREADS = 256, MOST_COLUMNS = 8192 };

/* Grid: blocks over columns. */
static __global__ void join_kernel(const td_target target, const double *t, bool with_mirror)
{
    const double alpha = td_scalar_value(target.alpha), beta = td_scalar_value(target.beta);
    double *const c = td_target_c<double>(target);
    for (int64_t j = blockIdx.x; j < target.n; j += gridDim.x)
        for (int64_t i = threadIdx.x; i < target.m; i += blockDim.x) {
            double *const element = c + i + j * target.c.ld;
            if (!td_region_has(&target.region, i, j)) continue;
            double sum = 0.0;
            if (alpha != 0.0) sum = t[i + j * target.m];
            if (alpha != 0.0 && with_mirror) sum = td_add64(sum, t[j + i * target.m]);
            *element =
                alpha == 0.0 ? td_scaled(beta, element) : td_axpby(alpha, sum, beta, element);
        }
}

cudaError_t td_join_run(const td_target *target, const double *t, bool with_mirror,
                        cudaStream_t stream)
{
    return TD_LAUNCH(join_kernel, dim3((unsigned)min(target->n, MOST_COLUMNS)), THREADS, 0, stream,
                     *target, t, with_mirror);
}

cudaError_t td_join_prepare(void) { return td_load(cudaSuccess, join_kernel); }
