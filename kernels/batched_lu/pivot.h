/* pivot.h - the columns of a panel, one step each: the pivot among the rows, its row for all, what
 * is left of the others. A thread has its rows and keeps them; where interchanges would have
 * brought a row is its position.
 *
 * A team is the threads of one matrix: 8, 16 or 32 lanes of a warp, or a block
 * (lanes = TD_LU_BLOCK), whose warps offer one candidate each. */
#ifndef TD_LU_PIVOT_H
#define TD_LU_PIVOT_H

#include <limits.h>
#include <type_traits>

#include "../device/warp.h"
#include "batched_lu.h"
#include "number.h"

enum { TD_LU_BLOCK = 0, TD_LU_WARPS = TD_LU_MOST / 32 };

/* Columns, of `most`, whose steps are unrolled: of a panel as many as their instructions leave room
 * for in the instruction cache, which blocks share that are at different steps, as measured; few of
 * what is seldom factored here. */
template <class number, int most> constexpr int td_lu_columns_unrolled()
{
    constexpr bool is_real_panel =
        most == td_lu_panel_columns<number>() && !td_is_complex<number>::value;
    return TD_HAS_CUDA_DEVICE && is_real_panel && td_lu_is_wide<number>::value ? 8 : 4;
}
template <class number, int most> struct td_lu_group {
    enum { MOST = td_lu_columns_unrolled<number, most>(), value = most < MOST ? most : MOST };
};

/* A candidate: its row of the panel, of which what is right of the pivot is there, and all that
 * others must know. */
template <class number, int columns> struct td_lu_candidate {
    alignas(16) number of[columns];
    struct alignas(16) {
        number reciprocal;
        /* the position; of a pivot that is not simply divided by: + TD_LU_HOW times how it is */
        int place;
        unsigned low; /* key */
    } pivot;
};
enum {
    TD_LU_HOW = TD_LU_MOST_FACTORED,
    TD_LU_POSITION = TD_LU_HOW - 1, /* all bits of a position */
    TD_LU_IS_ZERO = 1,
    TD_LU_IS_SCALED = 3 /* + td_inverse's shift */
};

/* In shared memory: two sets of candidates, for the steps in turn, each with one a warp, or a
 * smaller team. */
template <class number, int columns, int teams> struct td_lu_exchange {
    enum { TEAMS = teams };
    td_lu_candidate<number, columns> candidates[2 * teams];
    alignas(16) unsigned keys[2 * teams]; /* less than TD_KEY: no candidate */
};

/* What a thread knows of its rows and its team. Of the step before, whose update is still to be
 * done, l is in x. */
template <class number, int rows> struct td_lu_rows {
    int up;             /* of a block: the candidate that became the pivot row of the step before */
    int position[rows]; /* of no row: INT_MAX */
    bool is_active[rows]; /* may still become a pivot */
    int reach;   /* a candidate's position is at most so far from the pivot's: 0 without pivots */
    int threads; /* of the block, its first, whose warps have rows */
    int before[rows]; /* of a row that has become a pivot: its position then */
    int info;
};
enum { TD_LU_ANY = TD_LU_MOST_FACTORED };

/* The largest of each group of `lanes`: of two groups by two REDUX, which is sooner than by
 * shuffles. */
template <int lanes> TD_DEVICE unsigned td_lanes_max(unsigned x)
{
    if constexpr (lanes == 32) {
        return td_warp_max(x);
    } else if constexpr (lanes == 16) {
        const bool is_second = threadIdx.x % 32 >= 16;
        const unsigned first = td_warp_max(is_second ? 0 : x);
        const unsigned second = td_warp_max(is_second ? x : 0);
        return is_second ? second : first;
    } else {
        TD_UNROLL
        for (int d = lanes / 2; d > 0; d /= 2) x = max(x, __shfl_xor_sync(~0u, x, d, lanes));
        return x;
    }
}

