/* panels.h - a block's matrix by panels, left-looking: where its parts are, and what the panels
 * before a panel make of it.
 *
 * A thread keeps its rows through a panel. When it ends, its rows get slots: those that have become
 * pivots by position, then the others in their order in A, and with these the next panel goes
 * on. */
#ifndef TD_LU_PANELS_H
#define TD_LU_PANELS_H

#include "tile.h"

enum { TD_LU_COUNTS = TD_LU_MOST_FACTORED / 32 };

/* What is in the block's shared memory beside the exchange; an index numbers a row. */
template <class number, class index> struct td_lu_workplace {
    /* PANEL rows of U in the present panel's columns: two of them, or one for blocks of one warp */
    number *u;
    number *l;   /* what the panels leave behind: rows, by slot */
    int *counts; /* TD_LU_COUNTS: [row of a thread][warp] */
    index *rows; /* of A: of the pivots, by position; then of the others, in the order of slots */
    index *positions; /* of the latter, where they are when a panel begins */
    index *slots;     /* [panel][row] */
};

/* Rows that panels of so many columns leave behind before panel `panel`. The first in_a panels are
 * in A, and only their pivots are here, too. */
TD_HOST_DEVICE int td_lu_rows_before(int n, int columns, int in_a, int panel)
{
    const int kept = min(in_a, panel), more = panel - kept;
    return kept * columns + more * (n - columns * kept) - columns * (more * (more - 1) / 2);
}

/* All of them, and room for a panel that is on its way to A. */
template <class number> TD_HOST_DEVICE int td_lu_numbers_of_l(int n, int in_a)
{
    constexpr int panel = td_lu_tile<number>::PANEL;
    const int rows = td_lu_rows_before(n, panel, in_a, (n + panel - 1) / panel);
    return panel * (in_a ? max(rows, in_a * panel + n) : rows);
}

template <class number, int lanes> struct td_lu_u {
    typedef td_lu_tile<number> tile;
    enum { NUMBERS = tile::PANEL * tile::LD, COUNT = lanes == 32 ? 1 : 2 };
};

template <class number, class index, int lanes>
TD_HOST_DEVICE int td_lu_workplace_bytes(int n, int in_a)
{
    constexpr int panel = td_lu_tile<number>::PANEL;
    typedef td_lu_u<number, lanes> u;
    const int numbers = (int)u::COUNT * (int)u::NUMBERS + td_lu_numbers_of_l<number>(n, in_a);
    return numbers * (int)sizeof(number) + TD_LU_COUNTS * (int)sizeof(int) +
           (2 + (n + panel - 1) / panel) * n * (int)sizeof(index);
}

template <class number, class index, int lanes>
TD_DEVICE td_lu_workplace<number, index> td_lu_lay_out(char *shared, int n, int in_a)
{
    typedef td_lu_u<number, lanes> u;
    td_lu_workplace<number, index> w;
    w.u = reinterpret_cast<number *>(shared);
    w.l = w.u + (int)u::COUNT * (int)u::NUMBERS;
    w.counts = reinterpret_cast<int *>(w.l + td_lu_numbers_of_l<number>(n, in_a));
    w.rows = reinterpret_cast<index *>(w.counts + TD_LU_COUNTS);
    w.positions = w.rows + n;
    w.slots = w.positions + n;
    return w;
}

/* A panel's rows in shared memory. Their 16-byte pieces change places: pieces of eight neighbouring
 * rows, and those of four that lanes of a product read in pairs, are in different banks. */
