/* solve.cu - substitution with one diagonal block of a triangle: see solve.h.
 *
 * A block of threads solves for a panel of `vectors` vectors, which it keeps in shared memory, a
 * row of the panel for each row of real numbers. Band after band of T it has the band's triangle in
 * shared memory, too: one warp solves with a tile on the diagonal, a lane for each vector, and all
 * warps take its products away from the band's rows behind. Then all warps take the band's products
 * away from all rows behind, a strip of rows at a time, of which each element of T goes from global
 * memory to the one thread that wants it, while the strip before is multiplied. */
#include "solve.h"

#include "../device/async_copy.h"
#include "../view/access.h"
#include "quotient.h"
#include "strips.h"

enum {
    TILE = TD_SOLVE_TILE,
    BAND = TD_SOLVE_BAND,
    TILES = BAND / TILE,
    TRIANGLE_TILES = TILES * (TILES + 1) / 2,
    WARP = SOLVE_WARP,
    WARPS = 8,
    THREADS = WARP * WARPS,
    COLUMN = TILE + 4, /* real numbers of a tile's column, so that columns lie in other banks */
    BAND_STEPS = BAND / PRODUCT_K,
    TILE_STEPS = TILE / PRODUCT_K
};

/* ---- sizes of what counts in real numbers, in numbers of T ---- */

template <class number> TD_HOST_DEVICE constexpr int tile_rows()
{
    return TILE / parts_of<number>();
}
template <class number> TD_HOST_DEVICE constexpr int band_rows()
{
    return BAND / parts_of<number>();
}

/* Real numbers of a tile in shared memory. */
template <class number> TD_HOST_DEVICE constexpr int tile_size()
{
    return tile_rows<number>() * COLUMN;
}

/* Strips of a block of so many rows. */
template <class number> TD_HOST_DEVICE int strips_of(int order)
{
    return (order + tile_rows<number>() - 1) / tile_rows<number>();
}

/* Bytes of shared memory: a panel, a band's triangle, and its divisors. All of it is dynamic, so
 * that a kernel may have as much as there is. */
template <class number> static int bytes_of(int order, int vectors)
{
    return (strips_of<number>(order) * TILE * vectors + TRIANGLE_TILES * tile_size<number>() +
            BAND) *
           (int)sizeof(double);
}

/* ---- the triangle ---- */

template <class number> TD_DEVICE const number *triangle_at(const td_solve_block &p, int i, int j)
{
    return td_global(static_cast<const number *>(p.triangle)) + i * p.row_step + j * p.column_step;
}

template <class number> TD_DEVICE triangle_part all_of(const td_solve_block &p)
{
    const int parts = parts_of<number>();
    return {td_global(static_cast<const double *>(p.triangle)), parts * p.row_step,
            parts * p.column_step, p.order, p.is_conjugate};
}

/* Number of the tile in row w and column c of tiles of a band's triangle. */
TD_DEVICE int tile_at(int w, int c) { return w * (w + 1) / 2 + c; }

/* Begins to copy a band's triangle to shared memory, tile by tile, each [column][row]. Threads that
 * are neighbours read along the one of the two that is contiguous. */
template <class number>
TD_DEVICE void fetch_band(const td_solve_block &p, int band, double *triangle)
{
    constexpr int rows = tile_rows<number>(), together = THREADS / (rows * rows);
    const bool is_along_rows = p.column_step == 1 || p.column_step == -1;
    const int fast = (int)threadIdx.x % rows, slow = (int)threadIdx.x / rows % rows,
              row = is_along_rows ? slow : fast, column = is_along_rows ? fast : slow;
    TD_UNROLL
    for (int n = 0; n < TRIANGLE_TILES; n += together) {
        const int tile = n + (together > 1 ? (int)threadIdx.x / (rows * rows) : 0),
                  w = (tile >= 1) + (tile >= 3) + (tile >= 6),
                  i = band * band_rows<number>() + w * rows + row,
                  j = band * band_rows<number>() + (tile - tile_at(w, 0)) * rows + column;
        if (tile < TRIANGLE_TILES && i < p.order && (i > j || (i == j && !p.is_unit)))
            td_async_copy<(int)sizeof(number)>(triangle + tile * tile_size<number>() +
                                                   column * COLUMN + row * parts_of<number>(),
                                               triangle_at<number>(p, i, j));
    }
    td_async_copy_commit();
}

