/* second_product.cu - which members have a second exact product, and C from it. */
#include "second_product.h"

#include "../measure/scale.h"
#include "../residue/split.h"
#include "limbs.h"
#include "../residue/tables_wide.h"
#include "finish.h"

/* ---- choice ---- */

enum { THREADS = 256 };

TD_DEVICE bool is_worth_it(const td_second_rule &p)
{
    const td_open_counts *const counts = p.target.open_count + blockIdx.z;
    const int64_t tiles = (int64_t)td_tiles(p.target.m) * td_tiles(p.target.n),
                  dense = counts->dense;
    const int64_t lines = (int64_t)p.target.m + p.target.n;
    const int64_t product = p.cost.line * lines + p.cost.finish * dense +
                            p.cost.tile * min(p.cost.tiles_together * dense, tiles);
    return dense > 0 && (int64_t)(uint32_t)counts->sums * p.cost.sum > product;
}

/* Grid: blocks over lines, 1, batch member. */
static __global__ void __launch_bounds__(THREADS) second_choose_kernel(const td_second_rule p)
{
    td_begin_kernel();
    const int64_t member = blockIdx.z;
    const bool is_worth = is_worth_it(p);
    const int first = (int)(blockIdx.x * THREADS + threadIdx.x), step = (int)gridDim.x * THREADS;
    td_choice none = {};
    if (first == 0) p.choice[member] = is_worth ? p.candidate : none;
    for (int o = 0; o < 2 && is_worth; o++) {
        const int lines = o ? p.target.n : p.target.m;
        for (int i = first; i < lines; i += step) {
            td_line line = p.from[o][member * p.lines_of_member[o] + i]; /* rounded: no fewer */
            line.scale = (int16_t)td_scale_by_norm(p.candidate.level, line);
            p.line[o][member * lines + i] = line;
        }
    }
}

cudaError_t td_second_choose(const td_second_rule *dense, int batch, cudaStream_t stream)
{
    const int lines = max(dense->target.m, dense->target.n);
    const dim3 grid((unsigned)min(64, (lines + THREADS - 1) / THREADS), 1, (unsigned)batch);
    return TD_LAUNCH_NEXT(second_choose_kernel, grid, THREADS, 0, stream, *dense);
}

/* ---- finish ---- */

/* X of four elements of a column, of which the block's residues begin at (row, col) = (0, 0). */
TD_DEVICE void load_x(const td_residue_product &p, int row, int col, td_wide<TD_SECOND_LIMBS> *x)
{
    const int8_t *at = p.residue + blockIdx.z * p.batch_step + (int64_t)col * p.ld + row;
    uint64_t fraction[TD_SUBTILE] = {};
    int64_t column[TD_SUBTILE][TD_SECOND_LIMBS] = {};
    TD_UNROLL_N(1)
    for (int g = 0; g < TD_SECOND_GROUPS; g++) {
        const td_group<TD_SECOND_LIMBS> &group = td_second_table.group[g];
        uint32_t residues[TD_GROUP], y[TD_SUBTILE];
        TD_UNROLL
        for (int t = 0; t < TD_GROUP; t++, at += p.plane_step)
            residues[t] = *reinterpret_cast<const uint32_t *>(at);
        td_add_group<TD_GROUP>(group, residues, y);
        TD_UNROLL
        for (int e = 0; e < TD_SUBTILE; e++) {
            fraction[e] += (uint64_t)(y[e] << group.raise) * group.fraction;
            TD_UNROLL
            for (int c = 0; c < TD_SECOND_LIMBS; c++)
                column[e][c] = (int64_t)((uint64_t)column[e][c] + (uint64_t)y[e] * group.limb[c]);
        }
    }
    TD_UNROLL
    for (int e = 0; e < TD_SUBTILE; e++)
        x[e] =
            td_less_multiple<TD_SECOND_LIMBS>(td_second_table.less_product, column[e], fraction[e]);
}