/* The lanes of the thread's group that say so, as bits. */
template <int lanes> TD_DEVICE unsigned td_lanes_ballot(bool says_so)
{
    const unsigned first_lane = threadIdx.x % 32 / lanes * lanes;
    return __ballot_sync(~0u, says_so) >> first_lane & (~0u >> (32 - lanes));
}

/* True in the one lane of each group that has the largest key, on ties the lowest position. */
template <int lanes>
TD_DEVICE bool td_lanes_choose(unsigned key, unsigned best, unsigned low, int position)
{
    bool mine = key == best;
    const unsigned group = td_lanes_ballot<lanes>(mine);
    const bool is_tie = (group & (group - 1)) != 0;
    if (lanes == 32 ? is_tie : __any_sync(~0u, is_tie)) {
        mine = mine && key != 0;
        const unsigned lowest = td_lanes_max<lanes>(mine ? low : 0);
        mine = mine && low == lowest;
        const unsigned first = td_lanes_max<lanes>(mine ? ~(unsigned)position : 0);
        mine = mine && ~(unsigned)position == first;
    }
    return mine;
}

/* Copies numbers between registers and shared memory that is 16-byte aligned, 16 bytes at a
 * time. */
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

/* The number of the block's candidate, those of its warps beginning at `first`. All threads of a
 * warp come to the same, and the one branch ends where it began: or else the compiler would not
 * know that the warp stays together, and would keep what it computes beside warp operations
 * twice. */
template <class exchange>
TD_DEVICE int td_lu_block_winner(const exchange &e, int first, int own, int threads)
{
    enum { WARPS = exchange::TEAMS };
    if (threads == 32) return own;
    const unsigned mine = e.keys[first + threadIdx.x % WARPS], most = td_warp_max(mine);
    const unsigned all = __ballot_sync(~0u, mine == most) & (WARPS == 32 ? ~0u : (1u << WARPS) - 1);
    int winner = __ffs((int)all) - 1;
    if ((all & (all - 1)) != 0) {
        td_rare();
        unsigned best_low = 0;
        int best_position = INT_MAX;
        TD_ROLLED
        for (int w = 0; w < WARPS; w++) {
            const auto &pivot = e.candidates[first + w].pivot;
            const unsigned low = pivot.low;
            const int position = pivot.place & TD_LU_POSITION;
            const bool is_first =
                (low > best_low) | ((low == best_low) & (position < best_position));
            if ((all >> w & 1) & is_first) winner = w, best_low = low, best_position = position;
        }
    }
    return first + winner;
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
    td_lu_best<number> best = {};
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const int position = mine.position[r];
        const bool is_candidate = (unsigned)(position - j) <= (unsigned)mine.reach;
        const td_key size = td_key_of(pivots[r]);
        const unsigned key = is_candidate ? size.high : 0;
        const bool is_lower =
            (size.low > best.low) | ((size.low == best.low) & (position < best.position));
        const bool is_better = r == 0 || (key > best.key) | ((key == best.key) & is_lower);
        if (is_better) best = {key, size.low, r, position, pivots[r]};
    }
    return best;
}

/* Puts columns `from` .. `to` of the row where the others find it. */
template <class number, int most>
TD_DEVICE void td_lu_publish(number *row, int from, int to, const number (&x)[most])
{
    constexpr int count = td_pack<number>::COUNT, size = td_lu_group<number, most>::value;
    TD_UNROLL
    for (int group = 0; group < most; group += size) {
        if (group > 0 && group >= to) continue;
        TD_UNROLL
        for (int c = group; c < group + size; c += count)
            if (c + count > from) td_write_packs<count>(row + c, x + c);
    }
}

/* A barrier of the block's first `threads` threads, 64 or more, which are whole warps. On the host
 * the others come, too. */
TD_DEVICE void td_first_warps_sync(int threads)
{
#if TD_HAS_CUDA_DEVICE
    asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
#else
    (void)threads;
    __syncthreads();
#endif
}

