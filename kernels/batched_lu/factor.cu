/* factor.cu - P A = L U of small matrices: in registers, a row a lane, or left-looking by panels.
 * Then what a panel leaves behind, L and its own triangle of U, stays in shared memory for the
 * panels to come, without the rows that have become pivots before; everything else goes straight to
 * its place in A. So A is read once and written once. Where that memory is too little, or more
 * blocks would have room with less of it, the first panels are left in A, and their rows are
 * interchanged at the end. */
#include "factor.h"
#include "lanes.h"
#include "panels.h"

/* ---- matrices of as many rows as a warp has lanes, or fewer ---- */

/* Warps that a multiprocessor's registers are divided by, as measured: in fours, for a warp of each
 * is in one of its quarters. None where lanes do not have registers for a matrix. */
template <class number, int columns> constexpr int lanes_warps()
{
    constexpr int type = 2 * td_is_complex<number>::value + td_lu_is_wide<number>::value;
    constexpr int size = columns <= 32 ? columns / 8 - 1 : columns == 36 ? 4 : 5;
    constexpr int warps[TD_LU_TYPES][6] = {
        /* 8, 16, 24, 32, 36, 48 columns */
        [TD_LU_S] = {32, 28, 28, 28, 16, 12},
        [TD_LU_D] = {24, 20, 20, 16, 8},
        [TD_LU_C] = {24, 24, 20, 20},
        [TD_LU_Z] = {24, 12, 12, 8},
    };
    return warps[type][size];
}

/* How a team of lanes has a matrix of so many columns: a row each or, beyond 32, two. */
template <class number, int columns_> struct in_lanes {
    enum {
        COLUMNS = columns_,
        LANES = td_lu_lanes_for(COLUMNS),
        ROWS = COLUMNS <= 32 ? 1 : 2,
        TEAMS = 32 / LANES,
        MOST_WARPS = lanes_warps<number, COLUMNS>(),
    };
    typedef td_lu_lanes_memory<number, COLUMNS, TEAMS> memory; /* of a warp */
    enum {
        WARPS = sizeof(memory) <= 12288 ? 4 : 2,
        THREADS = 32 * WARPS,
        BLOCKS = MOST_WARPS / WARPS
    };
};

/* A matrix for each team. */
template <class number, class arranged>
static __global__ void __launch_bounds__((int)arranged::THREADS, (int)arranged::BLOCKS)
    factor_lanes(const td_lu_factors p)
{
    enum { LANES = arranged::LANES, COLUMNS = arranged::COLUMNS, ROWS = arranged::ROWS };
    TD_SHARED(typename arranged::memory, memories, [arranged::WARPS]);

    const int64_t member =
        ((int64_t)blockIdx.x * (int)arranged::THREADS + (int)threadIdx.x) / (int)LANES;
    const bool has_matrix = member < p.batch;
    number *a = has_matrix ? static_cast<number *>(p.a[member]) : nullptr;
    int *pivots = has_matrix && p.pivots ? p.pivots + member * p.n : nullptr;
    number x[ROWS][COLUMNS];
    int position[ROWS];
    const int info = td_lu_factor_lanes<LANES>(memories[threadIdx.x / 32], a, p.lda, p.n,
                                               p.pivots != nullptr, pivots, x, position);
    TD_UNROLL
    for (int r = 0; r < ROWS; r++) {
        if (position[r] >= p.n) continue;
        TD_UNROLL
        for (int c = 0; c < COLUMNS; c++)
            if (c < p.n) a[position[r] + (int64_t)c * p.lda] = x[r][c];
    }
    if (has_matrix && threadIdx.x % LANES == 0) p.info[member] = info;
}

/* ---- larger matrices ---- */

