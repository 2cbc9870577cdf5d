/* pivot.h - the columns of a panel, one step each: the pivot among the rows, its row for all, what is left of the others.
 * A thread has its rows and keeps them; where interchanges would have brought a row is its position.
 *
 * A team is the threads of one matrix: 8, 16 or 32 lanes of a warp, or a block (lanes = TD_LU_BLOCK), whose warps offer
 * one candidate each. */
#ifndef TD_LU_PIVOT_H
#define TD_LU_PIVOT_H

#include <type_traits>

#include "lu.h"
#include "number.h"

enum { TD_LU_BLOCK = 0, TD_LU_WARPS = TD_LU_MOST / 32, TD_LU_STAGE = 8 };

/* A candidate: what is right of the pivot in the panel, and all that others must know of it. */
template <class number, int columns> struct td_lu_candidate {
    alignas(16) number of[columns];
    alignas(16) number reciprocal;
    struct alignas(16) {
        unsigned low; /* key */
        int position, slot;
        int shift; /* of the reciprocal; IS_ZERO */
    } row;
};
enum { TD_LU_IS_ZERO = 2 };

/* In shared memory: two sets of candidates, for the steps in turn, each with one a warp, or a smaller team; and zeros. */
template <class number, int columns, int teams> struct td_lu_exchange {
    enum { TEAMS = teams, COLUMNS = columns };
    td_lu_candidate<number, columns> candidates[2 * teams + 1];
    alignas(16) unsigned keys[2 * teams]; /* 0: no candidate */
};

/* What a thread knows of its rows and its team. */
template <class number, int rows> struct td_lu_rows {
    number l[rows]; /* of the step before, whose update is still to be done, ... */
    int up;         /* ... and the candidate that became its pivot row */
    int position[rows];
    bool is_active[rows]; /* may still become a pivot */
    int slot[rows];       /* by which the panel's store knows the row */
    bool has_pivots;      /* else the row at position j is pivot j */
    bool is_alone;        /* no other warp of the block has rows */
    int rank;             /* of the thread in its team; INT_MAX without a matrix */
    int pivot;            /* of the column of this rank in the panel: a position */
    int info;
};

/* The largest of all lanes of a warp. */
TD_DEVICE unsigned td_warp_max(unsigned x)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    return __reduce_max_sync(~0u, x);
#else
    TD_UNROLL
    for (int d = 16; d > 0; d /= 2) x = max(x, __shfl_xor_sync(~0u, x, d));
    return x;
#endif
}

/* The same of each group of `lanes`. */
template <int lanes> TD_DEVICE unsigned td_lanes_max(unsigned x)
{
    if constexpr (lanes == 32) {
        return td_warp_max(x);
    } else {
        TD_UNROLL
        for (int d = lanes / 2; d > 0; d /= 2) x = max(x, __shfl_xor_sync(~0u, x, d, lanes));
        return x;
    }
}

/* True in the one lane of each group that has the largest key, on ties the lowest position. */
template <int lanes>
TD_DEVICE bool td_lanes_choose(unsigned key, unsigned best, unsigned low, int position)
{
    bool mine = key == best && key != 0;
    const unsigned first_lane = threadIdx.x % 32 / lanes * lanes;
    const unsigned group = __ballot_sync(~0u, mine) >> first_lane & (~0u >> (32 - lanes));
    const bool is_tie = (group & (group - 1)) != 0;
    if (lanes == 32 ? is_tie : __any_sync(~0u, is_tie)) {
        const unsigned lowest = td_lanes_max<lanes>(mine ? low : 0);
        mine = mine && low == lowest;
        const unsigned first = td_lanes_max<lanes>(mine ? ~(unsigned)position : 0);
        mine = mine && ~(unsigned)position == first;
    }
    return mine;
}

/* Copies numbers between registers and shared memory that is 16-byte aligned, 16 bytes at a time. */
template <class number> struct alignas(16) td_pack {
    enum { COUNT = 16 / sizeof(number) };
    number of[COUNT];
};
template <int count, class number> TD_DEVICE void td_read_packs(number *to, const number *from)
{
    typedef td_pack<number> pack;
    TD_UNROLL
    for (int i = 0; i < count; i += pack::COUNT) {
        const pack p = *reinterpret_cast<const pack *>(from + i);
        TD_UNROLL
        for (int e = 0; e < pack::COUNT; e++) to[i + e] = p.of[e];
    }
}
template <int count, class number> TD_DEVICE void td_write_packs(number *to, const number *from)
{
    typedef td_pack<number> pack;
    TD_UNROLL
    for (int i = 0; i < count; i += pack::COUNT) {
        pack p;
        TD_UNROLL
        for (int e = 0; e < pack::COUNT; e++) p.of[e] = from[i + e];
        *reinterpret_cast<pack *>(to + i) = p;
    }
}

