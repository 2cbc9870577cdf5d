/* factor.cu - P A = L U of small matrices: left-looking by panels, a thread for one or two rows, which never move. What a panel
 * leaves behind, L and its own triangle of U, stays in shared memory for the panels to come, without the rows that have
 * become pivots before; everything else goes straight to its place in A. So A is read once and written once.
 * Where that memory is too little, all of it stays in A, and the rows are interchanged at the end. */
#include "factor.h"
#include "panels.h"

/* ---- matrices of as many rows as a warp has lanes, or fewer ---- */

/* A matrix for each team, four warps a block. */
template <class number, int lanes>
static __global__ void __launch_bounds__(TD_LU_LANES_BLOCK) factor_lanes(const td_lu_factors p)
{
    enum { TEAMS = TD_LU_LANES_BLOCK / lanes };
    typedef td_lu_exchange<number, lanes, TEAMS> exchange;
    TD_DYNAMIC_SHARED(char, shared);
    exchange &e = *reinterpret_cast<exchange *>(shared);
    number *columns = reinterpret_cast<number *>(shared + sizeof(exchange));
    uint8_t *rows = reinterpret_cast<uint8_t *>(columns + TEAMS * lanes * lanes);
    td_lu_clear(e);
    __syncthreads();

    const int team = (int)threadIdx.x / lanes, rank = (int)threadIdx.x % lanes;
    const int64_t member = (int64_t)blockIdx.x * TEAMS + team;
    const bool has_matrix = member < p.batch;
    number *a = has_matrix ? static_cast<number *>(p.a[member]) : nullptr;
    columns += team * lanes * lanes;
    int *pivots = has_matrix && p.pivots ? p.pivots + member * p.n : nullptr;
    const td_lu_ends ends =
        td_lu_factor_lanes<lanes>(e, a, p.lda, p.n, p.pivots != nullptr, pivots, columns);
    if (has_matrix && rank < p.n) rows[team * lanes + ends.position] = (uint8_t)rank;
    __syncwarp();
    if (has_matrix && rank < p.n) {
        const int row = rows[team * lanes + rank];
        for (int c = 0; c < p.n; c++) a[rank + (int64_t)c * p.lda] = columns[row + c * lanes];
    }
    if (has_matrix && rank == 0) p.info[member] = ends.info;
}

/* ---- larger matrices ---- */

/* Takes the thread's rows of a panel, which are in its store. */
template <class number, class block, class rows_of_thread>
TD_DEVICE void take_rows(const block &b, rows_of_thread &mine, int (&row)[block::ROWS], int j0,
                         number (&x)[block::ROWS][block::PANEL])
{
    enum { PANEL = block::PANEL, PIECE = td_pack<number>::COUNT };
    const auto l = b.present(j0 / PANEL);
    TD_UNROLL
    for (int r = 0; r < block::ROWS; r++) {
        const int slot = (int)threadIdx.x + r * (int)blockDim.x;
        const bool is_active = slot < b.n - j0;
        mine.slot[r] = slot;
        mine.is_active[r] = is_active;
        row[r] = is_active ? b.w.rows[j0 + slot] : 0;
        mine.position[r] = is_active ? b.w.positions[j0 + slot] : INT_MAX;
        TD_UNROLL
        for (int c = 0; c < PANEL; c += PIECE) {
            if (is_active) l.read(x[r] + c, slot, c);
            TD_UNROLL
            for (int i = 0; i < PIECE; i++)
                x[r][c + i] = is_active ? x[r][c + i] : td_number<number>(0);
        }
    }
    mine.is_alone = b.n - j0 <= 32;
}

/* The panel of columns j0 .. end. Warps without rows only keep the others company. */
template <class number, class block, class exchange, class rows_of_thread>
TD_DEVICE void factor_panel(const block &b, exchange &e, rows_of_thread &mine, int j0, int end)
{
    enum { PANEL = block::PANEL, LANES = block::LANES };
    int row[block::ROWS];
    const bool is_idle = (int)threadIdx.x / 32 * 32 >= b.n - j0;
    td_lu_bring_up<number>(b, j0, end);
    if (is_idle && threadIdx.x % 32 == 0) td_lu_leave(e);
    __syncthreads();
    number x[block::ROWS][PANEL];
    take_rows(b, mine, row, j0, x);
    if (!is_idle)
        td_lu_panel<LANES>(mine, x, e, j0, end, b.present(j0 / PANEL));
    else if (!mine.is_alone)
        for (int j = j0; j < end; j++) td_team_sync<LANES>();
    td_lu_end_panel<number>(b, mine, row, j0, end);
}