template <class number> struct td_lu_rows_store {
    enum { PANEL = td_lu_tile<number>::PANEL, PIECE = td_pack<number>::COUNT, IS_FAR = 0 };
    enum { PIECES = PANEL / PIECE };
    number *at;

    TD_INSIDE static unsigned moved(int slot)
    {
        const unsigned s = (unsigned)slot;
        return PIECES == 8 ? (s & 1) << 2 | (s & 2) | (s >> 2 & 1) : s / 2 & (PIECES - 1u);
    }
    TD_INSIDE number *piece(int slot, int k) const
    {
        return at + slot * PANEL + ((unsigned)k / PIECE ^ moved(slot)) * PIECE;
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
    /* Of a row as 16 reals, the lane's: lane % 4 + 4 i. */
    TD_INSIDE void reals(double (&to)[4], int slot) const
    {
        const unsigned first = threadIdx.x % 4 ^ moved(slot) * 2;
        TD_UNROLL
        for (unsigned i = 0; i < 4; i++)
            to[i] = reinterpret_cast<const double *>(at)[slot * 16 + (int)(first ^ 4 * i)];
    }
};

/* A panel of L as it lies in A, in global memory: columns, slot after slot below the rows of U. */
template <class number> struct td_lu_columns_store {
    enum { PIECE = td_pack<number>::COUNT, IS_FAR = 1 };
    number *at;
    int64_t ld;

    TD_INSIDE number *operator()(int slot, int k) const { return at + slot + k * ld; }
    TD_INSIDE void read(number *to, int slot, int k) const
    {
        TD_UNROLL
        for (int i = 0; i < PIECE; i++) to[i] = *(*this)(slot, k + i);
    }
    TD_INSIDE void reals(double (&to)[4], int slot) const
    {
        constexpr int parts = sizeof(number) / sizeof(double);
        const int k = (int)threadIdx.x % 4;
        TD_UNROLL
        for (int i = 0; i < 4; i++)
            to[i] = reinterpret_cast<const double *>((*this)(slot, (k + 4 * i) / parts))[k % parts];
    }
};

/* A block's matrix, of up to MOST rows. */
template <class number, int tiles_, int lanes_, int most_> struct td_lu_block {
    enum { PANEL = td_lu_tile<number>::PANEL, TILES = tiles_, LANES = lanes_, MOST = most_ };
    typedef std::conditional_t<MOST <= 256, uint8_t, uint16_t> index;
    td_lu_workplace<number, index> w;
    number *a;
    int64_t lda;
    int n, in_a;

    /* Where panel `panel` is when it has ended; of panels in A, where its pivots are. */
    TD_INSIDE td_lu_rows_store<number> shared(int panel) const
    {
        return {w.l + td_lu_rows_before(n, PANEL, in_a, panel) * PANEL};
    }
    /* Where its rows pass from lanes of tiles to threads. */
    TD_INSIDE td_lu_rows_store<number> passage(int panel) const { return shared(max(panel, in_a)); }
    TD_INSIDE td_lu_columns_store<number> in_place(int panel) const
    {
        return {a + panel * PANEL * (lda + 1), lda};
    }
};

/* The indices and rows of a warp's tiles: the pivots before the panel by position, the other rows
 * by slot. */
template <int rows> struct td_lu_tile_rows {
    int of[rows][4];                  /* -1: none */
    TD_INSIDE static int first(int r) /* index of a tile */
    {
        return 32 * ((int)threadIdx.x / 32 + r * ((int)blockDim.x / 32));
    }
};

/* Calls take(r, k, L's element) for all below the diagonal of l's first PANEL rows, in the order in
 * which a solution takes them. They are read AHEAD pieces ahead. */
template <class number, class taker>
TD_DEVICE void td_lu_walk_triangle(const td_lu_rows_store<number> &l, const taker &take)
{
    enum { PANEL = td_lu_tile<number>::PANEL, PIECE = td_pack<number>::COUNT, AHEAD = 4 };
    enum { ACROSS = PANEL / PIECE, MISSING = ACROSS + PIECE * (ACROSS * (ACROSS - 1) / 2) };
    number left[AHEAD + 1][PIECE];
    int r = 1, k = 0, next_r = 1, next_k = 0;
    TD_UNROLL
    for (int i = -(int)AHEAD; i < PANEL * ACROSS - MISSING; i++) {
        if (next_r < PANEL) {
            l.read(left[(i + AHEAD) % (AHEAD + 1)], next_r, next_k);
            if (++next_r == PANEL) next_k += PIECE, next_r = next_k + 1;
        }
        if (i < 0) continue;
        TD_UNROLL
        for (int e = 0; e < PIECE; e++)
            if (r > k + e) take(r, k + e, left[i % (AHEAD + 1)][e]);
        if (++r == PANEL) k += PIECE, r = k + 1;
    }
}

/* One column of PANEL rows of U, from A's to the solved; the first PANEL rows of l hold their
 * triangle of L. */
template <class number>
TD_DEVICE void td_lu_solve_column(number *u, const td_lu_rows_store<number> &l)
{
    enum { PANEL = td_lu_tile<number>::PANEL, LD = td_lu_tile<number>::LD };
    number x[PANEL];
    TD_UNROLL
    for (int r = 0; r < PANEL; r++) x[r] = u[r * LD];
    td_lu_walk_triangle(l, [&](int r, int k, number a) { x[r] = td_minus(x[r], a, x[k]); });
    TD_UNROLL
    for (int r = 1; r < PANEL; r++) u[r * LD] = x[r];
}

/* Solves 16 columns of complex binary32 with the panel's triangle: a lane has the real parts of a
 * column, or the imaginary ones. */
TD_DEVICE void td_lu_solve_parts(td_complex<float> *u, const td_lu_rows_store<td_complex<float>> &l)
{
    typedef td_lu_tile<td_complex<float>> tile;
    enum { PANEL = tile::PANEL, LD = 2 * tile::LD };
    const bool is_imaginary = threadIdx.x % 2 != 0;
    float *column = &u->re + threadIdx.x % 32, x[PANEL], other[PANEL];
    TD_UNROLL
    for (int r = 0; r < PANEL; r++) x[r] = column[r * LD];
    td_lu_walk_triangle(l, [&](int r, int k, td_complex<float> a) {
        if (r == k + 1) { /* row k has just come out */
            const float part = __shfl_xor_sync(~0u, x[k], 1);
            other[k] = is_imaginary ? -part : part;
        }
        x[r] = td_fma(a.im, other[k], td_fma(-a.re, x[k], x[r]));
    });
    TD_UNROLL
    for (int r = 1; r < PANEL; r++) column[r * LD] = x[r];
}

/* By the warp that has the pivots of panel `from` in its tiles: their rows of U in the present
 * panel's columns. */
template <class number, class block>
TD_DEVICE void td_lu_solve_rows(const block &b, int from, number *u,
                                const typename td_lu_tile<number>::sums (&s)[block::TILES])
{
    typedef td_lu_tile<number> tile;
    enum { PANEL = tile::PANEL, RUN = tile::RUN, TILES = block::TILES };
    const int lane = (int)threadIdx.x % 32;
    TD_UNROLL
    for (int r = 0; r < TILES; r++) {
        TD_UNROLL
        for (int i = 0; i < 4; i++) {
            const int k = td_lu_tile_rows<TILES>::first(r) + td_lu_tile_row(i) - from * PANEL;
            if (k < 0 || k >= PANEL) continue;
            TD_UNROLL
            for (int j = 0; j < tile::COLUMNS; j += RUN)
                td_write_packs<RUN>(u + k * tile::LD + td_lu_tile_column<number>(j), s[r][i] + j);
        }
    }
    __syncwarp();
    if constexpr (std::is_same<number, td_complex<float>>::value)
        td_lu_solve_parts(u, b.shared(from));
    else if (lane < PANEL)
        td_lu_solve_column(u + lane, b.shared(from));
}

/* The slots in panel `from` of a tile's rows from index `after` on; 0 for others, whose sums are of
 * no use. */
template <class block, int rows>
TD_DEVICE void td_lu_find_slots(int (&slots)[4], const block &b, int from, int after,
                                const td_lu_tile_rows<rows> &at, int r)
{
    TD_UNROLL
    for (int i = 0; i < 4; i++) {
        const bool is_after = at.first(r) + td_lu_tile_row(i) >= after && at.of[r][i] >= 0;
        slots[i] = is_after ? b.w.slots[from * b.n + at.of[r][i]] : 0;
    }
}

/* Reads what a panel takes away from a tile's rows, which are at so many slots of its L. */
template <class number, class block>
TD_DEVICE void td_lu_read_left(td_lu_left<number> &left, const block &b, int from,
                               const int (&slots)[4])
{
    if (from < b.in_a)
        left.read(b.in_place(from), slots);
    else
        left.read(b.shared(from), slots);
}

/* Stores the rows of U from number `first` on, of columns j0 .. end, in A. */
template <class number, class block>
TD_DEVICE void td_lu_store_u(const block &b, int first, int j0, int end, const number *u)
{
    typedef td_lu_tile<number> tile;
    const int tid = (int)threadIdx.x, threads = (int)blockDim.x, k = tid % tile::PANEL;
    number *to = b.a + first + k + (j0 + tid / tile::PANEL) * b.lda;
    for (int j = tid / tile::PANEL; j < end - j0;
         j += threads / tile::PANEL, to += threads / tile::PANEL * b.lda)
        *to = u[k * tile::LD + j];
}

/* What panel `from` decides of columns j0 .. end: rows of U, which go to their place in A, and what
 * they and L make of the rows after them. One barrier. */
template <class number, class block>
TD_DEVICE void td_lu_apply(const block &b, int from, int j0, int end,
                           const td_lu_tile_rows<block::TILES> &at,
                           typename td_lu_tile<number>::sums (&s)[block::TILES])
{
    typedef td_lu_tile<number> tile;
    enum { PANEL = tile::PANEL, LANES = block::LANES, TILES = block::TILES };
    typedef td_lu_u<number, LANES> u_of;
    constexpr bool uses_mma = td_lu_uses_mma<number>::value;
    const int first = from * PANEL, after = first + PANEL;
    const int tid = (int)threadIdx.x, threads = (int)blockDim.x;
    const bool is_in_a = from < b.in_a;
    number *u = b.w.u + from % u_of::COUNT * u_of::NUMBERS;
    if (LANES == 32) __syncwarp();
    const bool solves = td_uniform(first / 32 % (threads / 32) == tid / 32);
    if (solves) td_lu_solve_rows<number>(b, from, u, s);
    int slots[TILES][4];
    bool is_concerned[TILES];
    td_lu_left<number> left[uses_mma ? TILES : 1];
    TD_UNROLL
    for (int r = 0; r < TILES; r++) {
        is_concerned[r] = at.first(r) + 31 >= after && at.first(r) < b.n;
        if (TILES > 1 && !is_concerned[r]) continue;
        td_lu_find_slots(slots[r], b, from, after, at, r);
        if constexpr (uses_mma) td_lu_read_left<number>(left[r], b, from, slots[r]);
    }
    if (LANES == 32)
        __syncwarp();
    else
        __syncthreads();
    td_lu_store_u<number>(b, first, j0, end, u);
    TD_UNROLL
    for (int r = 0; r < TILES; r++) {
        if (!is_concerned[r]) continue;
        if constexpr (uses_mma)
            left[r].subtract_product(s[r], u, at.first(r) + 15 < after ? 1 : 0);
        else if (is_in_a)
            td_lu_tile_update<number>(s[r], b.in_place(from), slots[r], u);
        else
            td_lu_tile_update<number>(s[r], b.shared(from), slots[r], u);
    }
}

/* Columns j0 .. end of A, after all panels before: pivots' rows go to A, the others to the
 * passage. */
template <class number, class block> TD_DEVICE void td_lu_bring_up(const block &b, int j0, int end)
{
    typedef td_lu_tile<number> tile;
    enum { PIECE = td_pack<number>::COUNT, TILES = block::TILES };
    td_lu_tile_rows<TILES> at;
    typename tile::sums s[TILES];
    TD_UNROLL
    for (int r = 0; r < TILES; r++) TD_UNROLL
    for (int i = 0; i < 4; i++) {
        const int index = at.first(r) + td_lu_tile_row(i);
        at.of[r][i] = index < b.n ? b.w.rows[index] : -1;
    }
    TD_UNROLL
    for (int j = 0; j < tile::COLUMNS; j++) {
        const int column = min(j0 + td_lu_tile_column<number>(j), end - 1);
        const number *from = b.a + column * b.lda;
        TD_UNROLL
        for (int r = 0; r < TILES; r++) TD_UNROLL
        for (int i = 0; i < 4; i++) s[r][i][j] = from[max(at.of[r][i], 0)];
    }
    for (int from = 0; from < j0 / tile::PANEL; from++)
        td_lu_apply<number>(b, from, j0, end, at, s);
    const auto l = b.passage(j0 / tile::PANEL);
    TD_UNROLL
    for (int r = 0; r < TILES; r++) {
        TD_UNROLL
        for (int i = 0; i < 4; i++) {
            const int slot = at.first(r) + td_lu_tile_row(i) - j0;
            if (slot < 0 || slot >= b.n - j0) continue;
            TD_UNROLL
            for (int j = 0; j < tile::COLUMNS; j += PIECE)
                td_write_packs<PIECE>(l.piece(slot, td_lu_tile_column<number>(j)), s[r][i] + j);
        }
    }
}

/* The numbers of this thread's rows among the active ones, in the order of their slots. Ends with a
 * barrier. */
template <int rows>
TD_DEVICE void td_lu_number_active(const bool (&is_active)[rows], int warps, int *counts,
                                   int (&numbers)[rows])
{
    const int warp = (int)threadIdx.x / 32;
    unsigned active[rows];
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        active[r] = __ballot_sync(~0u, is_active[r]);
        if (threadIdx.x % 32 == 0 && warp < warps) counts[r * warps + warp] = __popc(active[r]);
    }
    __syncthreads();
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        numbers[r] = __popc(active[r] & ((1u << threadIdx.x % 32) - 1));
        for (int w = 0; warp < warps && w < r * warps + warp; w++) numbers[r] += counts[w];
    }
}

