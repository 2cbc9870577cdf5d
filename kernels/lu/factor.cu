/* factor.cu - P A = L U of small matrices: left-looking by panels, a thread for one or two rows, which never move. What a panel
 * leaves behind, L and its own triangle of U, stays in shared memory for the panels to come, without the rows that have
 * become pivots before; everything else goes straight to its place in A. So A is read once and written once.
 * Where that memory is too little, all of it stays in A, and the rows are interchanged at the end. */
#include "factor.h"

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

/* What is in the block's shared memory beside the exchange. */
template <class number> struct workplace {
    enum { PANEL = td_lu_panel_of<number>::value };
    number (*solved)[PANEL][PANEL]; /* two: PANEL rows of U in the present panel's columns */
    number *l;                      /* rows of L, panel after panel */
    uint8_t *rows;                  /* by position */
    uint8_t *slots;                 /* [panel][row] */
    int *counts;                    /* [warp] */
};

template <int columns> TD_HOST_DEVICE int numbers_of_l(int n)
{
    return td_lu_rows_before(n, columns, (n + columns - 1) / columns) * columns;
}

template <class number, bool in_place> TD_DEVICE workplace<number> lay_out(char *shared, int n)
{
    enum { PANEL = workplace<number>::PANEL };
    workplace<number> w;
    w.solved = reinterpret_cast<number(*)[PANEL][PANEL]>(shared);
    w.l = reinterpret_cast<number *>(w.solved + 2);
    w.counts = reinterpret_cast<int *>(w.l + (in_place ? 0 : numbers_of_l<PANEL>(n)));
    w.rows = reinterpret_cast<uint8_t *>(w.counts + TD_LU_WARPS);
    w.slots = w.rows + n;
    return w;
}

/* What a panel left behind, by slots and columns: rows in shared memory, whose 16-byte pieces change places so that no two
 * of eight neighbouring rows have theirs in the same banks; or columns of A, slots being rows. */
template <class number, bool in_place> struct panel_store {
    enum { PANEL = workplace<number>::PANEL, PIECE = td_pack<number>::COUNT };
    enum { PIECES = PANEL / PIECE, IN_BANKS = PIECES < 8 ? 8 / PIECES : 1 };
    number *at;
    int64_t ld;

    TD_INSIDE number *piece(int slot, int k) const
    {
        const unsigned moved = (unsigned)slot / IN_BANKS & (PIECES < 8 ? PIECES - 1u : 7u);
        return at + slot * PANEL + ((unsigned)k / PIECE ^ moved) * PIECE;
    }
    TD_INSIDE number *operator()(int slot, int k) const
    {
        return in_place ? at + slot + k * ld : piece(slot, k) + (unsigned)k % PIECE;
    }

    /* PIECE numbers of a row, from column k on. */
    TD_INSIDE void read(number *to, int slot, int k) const
    {
        if constexpr (!in_place) {
            td_read_packs<PIECE>(to, piece(slot, k));
        } else {
            TD_UNROLL
            for (int i = 0; i < PIECE; i++) to[i] = *(*this)(slot, k + i);
        }
    }
};

template <class number, bool in_place>
TD_DEVICE panel_store<number, in_place> store_of(const workplace<number> &w, number *a, int lda,
                                                 int n, int panel)
{
    enum { PANEL = workplace<number>::PANEL };
    if (in_place) return {a + (int64_t)panel * PANEL * lda, lda};
    return {w.l + td_lu_rows_before(n, PANEL, panel) * PANEL, 0};
}

/* The numbers of this thread's rows among the active ones, whose lanes are neighbours where their numbers are: ends with a
 * barrier. */
template <int rows>
TD_DEVICE void number_active(const bool (&is_active)[rows], int *counts, int (&numbers)[rows])
{
    const int warp = (int)threadIdx.x / 32, warps = (int)blockDim.x / 32;
    unsigned active[rows];
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        active[r] = __ballot_sync(~0u, is_active[r]);
        if (threadIdx.x % 32 == 0) counts[r * warps + warp] = __popc(active[r]);
    }
    __syncthreads();
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        numbers[r] = __popc(active[r] & ((1u << threadIdx.x % 32) - 1));
        for (int w = 0; w < r * warps + warp; w++) numbers[r] += counts[w];
    }
}

/* One column c of the rows of U that an earlier panel's pivots are: in place, rows[r][c] from row 0 on. */
template <class number, class store>
TD_DEVICE void solve_column(number (*rows)[workplace<number>::PANEL], int c, const store &l,
                            const int *slots)
{
    enum { PANEL = workplace<number>::PANEL, PIECE = td_pack<number>::COUNT };
    number u[PANEL];
    TD_UNROLL
    for (int r = 0; r < PANEL; r++) u[r] = rows[r][c];
    TD_UNROLL
    for (int k = 0; k < PANEL; k += PIECE) {
        number left[PANEL][PIECE];
        TD_UNROLL
        for (int r = 1; r < PANEL; r++)
            if (r > k) l.read(left[r], slots[r], k);
        TD_UNROLL
        for (int i = 0; i < PIECE; i++) TD_UNROLL
        for (int r = 1; r < PANEL; r++)
            if (r > k + i) u[r] = td_minus(u[r], left[r][i], u[k + i]);
    }
    TD_UNROLL
    for (int r = 1; r < PANEL; r++) rows[r][c] = u[r];
}

