/* repair.cu - the elements of C that an engine left out, recomputed in binary64 from the original operands; and
 * the products that need no operands. Shared by all engines. */
#include "../access.h"

enum { THREADS = TD_SUBTILES, K_STEP = 16 };

/* k_step columns of one operand's strip into shared memory; zeros past the ends are never used. */
TD_DEVICE void load_slab(const td_operand &o, const double *data, int line0, int64_t l0,
                         double (*slab)[TD_TILE + 1])
{
    for (int e = (int)threadIdx.x; e < K_STEP * TD_TILE; e += THREADS) {
        const int l = o.k_step == 1 ? e % K_STEP : e / TD_TILE;
        const int line = o.k_step == 1 ? e / K_STEP : e % TD_TILE;
        const bool inside = line0 + line < o.lines && l0 + l < o.k;
        slab[l][line] = inside ? data[td_operand_at(o, line0 + line, l0 + l)] : 0.0;
    }
}

/* The masked elements of a subtile at (row, col) of C from their sums. */
TD_DEVICE void store_subtile(const td_target &target, int row, int col, unsigned mask,
                             const double (*sum)[TD_SUBTILE])
{
    const double alpha = td_scalar_value(target.alpha), beta = td_scalar_value(target.beta);
    double *c = td_target_c<double>(target) + row + (int64_t)col * target.c.ld;
    TD_UNROLL
    for (int j = 0; j < TD_SUBTILE; j++) TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) {
        if (!(mask >> (TD_SUBTILE * j + i) & 1)) continue;
        double *element = c + i + (int64_t)j * target.c.ld;
        *element = td_axpby(alpha, sum[j][i], beta, element);
    }
}

struct slabs {
    double a[K_STEP][TD_TILE + 1], b[K_STEP][TD_TILE + 1];
};

/* A tile by all threads of a block, a subtile each. Every element is one sum over k in order, whatever else of the tile is
 * repaired. */
TD_DEVICE void repair_tile(const td_repair &p, int tile, slabs &slab)
{
    const int m_tiles = td_tiles(p.target.m);
    const int row0 = tile % m_tiles * TD_TILE, col0 = tile / m_tiles * TD_TILE;
    const int row = (int)threadIdx.x % (TD_TILE / TD_SUBTILE) * TD_SUBTILE;
    const int col = (int)threadIdx.x / (TD_TILE / TD_SUBTILE) * TD_SUBTILE;
    const bool exists = row0 + row < p.target.m && col0 + col < p.target.n;
    const unsigned mask = exists ? *td_target_mask(p.target, row0 + row, col0 + col) : 0;
    if (!__syncthreads_or(mask != 0)) return;

    const int64_t k = p.operand[0].k, member = p.target.batch_first + blockIdx.z;
    const double *a = td_member<const double>(p.operand[0].matrix, member);
    const double *b = td_member<const double>(p.operand[1].matrix, member);
    double sum[TD_SUBTILE][TD_SUBTILE] = {};
    for (int64_t l0 = 0; l0 < k; l0 += K_STEP) {
        load_slab(p.operand[0], a, row0, l0, slab.a);
        load_slab(p.operand[1], b, col0, l0, slab.b);
        __syncthreads();
        const int count = (int)min((int64_t)K_STEP, k - l0);
        for (int l = 0; l < count && mask; l++) {
            TD_UNROLL
            for (int j = 0; j < TD_SUBTILE; j++) TD_LANES
            for (int i = 0; i < TD_SUBTILE; i++)
                sum[j][i] = td_fma64(slab.a[l][row + i], slab.b[l][col + j], sum[j][i]);
        }
        __syncthreads();
    }
    store_subtile(p.target, row0 + row, col0 + col, mask, sum);
    if (p.repaired && mask) atomicAdd(p.repaired, (unsigned long long)__popc(mask));
}

/* Grid: blocks over open tiles, 1, batch member. */
static __global__ void __launch_bounds__(THREADS) repair_kernel(const td_repair p)
{
    TD_SHARED(slabs, slab, );
    td_each_open_tile(p.target, [&](int tile) { repair_tile(p, tile, slab); });
}

cudaError_t td_repair_run(const td_repair *p, int batch, cudaStream_t stream)
{
    const dim3 grid = td_grid_of_turns(p->target, 1, batch);
    cudaError_t error = cudaSuccess;
    if (p->kind == TD_REPAIR_EXACT) {
        error = td_exact_narrow_run(p, batch, stream);
        if (error == cudaSuccess) error = td_exact_wide_run(p, batch, stream);
    }
    if (error == cudaSuccess) error = TD_LAUNCH(repair_kernel, grid, THREADS, 0, stream, *p);
    return error;
}

/* Grid: blocks over columns, 1, batch member. */
static __global__ void scale_kernel(const td_target target)
{
    const double beta = td_scalar_value(target.beta);
    double *c = td_target_c<double>(target);
    for (int64_t j = blockIdx.x; j < target.n; j += gridDim.x)
        for (int64_t i = threadIdx.x; i < target.m; i += blockDim.x) {
            double *element = c + i + j * target.c.ld;
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
    return td_load(error, repair_kernel, scale_kernel);
}