/* Of a team of lanes, or of those of a block's warps that have rows. */
template <int lanes> TD_DEVICE void td_team_sync(int threads)
{
    if (lanes == TD_LU_BLOCK && threads > 32)
        td_first_warps_sync(threads);
    else
        __syncwarp();
}

/* For threads of the other warps, through a panel of so many columns. */
TD_DEVICE void td_stand_by(int threads, int columns)
{
#if TD_HAS_CUDA_DEVICE
    (void)threads, (void)columns;
#else
    for (int column = 0; threads > 32 && column < columns; column++) td_first_warps_sync(threads);
#endif
}

/* Where the column before `column` is. */
template <int most> TD_DEVICE constexpr int td_lu_before(int column)
{
    return (column + most - 1) % most;
}

/* What the pivot row of the step before leaves of the thread's active rows right of `column`, to
 * `to`. */
template <class number, int rows, int most>
TD_DEVICE void td_lu_update(number (&x)[rows][most], const td_lu_rows<number, rows> &mine,
                            int column, int to, const number *up)
{
    constexpr int count = td_pack<number>::COUNT, size = td_lu_group<number, most>::value;
    TD_UNROLL
    for (int group = 0; group < most; group += size) {
        if (group > 0 && group >= to) continue;
        TD_UNROLL
        for (int c = group; c < group + size; c += count) {
            if (c + count <= column + 1) continue;
            number u[count];
            td_read_packs<count>(u, up + c);
            TD_UNROLL
            for (int r = 0; r < rows; r++)
                td_take_away<count>(mine.is_active[r], x[r] + c, x[r][td_lu_before<most>(column)],
                                    u, max(column + 1 - c, 0));
        }
    }
}

/* What a pivot that has been found makes of a thread's rows in its column. */
template <class number, int rows, int most>
TD_DEVICE void td_lu_take(td_lu_rows<number, rows> &mine, number (&x)[rows][most],
                          const td_lu_candidate<number, most> &winner, int column, int j)
{
    const number reciprocal = winner.pivot.reciprocal;
    const int place = winner.pivot.place, position = place & TD_LU_POSITION;
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const bool is_pivot = mine.position[r] == position;
        if (is_pivot) mine.before[r] = position;
        mine.is_active[r] = mine.is_active[r] && !is_pivot;
        mine.position[r] = is_pivot ? j : mine.position[r] == j ? position : mine.position[r];
    }
    number left[rows];
    TD_UNROLL
    for (int r = 0; r < rows; r++) left[r] = td_times(x[r][column], reciprocal);
    if (place > TD_LU_POSITION) {
        td_rare();
        const int how = place / TD_LU_HOW;
        const bool is_zero = how == TD_LU_IS_ZERO;
        TD_UNROLL
        for (int r = 0; r < rows; r++)
            left[r] = is_zero ? x[r][column]
                              : td_divided(x[r][column], reciprocal, how - (int)TD_LU_IS_SCALED);
        if (is_zero && mine.info == 0) mine.info = j + 1;
    }
    TD_UNROLL
    for (int r = 0; r < rows; r++)
        if (mine.is_active[r]) x[r][column] = left[r];
}

/* The place of the candidate that a thread offers, and the reciprocal for pivots that have none at
 * once. */
template <class number>
TD_DEVICE int td_lu_place(const td_lu_best<number> &best, number &reciprocal)
{
    typedef typename td_real_of<number>::type real;
    if (!td_key_is_extreme<real>(best.key)) return best.position;
    td_rare();
    if (td_is_zero(best.pivot)) return best.position + TD_LU_HOW * TD_LU_IS_ZERO;
    td_inverse<number> inverse = {reciprocal, 0};
    td_mend_inverse(inverse, best.pivot);
    reciprocal = inverse.of;
    return best.position + (inverse.shift ? TD_LU_HOW * (inverse.shift + TD_LU_IS_SCALED) : 0);
}

/* Column j of A, which is `column` of x: x has columns from `group` of the panel on, `to` of them
 * still to do. */
