/* solve.cu - substitution with one diagonal block of a triangle: see solve.h.
 *
 * A block of threads solves for 32 vectors, a lane each. Warp w has elements 8w .. 8w + 7 of each
 * of them in registers. In step p warp p solves with the 8 x 8 triangle on the diagonal and hands
 * its elements on in shared memory; the warps behind it take their products with these away. */
#include "solve.h"

#include "../view/access.h"
#include "quotient.h"

enum { ROWS = TD_SOLVE_SUM, WARPS = TD_SOLVE_ORDER / ROWS, LANES = 32, THREADS = WARPS * LANES };
enum { TILES = WARPS * (WARPS + 1) / 2, TILE = ROWS * ROWS };
enum { VECTOR_ELEMENTS = TD_SOLVE_ORDER * LANES / THREADS, TILE_ELEMENTS = TILES * TILE / THREADS };
enum { STAGED = LANES + 1 }; /* numbers of a row of the panel, so that columns lie in all banks */

static_assert(TILES * TILE % THREADS == 0, "all threads load as many elements of the triangle");
static_assert(TD_SOLVE_ORDER * STAGED <= TILES * TILE, "the panel fits where the triangle is");

/* Number of the tile in row w and column p of 8 x 8 tiles of the lower triangle. */
TD_DEVICE int tile_at(int w, int p) { return w * (w + 1) / 2 + p; }

/* Row and column of element e of the tiles, which lie one after another. Neighbouring threads read
 * along the one of the two that is contiguous. */
TD_DEVICE void place_of(const td_solve_block &p, int e, int *i, int *j)
{
    const int tile = e / TILE, fast = e % ROWS, slow = e / ROWS % ROWS;
    const bool is_along_rows = p.column_step == 1 || p.column_step == -1;
    int w = 0;
    while (tile_at(w + 1, 0) <= tile) w++;
    *i = w * ROWS + (is_along_rows ? slow : fast);
    *j = (tile - tile_at(w, 0)) * ROWS + (is_along_rows ? fast : slow);
}

/* Element (i, j) of T; of rows that are not there, those of the identity. */
template <class number> TD_DEVICE number element_of(const td_solve_block &p, int i, int j)
{
    const bool is_diagonal = i == j,
               is_read = i < p.order && (i > j || (is_diagonal && !p.is_unit));
    if (!is_read) return td_number<number>(is_diagonal ? 1.0 : 0.0);
    const number *const triangle = td_global(static_cast<const number *>(p.triangle));
    const number t = triangle[i * p.row_step + j * p.column_step];
    return p.is_conjugate ? td_conjugate(t) : t;
}

template <class number> struct triangle_share {
    number of[TILE_ELEMENTS];
};

template <class number> TD_DEVICE triangle_share<number> load_triangle(const td_solve_block &p)
{
    triangle_share<number> share;
    TD_UNROLL
    for (int n = 0; n < TILE_ELEMENTS; n++) {
        int i, j;
        place_of(p, n * THREADS + (int)threadIdx.x, &i, &j);
        share.of[n] = element_of<number>(p, i, j);
    }
    return share;
}

/* In shared memory, tile by tile, each [column][row]. */
template <class number>
TD_DEVICE void store_triangle(const td_solve_block &p, const triangle_share<number> &share,
                              number *triangle)
{
    TD_UNROLL
    for (int n = 0; n < TILE_ELEMENTS; n++) {
        int i, j;
        place_of(p, n * THREADS + (int)threadIdx.x, &i, &j);
        triangle[tile_at(i / ROWS, j / ROWS) * TILE + j % ROWS * ROWS + i % ROWS] = share.of[n];
    }
}

/* ---- the panel: vectors of B in global memory, [element][vector] in shared memory ---- */

/* Element and vector that number n of a thread's share is, in the panel; false if B has none. */
TD_DEVICE bool find_in_panel(const td_solve_block &p, int n, int *element, int *vector)
{
    const int e = n * THREADS + (int)threadIdx.x;
    const bool is_along_vectors = p.vector_step == 1;
    *element = is_along_vectors ? e / LANES : e % TD_SOLVE_ORDER;
    *vector = is_along_vectors ? e % LANES : e / TD_SOLVE_ORDER;
    return *element < p.order && blockIdx.x * (int64_t)LANES + *vector < p.count;
}

template <class number> TD_DEVICE number *panel_at(const td_solve_block &p, int element, int vector)
{
    const int64_t v = blockIdx.x * (int64_t)LANES + vector;
    return td_global(static_cast<number *>(p.vectors)) + element * p.element_step +
           v * p.vector_step;
}

TD_DEVICE bool is_one(double x) { return x == 1.0; }
TD_DEVICE bool is_one(td_complex<double> x) { return x.re == 1.0 && x.im == 0.0; }

template <class number> TD_DEVICE void load_panel(const td_solve_block &p, number *staged)
{
    const number alpha = td_scalar_value<number>(p.alpha);
    const bool is_scaled = p.is_first && !is_one(alpha);
    TD_UNROLL
    for (int n = 0; n < VECTOR_ELEMENTS; n++) {
        int element, vector;
        number x = td_number<number>(0.0);
        if (find_in_panel(p, n, &element, &vector)) x = *panel_at<number>(p, element, vector);
        staged[element * STAGED + vector] = is_scaled ? td_times(alpha, x) : x;
    }
}

