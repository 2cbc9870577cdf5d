/* factor.cu - P A = L U of small matrices: in registers, a row a lane, or left-looking by panels. Then what a panel leaves
 * behind, L and its own triangle of U, stays in shared memory for the panels to come, without the rows that have become
 * pivots before; everything else goes straight to its place in A. So A is read once and written once. Where that memory
 * is too little, or more blocks would have room with less of it, the first panels are left in A, and their rows are
 * interchanged at the end. */
#include "factor.h"
#include "panels.h"

/* ---- matrices of as many rows as a warp has lanes, or fewer ---- */

/* Blocks of a multiprocessor, which the compiler would not make room for by itself. */
template <class number, int lanes> struct lanes_blocks_of {
    enum { OF_TYPE = sizeof(number) == 4 ? 7 : td_lu_is_wide<number>::value ? 1 : 5 };
    enum { value = lanes == 32 ? OF_TYPE : 1 };
};

/* A matrix for each team, four warps a block. */
template <class number, int lanes>
static __global__ void __launch_bounds__(TD_LU_LANES_BLOCK,
                                         (int)lanes_blocks_of<number, lanes>::value)
    factor_lanes(const td_lu_factors p)
{
    enum { TEAMS = TD_LU_LANES_BLOCK / lanes };
    typedef td_lu_exchange<number, lanes, TEAMS> exchange;
    TD_SHARED(exchange, e, );
    td_lu_clear(e);
    __syncthreads();

    const int rank = (int)threadIdx.x % lanes;
    const int64_t member = (int64_t)blockIdx.x * TEAMS + (int)threadIdx.x / lanes;
    const bool has_matrix = member < p.batch;
    number *a = has_matrix ? static_cast<number *>(p.a[member]) : nullptr;
    int *pivots = has_matrix && p.pivots ? p.pivots + member * p.n : nullptr;
    number x[1][lanes];
    const td_lu_ends ends =
        td_lu_factor_lanes<lanes>(e, a, p.lda, p.n, p.pivots != nullptr, pivots, x);
    __syncwarp();
    if (has_matrix && rank < p.n) TD_UNROLL
    for (int c = 0; c < lanes; c++)
        if (c < p.n) a[ends.position + (int64_t)c * p.lda] = x[0][c];
    if (has_matrix && rank == 0) p.info[member] = ends.info;
}

/* ---- larger matrices ---- */

/* Takes the thread's rows of a panel from the passage. */
template <class number, class block, class rows_of_thread>
TD_DEVICE void take_rows(const block &b, rows_of_thread &mine, int (&row)[block::ROWS], int j0,
                         number (&x)[block::ROWS][block::PANEL])
{
    enum { PANEL = block::PANEL, PIECE = td_pack<number>::COUNT };
    const auto l = b.passage(j0 / PANEL);
    TD_UNROLL
    for (int r = 0; r < block::ROWS; r++) {
        const int slot = (int)threadIdx.x + r * (int)blockDim.x;
        const bool is_active = slot < b.n - j0;
        mine.is_active[r] = is_active;
        row[r] = is_active ? b.w.rows[j0 + slot] : 0;
        mine.position[r] = is_active ? b.w.positions[j0 + slot] : INT_MAX;
        TD_UNROLL
        for (int c = 0; c < PANEL; c += PIECE) l.read(x[r] + c, is_active ? slot : 0, c);
    }
}

/* The panel of columns j0 .. end. Warps without rows have no part in it. */
template <class number, class block, class exchange, class rows_of_thread>
TD_DEVICE void factor_panel(const block &b, exchange &e, rows_of_thread &mine, int j0, int end,
                            int *pivots)
{
    enum { PANEL = block::PANEL, LANES = block::LANES };
    int row[block::ROWS];
    mine.threads = min((int)blockDim.x, (b.n - j0 + 31) / 32 * 32);
    const bool is_idle = (int)threadIdx.x >= mine.threads;
    td_lu_bring_up<number>(b, j0, end);
    if (is_idle && threadIdx.x % 32 == 0) td_lu_leave(e);
    __syncthreads();
    number x[block::ROWS][PANEL];
    take_rows(b, mine, row, j0, x);
    if (is_idle)
        td_stand_by(mine.threads, end - j0);
    else
        td_lu_panel<LANES>(mine, x, e, j0, end);
    td_lu_end_panel(b, mine, row, j0, end, x, pivots);
}

