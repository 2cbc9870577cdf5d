/* repair.cu - the elements of C that an engine left out, recomputed from the original operands or
 * from aligned copies of these; and the products that need no operands. Shared by all engines. */
#include "../view/access.h"
#include "repair.h"

/* ---- aligned copies of lines ---- */

enum { COPY_THREADS = 256, COPY_BLOCKS = 1024, COPIED_AT_ONCE = 4 };

/* True if sums of the block's member are made from copies. */
TD_DEVICE bool needs_copies(const td_repair &p)
{
    const td_open_counts &counts = p.target.open_count[blockIdx.z];
    const td_room room = (td_room)counts.room;
    if (room == TD_ROOM_UNKNOWN) return counts.dense > 0;
    return room != TD_MADE && !(p.has_whole && room == TD_ROOM);
}

/* Copies an operand's elements that are neighbours in memory, row after row of them.
 * Grid: blocks over rows, operand, batch member. */
static __global__ void __launch_bounds__(COPY_THREADS) copy_lines_kernel(TD_PARAMETER td_repair p)
{
    td_begin_kernel();
    const td_view &from = p.operand[blockIdx.y], &to = p.aligned.of[blockIdx.y];
    const int64_t member = p.target.batch_first + blockIdx.z;
    const bool along = from.k_step == 1;
    const int64_t rows = along ? from.lines : from.k, width = along ? from.k : from.lines,
                  from_step = along ? from.line_step : from.k_step,
                  to_step = along ? to.line_step : to.k_step;
    const double *const source = td_member<const double>(from.matrix, member) + from.offset;
    double *const copy = td_member<double>(to.matrix, member) + to.offset;
    if (source == copy || !needs_copies(p)) return;
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
        for (int64_t x = threadIdx.x; x < width; x += COPIED_AT_ONCE * COPY_THREADS) {
            double of[COPIED_AT_ONCE] = {};
            TD_UNROLL
            for (int i = 0; i < COPIED_AT_ONCE; i++)
                if (x + i * COPY_THREADS < width)
                    of[i] = source[row * from_step + x + i * COPY_THREADS];
            TD_UNROLL
            for (int i = 0; i < COPIED_AT_ONCE; i++)
                if (x + i * COPY_THREADS < width)
                    copy[row * to_step + x + i * COPY_THREADS] = of[i];
        }
}

static cudaError_t copy_lines(const td_repair *p, int batch, cudaStream_t stream)
{
    const dim3 grid((unsigned)max(1, COPY_BLOCKS / batch), 2, (unsigned)batch);
    return TD_LAUNCH_NEXT(copy_lines_kernel, grid, COPY_THREADS, 0, stream, *p);
}

/* Tiles of few masked elements do not pay for copies. */
static cudaError_t run_binary64(const td_repair *p, int batch, cudaStream_t stream)
{
    if (!p->aligned.is_made) return td_binary64_run(p, batch, stream);
    td_repair few = *p, dense = *p;
    few.open = TD_OPEN_FEW;
    dense.open = TD_OPEN_DENSE;
    dense.binary64 = p->aligned.binary64;
    for (int o = 0; o < 2; o++) dense.operand[o] = p->aligned.of[o];
    cudaError_t error = copy_lines(p, batch, stream);
    if (error == cudaSuccess) error = td_binary64_run(&few, batch, stream);
    return error == cudaSuccess ? td_binary64_run(&dense, batch, stream) : error;
}

/* ---- all of it ---- */

cudaError_t td_repair_run(const td_repair *p, int batch, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    if (p->kind == TD_REPAIR_EXACT) error = td_exact_narrow_run(p, batch, stream);
    if (error == cudaSuccess && !p->is_bounded) error = td_exact_wide_run(p, batch, stream);
    return error == cudaSuccess ? run_binary64(p, batch, stream) : error;
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
    return td_load(error, scale_kernel, copy_lines_kernel);
}