/* The band's row whose divisor the thread has to make; negative: it makes none. The last warps do:
 * they have the fewest strips. */
template <class number> TD_DEVICE int own_row()
{
    return (int)threadIdx.x - (THREADS - band_rows<number>());
}

/* The element of the diagonal in that row, or 1. */
template <class number> TD_DEVICE number load_diagonal(const td_solve_block &p, int band)
{
    const int row = own_row<number>(), i = band * band_rows<number>() + row;
    if (row < 0 || i >= p.order || p.is_unit) return td_number<number>(1.0);
    const number t = *triangle_at<number>(p, i, i);
    return p.is_conjugate ? td_conjugate(t) : t;
}

/* ---- the panel: vectors of B in global memory, rows of real numbers in shared memory ---- */

template <int vectors> TD_DEVICE void put(double *x, int i, int v, double value)
{
    x[place_of<vectors>(i, v)] = value;
}
template <int vectors> TD_DEVICE void put(double *x, int i, int v, td_complex<double> value)
{
    x[place_of<vectors>(2 * i, v)] = value.re;
    x[place_of<vectors>(2 * i + 1, v)] = value.im;
}

template <int vectors> TD_DEVICE void get(double &value, const double *x, int i, int v)
{
    value = x[place_of<vectors>(i, v)];
}
template <int vectors> TD_DEVICE void get(td_complex<double> &value, const double *x, int i, int v)
{
    value = {x[place_of<vectors>(2 * i, v)], x[place_of<vectors>(2 * i + 1, v)]};
}

/* Element and vector that number e of so many rows of a panel are: neighbours in memory are
 * neighbours. */
template <int vectors>
TD_DEVICE void find_in_panel(const td_solve_block &p, int e, int rows, int *i, int *v)
{
    const bool is_along_vectors = p.vector_step == 1;
    *i = is_along_vectors ? e / vectors : e % rows;
    *v = is_along_vectors ? e % vectors : e / rows;
}

template <class number> TD_DEVICE number *in_memory(const td_solve_block &p, int i, int64_t v)
{
    return td_global(static_cast<number *>(p.vectors)) + i * p.element_step + v * p.vector_step;
}

TD_DEVICE bool is_one(double x) { return x == 1.0; }
TD_DEVICE bool is_one(td_complex<double> x) { return x.re == 1.0 && x.im == 0.0; }

/* Many loads at a time: each has to wait for memory. What is asked of beyond the ends of B is
 * another element's, of which nothing is kept. */
template <class number, int vectors> TD_DEVICE void load_panel(const td_solve_block &p, double *x)
{
    enum { TOGETHER = 8 };
    const number alpha = td_scalar_value<number>(p.alpha);
    const bool is_scaled = p.is_first && !is_one(alpha);
    const int rows = strips_of<number>(p.order) * tile_rows<number>(), elements = rows * vectors;
    const int64_t first = blockIdx.x * (int64_t)vectors;
    TD_UNROLL_N(1)
    for (int begin = (int)threadIdx.x; begin < elements; begin += TOGETHER * THREADS) {
        number b[TOGETHER];
        int i, v;
        TD_UNROLL
        for (int n = 0; n < TOGETHER; n++) {
            find_in_panel<vectors>(p, min(begin + n * THREADS, elements - 1), rows, &i, &v);
            b[n] = *in_memory<number>(p, min(i, p.order - 1), min(first + v, p.count - 1));
        }
        TD_UNROLL
        for (int n = 0; n < TOGETHER; n++) {
            if (begin + n * THREADS >= elements) break;
            find_in_panel<vectors>(p, begin + n * THREADS, rows, &i, &v);
            put<vectors>(x, i, v, is_scaled ? td_times(alpha, b[n]) : b[n]);
        }
    }
}

