/* panels.h - a block's matrix by panels, left-looking: where its parts are, and what the panels before a panel make of it.
 *
 * Rows never move. Of the panels before the present one, rows that have become pivots are known by their position, the
 * others by their slot: their number among all that the panel has, in the order of A. */
#ifndef TD_LU_PANELS_H
#define TD_LU_PANELS_H

#include "tile.h"

/* Rows that the panels before panel `panel` leave behind: those that have become pivots are in none. */
TD_HOST_DEVICE int td_lu_rows_before(int n, int columns, int panel)
{
    return panel * n - columns * (panel * (panel - 1) / 2);
}

/* What is in the block's shared memory beside the exchange. */
template <class number> struct td_lu_workplace {
    number *
        u; /* PANEL rows of U in the present panel's columns: two of them, or one for blocks of one warp */
    number *l;          /* what the panels leave behind, or only the present one */
    int *counts;        /* [warp] */
    uint8_t *rows;      /* of A: of the pivots, by position; then of the others, by slot */
    uint8_t *positions; /* of the latter, where they are when a panel begins */
    uint8_t *slots;     /* [panel][row] */
};

/* Numbers of the workplace's L. */
template <class number, bool in_place> TD_HOST_DEVICE int td_lu_numbers_of_l(int n)
{
    constexpr int panel = td_lu_tile<number>::PANEL;
    return panel * (in_place ? n : td_lu_rows_before(n, panel, (n + panel - 1) / panel));
}

template <class number, int lanes> struct td_lu_u {
    typedef td_lu_tile<number> tile;
    enum { NUMBERS = tile::PANEL * tile::LD, COUNT = lanes == 32 ? 1 : 2 };
};

template <class number, bool in_place, int lanes> TD_HOST_DEVICE int td_lu_workplace_bytes(int n)
{
    constexpr int panel = td_lu_tile<number>::PANEL;
    typedef td_lu_u<number, lanes> u;
    const int numbers = (int)u::COUNT * (int)u::NUMBERS + td_lu_numbers_of_l<number, in_place>(n);
    return numbers * (int)sizeof(number) + TD_LU_WARPS * (int)sizeof(int) + 2 * n +
           (n + panel - 1) / panel * n;
}

template <class number, bool in_place, int lanes>
TD_DEVICE td_lu_workplace<number> td_lu_lay_out(char *shared, int n)
{
    typedef td_lu_u<number, lanes> u;
    td_lu_workplace<number> w;
    w.u = reinterpret_cast<number *>(shared);
    w.l = w.u + (int)u::COUNT * (int)u::NUMBERS;
    w.counts = reinterpret_cast<int *>(w.l + td_lu_numbers_of_l<number, in_place>(n));
    w.rows = reinterpret_cast<uint8_t *>(w.counts + TD_LU_WARPS);
    w.positions = w.rows + n;
    w.slots = w.positions + n;
    return w;
}

/* A panel's rows in shared memory. Their 16-byte pieces change places: pieces of eight neighbouring rows, and those of
 * four that lanes of a product read in pairs, are in different banks. */
template <class number> struct td_lu_rows_store {
    enum { PANEL = td_lu_tile<number>::PANEL, PIECE = td_pack<number>::COUNT };
    enum { PIECES = PANEL / PIECE };
    number *at;

    TD_INSIDE number *piece(int slot, int k) const
    {
        const unsigned s = (unsigned)slot;
        const unsigned moved =
            PIECES == 8 ? (s & 1) << 2 | (s & 2) | (s >> 2 & 1) : s / 2 & (PIECES - 1u);
        return at + slot * PANEL + ((unsigned)k / PIECE ^ moved) * PIECE;
    }
    TD_INSIDE number *operator()(int slot, int k) const
    {
        return piece(slot, k) + (unsigned)k % PIECE;
    }
    /* PIECE numbers of a row, from column k on. */
    TD_INSIDE void read(number *to, int slot, int k) const
    {
        td_read_packs<PIECE>(to, piece(slot, k));
    }
    /* Of the row's numbers as reals of 8 bytes, number k. */
    TD_INSIDE double real(int slot, int k) const
    {
        constexpr int reals = sizeof(number) / sizeof(double);
        return reinterpret_cast<const double *>((*this)(slot, k / reals))[k % reals];
    }
};

