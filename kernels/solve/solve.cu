/* solve.cu - substitution with one diagonal block of a triangle: see solve.h.
 *
 * A block of threads solves for a panel of `vectors` vectors, which it keeps in shared memory, a
 * row of the panel for each row of real numbers. A warp has one or two strips of TILE rows of it.
 * Strips are solved one after another, by a lane for each vector. As soon as half of a strip is
 * solved, every warp takes its products away from the strips that it has behind; each element of T
 * goes from global memory to the one thread that wants it. The warp whose strip comes next then
 * solves it at once: warps wait for halves of strips, not for each other. */
#include "solve.h"

#include "../device/async_copy.h"
#include "../device/barrier.h"
#include "../view/access.h"
#include "quotient.h"
#include "strips.h"

enum {
    TILE = TD_SOLVE_TILE,
    TILES = TD_SOLVE_BAND / TILE, /* strips of a band */
    WARP = SOLVE_WARP,
    MOST_STRIPS = TD_SOLVE_MOST / TILE,
    MOST_WARPS = MOST_STRIPS / 2, /* of a block */
    MOST_THREADS = MOST_WARPS * WARP,
    COLUMN = TILE + 2, /* real numbers of a tile's column, so that columns lie in other banks */
    HALVES = TILE / PRODUCT_K
};

/* ---- sizes of what counts in real numbers, in numbers of T ---- */