/* A row of a panel, where it stays. */
template <class number, class block>
TD_DEVICE void td_lu_store_row(const block &b, int panel, int slot, const number (&x)[block::PANEL])
{
    enum { PANEL = block::PANEL, PIECE = td_pack<number>::COUNT };
    const auto l = b.shared(panel);
    if (panel >= b.in_a || slot < PANEL) {
        TD_UNROLL
        for (int c = 0; c < PANEL; c += PIECE) td_write_packs<PIECE>(l.piece(slot, c), x + c);
    }
    if (panel < b.in_a) {
        TD_UNROLL
        for (int c = 0; c < PANEL; c++)
            if (panel * PANEL + c < b.n) *b.in_place(panel)(slot, c) = x[c];
    }
}

/* Ends a panel: the thread's rows get their slots. Two barriers. */
template <class number, int rows, class block>
TD_DEVICE void td_lu_end_panel(const block &b, const td_lu_rows<number, rows> &mine,
                               const int (&row)[rows], int j0, int end,
                               const number (&x)[rows][block::PANEL], int *pivots)
{
    enum { PANEL = block::PANEL };
    typedef typename block::index index;
    const int tid = (int)threadIdx.x;
    bool has_row[rows], is_left[rows];
    int numbers[rows];
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        has_row[r] = tid < mine.threads && tid + r * mine.threads < b.n - j0;
        is_left[r] = has_row[r] && mine.position[r] >= end;
    }
    td_lu_number_active(is_left, mine.threads / 32, b.w.counts, numbers);
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        if (!has_row[r]) continue;
        const int slot = is_left[r] ? PANEL + numbers[r] : mine.position[r] - j0;
        if (pivots && !is_left[r]) pivots[j0 + slot] = mine.before[r] + 1;
        b.w.rows[j0 + slot] = (index)row[r];
        b.w.positions[j0 + slot] = (index)mine.position[r];
        b.w.slots[j0 / PANEL * b.n + row[r]] = (index)slot;
        td_lu_store_row(b, j0 / PANEL, slot, x[r]);
    }
    __syncthreads();
}