template <class number, int vectors>
TD_DEVICE void store_band(const td_solve_block &p, int band, const double *x)
{
    constexpr int rows = band_rows<number>();
    const bool is_zero = td_is_zero(td_scalar_value<number>(p.alpha));
    TD_UNROLL
    for (int n = 0; n < rows * vectors / THREADS; n++) {
        int i, v;
        number value = td_number<number>(0.0);
        find_in_panel<vectors>(p, n * THREADS + (int)threadIdx.x, rows, &i, &v);
        i += band * rows;
        const int64_t vector = blockIdx.x * (int64_t)vectors + v;
        if (i >= p.order || vector >= p.count) continue;
        if (!is_zero) get<vectors>(value, x, i, v);
        *in_memory<number>(p, i, vector) = value;
    }
}

/* ---- a band ---- */

/* Number i of a tile's column. */
TD_DEVICE void load_number(double &t, const double *column, int i, bool) { t = column[i]; }
TD_DEVICE void load_number(td_complex<double> &t, const double *column, int i, bool is_conjugate)
{
    const double2 pair = *reinterpret_cast<const double2 *>(column + 2 * i);
    t = {pair.x, is_conjugate ? -pair.y : pair.y};
}

/* Those from `first` on, and perhaps the one before. */
TD_DEVICE void load_column(double *t, const double *column, int first, bool)
{
    TD_UNROLL
    for (int i = first / 2 * 2; i < TILE; i += 2) {
        const double2 pair = *reinterpret_cast<const double2 *>(column + i);
        t[i] = pair.x;
        t[i + 1] = pair.y;
    }
}
TD_DEVICE void load_column(td_complex<double> *t, const double *column, int first,
                           bool is_conjugate)
{
    TD_UNROLL
    for (int i = first; i < TILE / 2; i++) load_number(t[i], column, i, is_conjugate);
}

/* Solves with a tile on the diagonal for vector v of the panel, by one lane; `first` is the tile's
 * first row. All divisors are reciprocals. */
template <class number, int vectors>
TD_DEVICE void solve_tile(double *x, int first, int v, const double *tile, const number *divisors,
                          bool is_conjugate)
{
    constexpr int rows = tile_rows<number>();
    number own[rows];
    TD_UNROLL
    for (int i = 0; i < rows; i++) get<vectors>(own[i], x, first + i, v);
    TD_UNROLL
    for (int j = 0; j < rows; j++) {
        number t[rows];
        load_column(t, tile + j * COLUMN, j + 1, is_conjugate);
        own[j] = td_times(own[j], divisors[j]);
        TD_UNROLL
        for (int i = j + 1; i < rows; i++) own[i] = td_minus(own[i], t[i], own[j]);
    }
    TD_UNROLL
    for (int i = 0; i < rows; i++) put<vectors>(x, first + i, v, own[i]);
}

/* The same for any divisors: number by number in shared memory, as it is seldom wanted. */
template <class number, int vectors>
TD_DEVICE_CALL void solve_extreme_tile(double *x, int first, int v, const double *tile,
                                       const number *divisors, bool is_conjugate)
{
    constexpr int rows = tile_rows<number>();
    TD_UNROLL_N(1)
    for (int i = 0; i < rows; i++) {
        number own, t;
        get<vectors>(own, x, first + i, v);
        TD_UNROLL_N(1)
        for (int j = 0; j < i; j++) {
            number solved;
            get<vectors>(solved, x, first + j, v);
            load_number(t, tile + j * COLUMN, i, is_conjugate);
            own = td_minus(own, t, solved);
        }
        load_number(t, tile + i * COLUMN, i, is_conjugate);
        put<vectors>(x, first + i, v, td_quotient(own, t, divisors[i]));
    }
}

/* Takes the products with a tile's rows of X away from the rows of the band behind: a warp has one
 * strip, and some of its vectors. */
