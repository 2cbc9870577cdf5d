/* small_estimate.cu - the estimate of small products by one kernel, which mostly ends at once: a block makes the magnitudes of a tile's
 * lines itself, multiplies them, and ranks the tile's elements. */
#include "../int8/residue.h"
#include "../int8/warp_products.h"
#include "magnitudes.h"
#include "ranks.h"

/* Four of a block's warps multiply: 64 rows by 16 columns each. */
typedef shape<1, TD_TILE / MMA_COLUMNS, MMA_COLUMNS, TILE_K, 1, 2> small_shape;
static_assert((int)small_shape::rows == TD_TILE && (int)small_shape::columns == TD_TILE,
              "a tile of ranks");
static_assert((int)TD_FINISH_THREADS == (int)TD_FIXED_THREADS, "one block for all steps");

/* The tile's rows and columns become magnitudes in so many steps for each TILE_K of k: half of the rows at a time, then of the columns. */
enum { HALVES = TD_TILE / TD_FIXED_LINES, STEPS = 2 * HALVES };

TD_DEVICE td_fixed_place place_of_step(const td_fixed &fixed, int tile, int step)
{
    const int row_tiles = td_tiles(fixed.operand[0].lines), which = step / HALVES % 2,
              first = which ? tile / row_tiles : tile % row_tiles;
    return {which,
            (int)blockIdx.z,
            first * TD_TILE + step % HALVES * TD_FIXED_LINES,
            INT32_MAX,
            0,
            fixed.k_count,
            (int64_t)(step / STEPS) * TILE_K,
            fixed.operand[which].k_step == 1};
}

/* Where a magnitude is: lines of columns, then of rows. */
TD_DEVICE int8_t *place_in_panels(int8_t *panels, int which, int line, int64_t l)
{
    const int in_tile = (int)l % TILE_K, own = (which ? 0 : (int)TD_TILE) + line % TD_TILE;
    return panels + place<small_shape>(own, in_tile / CHUNK) + in_tile % CHUNK;
}

/* exponent_of the tile's rows, then of its columns. */
typedef int exponents_of_tile[2 * TD_TILE];
TD_DEVICE void load_exponents(const td_fixed &fixed, int tile, exponents_of_tile &exponents)
{
    const int own = (int)threadIdx.x % TD_FIXED_LINES;
    for (int step = (int)threadIdx.x / TD_FIXED_LINES; step < STEPS;
         step += TD_FIXED_THREADS / TD_FIXED_LINES) {
        const td_fixed_place at = place_of_step(fixed, tile, step);
        exponents[step * TD_FIXED_LINES + own] = exponent_of(fixed, at, at.line0 + own);
    }
    __syncthreads();
}

/* The sums of a tile's elements, as warps have them; returns how many blocks of k have magnitudes of both operands. Numbers are loaded a
 * step ahead. */
TD_DEVICE unsigned multiply_tile(const td_fixed &fixed, int tile, int8_t *panels,
                                 warp_sums<small_shape> &sums)
{
    const int warp = td_uniform((int)threadIdx.x / 32),
              stages = (int)((fixed.k_count + TILE_K - 1) / TILE_K);
    unsigned met = 0, any = 0;
    bool is_nonzero = true;
    const bool is_shifted = fixed.shifted[blockIdx.z] != 0;
    own_numbers x, next;
    TD_SHARED(exponents_of_tile, exponents, );
    load_exponents(fixed, tile, exponents);
    load_numbers(fixed, place_of_step(fixed, tile, 0), next);
    TD_ROLLED
    for (int step = 0; step < STEPS * stages; step++) {
        const td_fixed_place at = place_of_step(fixed, tile, step);
        TD_UNROLL
        for (int i = 0; i < RUN; i++) x[i] = next[i];
        if (step + 1 < STEPS * stages)
            load_numbers(fixed, place_of_step(fixed, tile, step + 1), next);
        const int *const own = &exponents[step % STEPS * TD_FIXED_LINES + own_line(at.along)];
        any |= store_magnitudes(
            fixed, (int64_t)stages * TILE_K, at, own, is_shifted, x,
            [&](int line, int64_t l) { return place_in_panels(panels, at.which, line, l); });
        if (step % HALVES < HALVES - 1) continue;
        is_nonzero &= __syncthreads_or(any != 0) != 0;
        any = 0;
        if (step % STEPS < STEPS - 1) continue;
        if (is_nonzero) met++;
        if (is_nonzero && warp < small_shape::threads / 32) {
            warp_products<small_shape> products(sums, panels + warp * MMA_COLUMNS * TILE_K,
                                                panels + TD_TILE * TILE_K);
            products.read(0);
            products.finish(0);
        }
        is_nonzero = true;
        __syncthreads();
    }
    return met;
}