/* The same where A has the panel: columns, slot after slot below the rows of U. */
template <class number> struct td_lu_columns_store {
    enum { PIECE = td_pack<number>::COUNT };
    number *at;
    int64_t ld;

    TD_INSIDE number *operator()(int slot, int k) const { return at + slot + k * ld; }
    TD_INSIDE void read(number *to, int slot, int k) const
    {
        TD_UNROLL
        for (int i = 0; i < PIECE; i++) to[i] = *(*this)(slot, k + i);
    }
    TD_INSIDE double real(int slot, int k) const
    {
        constexpr int reals = sizeof(number) / sizeof(double);
        return reinterpret_cast<const double *>((*this)(slot, k / reals))[k % reals];
    }
};

/* A block's matrix. */
template <class number, bool in_place_, int rows_, int lanes_> struct td_lu_block {
    enum { PANEL = td_lu_tile<number>::PANEL, ROWS = rows_, LANES = lanes_ };
    enum { IN_PLACE = in_place_ };
    td_lu_workplace<number> w;
    number *a;
    int64_t lda;
    int n;

    /* A panel while it is factored. */
    TD_INSIDE td_lu_rows_store<number> present(int panel) const
    {
        return {w.l + (in_place_ ? 0 : td_lu_rows_before(n, PANEL, panel) * PANEL)};
    }
    /* A panel before. */
    TD_INSIDE auto before(int panel) const
    {
        if constexpr (in_place_)
            return td_lu_columns_store<number>{a + panel * PANEL * (lda + 1), lda};
        else
            return present(panel);
    }
};

/* The indices and rows of a warp's tiles: the pivots before the panel by position, the other rows by slot. */
template <int rows> struct td_lu_tile_rows {
    int of[rows][4];                  /* -1: none */
    TD_INSIDE static int first(int r) /* index of a tile */
    {
        return 32 * ((int)threadIdx.x / 32 + r * ((int)blockDim.x / 32));
    }
};

/* One column of PANEL rows of U, from A's to the solved: rows `slots` of l hold their triangle of L. */
template <class number, class store>
TD_DEVICE void td_lu_solve_column(number *u, const store &l,
                                  const int (&slots)[td_lu_tile<number>::PANEL])
{
    enum { PANEL = td_lu_tile<number>::PANEL, LD = td_lu_tile<number>::LD };
    enum { PIECE = td_pack<number>::COUNT };
    number x[PANEL];
    TD_UNROLL
    for (int r = 0; r < PANEL; r++) x[r] = u[r * LD];
    TD_UNROLL
    for (int k = 0; k < PANEL; k += PIECE) {
        number left[PANEL][PIECE];
        TD_UNROLL
        for (int r = 1; r < PANEL; r++)
            if (r > k) l.read(left[r], slots[r], k);
        TD_UNROLL
        for (int i = 0; i < PIECE; i++) TD_UNROLL
        for (int r = 1; r < PANEL; r++)
            if (r > k + i) x[r] = td_minus(x[r], left[r][i], x[k + i]);
    }
    TD_UNROLL
    for (int r = 1; r < PANEL; r++) u[r * LD] = x[r];
}

/* By the warp that has the pivots of panel `from` in its tiles: their rows of U in the present panel's columns. */
template <class number, class block>
TD_DEVICE void td_lu_solve_rows(const block &b, int from, number *u,
                                const typename td_lu_tile<number>::sums (&s)[block::ROWS])
{
    typedef td_lu_tile<number> tile;
    enum { PANEL = tile::PANEL, RUN = tile::RUN, ROWS = block::ROWS };
    const int lane = (int)threadIdx.x % 32;
    TD_UNROLL
    for (int r = 0; r < ROWS; r++) TD_UNROLL
    for (int i = 0; i < 4; i++) {
        const int k = td_lu_tile_rows<ROWS>::first(r) + td_lu_tile_row(i) - from * PANEL;
        if (k >= 0 && k < PANEL) TD_UNROLL
        for (int j = 0; j < tile::COLUMNS; j += RUN)
            td_write_packs<RUN>(u + k * tile::LD + td_lu_tile_column<number>(j), s[r][i] + j);
    }
    __syncwarp();
    if (lane >= PANEL) return;
    int slots[PANEL];
    TD_UNROLL
    for (int r = 0; r < PANEL; r++) slots[r] = b.w.slots[from * b.n + b.w.rows[from * PANEL + r]];
    td_lu_solve_column(u + lane, b.before(from), slots);
}