/* A block for each matrix, `rows` rows a thread; lanes: 32 for blocks of one warp, else TD_LU_BLOCK. */
template <class number, bool in_place, int rows, int lanes>
static __global__ void __launch_bounds__(lanes == 32 ? 32 : TD_LU_MOST / rows,
                                         lanes == 32 ? 12 : rows + 1)
    factor_rows(const td_lu_factors p)
{
    typedef td_lu_block<number, in_place, rows, lanes> block;
    enum { PANEL = block::PANEL };
    typedef td_lu_exchange<number, PANEL, lanes == 32 ? 1 : TD_LU_WARPS> exchange;
    TD_DYNAMIC_SHARED(char, shared);
    exchange &e = *reinterpret_cast<exchange *>(shared);
    const block b = {td_lu_lay_out<number, in_place, lanes>(shared + sizeof(exchange), p.n),
                     static_cast<number *>(p.a[blockIdx.x]), p.lda, p.n};
    const int n = p.n, tid = (int)threadIdx.x;
    td_lu_clear(e);
    for (int i = tid; i < n; i += (int)blockDim.x)
        b.w.rows[i] = b.w.positions[i] = b.w.slots[i] = (uint8_t)i;
    __syncthreads();

    td_lu_rows<number, rows> mine = {};
    mine.has_pivots = p.pivots != nullptr;
    mine.rank = tid;
    TD_ROLLED
    for (int j0 = 0; j0 < n; j0 += PANEL) {
        const int end = min(n, j0 + PANEL);
        factor_panel<number>(b, e, mine, j0, end);
        if (p.pivots && tid < end - j0)
            p.pivots[(int64_t)blockIdx.x * n + j0 + tid] = mine.pivot + 1;
    }
    if constexpr (in_place)
        td_lu_interchange<number>(b);
    else
        td_lu_store_rows<number>(b);
    if (tid == 0) p.info[blockIdx.x] = mine.info;
}

/* ---- launches ---- */

template <class number, bool in_place, int lanes> static int rows_bytes(int n)
{
    enum { PANEL = td_lu_tile<number>::PANEL };
    return (int)sizeof(td_lu_exchange < number, PANEL, lanes == 32 ? 1 : TD_LU_WARPS >) +
           td_lu_workplace_bytes<number, in_place, lanes>(n);
}

template <class number, int lanes> static int lanes_bytes()
{
    enum { TEAMS = TD_LU_LANES_BLOCK / lanes };
    return (int)sizeof(td_lu_exchange<number, lanes, TEAMS>) +
           TEAMS * lanes * (lanes * (int)sizeof(number) + 1);
}

template <class number, int lanes>
static cudaError_t launch_lanes(const td_lu_factors *p, cudaStream_t stream)
{
    const int64_t threads = (int64_t)p->batch * lanes, block = TD_LU_LANES_BLOCK;
    const size_t bytes = (size_t)lanes_bytes<number, lanes>();
    return TD_LAUNCH((factor_lanes<number, lanes>), (unsigned)((threads + block - 1) / block),
                     (unsigned)block, bytes, stream, *p);
}

template <class number, bool in_place, int rows, int lanes>
static cudaError_t launch_rows(const td_lu_factors *p, cudaStream_t stream)
{
    const size_t bytes = (size_t)rows_bytes<number, in_place, lanes>(p->n);
    const unsigned threads = (unsigned)((p->n + 32 * rows - 1) / (32 * rows) * 32);
    return TD_LAUNCH((factor_rows<number, in_place, rows, lanes>), (unsigned)p->batch, threads,
                     bytes, stream, *p);
}

template <class number> static cudaError_t launch(const td_lu_factors *p, cudaStream_t stream)
{
    switch (p->shape) {
    case TD_LU_LANES_8:
        return launch_lanes<number, 8>(p, stream);
    case TD_LU_LANES_16:
        return launch_lanes<number, 16>(p, stream);
    case TD_LU_LANES_32:
        return launch_lanes<number, 32>(p, stream);
    case TD_LU_WARP:
        return launch_rows<number, false, 2, 32>(p, stream);
    case TD_LU_SHARED:
        return launch_rows<number, false, 1, TD_LU_BLOCK>(p, stream);
    default:
        return launch_rows<number, true, 1, TD_LU_BLOCK>(p, stream);
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
        return n <= 32 && lanes_bytes<number, 32>() <= shared_bytes;
    case TD_LU_WARP:
        return n <= 64 && rows_bytes<number, false, 32>(n) <= shared_bytes;
    case TD_LU_SHARED:
        return n <= TD_LU_MOST && rows_bytes<number, false, TD_LU_BLOCK>(n) <= shared_bytes;
    default:
        return n <= TD_LU_MOST && rows_bytes<number, true, TD_LU_BLOCK>(n) <= shared_bytes;
    }
}

template <class number> static cudaError_t prepare()
{
    enum { BLOCK = TD_LU_BLOCK };
    cudaError_t error = td_load(cudaSuccess, factor_lanes<number, 8>, factor_lanes<number, 16>);
    error = td_allow_shared(error, factor_lanes<number, 32>, lanes_bytes<number, 32>());
    error = td_allow_shared(error, factor_rows<number, false, 2, 32>, INT_MAX);
    error = td_allow_shared(error, factor_rows<number, false, 1, BLOCK>, INT_MAX);
    return td_allow_shared(error, factor_rows<number, true, 1, BLOCK>, INT_MAX);
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