/* Takes the thread's rows of a panel from the passage. */
template <class number, int rows, class block>
TD_DEVICE void take_rows(const block &b, td_lu_rows<number, rows> &mine, int (&row)[rows], int j0,
                         number (&x)[rows][block::PANEL])
{
    enum { PANEL = block::PANEL, PIECE = td_pack<number>::COUNT };
    const auto l = b.passage(j0 / PANEL);
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const int slot = (int)threadIdx.x + r * mine.threads;
        const bool is_active = (int)threadIdx.x < mine.threads && slot < b.n - j0;
        mine.is_active[r] = is_active;
        row[r] = is_active ? b.w.rows[j0 + slot] : 0;
        mine.position[r] = is_active ? b.w.positions[j0 + slot] : INT_MAX;
        TD_UNROLL
        for (int c = 0; c < PANEL; c += PIECE) l.read(x[r] + c, is_active ? slot : 0, c);
    }
}

/* The panel of columns j0 .. end, once it is up to date. Warps without rows have no part in it. */
template <class number, int rows, class block, class exchange>
TD_DEVICE void factor_panel(const block &b, exchange &e, int j0, int end, int *pivots, int &info)
{
    enum { PANEL = block::PANEL, LANES = block::LANES, OF_WARP = 32 * rows };
    td_lu_rows<number, rows> mine = {};
    mine.reach = pivots ? (int)TD_LU_ANY : 0;
    mine.threads = (b.n - j0 + OF_WARP - 1) / OF_WARP * 32;
    mine.info = info;
    const bool is_idle = LANES != 32 && td_uniform((int)threadIdx.x) >= mine.threads;
    if (is_idle && threadIdx.x % 32 == 0) td_lu_leave(e, (int)threadIdx.x / 32);
    __syncthreads();
    int row[rows];
    number x[rows][PANEL];
    take_rows(b, mine, row, j0, x);
    if (is_idle)
        td_stand_by(mine.threads, end - j0);
    else
        td_lu_panel<LANES>(mine, x, e, j0, end);
    td_lu_end_panel(b, mine, row, j0, end, x, pivots);
    info = mine.info;
}

/* How a block has a matrix: in tiles of 32 rows, `tiles` for each of at most `warps` warps. In a
 * panel a thread has as many rows, or one as soon as all threads together have that many left. */
template <class number, int tiles_, int warps_> struct arrangement {
    enum { TILES = tiles_, WARPS = warps_, LANES = warps_ == 1 ? 32 : (int)TD_LU_BLOCK };
    enum { MOST = 32 * TILES * WARPS <= TD_LU_MOST ? (int)TD_LU_MOST : (int)TD_LU_MOST_FACTORED };
    typedef td_lu_block<number, TILES, LANES, MOST> block;
    typedef td_lu_exchange<number, block::PANEL, WARPS> exchange;
    enum { WIDE = td_lu_is_wide<number>::value, SINGLE = sizeof(number) == 4 };

    /* Blocks that a multiprocessor's registers are divided by. */
    enum { OF_ONE = SINGLE ? 16 : WIDE ? 8 : 12, OF_MANY = SINGLE ? TILES == 1 ? 3 : 4 : 2 };
    enum { BLOCKS = WARPS == 1 ? OF_ONE : OF_MANY * TD_LU_MOST / MOST };

    static int bytes(int n, int in_a)
    {
        return (int)sizeof(exchange) +
               td_lu_workplace_bytes<number, typename block::index, LANES>(n, in_a);
    }
    static int threads(int n)
    {
        const int rows = TILES > 1 && n <= 32 * WARPS ? 64 : 32;
        return min((n + rows - 1) / rows, (int)WARPS) * 32;
    }
};
template <class number> using in_warp = arrangement<number, 2, 1>;
template <class number> using in_rows = arrangement<number, 1, TD_LU_WARPS>;
template <class number> using in_pairs = arrangement<number, 2, TD_LU_WARPS / 2>;
template <class number> using in_large = arrangement<number, 2, TD_LU_WARPS>;

