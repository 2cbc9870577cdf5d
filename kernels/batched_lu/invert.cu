/* invert.cu - inverses of matrices that lanes of a warp have in registers, from their factors, or
 * from the matrix in one kernel. */
#include "factor.h"
#include "inverse.h"
#include "lanes.h"

/* How a warp has matrices of so many columns, as measured: the lanes of each (0: none); and, for
 * inverses from factors and from the matrix, the warps that a multiprocessor's registers are
 * divided by, and the rows whose steps are unrolled together (0: all). */
enum arrangement { OF_LANES, OF_WARPS, OF_ROWS, OF_WHOLE_WARPS, OF_WHOLE_ROWS, ARRANGEMENTS };
template <class number, int columns> constexpr int arranged_as(arrangement what)
{
    constexpr int type = 2 * td_is_complex<number>::value + td_lu_is_wide<number>::value;
    constexpr int size = columns <= 32 ? columns / 8 - 1 : columns == 36 ? 4 : 5;
    constexpr int of[TD_LU_TYPES][6][ARRANGEMENTS] = {
        /* 8, 16, 24, 32, 36, 48 columns */
        [TD_LU_S] =
            {{8, 28, 0, 28}, {16, 28, 0, 24}, {16, 20, 0, 16}, {16, 20, 0, 16}, {32, 16}, {32, 12}},
        [TD_LU_D] =
            {{8, 28, 0, 24}, {8, 20, 0, 16}, {8, 12, 0, 12}, {16, 12, 0, 12}, {16, 8}, {32, 8}},
        [TD_LU_C] =
            {{8, 28, 0, 24}, {8, 20, 0, 16}, {16, 12, 8, 12, 8}, {32, 16, 8, 12, 8}, {32, 8}},
        [TD_LU_Z] = {{8, 24, 0, 20}, {16, 16, 0, 12}, {32, 12, 0, 8}, {32, 12, 0, 8, 8}},
    };
    return of[type][size][what];
}

template <class number, int columns_> struct in_registers {
    enum {
        COLUMNS = columns_,
        LANES = arranged_as<number, COLUMNS>(OF_LANES),
        TEAMS = 32 / LANES,
        FACTOR_LANES = td_lu_lanes_for(COLUMNS),
        FACTOR_TEAMS = 32 / FACTOR_LANES,
    };
    typedef td_lu_square<number, COLUMNS> square;
    union memory { /* of a warp */
        square of[TEAMS];
        td_lu_lanes_memory<number, COLUMNS, FACTOR_TEAMS> lanes;
    };
    enum {
        WARPS = sizeof(memory) <= 12288 ? 4 : 2,
        THREADS = 32 * WARPS,
        BLOCKS = arranged_as<number, COLUMNS>(OF_WARPS) / WARPS,
        ROWS = arranged_as<number, COLUMNS>(OF_ROWS),
        WHOLE_BLOCKS = arranged_as<number, COLUMNS>(OF_WHOLE_WARPS) / WARPS,
        WHOLE_ROWS = arranged_as<number, COLUMNS>(OF_WHOLE_ROWS),
    };
    static_assert(WHOLE_BLOCKS == 0 || sizeof(memory::lanes) <= FACTOR_TEAMS * sizeof(square),
                  "only squares that are still to come are overwritten");
};

/* Inverts a matrix for each team, whose factors the program has. */
template <class number, class arranged>
static __global__ void __launch_bounds__((int)arranged::THREADS, (int)arranged::BLOCKS)
    invert_factors(const td_lu_vectors p)
{
    enum { LANES = arranged::LANES, ROWS = arranged::ROWS };
    TD_SHARED(typename arranged::memory, memories, [arranged::WARPS]);
    const int n = p.n, lane = (int)threadIdx.x % LANES;
    auto &square = memories[threadIdx.x / 32].of[threadIdx.x % 32 / LANES];
    const int64_t team =
        ((int64_t)blockIdx.x * (int)arranged::THREADS + (int)threadIdx.x) / (int)LANES;
    const bool has_matrix = team < p.batch;
    const int64_t member = has_matrix ? team : 0;
    td_lu_fetch<LANES>(square, static_cast<const number *>(p.a[member]), p.lda, n);
    td_lu_read_pivots(p.pivots ? p.pivots + member * n : nullptr, n, lane, LANES, square.pivots);
    __syncwarp();
    td_lu_find_rows(square.pivots, n, lane, LANES, square.rows);
    td_async_copy_wait<0>();
    __syncwarp();
    bool scales;
    const int info = td_lu_invert_diagonal<LANES>(square, n, scales);
    number *c = has_matrix ? static_cast<number *>(p.b[member]) : nullptr;
    td_lu_invert_lanes<LANES, ROWS>(square, n, scales, c, p.ldb);
    if (has_matrix && p.info && lane == 0) p.info[member] = info;
}

/* Factors and inverts a matrix for each team. Factors come first, by fewer teams of more lanes, and
 * the squares of the first teams last: their memory is what is needed for that. */