/* Blocks that a multiprocessor's registers are divided by: of TD_LU_MOST threads, or of one warp. */
template <class number> struct blocks_of {
    enum { MOST = sizeof(number) == 4 ? 3 : 2, WARPS = td_lu_is_wide<number>::value ? 8 : 12 };
};

/* A block for each matrix, `rows` rows a thread, the first in_a panels in A; lanes: 32 for blocks of one warp, else
 * TD_LU_BLOCK. */
template <class number, int rows, int lanes>
static __global__ void __launch_bounds__(lanes == 32 ? 32 : TD_LU_MOST,
                                         lanes == 32 ? (int)blocks_of<number>::WARPS
                                                     : (int)blocks_of<number>::MOST)
    factor_rows(const td_lu_factors p, int in_a)
{
    typedef td_lu_block<number, rows, lanes> block;
    enum { PANEL = block::PANEL };
    typedef td_lu_exchange<number, PANEL, lanes == 32 ? 1 : TD_LU_WARPS> exchange;
    TD_DYNAMIC_SHARED(char, shared);
    exchange &e = *reinterpret_cast<exchange *>(shared);
    const block b = {td_lu_lay_out<number, lanes>(shared + sizeof(exchange), p.n, in_a),
                     static_cast<number *>(p.a[blockIdx.x]), p.lda, p.n, in_a};
    const int n = p.n, tid = (int)threadIdx.x;
    td_lu_clear(e);
    for (int i = tid; i < n; i += (int)blockDim.x) b.w.rows[i] = b.w.positions[i] = (uint8_t)i;
    __syncthreads();

    td_lu_rows<number, rows> mine = {};
    mine.has_pivots = p.pivots != nullptr;
    int *pivots = p.pivots ? p.pivots + (int64_t)blockIdx.x * n : nullptr;
    TD_ROLLED
    for (int j0 = 0; j0 < n; j0 += PANEL)
        factor_panel<number>(b, e, mine, j0, min(n, j0 + PANEL), pivots);
    td_lu_store_rows<number>(b);
    td_lu_interchange<number>(b);
    if (tid == 0) p.info[blockIdx.x] = mine.info;
}

/* ---- launches ---- */

template <class number, int lanes> static int rows_bytes(int n, int in_a)
{
    enum { PANEL = td_lu_tile<number>::PANEL };
    return (int)sizeof(td_lu_exchange < number, PANEL, lanes == 32 ? 1 : TD_LU_WARPS >) +
           td_lu_workplace_bytes<number, lanes>(n, in_a);
}

/* The fewest panels to leave in A for `more` blocks than fit a multiprocessor without any; -1: there are none. */
template <class number> static int panels_in_a(int n, int more, int shared_bytes)
{
    enum { RESERVED = 1024, PANEL = td_lu_tile<number>::PANEL }; /* of each block */
    const int all = shared_bytes + RESERVED;
    const int blocks = all / (rows_bytes<number, TD_LU_BLOCK>(n, 0) + RESERVED) + more;
    for (int in_a = 0; in_a * PANEL < n && blocks > 0; in_a++)
        if (blocks * (rows_bytes<number, TD_LU_BLOCK>(n, in_a) + RESERVED) <= all) return in_a;
    return -1;
}

template <class number, int lanes>
static cudaError_t launch_lanes(const td_lu_factors *p, cudaStream_t stream)
{
    const int64_t threads = (int64_t)p->batch * lanes, block = TD_LU_LANES_BLOCK;
    return TD_LAUNCH((factor_lanes<number, lanes>), (unsigned)((threads + block - 1) / block),
                     (unsigned)block, 0, stream, *p);
}