/* A block for each matrix, the first in_a panels in A. */
template <class number, class arranged>
static __global__ void __launch_bounds__(32 * arranged::WARPS, (int)arranged::BLOCKS)
    factor_rows(const td_lu_factors p, int in_a)
{
    typedef typename arranged::block block;
    typedef typename arranged::exchange exchange;
    typedef typename block::index index;
    enum { PANEL = block::PANEL, LANES = arranged::LANES, TILES = arranged::TILES };
    TD_DYNAMIC_SHARED(char, shared);
    exchange &e = *reinterpret_cast<exchange *>(shared);
    const block b = {td_lu_lay_out<number, index, LANES>(shared + sizeof(exchange), p.n, in_a),
                     static_cast<number *>(p.a[blockIdx.x]), p.lda, p.n, in_a};
    const int n = p.n, tid = (int)threadIdx.x;
    td_lu_clear(e);
    for (int i = tid; i < n; i += (int)blockDim.x) b.w.rows[i] = b.w.positions[i] = (index)i;
    __syncthreads();

    int *pivots = p.pivots ? p.pivots + (int64_t)blockIdx.x * n : nullptr;
    int info = 0;
    TD_ROLLED
    for (int j0 = 0; j0 < n; j0 += PANEL) {
        const int end = min(n, j0 + PANEL);
        td_lu_bring_up<number>(b, j0, end);
        if (TILES > 1 && n - j0 > (int)blockDim.x)
            factor_panel<number, TILES>(b, e, j0, end, pivots, info);
        else
            factor_panel<number, 1>(b, e, j0, end, pivots, info);
    }
    td_lu_store_rows<number>(b);
    td_lu_interchange<number>(b);
    if (tid == 0) p.info[blockIdx.x] = info;
}

/* ---- launches ---- */

/* The fewest panels to leave in A for `more` blocks than fit a multiprocessor without any; -1:
 * there are none. */
template <class arranged> static int panels_in_a(int n, int more, int shared_bytes)
{
    enum { RESERVED = 1024, PANEL = arranged::block::PANEL }; /* of each block */
    const int all = shared_bytes + RESERVED;
    const int blocks = all / (arranged::bytes(n, 0) + RESERVED) + more;
    for (int in_a = 0; in_a * PANEL < n && blocks > 0; in_a++)
        if (blocks * (arranged::bytes(n, in_a) + RESERVED) <= all) return in_a;
    return -1;
}

template <class number, int columns>
static cudaError_t launch_lanes(const td_lu_factors *p, cudaStream_t stream)
{
    if constexpr (lanes_warps<number, columns>() > 0) {
        typedef in_lanes<number, columns> arranged;
        const int64_t threads = (int64_t)p->batch * (int)arranged::LANES, block = arranged::THREADS;
        return TD_LAUNCH((factor_lanes<number, arranged>),
                         (unsigned)((threads + block - 1) / block), (unsigned)block, 0, stream, *p);
    } else {
        return cudaErrorInvalidConfiguration;
    }
}

template <class number, class arranged>
static cudaError_t launch_rows(const td_lu_factors *p, int more, cudaStream_t stream)
{
    int bytes = 0;
    const cudaError_t error = td_block_shared_bytes(&bytes);
    if (error != cudaSuccess) return error;
    const int in_a = arranged::WARPS == 1 ? 0 : panels_in_a<arranged>(p->n, more, bytes);
    if (in_a < 0) return cudaErrorInvalidConfiguration;
    return TD_LAUNCH((factor_rows<number, arranged>), (unsigned)p->batch,
                     (unsigned)arranged::threads(p->n), (size_t)arranged::bytes(p->n, in_a), stream,
                     *p, in_a);
}