/* Logarithms of a tile's sums, four rows a word: [column][rows]. */
typedef uint32_t logs_of_tile[TD_TILE][TD_TILE / TD_SUBTILE + 1];

TD_DEVICE void store_logs(const warp_sums<small_shape> &sums, logs_of_tile &logs)
{
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    if (warp < small_shape::threads / 32) {
        TD_UNROLL
        for (int j = 0; j < ROW_MMAS; j++) {
            TD_UNROLL
            for (int s = 0; s < 4; s++) {
                const int column = warp * MMA_COLUMNS + s / 2 * 8 + lane / 4,
                          row = j * MMA_ROWS + 2 * (lane % 4) + s % 2;
                reinterpret_cast<uint8_t *>(logs[column])[row] =
                    (uint8_t)td_logarithm_of(sums[0][j][s]);
            }
        }
    }
    __syncthreads();
}

/* Grid: tile, 1, batch member. */
static __global__ void __launch_bounds__(TD_FINISH_THREADS, 2)
    small_estimate_kernel(TD_PARAMETER td_fixed fixed, TD_PARAMETER td_estimate p)
{
    TD_DYNAMIC_SHARED(int8_t, panels);
    TD_SHARED(rank_state, state, );
    TD_SHARED(logs_of_tile, logs, );
    td_begin_kernel();
    if (td_scalar_value(fixed.alpha) == 0.0 || !fixed.choice[blockIdx.z].is_estimated) return;
    const int tile = (int)blockIdx.x, tid = (int)threadIdx.x, quads = TD_TILE / TD_SUBTILE;
    warp_sums<small_shape> sums = {};
    const unsigned met = multiply_tile(fixed, tile, panels, sums);
    store_logs(sums, logs);
    ranked_subtile subtile = place_subtile(p, tile);
    TD_UNROLL
    for (int j = 0; j < TD_SUBTILE; j++)
        subtile.bytes[j] = logs[tid / quads * TD_SUBTILE + j][tid % quads];
    if (tid < 2 * TD_TILE) summarise_line(p, *place_line(p, tile), state.lines);
    __syncthreads();
    count_open(state, rank_subtile(p, state.lines, subtile));
    __syncthreads();
    if (met && tid == 0 && p.blocks > 0) atomicAdd(&p.met[blockIdx.z], (unsigned long long)met);
    close_ranks(p, open_of_tile(state));
}

/* The most products, and the longest k, for which magnitudes that each tile makes anew take no longer than kernels that make them once. */
enum { SMALL_PRODUCT = 1 << 27, SHORT_K = 256 };

bool td_is_small_estimate(int m, int n, int64_t k, int batch)
{
    return k <= SHORT_K && (double)m * n * (double)k * batch <= SMALL_PRODUCT &&
           td_rank_blocks(m, n, batch) == td_tiles(m) * td_tiles(n);
}

cudaError_t td_small_estimate_run(const td_fixed *fixed, const td_estimate *p, int batch,
                                  cudaStream_t stream)
{
    td_fixed all = *fixed;
    all.k_first = 0;
    all.k_count = p->choose.k;
    return TD_LAUNCH_NEXT(small_estimate_kernel, td_grid_of_tiles(p->finish.target, 1, batch),
                          TD_FINISH_THREADS, small_shape::stage_bytes, stream, all, *p);
}

cudaError_t td_small_estimate_prepare(void) { return td_load(cudaSuccess, small_estimate_kernel); }