template <class number, class arranged>
static __global__ void __launch_bounds__((int)arranged::THREADS, (int)arranged::WHOLE_BLOCKS)
    invert_matrices(const td_lu_inverses p)
{
    enum { LANES = arranged::LANES, ROWS = arranged::WHOLE_ROWS, COLUMNS = arranged::COLUMNS };
    enum { FACTOR_LANES = arranged::FACTOR_LANES, FACTOR_TEAMS = arranged::FACTOR_TEAMS };
    TD_SHARED(typename arranged::memory, memories, [arranged::WARPS]);
    auto &memory = memories[threadIdx.x / 32];
    const int n = p.n, lane = (int)threadIdx.x % 32, factor_lane = lane % FACTOR_LANES;
    const int64_t first =
        ((int64_t)blockIdx.x * (int)arranged::WARPS + (int)threadIdx.x / 32) * (int)arranged::TEAMS;
    TD_ROLLED
    for (int from = arranged::TEAMS - FACTOR_TEAMS; from >= 0; from -= FACTOR_TEAMS) {
        const int team = from + lane / FACTOR_LANES;
        const bool has_matrix = first + team < p.batch;
        const number *a = has_matrix ? static_cast<const number *>(p.a[first + team]) : nullptr;
        number x[1][COLUMNS];
        int position[1];
        const int info =
            td_lu_factor_lanes<FACTOR_LANES>(memory.lanes, a, p.lda, n, true, nullptr, x, position);
        if (has_matrix && factor_lane == 0) p.info[first + team] = info;
        __syncwarp();
        if (position[0] < n) td_lu_put_row(memory.of[team], factor_lane, position[0], x[0]);
        __syncwarp();
    }
    const int team = lane / LANES;
    bool scales;
    td_lu_invert_diagonal<LANES>(memory.of[team], n, scales);
    number *c = first + team < p.batch ? static_cast<number *>(p.c[first + team]) : nullptr;
    td_lu_invert_lanes<LANES, ROWS>(memory.of[team], n, scales, c, p.ldc);
}

/* ---- launches ---- */

template <class arranged> static unsigned blocks_of(int batch)
{
    const int64_t threads = (int64_t)batch * (int)arranged::LANES, block = arranged::THREADS;
    return (unsigned)((threads + block - 1) / block);
}

template <class number, int columns>
static cudaError_t launch(const td_lu_vectors *p, cudaStream_t stream)
{
    if constexpr (arranged_as<number, columns>(OF_LANES) > 0) {
        typedef in_registers<number, columns> arranged;
        return TD_LAUNCH((invert_factors<number, arranged>), blocks_of<arranged>(p->batch),
                         (unsigned)arranged::THREADS, 0, stream, *p);
    } else {
        return cudaErrorInvalidConfiguration;
    }
}

template <class number, int columns>
static cudaError_t launch(const td_lu_inverses *p, cudaStream_t stream)
{
    if constexpr (columns <= TD_LU_MOST_INVERTED) {
        typedef in_registers<number, columns> arranged;
        return TD_LAUNCH((invert_matrices<number, arranged>), blocks_of<arranged>(p->batch),
                         (unsigned)arranged::THREADS, 0, stream, *p);
    } else {
        return cudaErrorInvalidConfiguration;
    }
}

template <class number, class problem>
static cudaError_t launch_for(const problem *p, cudaStream_t stream)
{
    if (p->n <= 8) return launch<number, 8>(p, stream);
    if (p->n <= 16) return launch<number, 16>(p, stream);
    if (p->n <= 24) return launch<number, 24>(p, stream);
    if (p->n <= 32) return launch<number, 32>(p, stream);
    if (p->n <= 36) return launch<number, 36>(p, stream);
    if (p->n <= 48) return launch<number, 48>(p, stream);
    return cudaErrorInvalidConfiguration;
}

template <class problem> static cudaError_t launch_of(const problem *p, cudaStream_t stream)
{
    return td_lu_with_number(p->type,
                             [&](auto zero) { return launch_for<decltype(zero)>(p, stream); });
}

cudaError_t td_lu_invert_factors(const td_lu_vectors *p, cudaStream_t stream)
{
    return launch_of(p, stream);
}

cudaError_t td_lu_invert(const td_lu_inverses *p, cudaStream_t stream)
{
    return launch_of(p, stream);
}

template <class number, int columns> static cudaError_t load(cudaError_t error)
{
    if constexpr (arranged_as<number, columns>(OF_LANES) > 0)
        error = td_load(error, invert_factors<number, in_registers<number, columns>>);
    if constexpr (columns <= TD_LU_MOST_INVERTED)
        error = td_load(error, invert_matrices<number, in_registers<number, columns>>);
    return error;
}

template <class number> static cudaError_t prepare(cudaError_t error)
{
    error = load<number, 8>(error);
    error = load<number, 16>(error);
    error = load<number, 24>(error);
    error = load<number, 32>(error);
    error = load<number, 36>(error);
    return load<number, 48>(error);
}

cudaError_t td_lu_invert_prepare(void)
{
    cudaError_t error = prepare<float>(cudaSuccess);
    error = prepare<double>(error);
    error = prepare<td_complex<float>>(error);
    return prepare<td_complex<double>>(error);
}
