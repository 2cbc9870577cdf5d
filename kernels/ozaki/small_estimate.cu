/* small_estimate.cu - the estimate of small products by one kernel, which mostly ends at once. Of products whose lines are measured whole
 * short_lines.cu does the same. */
#include "small_estimate.h"

/* Grid: some blocks, 1, batch member. */
static __global__ void __launch_bounds__(TD_FINISH_THREADS, 2)
    small_estimate_kernel(TD_PARAMETER td_small_estimate p)
{
    TD_SHARED(small_estimate_shared, shared, );
    td_begin_kernel();
    if (td_scalar_value(p.estimate.choose.alpha) == 0.0) return;
    const td_choice choice = p.estimate.choose.choice[blockIdx.z];
    if (choice.is_estimated) estimate_member(p, (td_room)choice.room, shared);
}

/* The most products that mostly are not estimated and take no longer, if they are, than by three kernels. */
enum { SMALL_PRODUCT = 1 << 30, MOST_BLOCKS = 256 };

bool td_is_small_estimate(int64_t m, int64_t n, int64_t k, int64_t batch)
{
    return k <= TD_ESTIMATE_K && (double)m * (double)n * (double)k * (double)batch <= SMALL_PRODUCT;
}

cudaError_t td_small_estimate_run(const td_small_estimate *p, cudaStream_t stream)
{
    const int batch = p->magnitudes.fixed.batch;
    const dim3 tiles = td_grid_of_tiles(p->estimate.finish.target, 1, batch);
    const dim3 grid(min(tiles.x, (unsigned)max(1, MOST_BLOCKS / batch)), 1, tiles.z);
    return TD_LAUNCH_NEXT(small_estimate_kernel, grid, TD_FINISH_THREADS, 0, stream, *p);
}

cudaError_t td_small_estimate_prepare(void) { return td_load(cudaSuccess, small_estimate_kernel); }