/* x -= L U for this thread's rows of an earlier panel's L, and the rows of U that it has solved. */
template <class number, int rows, class store>
TD_DEVICE void update_rows(number (&x)[rows][workplace<number>::PANEL], const store &l,
                           const int (&slots)[rows],
                           const number (*solved)[workplace<number>::PANEL])
{
    enum { PANEL = workplace<number>::PANEL, PIECE = td_pack<number>::COUNT };
    TD_UNROLL_N(2)
    for (int k = 0; k < PANEL; k += PIECE) {
        number left[rows][PIECE];
        TD_UNROLL
        for (int r = 0; r < rows; r++) l.read(left[r], slots[r], k);
        TD_UNROLL
        for (int i = 0; i < PIECE; i++) {
            number u[PANEL];
            td_read_packs<PANEL>(u, solved[k + i]);
            TD_UNROLL
            for (int r = 0; r < rows; r++) TD_UNROLL
            for (int c = 0; c < PANEL; c++) x[r][c] = td_minus(x[r][c], left[r][i], u[c]);
        }
    }
}

/* The rows of U that an earlier panel's pivots are: a thread a column. */
template <class number, bool in_place>
TD_DEVICE void solve_rows(const workplace<number> &w, const panel_store<number, in_place> &l, int n,
                          int from, number (*rows)[workplace<number>::PANEL])
{
    enum { PANEL = workplace<number>::PANEL };
    if (threadIdx.x >= PANEL) return;
    int slots[PANEL];
    TD_UNROLL
    for (int r = 0; r < PANEL; r++) {
        const int row = w.rows[from * PANEL + r];
        slots[r] = in_place ? row : w.slots[from * n + row];
    }
    solve_column(rows, (int)threadIdx.x, l, slots);
}

/* The part of the panel in columns j0 .. end that the earlier panel `from` decides: rows of U to their place in A, and the
 * rest of the rows updated. Two barriers. */
template <class number, bool in_place, int rows>
TD_DEVICE void apply_panel(const workplace<number> &w, number *a, int lda, int n, int from, int j0,
                           int end, const int (&position)[rows],
                           number (&x)[rows][workplace<number>::PANEL])
{
    enum { PANEL = workplace<number>::PANEL };
    const int first = from * PANEL, tid = (int)threadIdx.x, threads = (int)blockDim.x;
    number(*solved)[PANEL] = w.solved[from & 1];
    const auto l = store_of<number, in_place>(w, a, lda, n, from);
    TD_UNROLL
    for (int r = 0; r < rows; r++)
        if (position[r] >= first && position[r] < first + PANEL)
            td_write_packs<PANEL>(solved[position[r] - first], x[r]);
    __syncthreads();
    solve_rows(w, l, n, from, solved);
    __syncthreads();
    for (int i = tid; i < PANEL * (end - j0); i += threads) {
        const int r = i % PANEL, c = i / PANEL, row = in_place ? w.rows[first + r] : first + r;
        a[row + (int64_t)(j0 + c) * lda] = solved[r][c];
    }
    int slots[rows];
    bool is_live = false; /* rows that are not have no use for what they get */
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const bool is_row_live = position[r] >= first + PANEL && position[r] < n;
        const int row = tid + r * threads;
        slots[r] = !is_row_live ? 0 : in_place ? row : w.slots[from * n + row];
        is_live = is_live || is_row_live;
    }
    if (is_live) update_rows(x, l, slots, solved);
}

/* L and the triangles of U from shared memory to A: a thread for each position. */
template <class number>
TD_DEVICE void store_columns(const workplace<number> &w, number *a, int lda, int n)
{
    enum { PANEL = workplace<number>::PANEL };
    for (int position = (int)threadIdx.x; position < n; position += (int)blockDim.x)
        for (int j0 = 0; j0 <= position; j0 += PANEL) {
            const auto l = store_of<number, false>(w, a, lda, n, j0 / PANEL);
            const int slot = w.slots[j0 / PANEL * n + w.rows[position]];
            number *to = a + position + (int64_t)j0 * lda;
            TD_UNROLL_N(4)
            for (int c = 0; c < PANEL; c++)
                if (j0 + c < n) to[(int64_t)c * lda] = *l(slot, c);
        }
}

/* Rows of A to their positions, some columns at a time. A thread for each row. */
template <class number> TD_DEVICE void interchange(number *a, int lda, int n, int row, int position)
{
    enum { COLUMNS = 4 };
    for (int c0 = 0; c0 < n; c0 += COLUMNS) {
        number x[COLUMNS];
        TD_UNROLL
        for (int c = 0; c < COLUMNS; c++)
            if (row < n && c0 + c < n) x[c] = a[row + (int64_t)(c0 + c) * lda];
        __syncthreads();
        TD_UNROLL
        for (int c = 0; c < COLUMNS; c++)
            if (row < n && c0 + c < n) a[position + (int64_t)(c0 + c) * lda] = x[c];
    }
}