/* The number of the block's candidate among those of its warps, which begin at `first`. */
template <class exchange> TD_DEVICE int td_lu_winner(const exchange &e, int first)
{
    const unsigned key = e.keys[first + threadIdx.x % TD_LU_WARPS];
    const unsigned who =
        __ballot_sync(~0u, key == td_lanes_max<32>(key)) & ((1u << TD_LU_WARPS) - 1);
    int winner = first + __ffs((int)who) - 1;
    for (unsigned rest = who & (who - 1); rest; rest &= rest - 1) {
        const auto &a = e.candidates[first + __ffs((int)rest) - 1].row,
                   &b = e.candidates[winner].row;
        if (a.low > b.low || (a.low == b.low && a.position < b.position))
            winner = first + __ffs((int)rest) - 1;
    }
    return winner;
}

/* The best of a thread's rows. */
template <class number> struct td_lu_best {
    unsigned key, low; /* key 0: none may become the pivot */
    int row, position;
    number pivot;
};

template <class number, int rows>
TD_DEVICE td_lu_best<number> td_lu_best_of(const td_lu_rows<number, rows> &mine,
                                           const number (&pivots)[rows], int j)
{
    td_lu_best<number> best = {0, 0, 0, mine.position[0], td_number<number>(1)};
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const bool is_candidate = mine.is_active[r] && (mine.has_pivots || mine.position[r] == j);
        const td_key size = td_key_of(pivots[r]);
        const unsigned key = is_candidate ? size.high + 1 : 0;
        bool is_better = key > best.key;
        if (r > 0 && key == best.key && key != 0)
            is_better =
                size.low > best.low || (size.low == best.low && mine.position[r] < best.position);
        if (is_better) best = {key, size.low, r, mine.position[r], pivots[r]};
    }
    return best;
}

/* Puts the row where the others find it; columns - 1 numbers of x are left of it. */
template <int columns, class number, int most>
TD_DEVICE void td_lu_publish(td_lu_candidate<number, most> &to, int slot, const number (&x)[most],
                             const td_lu_best<number> &best, const td_inverse<number> &inverse)
{
    td_write_packs<columns>(to.of, x);
    to.reciprocal = inverse.of;
    to.row = {best.low, best.position, slot,
              td_is_zero(best.pivot) ? (int)TD_LU_IS_ZERO : inverse.shift};
}

template <int lanes> TD_DEVICE void td_team_sync(bool is_alone = false)
{
    if (lanes == TD_LU_BLOCK && !is_alone)
        __syncthreads();
    else
        __syncwarp();
}

/* The columns of x but the first, one to the left. */
template <int columns, class number, int rows, int most>
TD_DEVICE void td_lu_shift(number (&x)[rows][most])
{
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        TD_UNROLL
        for (int c = 1; c < columns; c++) x[r][c - 1] = x[r][c];
        x[r][columns - 1] = td_number<number>(0);
    }
}

/* The same, less l times the pivot row. */
template <int columns, class number, int rows, int most>
TD_DEVICE void td_lu_update(number (&x)[rows][most], const number (&l)[rows], const number *up)
{
    constexpr int count = td_pack<number>::COUNT;
    TD_UNROLL
    for (int c = 0; c < columns; c += count) {
        number u[count];
        td_read_packs<count>(u, up + c);
        TD_UNROLL
        for (int i = 0; i < count; i++) TD_UNROLL
        for (int r = 0; r < rows; r++)
            if (c + i > 0) x[r][c + i - 1] = td_minus(x[r][c + i], l[r], u[i]);
    }
    TD_UNROLL
    for (int r = 0; r < rows; r++) x[r][columns - 1] = td_number<number>(0);
}

/* What a pivot that has been found makes of a thread's rows in its column. */
template <int columns, class number, int rows, int most, class function>
TD_DEVICE void td_lu_take(td_lu_rows<number, rows> &mine, const number (&pivots)[rows],
                          const td_lu_candidate<number, most> &winner, int column, int j, int end,
                          function store)
{
    const auto at = winner.row;
    const bool is_zero = at.shift == TD_LU_IS_ZERO;
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        mine.l[r] = td_times(pivots[r], winner.reciprocal);
        if (at.shift != 0) /* rare */
            mine.l[r] = is_zero ? pivots[r] : td_divided(pivots[r], winner.reciprocal, at.shift);
        const bool is_pivot = mine.position[r] == at.position;
        if (mine.is_active[r]) *store(mine.slot[r], column) = is_pivot ? pivots[r] : mine.l[r];
        mine.is_active[r] = mine.is_active[r] && !is_pivot;
        mine.position[r] = is_pivot ? j : mine.position[r] == j ? at.position : mine.position[r];
    }
    if (is_zero && mine.info == 0) mine.info = j + 1;
    if (mine.rank < min(columns - 1, end - j - 1))
        *store(at.slot, column + 1 + mine.rank) = winner.of[mine.rank];
    if (mine.rank == column) mine.pivot = at.position;
}