/* L and the triangles of U from shared memory to A: a thread for each position. */
template <class number, class block> TD_DEVICE void td_lu_store_rows(const block &b)
{
    enum { PANEL = block::PANEL };
    for (int position = (int)threadIdx.x; position < b.n; position += (int)blockDim.x)
        for (int j0 = b.in_a * PANEL; j0 <= position; j0 += PANEL) {
            const auto l = b.shared(j0 / PANEL);
            const int slot = b.w.slots[j0 / PANEL * b.n + b.w.rows[position]];
            number *to = b.a + position + j0 * b.lda;
            TD_UNROLL_N(4)
            for (int c = 0; c < PANEL; c++)
                if (j0 + c < b.n) to[c * b.lda] = *l(slot, c);
        }
}

/* L of the panels in A from slots to positions, some columns of a panel a warp. */
template <class number, class block> TD_DEVICE void td_lu_interchange(const block &b)
{
    enum {
        PANEL = block::PANEL,
        MOST = block::MOST / 32,
        COLUMNS = (td_is_complex<number>::value ? 2 : 4) * 8 / MOST
    };
    const int lane = (int)threadIdx.x % 32, warps = (int)blockDim.x / 32;
    TD_ROLLED
    for (int c0 = (int)threadIdx.x / 32 * COLUMNS; c0 < b.in_a * PANEL; c0 += warps * COLUMNS) {
        const int j0 = c0 / PANEL * PANEL, first = j0 + PANEL + lane;
        number x[MOST][COLUMNS];
        TD_UNROLL
        for (int i = 0; i < MOST; i++) {
            const bool is_inside = first + 32 * i < b.n;
            const int slot = is_inside ? b.w.slots[j0 / PANEL * b.n + b.w.rows[first + 32 * i]] : 0;
            TD_UNROLL
            for (int c = 0; c < COLUMNS; c++)
                x[i][c] = is_inside && c0 + c < b.n ? b.a[j0 + slot + (c0 + c) * b.lda]
                                                    : td_number<number>(0);
        }
        __syncwarp();
        TD_UNROLL
        for (int i = 0; i < MOST; i++) TD_UNROLL
        for (int c = 0; c < COLUMNS; c++)
            if (first + 32 * i < b.n && c0 + c < b.n)
                b.a[first + 32 * i + (c0 + c) * b.lda] = x[i][c];
    }
}

#endif