template <class number, int vectors>
TD_DEVICE void update_band(const td_solve_block &p, int band, const double *triangle, int tile,
                           int tiles, double *x)
{
    const int warp = td_uniform((int)threadIdx.x / WARP), strips = tiles - 1 - tile,
              strip = tile + 1 + warp % strips, sharers = (WARPS - 1 - warp % strips) / strips + 1;
    const triangle_part part = {triangle + tile_at(strip, tile) * tile_size<number>(),
                                parts_of<number>(), COLUMN, tile_rows<number>(), p.is_conjugate};
    strip_cursor<number> cursor;
    strip_step steps[TILE_STEPS];
    if (warp / strips * PRODUCT_COLUMNS >= vectors) return;
    cursor.begin(part, 0, 0);
    TD_UNROLL
    for (int s = 0; s < TILE_STEPS; s++) cursor.load(steps[s]);
    TD_UNROLL_N(1)
    for (int v = warp / strips * PRODUCT_COLUMNS; v < vectors; v += sharers * PRODUCT_COLUMNS) {
        strip_sums sums[1] = {};
        TD_UNROLL
        for (int s = 0; s < TILE_STEPS; s++)
            multiply<vectors>(sums, steps[s], cursor, x, band * BAND + tile * TILE + s * PRODUCT_K,
                              v);
        take_away<vectors>(x, band * BAND + strip * TILE, v, sums);
    }
}

/* Solves with a band's triangle. All threads take part, and meet at the end. */
template <class number, int vectors>
TD_DEVICE void solve_band(const td_solve_block &p, int band, const double *triangle,
                          const number *divisors, bool is_extreme, int tiles, double *x)
{
    constexpr int rows = tile_rows<number>();
    const int warp = td_uniform((int)threadIdx.x / WARP), lane = (int)threadIdx.x % WARP;
    TD_UNROLL_N(1)
    for (int tile = 0; tile < tiles; tile++) {
        const int first = band * band_rows<number>() + tile * rows;
        const double *const own = triangle + tile_at(tile, tile) * tile_size<number>();
        const number *const divisor = divisors + tile * rows;
        if (warp == tile && lane < vectors && !is_extreme)
            solve_tile<number, vectors>(x, first, lane, own, divisor, p.is_conjugate);
        if (warp == tile && lane < vectors && is_extreme)
            solve_extreme_tile<number, vectors>(x, first, lane, own, divisor, p.is_conjugate);
        __syncthreads();
        if (tile + 1 == tiles) break;
        update_band<number, vectors>(p, band, triangle, tile, tiles, x);
        __syncthreads();
    }
}

/* ---- all behind a band ---- */

/* A warp's elements of T that are loaded ahead of their products: its strips one after another,
 * BAND_STEPS steps of each. */
template <class number, int ahead> struct strip_queue {
    strip_cursor<number> cursor;
    strip_step of[ahead];

    TD_INSIDE void begin(const triangle_part &t, int strip, int strips, int band)
    {
        if (strip >= strips) return;
        cursor.begin(t, strip * TILE, band * BAND);
        TD_UNROLL
        for (int s = 0; s < ahead; s++) cursor.load(of[s]);
    }
};

/* Takes the products with a band's rows of X away from the strips behind, the queue having been
 * begun. */
template <class number, int vectors, int ahead>
TD_DEVICE void update_behind(const triangle_part &t, strip_queue<number, ahead> &queue, int strip,
                             int strips, int band, double *x)
{
    static_assert(ahead <= BAND_STEPS, "no more than a strip is loaded ahead");
    TD_UNROLL_N(1)
    for (; strip < strips; strip += WARPS) {
        strip_sums sums[vectors / PRODUCT_COLUMNS] = {};
        const int next = strip + WARPS;
        TD_UNROLL
        for (int s = 0; s < BAND_STEPS; s++) {
            multiply<vectors>(sums, queue.of[s % ahead], queue.cursor, x,
                              band * BAND + s * PRODUCT_K, 0);
            if (s + ahead == BAND_STEPS && next < strips)
                queue.cursor.begin(t, next * TILE, band * BAND);
            if (s + ahead < BAND_STEPS || next < strips) queue.cursor.load(queue.of[s % ahead]);
        }
        take_away<vectors>(x, strip * TILE, 0, sums);
    }
}

/* Blocks of threads that a multiprocessor has places for, and steps that are loaded ahead: all of a
 * strip where its products take less time than the loads. */
TD_HOST_DEVICE constexpr int blocks_of(int vectors) { return vectors == 8 ? 1 : 2; }
TD_HOST_DEVICE constexpr int ahead_of(int vectors) { return vectors == 8 ? BAND_STEPS : 4; }

/* Grid: panels of so many vectors. The triangle is no kernel's of the call, and is read before the
 * kernels before have ended. */
