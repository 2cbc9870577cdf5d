/* double_split.cu - which binary64 digits are zero or sparse, and C from their sums. */
#include "double_split.h"
#include "../crt/finish.h"
#include "sums.h"

enum { WARP = 32, WARPS = 8 };

/* A warp a line of a slice. Grid: lines, slice, batch member * 2 + operand. */
static __global__ void __launch_bounds__(WARP *WARPS) count_kernel(const td_double_slices p)
{
    const int which = (int)blockIdx.z % 2, lane = (int)threadIdx.x % WARP;
    const int line = (int)blockIdx.x * WARPS + (int)threadIdx.x / WARP;
    const int64_t slice = (int64_t)(blockIdx.z / 2) * p.slices + blockIdx.y;
    const int lines = which ? p.lines[1] : p.lines[0];
    if (line >= lines) return; /* whole warps; there are no barriers */
    const int64_t at = slice * lines + line;
    const double *digit = (which ? p.digit[1] : p.digit[0]) + at * p.k;
    int32_t *where = (which ? p.where[1] : p.where[0]) + at * p.capacity;
    const bool is_used = (int)blockIdx.y < p.choice[blockIdx.z / 2].parameter;
    int count = 0;
    for (int64_t l = lane; l < p.k && count <= p.capacity && is_used; l += WARP) {
        const bool is_there = digit[l] != 0.0;
        const unsigned all = __ballot_sync(~0u, is_there);
        const int place = count + __popc(all & ((1u << lane) - 1));
        if (is_there && place < p.capacity) where[place] = (int32_t)l;
        count += __popc(all);
    }
    if (lane == 0) (which ? p.count[1] : p.count[0])[at] = count;
}

cudaError_t td_double_slices_count(const td_double_slices *p, cudaStream_t stream)
{
    const int lines = max(p->lines[0], p->lines[1]);
    const dim3 grid((unsigned)((lines + WARPS - 1) / WARPS), (unsigned)p->slices,
                    2 * (unsigned)p->batch);
    return TD_LAUNCH(count_kernel, grid, WARP * WARPS, 0, stream, *p);
}

namespace
{

/* A source as ../crt/finish.h wants it. */
struct source {
    enum { limbs = TD_EXACT_LIMBS };
    const td_double_slices *slices;

    TD_DEVICE void load(const source &from, int row, int col, td_wide<limbs> *x)
    {
        const td_double_slices &p = *from.slices;
        const int slices = p.choice[blockIdx.z].parameter, bits = p.choice[blockIdx.z].bits;
        const int64_t plane = (int64_t)p.lines[0] * p.lines[1];
        const double *at = p.sum + blockIdx.z * p.slices * plane + (int64_t)col * p.lines[0] + row;
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++) x[i] = {};
        TD_UNROLL_N(1)
        for (int weight = 0; weight < slices; weight++, at += plane) {
            const td_quad<double> q = *reinterpret_cast<const td_quad<double> *>(at);
            TD_UNROLL
            for (int i = 0; i < TD_SUBTILE; i++) td_append(&x[i], bits, (int64_t)q.of[i]);
        }
    }
};

} // namespace

/* Grid: tile, 1, batch member. */
static __global__ void __launch_bounds__(TD_FINISH_THREADS)
    double_finish_kernel(const td_double_slices slices, const td_finish finish)
{
    source from;
    from.slices = &slices;
    td_finish_tiles<TD_FINISH_EXACT>(finish, from);
}

cudaError_t td_double_slices_finish(const td_double_slices *slices, const td_finish *finish,
                                    cudaStream_t stream)
{
    const dim3 grid = td_grid_of_tiles(finish->target, 1, slices->batch);
    return TD_LAUNCH(double_finish_kernel, grid, TD_FINISH_THREADS, 0, stream, *slices, *finish);
}

cudaError_t td_double_slices_prepare(void)
{
    return td_load(cudaSuccess, count_kernel, double_finish_kernel);
}