/* What panel `from` decides of columns j0 .. end: rows of U, which go to their place in A, and what they and L make of
 * the rows after them. One barrier. */
template <class number, class block>
TD_DEVICE void td_lu_apply(const block &b, int from, int j0, int end,
                           const td_lu_tile_rows<block::ROWS> &at,
                           typename td_lu_tile<number>::sums (&s)[block::ROWS])
{
    typedef td_lu_tile<number> tile;
    enum { PANEL = tile::PANEL, LANES = block::LANES };
    typedef td_lu_u<number, LANES> u_of;
    const int first = from * PANEL, tid = (int)threadIdx.x, threads = (int)blockDim.x;
    number *u = b.w.u + from % u_of::COUNT * u_of::NUMBERS;
    if (LANES == 32) __syncwarp();
    if (first / 32 % (threads / 32) == tid / 32) td_lu_solve_rows<number>(b, from, u, s);
    td_team_sync<LANES>();
    for (int i = tid; i < PANEL * (end - j0); i += threads)
        b.a[first + i % PANEL + (j0 + i / PANEL) * b.lda] = u[i % PANEL * tile::LD + i / PANEL];
    const auto l = b.before(from);
    TD_UNROLL
    for (int r = 0; r < block::ROWS; r++) {
        const int index = at.first(r), after = first + PANEL;
        if (index + 31 < after || index >= b.n) continue;
        int slots[4];
        TD_UNROLL
        for (int i = 0; i < 4; i++) {
            const bool is_after = index + td_lu_tile_row(i) >= after && at.of[r][i] >= 0;
            slots[i] = is_after ? b.w.slots[from * b.n + at.of[r][i]] : 0;
        }
        td_lu_tile_update<number>(s[r], l, slots, u, index + 15 < after ? 1 : 0);
    }
}

/* Columns j0 .. end of A, after all panels before: pivots' rows go to A, the others to the panel's store. */
template <class number, class block> TD_DEVICE void td_lu_bring_up(const block &b, int j0, int end)
{
    typedef td_lu_tile<number> tile;
    enum { PIECE = td_pack<number>::COUNT, ROWS = block::ROWS };
    td_lu_tile_rows<ROWS> at;
    typename tile::sums s[ROWS];
    TD_UNROLL
    for (int r = 0; r < ROWS; r++) TD_UNROLL
    for (int i = 0; i < 4; i++) {
        const int index = at.first(r) + td_lu_tile_row(i), row = index < b.n ? b.w.rows[index] : -1;
        at.of[r][i] = row;
        TD_UNROLL
        for (int j = 0; j < tile::COLUMNS; j++) {
            const int column = j0 + td_lu_tile_column<number>(j);
            s[r][i][j] =
                row >= 0 && column < end ? b.a[row + column * b.lda] : td_number<number>(0);
        }
    }
    for (int from = 0; from < j0 / tile::PANEL; from++)
        td_lu_apply<number>(b, from, j0, end, at, s);
    const auto l = b.present(j0 / tile::PANEL);
    TD_UNROLL
    for (int r = 0; r < ROWS; r++) TD_UNROLL
    for (int i = 0; i < 4; i++) {
        const int slot = at.first(r) + td_lu_tile_row(i) - j0;
        if (slot >= 0 && slot < b.n - j0) TD_UNROLL
        for (int j = 0; j < tile::COLUMNS; j += PIECE)
            td_write_packs<PIECE>(l.piece(slot, td_lu_tile_column<number>(j)), s[r][i] + j);
    }
}