template <class number> static cudaError_t launch(const td_lu_factors *p, cudaStream_t stream)
{
    switch (p->shape) {
    case TD_LU_LANES_8:
        return launch_lanes<number, 8>(p, stream);
    case TD_LU_LANES_16:
        return launch_lanes<number, 16>(p, stream);
    case TD_LU_LANES_24:
        return launch_lanes<number, 24>(p, stream);
    case TD_LU_LANES_32:
        return launch_lanes<number, 32>(p, stream);
    case TD_LU_LANES_36:
        return launch_lanes<number, 36>(p, stream);
    case TD_LU_LANES_48:
        return launch_lanes<number, 48>(p, stream);
    case TD_LU_WARP:
        return launch_rows<number, in_warp<number>>(p, 0, stream);
    default:
        if (p->shape < TD_LU_PAIRS)
            return launch_rows<number, in_rows<number>>(p, p->shape - TD_LU_SHARED, stream);
        if (p->shape < TD_LU_LARGE)
            return launch_rows<number, in_pairs<number>>(p, p->shape - TD_LU_PAIRS, stream);
        return launch_rows<number, in_large<number>>(p, p->shape - TD_LU_LARGE, stream);
    }
}

template <class number> static bool fits(int n, int shape, int shared_bytes)
{
    switch (shape) {
    case TD_LU_LANES_8:
        return n <= 8;
    case TD_LU_LANES_16:
        return n <= 16;
    case TD_LU_LANES_24:
        return n <= 24;
    case TD_LU_LANES_32:
        return n <= 32;
    case TD_LU_LANES_36:
        return n <= 36 && lanes_warps<number, 36>() > 0;
    case TD_LU_LANES_48:
        return n <= 48 && lanes_warps<number, 48>() > 0;
    case TD_LU_WARP:
        return n <= 64 && in_warp<number>::bytes(n, 0) <= shared_bytes;
    default:
        if (n > (shape < TD_LU_LARGE ? (int)TD_LU_MOST : (int)TD_LU_MOST_FACTORED)) return false;
        if (shape < TD_LU_PAIRS)
            return panels_in_a<in_rows<number>>(n, shape - TD_LU_SHARED, shared_bytes) >= 0;
        if (shape < TD_LU_LARGE)
            return panels_in_a<in_pairs<number>>(n, shape - TD_LU_PAIRS, shared_bytes) >= 0;
        return panels_in_a<in_large<number>>(n, shape - TD_LU_LARGE, shared_bytes) >= 0;
    }
}

template <class number, int columns> static cudaError_t load_lanes(cudaError_t error)
{
    if constexpr (lanes_warps<number, columns>() > 0)
        return td_load(error, factor_lanes<number, in_lanes<number, columns>>);
    else
        return error;
}

template <class number> static cudaError_t prepare()
{
    cudaError_t error = load_lanes<number, 8>(cudaSuccess);
    error = load_lanes<number, 16>(error);
    error = load_lanes<number, 24>(error);
    error = load_lanes<number, 32>(error);
    error = load_lanes<number, 36>(error);
    error = load_lanes<number, 48>(error);
    error = td_allow_shared(error, factor_rows<number, in_warp<number>>, INT_MAX);
    error = td_allow_shared(error, factor_rows<number, in_rows<number>>, INT_MAX);
    error = td_allow_shared(error, factor_rows<number, in_pairs<number>>, INT_MAX);
    return td_allow_shared(error, factor_rows<number, in_large<number>>, INT_MAX);
}

bool td_lu_shape_fits(td_lu_type type, int n, int shape)
{
    int bytes = 0;
    if (td_block_shared_bytes(&bytes) != cudaSuccess) return false;
    return td_lu_with_number(type,
                             [&](auto zero) { return fits<decltype(zero)>(n, shape, bytes); });
}

cudaError_t td_lu_factor(const td_lu_factors *p, cudaStream_t stream)
{
    td_lu_factors shaped = *p;
    if (shaped.shape < 0) shaped.shape = td_lu_shape_of(p->type, p->n);
    return td_lu_with_number(p->type,
                             [&](auto zero) { return launch<decltype(zero)>(&shaped, stream); });
}

cudaError_t td_lu_factor_prepare(void)
{
    cudaError_t error = prepare<float>();
    if (error == cudaSuccess) error = prepare<double>();
    if (error == cudaSuccess) error = prepare<td_complex<float>>();
    if (error == cudaSuccess) error = prepare<td_complex<double>>();
    return error;
}