template <class number, int vectors>
static __global__
__launch_bounds__(THREADS, blocks_of(vectors)) void solve_kernel(TD_PARAMETER td_solve_block p)
{
    TD_DYNAMIC_SHARED(double, x);
    const int strips = strips_of<number>(p.order), warp = td_uniform((int)threadIdx.x / WARP);
    const triangle_part t = all_of<number>(p);
    double *const triangle = x + strips * TILE * vectors;
    number *const divisors =
        reinterpret_cast<number *>(triangle + TRIANGLE_TILES * tile_size<number>());
    strip_queue<number, ahead_of(vectors)> queue = {};

    td_let_next_begin();
    fetch_band<number>(p, 0, triangle);
    number diagonal = load_diagonal<number>(p, 0);
    td_wait_for_last();
    load_panel<number, vectors>(p, x);
    TD_UNROLL_N(1)
    for (int band = 0; band * TILES < strips; band++) {
        const int behind = (band + 1) * TILES, tiles = min((int)TILES, strips - band * TILES);
        const number divisor = td_divisor(diagonal);
        if (own_row<number>() >= 0) divisors[own_row<number>()] = divisor;
        td_async_copy_wait<0>();
        const bool is_extreme = __syncthreads_or(td_is_zero(divisor)) != 0;
        queue.begin(t, behind + warp, strips, band);
        solve_band<number, vectors>(p, band, triangle, divisors, is_extreme, tiles, x);
        if (behind < strips) {
            fetch_band<number>(p, band + 1, triangle);
            diagonal = load_diagonal<number>(p, band + 1);
        }
        store_band<number, vectors>(p, band, x);
        update_behind<number, vectors>(t, queue, behind + warp, strips, band, x);
    }
}

/* ---- launches ---- */

/* The fewest vectors a panel with which all panels have a multiprocessor at the same time; or the
 * most for which there is shared memory. */
template <class number> static cudaError_t choose_panel(const td_solve_block &p, int *vectors)
{
    int multiprocessors = 1, bytes = 0;
    cudaError_t error = td_multiprocessors(&multiprocessors);
    if (error == cudaSuccess) error = td_block_shared_bytes(&bytes);
    const int64_t wanted = (p.count + multiprocessors - 1) / multiprocessors;
    *vectors = p.panel ? p.panel : 8;
    while (!p.panel && *vectors < 32 && *vectors < wanted &&
           bytes_of<number>(p.order, 2 * *vectors) <= bytes)
        *vectors *= 2;
    return error;
}

template <class number, int vectors>
static cudaError_t launch(const td_solve_block &p, cudaStream_t stream)
{
    const dim3 grid((unsigned)((p.count + vectors - 1) / vectors));
    const size_t bytes = (size_t)bytes_of<number>(p.order, vectors);
    if (p.is_first)
        return TD_LAUNCH((solve_kernel<number, vectors>), grid, THREADS, bytes, stream, p);
    return TD_LAUNCH_NEXT((solve_kernel<number, vectors>), grid, THREADS, bytes, stream, p);
}

template <class number> static cudaError_t run(const td_solve_block &p, cudaStream_t stream)
{
    int vectors = 0;
    const cudaError_t error = choose_panel<number>(p, &vectors);
    if (error != cudaSuccess) return error;
    return vectors == 8    ? launch<number, 8>(p, stream)
           : vectors == 16 ? launch<number, 16>(p, stream)
                           : launch<number, 32>(p, stream);
}

cudaError_t td_solve_block_run(const td_solve_block *p, cudaStream_t stream)
{
    return p->type == TD_COMPLEX_BINARY64 ? run<td_complex<double>>(*p, stream)
                                          : run<double>(*p, stream);
}

template <class number> static cudaError_t allow_shared(cudaError_t error)
{
    const int most = TD_SOLVE_MOST / parts_of<number>();
    error = td_allow_shared(error, solve_kernel<number, 8>, bytes_of<number>(most, 8));
    error = td_allow_shared(error, solve_kernel<number, 16>, bytes_of<number>(most, 16));
    return td_allow_shared(error, solve_kernel<number, 32>, bytes_of<number>(most, 32));
}

cudaError_t td_solve_prepare(void)
{
    return allow_shared<td_complex<double>>(allow_shared<double>(cudaSuccess));
}