/* Makes the masked elements of one column of a subtile. Returns the bits of those that the
 * second product certifies. */
TD_DEVICE unsigned finish_column(const td_second_finish &p, int row, int col, unsigned mask)
{
    const td_finish &finish = p.finish;
    const td_target &target = finish.target;
    const double alpha = td_scalar_value(target.alpha), beta = td_scalar_value(target.beta);
    const td_choice choice = finish.choice[blockIdx.z];
    const td_line *const a = finish.line[0] + blockIdx.z * finish.lines_of_member[0] + row;
    const td_line b = finish.line[1][blockIdx.z * finish.lines_of_member[1] + col];
    double *const c = td_target_c<double>(target) + row + (int64_t)col * target.c.ld;
    td_wide<TD_SECOND_LIMBS> x[TD_SUBTILE];
    unsigned done = 0;
    load_x(p.product, row - p.row, col - p.column, x);
    TD_UNROLL_N(1)
    for (int i = 0; i < TD_SUBTILE; i++) {
        double result;
        if (!(mask >> i & 1) || a[i].low == TD_SPECIAL || b.low == TD_SPECIAL) continue;
        if (!td_finish_exact(finish, choice, x[i], a[i], b, alpha, beta, &c[i], &result)) continue;
        c[i] = result;
        done |= 1u << i;
    }
    return done;
}

/* Returns how many elements of the thread's subtile are done. */
TD_DEVICE int finish_subtile(const td_second_finish &p, int row, int col)
{
    const td_target &target = p.finish.target;
    if (row >= target.m || col >= target.n) return 0;
    uint16_t *const mask = td_target_mask(target, row, col);
    const unsigned deferred = *mask;
    unsigned done = 0;
    TD_UNROLL_N(1)
    for (int j = 0; j < TD_SUBTILE; j++) {
        const unsigned own = deferred >> (TD_SUBTILE * j) & 15;
        if (own) done |= finish_column(p, row, col + j, own) << (TD_SUBTILE * j);
    }
    if (done) *mask = (uint16_t)(deferred ^ done);
    return __popc(done);
}

/* Grid: blocks over dense tiles, 1, batch member. */
static __global__ void __launch_bounds__(TD_FINISH_THREADS)
    second_finish_kernel(TD_PARAMETER td_second_finish p)
{
    TD_SHARED(int, total, );
    td_begin_kernel();
    const td_target &target = p.finish.target;
    const int tiles = td_tiles(target.m) * td_tiles(target.n);
    const int32_t *const own = target.open_tile + blockIdx.z * (int64_t)tiles;
    const int count =
        p.finish.choice[blockIdx.z].parameter ? target.open_count[blockIdx.z].dense : 0;
    int done = 0;
    if (threadIdx.x == 0) total = 0;
    TD_UNROLL_N(1)
    for (int i = (int)blockIdx.x; i < count; i += (int)gridDim.x) {
        int row, col;
        td_subtile_of_tile(target, own[tiles - 1 - i], &row, &col);
        if (row >= p.row && row < p.row + p.rows && col >= p.column && col < p.column + p.columns)
            done += finish_subtile(p, row, col);
    }
    __syncthreads();
    if (done) atomicAdd(&total, done);
    __syncthreads();
    if (p.repaired && threadIdx.x == 0 && total) atomicAdd(p.repaired, (unsigned long long)total);
}

cudaError_t td_second_finish_run(const td_second_finish *finish, int batch, cudaStream_t stream)
{
    return TD_LAUNCH_NEXT(second_finish_kernel, td_grid_of_turns(finish->finish.target, 1, batch),
                          TD_FINISH_THREADS, 0, stream, *finish);
}

cudaError_t td_second_prepare(void)
{
    const cudaError_t error = td_load(cudaSuccess, second_choose_kernel, second_finish_kernel);
    return error == cudaSuccess ? td_second_residues_prepare() : error;
}