template <class number> TD_DEVICE void store_panel(const td_solve_block &p, const number *staged)
{
    const bool is_zero = td_is_zero(td_scalar_value<number>(p.alpha));
    TD_UNROLL
    for (int n = 0; n < VECTOR_ELEMENTS; n++) {
        int element, vector;
        if (!find_in_panel(p, n, &element, &vector)) continue;
        const number x = staged[element * STAGED + vector];
        *panel_at<number>(p, element, vector) = is_zero ? td_number<number>(0.0) : x;
    }
}

/* ---- substitution ---- */

/* Solves with a tile on the diagonal. */
template <class number>
TD_DEVICE void solve_tile(number *x, const number *tile, const number *divisor)
{
    TD_UNROLL
    for (int j = 0; j < ROWS; j++) {
        x[j] = td_quotient(x[j], tile[j * ROWS + j], divisor[j]);
        TD_UNROLL
        for (int i = j + 1; i < ROWS; i++) x[i] = td_minus(x[i], tile[j * ROWS + i], x[j]);
    }
}

TD_DEVICE double plus(double x, double y) { return td_add64(x, y); }
TD_DEVICE td_complex<double> plus(td_complex<double> x, td_complex<double> y)
{
    return {td_add64(x.re, y.re), td_add64(x.im, y.im)};
}

/* Takes a tile's products with solved elements away: their sum at once, so that few roundings are
 * as large as x. */
template <class number>
TD_DEVICE void take_tile_away(number *x, const number *tile, const number *solved, int lane)
{
    number y[ROWS];
    TD_UNROLL
    for (int j = 0; j < ROWS; j++) y[j] = solved[j * LANES + lane];
    TD_UNROLL
    for (int i = 0; i < ROWS; i++) {
        number sum = td_number<number>(0.0);
        TD_UNROLL
        for (int j = 0; j < ROWS; j++) sum = td_minus(sum, tile[j * ROWS + i], y[j]);
        x[i] = plus(x[i], sum);
    }
}

/* Grid: panels of LANES vectors. The triangle is no kernel's of the call, and is read before the
 * kernels before have ended. */
template <class number>
static __global__ __launch_bounds__(THREADS) void solve_kernel(TD_PARAMETER td_solve_block p)
{
    TD_SHARED(number, shared, [TILES * TILE]);
    TD_SHARED(number, divisor, [TD_SOLVE_ORDER]);
    TD_SHARED(number, solved, [2][ROWS * LANES]);
    const int warp = td_uniform((int)threadIdx.x / LANES), lane = (int)threadIdx.x % LANES;
    const int tiles = (p.order + ROWS - 1) / ROWS;
    number x[ROWS];

    td_let_next_begin();
    const triangle_share<number> triangle = load_triangle<number>(p);
    td_wait_for_last();
    load_panel(p, &shared[0]);
    __syncthreads();
    TD_UNROLL
    for (int i = 0; i < ROWS; i++) x[i] = shared[(warp * ROWS + i) * STAGED + lane];
    __syncthreads();
    store_triangle(p, triangle, &shared[0]);
    __syncthreads();
    if (threadIdx.x < TD_SOLVE_ORDER) {
        const int i = (int)threadIdx.x;
        divisor[i] = td_divisor(shared[tile_at(i / ROWS, i / ROWS) * TILE + i % ROWS * (ROWS + 1)]);
    }
    __syncthreads();

    TD_UNROLL_N(1)
    for (int step = 0; step < tiles; step++) {
        number *const handed = solved[step % 2];
        if (warp == step) {
            solve_tile(x, &shared[tile_at(step, step) * TILE], &divisor[step * ROWS]);
            TD_UNROLL
            for (int i = 0; i < ROWS; i++) handed[i * LANES + lane] = x[i];
        }
        __syncthreads();
        if (warp > step) take_tile_away(x, &shared[tile_at(warp, step) * TILE], handed, lane);
    }

    __syncthreads();
    TD_UNROLL
    for (int i = 0; i < ROWS; i++) shared[(warp * ROWS + i) * STAGED + lane] = x[i];
    __syncthreads();
    store_panel(p, &shared[0]);
}

template <class number> static cudaError_t launch(const td_solve_block &p, cudaStream_t stream)
{
    const dim3 grid((unsigned)((p.count + LANES - 1) / LANES));
    if (p.is_first) return TD_LAUNCH((solve_kernel<number>), grid, THREADS, 0, stream, p);
    return TD_LAUNCH_NEXT((solve_kernel<number>), grid, THREADS, 0, stream, p);
}

cudaError_t td_solve_block_run(const td_solve_block *p, cudaStream_t stream)
{
    if (p->type == TD_COMPLEX_BINARY64) return launch<td_complex<double>>(*p, stream);
    return launch<double>(*p, stream);
}

cudaError_t td_solve_prepare(void)
{
    return td_load(cudaSuccess, solve_kernel<double>, solve_kernel<td_complex<double>>);
}