template <class number> TD_HOST_DEVICE constexpr int tile_rows()
{
    return TILE / td_parts_of<number>();
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

/* Bytes of shared memory: a panel, and each strip's tile and divisors. All of it is dynamic, so
 * that a kernel may have as much as there is. */
template <class number> static int bytes_of(int order, int vectors)
{
    return strips_of<number>(order) * (TILE * vectors + tile_size<number>() + TILE) *
           (int)sizeof(double);
}

/* ---- the triangle ---- */

template <class number> TD_DEVICE const number *triangle_at(const td_solve_block &p, int i, int j)
{
    return td_global(static_cast<const number *>(p.triangle)) + i * p.row_step + j * p.column_step;
}

template <class number> TD_DEVICE triangle_part all_of(const td_solve_block &p)
{
    const int parts = td_parts_of<number>();
    return {td_global(static_cast<const double *>(p.triangle)), parts * p.row_step,
            parts * p.column_step, p.order, p.is_conjugate};
}

/* Begins to copy the strip's tile to shared memory, each [column][row], by a warp. Lanes that are
 * neighbours read along the one of the two that is contiguous. */
template <class number> TD_DEVICE void fetch_tile(const td_solve_block &p, int strip, double *tile)
{
    constexpr int rows = tile_rows<number>();
    const int lane = (int)threadIdx.x % WARP, first = strip * rows;
    const bool is_along_rows = p.column_step == 1 || p.column_step == -1;
    TD_UNROLL
    for (int n = 0; n < rows * rows; n += WARP) {
        const int fast = (n + lane) % rows, slow = (n + lane) / rows,
                  row = is_along_rows ? slow : fast, column = is_along_rows ? fast : slow;
        if (first + row < p.order && (row > column || (row == column && !p.is_unit)))
            td_async_copy<(int)sizeof(number)>(tile + column * COLUMN + row * td_parts_of<number>(),
                                               triangle_at<number>(p, first + row, first + column));
    }
}

/* Puts the divisors of a strip's rows into shared memory, by a warp. */
template <class number>
TD_DEVICE void find_divisors(const td_solve_block &p, int strip, number *divisors)
{
    const int row = (int)threadIdx.x % WARP, i = strip * tile_rows<number>() + row;
    if (row >= tile_rows<number>()) return;
    number t = td_number<number>(1.0);
    if (i < p.order && !p.is_unit) t = *triangle_at<number>(p, i, i);
    divisors[row] = td_divisor(p.is_conjugate ? td_conjugate(t) : t);
}

/* True if one of a strip's divisors is at an end of the range. */
template <class number> TD_DEVICE bool is_extreme_strip(const number *divisors)
{
    return __any_sync(~0u, td_is_zero(divisors[threadIdx.x % tile_rows<number>()])) != 0;
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

/* Row and vector that number e of a strip of a panel are: neighbours in memory are neighbours. */
template <int rows, int vectors>
TD_DEVICE void find_in_strip(const td_solve_block &p, int e, int *i, int *v)
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
template <class number, int vectors>
TD_DEVICE void load_strip(const td_solve_block &p, int strip, double *x)
{
    enum {
        ROWS = tile_rows<number>(),
        LOADS = ROWS * vectors / WARP,
        TOGETHER = LOADS > 8 ? 8 : LOADS
    };
    const number alpha = td_scalar_value<number>(p.alpha);
    const bool is_scaled = p.is_first && !is_one(alpha);
    const int64_t first_vector = blockIdx.x * (int64_t)vectors;
    const int lane = (int)threadIdx.x % WARP, first = strip * ROWS;
    TD_UNROLL_N(1)
    for (int begin = lane; begin < ROWS * vectors; begin += TOGETHER * WARP) {
        number b[TOGETHER];
        int i, v;
        TD_UNROLL
        for (int n = 0; n < TOGETHER; n++) {
            find_in_strip<ROWS, vectors>(p, begin + n * WARP, &i, &v);
            b[n] = *in_memory<number>(p, min(first + i, p.order - 1),
                                      min(first_vector + v, p.count - 1));
        }
        TD_UNROLL
        for (int n = 0; n < TOGETHER; n++) {
            find_in_strip<ROWS, vectors>(p, begin + n * WARP, &i, &v);
            put<vectors>(x, first + i, v, is_scaled ? td_times(alpha, b[n]) : b[n]);
        }
    }
}

template <class number, int vectors>
TD_DEVICE void store_strip(const td_solve_block &p, int strip, const double *x)
{
    enum { ROWS = tile_rows<number>() };
    const bool is_zero = td_is_zero(td_scalar_value<number>(p.alpha));
    TD_UNROLL
    for (int e = (int)threadIdx.x % WARP; e < ROWS * vectors; e += WARP) {
        int i, v;
        number value = td_number<number>(0.0);
        find_in_strip<ROWS, vectors>(p, e, &i, &v);
        i += strip * ROWS;
        const int64_t vector = blockIdx.x * (int64_t)vectors + v;
        if (i >= p.order || vector >= p.count) continue;
        if (!is_zero) get<vectors>(value, x, i, v);
        *in_memory<number>(p, i, vector) = value;
    }
}

/* ---- a strip ---- */

/* Barriers in shared memory, one for each half of each strip. Where there are none of that kind,
 * all warps wait for one strip after another together. */
typedef uint64_t strip_barriers[MOST_STRIPS][HALVES];
struct strip_gates {
    strip_barriers &solved;
    int passed; /* strips that all warps have waited for together */

    TD_INSIDE strip_gates(strip_barriers &barriers, int strips) : solved(barriers), passed(0)
    {
#if TD_SOLVE_HAS_GATES
        for (int gate = (int)threadIdx.x; gate < strips * HALVES; gate += (int)blockDim.x)
            td_barrier_start(&solved[gate / HALVES][gate % HALVES], WARP);
#else
        (void)strips;
#endif
        __syncthreads();
    }
    /* What the warp wrote until then is there for all. */
    TD_INSIDE void open(int strip, int half)
    {
        __syncwarp();
#if TD_SOLVE_HAS_GATES
        td_barrier_arrive(&solved[strip][half]);
#else
        (void)strip, (void)half;
#endif
    }
    TD_INSIDE void wait(int strip, int half)
    {
#if TD_SOLVE_HAS_GATES
        td_barrier_wait(&solved[strip][half], 0);
#else
        if (half == 0) pass(strip + 1);
#endif
    }
    /* For a warp that waits for none of so many strips any more. */
    TD_INSIDE void leave(int strips)
    {
#if TD_SOLVE_HAS_GATES
        (void)strips;
#else
        pass(strips);
#endif
    }

  private:
    TD_INSIDE void pass(int strips)
    {
        for (; passed < strips; passed++) __syncthreads();
    }
};

/* Number i of a tile's column. */
TD_DEVICE void load_number(double &t, const double *column, int i, bool) { t = column[i]; }
TD_DEVICE void load_number(td_complex<double> &t, const double *column, int i, bool is_conjugate)
{
    const double2 pair = *reinterpret_cast<const double2 *>(column + 2 * i);
    t = {pair.x, is_conjugate ? -pair.y : pair.y};
}

/* Loads a tile's column from number `first` on, and perhaps the number before. */
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

/* Solves with half of a tile on the diagonal for the lane's vector v, of which it has the strip's
 * rows; `first` is the strip's first row. All divisors are reciprocals. */
template <class number, int vectors>
TD_DEVICE void solve_half(number (&own)[tile_rows<number>()], int half, double *x, int first, int v,
                          const double *tile, const number *divisors, bool is_conjugate)
{
    enum { ROWS = tile_rows<number>(), COUNT = ROWS / HALVES };
    TD_UNROLL
    for (int j = half * COUNT; j < (half + 1) * COUNT; j++) {
        number t[ROWS];
        load_column(t, tile + j * COLUMN, j + 1, is_conjugate);
        own[j] = td_times(own[j], divisors[j]);
        if ((int)threadIdx.x % WARP < vectors) put<vectors>(x, first + j, v, own[j]);
        TD_UNROLL
        for (int i = j + 1; i < ROWS; i++) own[i] = td_minus(own[i], t[i], own[j]);
    }
}

/* Lanes that have no vector of the panel compute what others do, and keep none of it: were they to
 * stand aside, the compiler would no longer load T ahead. */
template <class number, int vectors>
TD_DEVICE void solve_tile(double *x, int strip, const double *tile, const number *divisors,
                          bool is_conjugate, strip_gates &gates)
{
    enum { ROWS = tile_rows<number>() };
    const int v = (int)threadIdx.x % vectors, first = strip * ROWS;
    number own[ROWS];
    TD_UNROLL
    for (int i = 0; i < ROWS; i++) get<vectors>(own[i], x, first + i, v);
    __syncwarp();
    TD_UNROLL
    for (int half = 0; half < HALVES; half++) {
        solve_half<number, vectors>(own, half, x, first, v, tile, divisors, is_conjugate);
        gates.open(strip, half);
    }
}

/* Solves with a tile whose divisors are any: number by number in shared memory, as it is seldom
 * wanted. */
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

/* A panel's rows and the tiles on the diagonal, in shared memory. */
template <class number, int vectors> struct solve_memory {
    double *x, *tiles;
    number *divisors;

    TD_INSIDE solve_memory(double *shared, int strips)
        : x(shared), tiles(x + strips * TILE * vectors),
          divisors(reinterpret_cast<number *>(tiles + strips * tile_size<number>()))
    {
    }
    TD_INSIDE double *tile(int strip) const { return tiles + strip * tile_size<number>(); }
    TD_INSIDE number *divisors_of(int strip) const
    {
        return divisors + strip * tile_rows<number>();
    }
};

/* The strip's rows, whose products with all before have been taken away. */
template <class number, int vectors>
TD_DEVICE void solve_strip(const td_solve_block &p, int strip,
                           const solve_memory<number, vectors> &m, bool is_extreme,
                           strip_gates &gates)
{
    const int lane = (int)threadIdx.x % WARP;
    __syncwarp();
    if (!is_extreme) {
        solve_tile<number, vectors>(m.x, strip, m.tile(strip), m.divisors_of(strip), p.is_conjugate,
                                    gates);
        return;
    }
    if (lane < vectors)
        solve_extreme_tile<number, vectors>(m.x, strip * tile_rows<number>(), lane, m.tile(strip),
                                            m.divisors_of(strip), p.is_conjugate);
    for (int half = 0; half < HALVES; half++) gates.open(strip, half);
}

/* Strip after strip from `from` on and before `to`, which are solved or will be: the warp takes the
 * products with them away from its own strips, band by band, and strip by strip in a strip's own
 * band. */
template <class number, int vectors, int count>
TD_DEVICE void pass_strips(own_strip<number, vectors> (&own)[count], int from, int to, double *x,
                           strip_gates &gates)
{
    TD_UNROLL_N(1)
    for (int strip = from; strip < to; strip++) {
        strip_step steps[HALVES][count];
        TD_UNROLL
        for (int half = 0; half < HALVES; half++) TD_UNROLL
        for (int s = 0; s < count; s++) own[s].cursor.load(steps[half][s]);
        TD_UNROLL
        for (int half = 0; half < HALVES; half++) {
            gates.wait(strip, half);
            multiply<number, vectors>(own, steps[half], x, strip * TILE + half * PRODUCT_K);
        }
        TD_UNROLL
        for (int s = 0; s < count; s++)
            if (strip % TILES == TILES - 1 || strip / TILES == own[s].at / TILES)
                own[s].take_away(x);
    }
}

/* Grid: panels of so many vectors. A warp has strips warp and, where there are more than warps,
 * warp + warps; products with the strips before both are taken away from them together. The
 * triangle is no kernel's of the call, and is read before the kernels before have ended. */
template <class number, int vectors>
static __global__ __launch_bounds__(MOST_THREADS) void solve_kernel(TD_PARAMETER td_solve_block p)
{
    TD_DYNAMIC_SHARED(double, shared);
    TD_SHARED(strip_barriers, barriers, );
    const int strips = strips_of<number>(p.order), warps = (int)blockDim.x / WARP,
              first = td_uniform((int)threadIdx.x / WARP), second = first + warps;
    const solve_memory<number, vectors> m(shared, strips);

    td_let_next_begin();
    for (int strip = first; strip < strips; strip += warps) {
        fetch_tile<number>(p, strip, m.tile(strip));
        find_divisors<number>(p, strip, m.divisors_of(strip));
    }
    td_async_copy_commit();
    td_wait_for_last();
    for (int strip = first; strip < strips; strip += warps)
        load_strip<number, vectors>(p, strip, m.x);
    td_async_copy_wait<0>();
    strip_gates gates(barriers, strips);

    const triangle_part t = all_of<number>(p);
    own_strip<number, vectors> own[2], now[1];
    const int together = second < strips ? max(first - 1, 0) : 0;
    own[0].begin(t, first);
    own[1].begin(t, second);
    if (together) pass_strips<number, vectors>(own, 0, together, m.x, gates);
    now[0] = own[0];
    TD_UNROLL_N(1)
    for (int strip = first; strip < strips; strip += warps) {
        const bool is_extreme = is_extreme_strip(m.divisors_of(strip));
        pass_strips<number, vectors>(now, together, strip, m.x, gates);
        solve_strip<number, vectors>(p, strip, m, is_extreme, gates);
        __syncwarp();
        store_strip<number, vectors>(p, strip, m.x);
        now[0] = own[1];
    }
    gates.leave(strips);
}

/* ---- launches ---- */

/* Vectors of a panel, and warps of its block. */
typedef struct {
    int vectors, warps;
} panel_shape;

/* The fewest vectors with which all panels have a place on a multiprocessor at the same time, which
 * has registers for MOST_WARPS warps; or the most for which there is shared memory. A warp has two
 * strips where a block would have more warps, and where two blocks then have a place. */
template <class number> static cudaError_t choose_panel(const td_solve_block &p, panel_shape *shape)
{
    const int strips = strips_of<number>(p.order), places = max(MOST_WARPS / strips, 1);
    int multiprocessors = 1, bytes = 0, vectors = p.panel ? p.panel : 8;
    cudaError_t error = td_multiprocessors(&multiprocessors);
    if (error == cudaSuccess) error = td_block_shared_bytes(&bytes);
    const int64_t all = (int64_t)multiprocessors * places, wanted = (p.count + all - 1) / all;
    while (!p.panel && vectors < 32 && vectors < wanted &&
           bytes_of<number>(p.order, 2 * vectors) <= bytes)
        vectors *= 2;
    const bool has_two = strips > MOST_WARPS || (places == 1 && vectors < wanted);
    *shape = {vectors, has_two ? (strips + 1) / 2 : strips};
    return error;
}

template <class number, int vectors>
static cudaError_t launch(const td_solve_block &p, int warps, cudaStream_t stream)
{
    const dim3 grid((unsigned)((p.count + vectors - 1) / vectors));
    const size_t bytes = (size_t)bytes_of<number>(p.order, vectors);
    const unsigned threads = (unsigned)warps * WARP;
    if (p.is_first)
        return TD_LAUNCH((solve_kernel<number, vectors>), grid, threads, bytes, stream, p);
    return TD_LAUNCH_NEXT((solve_kernel<number, vectors>), grid, threads, bytes, stream, p);
}

template <class number> static cudaError_t run(const td_solve_block &p, cudaStream_t stream)
{
    panel_shape shape;
    const cudaError_t error = choose_panel<number>(p, &shape);
    if (error != cudaSuccess) return error;
    return shape.vectors == 8    ? launch<number, 8>(p, shape.warps, stream)
           : shape.vectors == 16 ? launch<number, 16>(p, shape.warps, stream)
                                 : launch<number, 32>(p, shape.warps, stream);
}

cudaError_t td_solve_block_run(const td_solve_block *p, cudaStream_t stream)
{
    return p->type == TD_COMPLEX_BINARY64 ? run<td_complex<double>>(*p, stream)
                                          : run<double>(*p, stream);
}

template <class number> static cudaError_t allow_shared(cudaError_t error)
{
    const int most = TD_SOLVE_MOST / td_parts_of<number>();
    error = td_allow_shared(error, solve_kernel<number, 8>, bytes_of<number>(most, 8));
    error = td_allow_shared(error, solve_kernel<number, 16>, bytes_of<number>(most, 16));
    return td_allow_shared(error, solve_kernel<number, 32>, bytes_of<number>(most, 32));
}

cudaError_t td_solve_prepare(void)
{
    return allow_shared<td_complex<double>>(allow_shared<double>(cudaSuccess));
}