/* The numbers of this thread's rows among the active ones, in the order of their slots. Ends with a barrier. */
template <int rows>
TD_DEVICE void td_lu_number_active(const bool (&is_active)[rows], int *counts, int (&numbers)[rows])
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

/* Ends a panel: where its pivots and the rows of the next are, and the panel to A if that is its place. Two barriers. */
template <class number, class block, class rows_of_thread>
TD_DEVICE void td_lu_end_panel(const block &b, const rows_of_thread &mine, const int *rows, int j0,
                               int end)
{
    enum { ROWS = block::ROWS, PANEL = block::PANEL };
    const int tid = (int)threadIdx.x, threads = (int)blockDim.x;
    bool is_left[ROWS];
    int slots[ROWS];
    TD_UNROLL
    for (int r = 0; r < ROWS; r++) {
        const bool has_row = tid + r * threads < b.n - j0;
        is_left[r] = has_row && mine.position[r] >= end;
        if (has_row && !is_left[r]) b.w.rows[mine.position[r]] = (uint8_t)rows[r];
    }
    td_lu_number_active(is_left, b.w.counts, slots);
    TD_UNROLL
    for (int r = 0; r < ROWS; r++) {
        if (!is_left[r]) continue;
        b.w.rows[end + slots[r]] = (uint8_t)rows[r];
        b.w.positions[end + slots[r]] = (uint8_t)mine.position[r];
        b.w.slots[end / PANEL * b.n + rows[r]] = (uint8_t)slots[r];
    }
    if constexpr (block::IN_PLACE) {
        const auto from = b.present(j0 / PANEL);
        const auto to = b.before(j0 / PANEL);
        for (int slot = tid; slot < b.n - j0; slot += threads)
            for (int c = 0; c < end - j0; c++) *to(slot, c) = *from(slot, c);
    }
    __syncthreads();
}

/* L and the triangles of U from shared memory to A: a thread for each position. */
template <class number, class block> TD_DEVICE void td_lu_store_rows(const block &b)
{
    enum { PANEL = block::PANEL };
    for (int position = (int)threadIdx.x; position < b.n; position += (int)blockDim.x)
        for (int j0 = 0; j0 <= position; j0 += PANEL) {
            const auto l = b.present(j0 / PANEL);
            const int slot = b.w.slots[j0 / PANEL * b.n + b.w.rows[position]];
            number *to = b.a + position + j0 * b.lda;
            TD_UNROLL_N(4)
            for (int c = 0; c < PANEL; c++)
                if (j0 + c < b.n) to[c * b.lda] = *l(slot, c);
        }
}

/* The same where they are in A: from slots to positions, some columns of a panel a warp. */
template <class number, class block> TD_DEVICE void td_lu_interchange(const block &b)
{
    enum { PANEL = block::PANEL, COLUMNS = 2, MOST = TD_LU_MOST / 32 };
    const int lane = (int)threadIdx.x % 32, warps = (int)blockDim.x / 32;
    for (int c0 = (int)threadIdx.x / 32 * COLUMNS; c0 < b.n; c0 += warps * COLUMNS) {
        const int j0 = c0 / PANEL * PANEL;
        number x[MOST][COLUMNS];
        TD_UNROLL
        for (int i = 0; i < MOST; i++) {
            const int position = j0 + lane + 32 * i;
            const bool is_inside = position < b.n;
            const int slot = is_inside ? b.w.slots[j0 / PANEL * b.n + b.w.rows[position]] : 0;
            TD_UNROLL
            for (int c = 0; c < COLUMNS; c++)
                x[i][c] = is_inside && c0 + c < b.n ? b.a[j0 + slot + (c0 + c) * b.lda]
                                                    : td_number<number>(0);
        }
        __syncwarp();
        TD_UNROLL
        for (int i = 0; i < MOST; i++) TD_UNROLL
        for (int c = 0; c < COLUMNS; c++)
            if (j0 + lane + 32 * i < b.n && c0 + c < b.n)
                b.a[j0 + lane + 32 * i + (c0 + c) * b.lda] = x[i][c];
    }
}

#endif
