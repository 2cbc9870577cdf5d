/* repair.cu - the elements of C that an engine left out, recomputed in binary64 from the original operands; and
 * the products that need no operands. Shared by all engines. */
#include "join.h"

enum { THREADS = 2 * TD_TILE_THREADS, K_STEP = 16, COLS = TD_COLS / 2 };

/* k_step columns of one operand's strip into shared memory; zeros past the ends are never used. */
TD_DEVICE void load_slab(const td_operand &o, const double *data, int line0, int64_t l0,
                         double (*slab)[TD_STRIP + 1])
{
    for (int e = (int)threadIdx.x; e < K_STEP * TD_STRIP; e += THREADS) {
        const int l = o.k_step == 1 ? e % K_STEP : e / TD_STRIP;
        const int line = o.k_step == 1 ? e / K_STEP : e % TD_STRIP;
        const bool inside = line0 + line < o.lines && l0 + l < o.k;
        slab[l][line] = inside ? data[td_operand_at(o, line0 + line, l0 + l)] : 0.0;
    }
}

/* One block a tile; two threads share the elements of one multiply thread, half of the columns each. Every element
 * is one chain of FMAs over k in order, whatever else of the tile is repaired. Grid: tile, 1, batch member. */
static __global__ void __launch_bounds__(THREADS) repair_kernel(const td_repair p)
{
    TD_SHARED(double, slab_a, [K_STEP][TD_STRIP + 1]);
    TD_SHARED(double, slab_b, [K_STEP][TD_STRIP + 1]);
    const int owner = (int)threadIdx.x / 2, half = (int)threadIdx.x % 2, batch = (int)blockIdx.z;
    const int m_tiles = td_tiles(p.target.m), n_tiles = td_tiles(p.target.n);
    const uint32_t columns = half ? 0xf0f0f0f0u : 0x0f0f0f0fu;
    const uint32_t mask =
        columns &
        p.target.masks[((int64_t)batch * m_tiles * n_tiles + blockIdx.x) * TD_TILE_THREADS + owner];
    if (!__syncthreads_or(mask != 0)) return;

    const int row0 = (int)blockIdx.x % m_tiles * TD_STRIP,
              col0 = (int)blockIdx.x / m_tiles * TD_STRIP;
    const int row = td_tile_row(owner), col = td_tile_col(owner) + half * td_tile_col_step(COLS);
    const double *a = td_member<const double>(p.operand[0].matrix, p.target.batch_first + batch);
    const double *b = td_member<const double>(p.operand[1].matrix, p.target.batch_first + batch);
    double sum[TD_ROWS][COLS] = {};
    for (int64_t l0 = 0; l0 < p.operand[0].k; l0 += K_STEP) {
        load_slab(p.operand[0], a, row0, l0, slab_a);
        load_slab(p.operand[1], b, col0, l0, slab_b);
        __syncthreads();
        const int count = (int)min((int64_t)K_STEP, p.operand[0].k - l0);
        for (int l = 0; l < count && mask; l++) {
            TD_UNROLL
            for (int i = 0; i < TD_ROWS; i++) TD_UNROLL
            for (int j = 0; j < COLS; j++)
                sum[i][j] = td_fma64(slab_a[l][row + i], slab_b[l][col + j], sum[i][j]);
        }
        __syncthreads();
    }

    const double alpha = td_scalar_value(p.target.alpha), beta = td_scalar_value(p.target.beta);
    double *c = td_member<double>(p.target.c, p.target.batch_first + batch) + p.target.c_offset;
    TD_UNROLL
    for (int i = 0; i < TD_ROWS; i++) TD_UNROLL
    for (int j = 0; j < COLS; j++)
        if (mask >> (i * TD_COLS + half * COLS + j) & 1) {
            double *element = c + (row0 + row + i) + (int64_t)(col0 + col + j) * p.target.c.ld;
            *element = td_axpby(alpha, sum[i][j], beta, element);
        }
    if (p.repaired && mask) atomicAdd(p.repaired, (unsigned long long)__popc(mask));
}

cudaError_t td_repair_run(const td_repair *p, int batch, cudaStream_t stream)
{
    dim3 grid(td_tiles(p->target.m) * (unsigned)td_tiles(p->target.n), 1, (unsigned)batch);
    return TD_LAUNCH(repair_kernel, grid, THREADS, 0, stream, *p);
}

/* Grid: blocks over columns, 1, batch member. */
static __global__ void scale_kernel(const td_target target)
{
    const double beta = td_scalar_value(target.beta);
    double *c = td_member<double>(target.c, target.batch_first + blockIdx.z) + target.c_offset;
    for (int64_t j = blockIdx.x; j < target.n; j += gridDim.x)
        for (int64_t i = threadIdx.x; i < target.m; i += blockDim.x) {
            double *element = c + i + j * target.c.ld;
            *element = beta == 0.0 ? 0.0 : td_mul64(beta, *element);
        }
}

cudaError_t td_scale_run(const td_target *target, int batch, cudaStream_t stream)
{
    dim3 grid((unsigned)min(target->n, 8192), 1, (unsigned)batch);
    return TD_LAUNCH(scale_kernel, grid, 256, 0, stream, *target);
}

cudaError_t td_repair_prepare(void)
{
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, repair_kernel);
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, scale_kernel);
    return error;
}