template <int lanes, class number, int rows, int most, class exchange>
TD_DEVICE void td_lu_step(td_lu_rows<number, rows> &mine, number (&x)[rows][most], exchange &e,
                          int group, int to, int column, int j)
{
    constexpr int width = lanes == TD_LU_BLOCK ? 32 : lanes;
    const int team =
        exchange::TEAMS == 1 ? 0 : (int)threadIdx.x % (exchange::TEAMS * width) / width;
    const int first = column % 2 * exchange::TEAMS, own = first + team;
    const int before = exchange::TEAMS - first + team;
    const number *up = e.candidates[lanes == TD_LU_BLOCK ? mine.up : before].of + group;
    const bool is_first = column == 0 && group == 0;
    const number next = is_first ? td_number<number>(0) : up[column];
    number pivots[rows];
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        if (!is_first && mine.is_active[r])
            x[r][column] = td_minus(x[r][column], x[r][td_lu_before<most>(column)], next);
        pivots[r] = x[r][column];
    }
    const td_lu_best<number> best = td_lu_best_of(mine, pivots, j);
    const unsigned most_key = td_lanes_max<width>(best.key);
    number reciprocal = td_reciprocal(best.pivot);
    if (!is_first) td_lu_update(x, mine, column, to, up);
    td_pin(reciprocal);

    auto &candidate = e.candidates[own];
    if (td_lanes_choose<width>(best.key, most_key, best.low, best.position)) {
        TD_UNROLL
        for (int r = 0; r < rows; r++)
            if (best.row == r) td_lu_publish(candidate.of + group, column + 1, to, x[r]);
        const int place = td_lu_place(best, reciprocal);
        candidate.pivot = {reciprocal, place, best.low};
    }
    if (lanes == TD_LU_BLOCK && threadIdx.x % 32 == 0) e.keys[own] = most_key;
    td_team_sync<lanes>(mine.threads);

    mine.up = lanes == TD_LU_BLOCK ? td_lu_block_winner(e, first, own, mine.threads) : own;
    td_lu_take(mine, x, e.candidates[mine.up], column, j);
}

/* One thread of a warp that offers no candidates, or no more; a barrier follows. Its keys are less
 * than any candidate's, and no other warp's. */
template <class exchange> TD_DEVICE void td_lu_leave(exchange &e, int warp)
{
    e.keys[warp] = e.keys[exchange::TEAMS + warp] = (unsigned)warp;
}

/* All threads of the block, before the first panel; a barrier follows. */
template <class exchange> TD_DEVICE void td_lu_clear(exchange &e)
{
    for (int i = (int)threadIdx.x; i < exchange::TEAMS; i += (int)blockDim.x) td_lu_leave(e, i);
}

/* The first columns of x become its last. */
template <class number, int rows, int most> TD_DEVICE void td_lu_rotate(number (&x)[rows][most])
{
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        number y[most];
        TD_UNROLL
        for (int c = 0; c < most; c++) y[c] = x[r][(c + td_lu_group<number, most>::value) % most];
        TD_UNROLL
        for (int c = 0; c < most; c++) x[r][c] = y[c];
    }
}

/* All steps from column j0 to `end`, at most `most`: of the thread's rows, what is left of the
 * diagonal becomes L and the rest U. The columns are in registers and cannot be indexed: they pass
 * by, a group at a time, whose steps are unrolled. */
template <int lanes, class number, int rows, int most, class exchange>
TD_DEVICE void td_lu_panel(td_lu_rows<number, rows> &mine, number (&x)[rows][most], exchange &e,
                           int j0, int end)
{
    constexpr int size = td_lu_group<number, most>::value;
    TD_ROLLED
    for (int group = 0; group < most; group += size) {
        TD_UNROLL
        for (int column = 0; column < size; column++)
            if (j0 + group + column < end)
                td_lu_step<lanes>(mine, x, e, group, min(most, end - j0) - group, column,
                                  j0 + group + column);
        td_lu_rotate(x);
    }
}

#endif