/* A thread's rows of the panel of columns j0 .. end, after all panels before it. */
template <class number, bool in_place, int rows>
TD_DEVICE void load_panel(const workplace<number> &w, number *a, int lda, int n, int j0, int end,
                          td_lu_rows<number, rows> &mine,
                          number (&x)[rows][workplace<number>::PANEL])
{
    enum { PANEL = workplace<number>::PANEL };
    const int tid = (int)threadIdx.x, threads = (int)blockDim.x, panel = j0 / PANEL;
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const int row = tid + r * threads;
        TD_UNROLL
        for (int c = 0; c < PANEL; c++)
            x[r][c] =
                row < n && j0 + c < n ? a[row + (int64_t)(j0 + c) * lda] : td_number<number>(0);
        mine.is_active[r] = row < n && mine.position[r] >= j0;
    }
    number_active(mine.is_active, w.counts, mine.slot);
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const int row = tid + r * threads;
        if (in_place) mine.slot[r] = row;
        if (mine.is_active[r]) w.slots[panel * n + row] = (uint8_t)mine.slot[r];
    }
    for (int from = 0; from < panel; from++)
        apply_panel<number, in_place>(w, a, lda, n, from, j0, end, mine.position, x);
}

/* A block for each matrix, `rows` rows a thread; lanes: 32 for blocks of one warp, else TD_LU_BLOCK. */
template <class number, bool in_place, int rows, int lanes>
static __global__ void __launch_bounds__(lanes == 32 ? 32 : TD_LU_MOST / rows,
                                         lanes == 32 ? 12 : rows + 1)
    factor_rows(const td_lu_factors p)
{
    enum { PANEL = workplace<number>::PANEL };
    typedef td_lu_exchange<number, PANEL, lanes == 32 ? 1 : TD_LU_WARPS> exchange;
    TD_DYNAMIC_SHARED(char, shared);
    exchange &e = *reinterpret_cast<exchange *>(shared);
    const workplace<number> w = lay_out<number, in_place>(shared + sizeof(exchange), p.n);
    const int n = p.n, lda = p.lda, tid = (int)threadIdx.x, threads = (int)blockDim.x;
    number *a = static_cast<number *>(p.a[blockIdx.x]);
    td_lu_clear(e);

    td_lu_rows<number, rows> mine = {};
    mine.has_pivots = p.pivots != nullptr;
    mine.rank = tid;
    TD_UNROLL
    for (int r = 0; r < rows; r++) mine.position[r] = tid + r * threads;
    for (int j0 = 0; j0 < n; j0 += PANEL) {
        const int end = min(n, j0 + PANEL);
        number x[rows][PANEL];
        load_panel<number, in_place>(w, a, lda, n, j0, end, mine, x);
        td_lu_panel<lanes>(mine, x, e, j0, end,
                           store_of<number, in_place>(w, a, lda, n, j0 / PANEL));
        if (p.pivots && tid < end - j0)
            p.pivots[(int64_t)blockIdx.x * n + j0 + tid] = mine.pivot + 1;
        TD_UNROLL
        for (int r = 0; r < rows; r++)
            if (mine.position[r] >= j0 && mine.position[r] < end)
                w.rows[mine.position[r]] = (uint8_t)(tid + r * threads);
    }
    __syncthreads();
    if (in_place)
        interchange(a, lda, n, tid, mine.position[0]);
    else
        store_columns(w, a, lda, n);
    if (tid == 0) p.info[blockIdx.x] = mine.info;
}

/* ---- launches ---- */

template <class number, bool in_place, int lanes> static int rows_bytes(int n)
{
    enum { PANEL = workplace<number>::PANEL };
    const int panels = (n + PANEL - 1) / PANEL;
    const int numbers = 2 * PANEL * PANEL + (in_place ? 0 : numbers_of_l<PANEL>(n));
    return (int)sizeof(td_lu_exchange < number, PANEL, lanes == 32 ? 1 : TD_LU_WARPS >) +
           numbers * (int)sizeof(number) + TD_LU_WARPS * (int)sizeof(int) + n + panels * n;
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
    case TD_LU_SHARED_2:
        return launch_rows<number, false, 2, TD_LU_BLOCK>(p, stream);
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
    case TD_LU_SHARED_2:
    case TD_LU_SHARED:
        return n <= TD_LU_MOST && rows_bytes<number, false, TD_LU_BLOCK>(n) <= shared_bytes;
    default:
        return n <= TD_LU_MOST;
    }
}

template <class number> static cudaError_t prepare()
{
    enum { BLOCK = TD_LU_BLOCK };
    cudaError_t error = td_load(cudaSuccess, factor_lanes<number, 8>, factor_lanes<number, 16>);
    error = td_allow_shared(error, factor_lanes<number, 32>, lanes_bytes<number, 32>());
    error = td_allow_shared(error, factor_rows<number, false, 2, 32>, INT_MAX);
    error = td_allow_shared(error, factor_rows<number, false, 2, BLOCK>, INT_MAX);
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