/* Step j of a panel, whose column it is the first of x; the panel ends before column `end`. store(slot, column) is where
 * the panel's numbers stay. */
template <int lanes, int columns, class number, int rows, int most, class exchange, class function>
TD_DEVICE void td_lu_step(td_lu_rows<number, rows> &mine, number (&x)[rows][most], exchange &e,
                          int column, int j, int end, function store)
{
    constexpr int width = lanes == TD_LU_BLOCK ? 32 : lanes;
    const int first = (j & 1) * exchange::TEAMS, own = first + (int)threadIdx.x / width;
    const number *up = e.candidates[mine.up].of;
    const bool is_first = td_is_complex<number>::value && mine.up == 2 * exchange::TEAMS;
    number pivots[rows];
    TD_UNROLL
    for (int r = 0; r < rows; r++)
        pivots[r] = is_first ? x[r][0] : td_minus(x[r][0], mine.l[r], up[0]);
    const td_lu_best<number> best = td_lu_best_of(mine, pivots, j);
    const unsigned most_key = td_lanes_max<width>(best.key);
    td_inverse<number> inverse = td_invert(best.pivot);
    td_pin(inverse.of);
    if (is_first) /* a complex -0 would not survive what leaves a real one as it is */
        td_lu_shift<columns>(x);
    else
        td_lu_update<columns>(x, mine.l, up);

    if (td_lanes_choose<width>(best.key, most_key, best.low, best.position)) TD_UNROLL
    for (int r = 0; r < rows; r++)
        if (best.row == r)
            td_lu_publish<columns>(e.candidates[own], mine.slot[r], x[r], best, inverse);
    if (lanes == TD_LU_BLOCK && threadIdx.x % 32 == 0) e.keys[own] = most_key;
    td_team_sync<lanes>(mine.is_alone);

    mine.up = own;
    if (lanes == TD_LU_BLOCK && !mine.is_alone) mine.up = td_lu_winner(e, first);
    td_lu_take<columns>(mine, pivots, e.candidates[mine.up], column, j, end, store);
}

/* All steps from column j0 to `end`, at most `most`; fewer columns are updated as they go, TD_LU_STAGE at a time. */
template <int lanes, int columns, class number, int rows, int most, class exchange, class function>
TD_DEVICE void td_lu_stages(td_lu_rows<number, rows> &mine, number (&x)[rows][most], exchange &e,
                            int j0, int end, function store)
{
    const int first = j0 + most - columns;
    TD_ROLLED
    for (int j = first; j < first + TD_LU_STAGE && j < end; j++)
        td_lu_step<lanes, columns>(mine, x, e, j - j0, j, end, store);
    if constexpr (columns > TD_LU_STAGE)
        td_lu_stages<lanes, columns - TD_LU_STAGE>(mine, x, e, j0, end, store);
}

/* All threads of the block, before the first panel; a barrier follows. */
template <class exchange> TD_DEVICE void td_lu_clear(exchange &e)
{
    typedef std::remove_reference_t<decltype(e.candidates[0].of[0])> number;
    for (int i = (int)threadIdx.x; i < 2 * exchange::TEAMS; i += (int)blockDim.x) e.keys[i] = 0;
    for (int i = (int)threadIdx.x; i < exchange::COLUMNS; i += (int)blockDim.x)
        e.candidates[2 * exchange::TEAMS].of[i] = td_number<number>(0);
}

/* One thread of a warp that offers no more candidates; a barrier follows. */
template <class exchange> TD_DEVICE void td_lu_leave(exchange &e)
{
    const int warp = (int)threadIdx.x / 32;
    e.keys[warp] = e.keys[exchange::TEAMS + warp] = 0;
}

template <int lanes, class number, int rows, int most, class exchange, class function>
TD_DEVICE void td_lu_panel(td_lu_rows<number, rows> &mine, number (&x)[rows][most], exchange &e,
                           int j0, int end, function store)
{
    TD_UNROLL
    for (int r = 0; r < rows; r++) mine.l[r] = td_number<number>(0);
    mine.up = 2 * exchange::TEAMS;
    td_lu_stages<lanes, most>(mine, x, e, j0, end, store);
}

#endif