template <class number, int rows, int lanes>
static cudaError_t launch_rows(const td_lu_factors *p, int in_a, cudaStream_t stream)
{
    const size_t bytes = (size_t)rows_bytes<number, lanes>(p->n, in_a);
    const unsigned threads = (unsigned)((p->n + 32 * rows - 1) / (32 * rows) * 32);
    return TD_LAUNCH((factor_rows<number, rows, lanes>), (unsigned)p->batch, threads, bytes, stream,
                     *p, in_a);
}

template <class number> static cudaError_t launch(const td_lu_factors *p, cudaStream_t stream)
{
    int bytes = 0, in_a = 0;
    cudaError_t error = cudaSuccess;
    switch (p->shape) {
    case TD_LU_LANES_8:
        return launch_lanes<number, 8>(p, stream);
    case TD_LU_LANES_16:
        return launch_lanes<number, 16>(p, stream);
    case TD_LU_LANES_32:
        return launch_lanes<number, 32>(p, stream);
    case TD_LU_WARP:
        return launch_rows<number, 2, 32>(p, 0, stream);
    default:
        error = td_block_shared_bytes(&bytes);
        in_a = panels_in_a<number>(p->n, p->shape - TD_LU_SHARED, bytes);
        if (error == cudaSuccess && in_a < 0) error = cudaErrorInvalidConfiguration;
        return error == cudaSuccess ? launch_rows<number, 1, TD_LU_BLOCK>(p, in_a, stream) : error;
    }
}

template <class number> static bool fits(int n, int shape, int shared_bytes)
{
    switch (shape) {
    case TD_LU_LANES_8:
        return n <= 8;
    case TD_LU_LANES_16:
        return n <= 16;
    case TD_LU_LANES_32:
        return n <= 32;
    case TD_LU_WARP:
        return n <= 64 && rows_bytes<number, 32>(n, 0) <= shared_bytes;
    default:
        return n <= TD_LU_MOST && panels_in_a<number>(n, shape - TD_LU_SHARED, shared_bytes) >= 0;
    }
}

template <class number> static cudaError_t prepare()
{
    cudaError_t error = td_load(cudaSuccess, factor_lanes<number, 8>, factor_lanes<number, 16>,
                                factor_lanes<number, 32>);
    error = td_allow_shared(error, factor_rows<number, 2, 32>, INT_MAX);
    return td_allow_shared(error, factor_rows<number, 1, TD_LU_BLOCK>, INT_MAX);
}

bool td_lu_shape_fits(td_lu_type type, int n, int shape)
{
    int bytes = 0;
    if (td_block_shared_bytes(&bytes) != cudaSuccess) return false;
    switch (type) {
    case TD_LU_S:
        return fits<float>(n, shape, bytes);
    case TD_LU_D:
        return fits<double>(n, shape, bytes);
    case TD_LU_C:
        return fits<td_complex<float>>(n, shape, bytes);
    default:
        return fits<td_complex<double>>(n, shape, bytes);
    }
}

cudaError_t td_lu_factor(const td_lu_factors *p, cudaStream_t stream)
{
    td_lu_factors shaped = *p;
    if (shaped.shape < 0) shaped.shape = td_lu_shape_of(p->type, p->n);
    switch (p->type) {
    case TD_LU_S:
        return launch<float>(&shaped, stream);
    case TD_LU_D:
        return launch<double>(&shaped, stream);
    case TD_LU_C:
        return launch<td_complex<float>>(&shaped, stream);
    default:
        return launch<td_complex<double>>(&shaped, stream);
    }
}

cudaError_t td_lu_factor_prepare(void)
{
    cudaError_t error = prepare<float>();
    if (error == cudaSuccess) error = prepare<double>();
    if (error == cudaSuccess) error = prepare<td_complex<float>>();
    if (error == cudaSuccess) error = prepare<td_complex<double>>();
    return error;
}
