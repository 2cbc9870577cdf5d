/* lanes.h - a matrix in the registers of some lanes of a warp, a row each or two, factored by steps
 * that hold as long as every pivot is plain.
 *
 * A pivot is plain if no other candidate of its column is as large, as far as the first 32 bits
 * say, and if its reciprocal is normal; if it is complex, its square must be well within the range,
 * too. Nothing that is seldom has to be done for it, and the steps are what pivot.h does, in the
 * same order of operations. If one is not plain, what comes out is of no use, and A, which is still
 * as it was, is factored as pivot.h says. */
#ifndef TD_LU_LANES_H
#define TD_LU_LANES_H

#include "pivot.h"

/* Lanes of a warp that have a matrix of so many columns. */
constexpr int td_lu_lanes_for(int columns) { return columns <= 16 ? columns : 32; }

/* How pivot rows come to the other lanes, as measured. Words of binary32 by shuffles, and a row
 * that has become a pivot is not touched any more. Those of binary64 through shared memory: a
 * predicate for each FMA would cost two instructions more, so a lane goes on as if its row were
 * still a candidate, and takes it back from there at the end. */
template <class number> struct td_lu_passes_by {
    enum { SHUFFLES = !td_lu_is_wide<number>::value };
};

/* In shared memory: rows of U, if they pass that way, each from the pack on that has its pivot. One
 * pack more a row: the packs of eight rows are in different banks. */
template <class number, int columns> struct td_lu_upper_rows {
    enum { ROWS = td_lu_passes_by<number>::SHUFFLES ? 1 : columns };
    alignas(16) number of[ROWS][columns + td_pack<number>::COUNT];
    int rows[columns]; /* of A, by position */
};

/* A warp's, first for plain pivots, then for others. */
template <class number, int columns, int teams> union td_lu_lanes_memory {
    td_lu_upper_rows<number, columns> upper[teams];
    td_lu_exchange<number, columns, teams> exchange;
};

/* What a lane knows of its rows. */
template <int rows> struct td_lu_lane_rows {
    unsigned mask[rows];  /* of a candidate's size; 0: none */
    int position[rows];   /* of a pivot */
    int winner;           /* the lane that had the pivot of the step before, */
    bool is_second;       /* and whether its second row became it, as far as this lane says */
    unsigned least, most; /* of all pivots' sizes */
    unsigned ties;        /* not 0 if any was as large as another candidate */
};
enum : unsigned { TD_SIZE = TD_KEY - 1 };

/* The first 32 bits of |x| or, if it is complex, of its square, and of a sign; those of a NaN are
 * larger than any number's. */
TD_DEVICE unsigned td_size_of(float a) { return td_bits32(a); }
TD_DEVICE unsigned td_size_of(double a) { return (unsigned)__double2hiint(a); }
template <class real> TD_DEVICE unsigned td_size_of(td_complex<real> a)
{
    return td_size_of(td_real_fma(a.re, a.re, td_real_mul(a.im, a.im)));
}

TD_DEVICE float td_from_lane(float x, int lane) { return __shfl_sync(~0u, x, lane); }
TD_DEVICE double td_from_lane(double x, int lane) { return __shfl_sync(~0u, x, lane); }
template <class real> TD_DEVICE td_complex<real> td_from_lane(td_complex<real> x, int lane)
{
    return {td_from_lane(x.re, lane), td_from_lane(x.im, lane)};
}

/* Of a lane's two rows the one that it offers, or its only one. */
template <class number, int rows, int columns>
TD_DEVICE number td_lu_offer(const number (&x)[rows][columns], bool is_second, int c)
{
    return rows > 1 && is_second ? x[rows - 1][c] : x[0][c];
}

/* What is left to do, right of `column`, of the step of column `before`. */
template <int before, int column, class number, int rows, int columns>
TD_DEVICE void td_lu_take_row(const td_lu_lane_rows<rows> &mine, number (&x)[rows][columns],
                              const td_lu_upper_rows<number, columns> &upper)
{
    enum { COUNT = td_pack<number>::COUNT, SHUFFLES = td_lu_passes_by<number>::SHUFFLES };
    TD_UNROLL
    for (int c0 = 0; c0 < columns; c0 += COUNT) {
        if (c0 + COUNT <= column + 1) continue;
        number up[COUNT];
        if (!SHUFFLES) td_read_packs<COUNT>(up, upper.of[SHUFFLES ? 0 : before] + c0);
        TD_UNROLL
        for (int c = c0; c < c0 + COUNT; c++) {
            if (c <= column) continue;
            if (SHUFFLES) up[c - c0] = td_from_lane(td_lu_offer(x, mine.is_second, c), mine.winner);
            TD_UNROLL
            for (int r = 0; r < rows; r++)
                if constexpr (SHUFFLES)
                    td_take_away(mine.mask[r] != 0, x[r][c], x[r][before], up[c - c0]);
                else
                    x[r][c] = td_minus(x[r][c], x[r][before], up[c - c0]);
        }
    }
}

/* A row becomes a pivot; if rows pass that way, it goes to shared memory. */
template <int column, class number, int rows, int columns>
TD_DEVICE void td_lu_win(td_lu_lane_rows<rows> &mine, const number (&x)[rows][columns], int r,
                         td_lu_upper_rows<number, columns> &upper)
{
    enum { COUNT = td_pack<number>::COUNT, SHUFFLES = td_lu_passes_by<number>::SHUFFLES };
    TD_UNROLL
    for (int c = column / COUNT * COUNT; !SHUFFLES && c < columns; c += COUNT)
        td_write_packs<COUNT>(upper.of[SHUFFLES ? 0 : column] + c, x[r] + c);
    mine.mask[r] = 0, mine.position[r] = column;
}

/* Who has the pivot, whose size is `largest`: one of this lane's rows has size `best`. */
template <int lanes, int rows>
TD_DEVICE void td_lu_choose(td_lu_lane_rows<rows> &mine, const unsigned (&size)[rows],
                            unsigned best, unsigned largest)
{
    const unsigned winners = td_lanes_ballot<lanes>(best == largest);
    mine.winner = (int)threadIdx.x % 32 / lanes * lanes + 31 - __clz((int)winners);
    mine.is_second = rows > 1 && size[rows - 1] > size[0];
    mine.ties |= winners & (winners - 1);
    if (rows > 1) mine.ties |= size[rows - 1] == size[0] && size[0] == largest;
    mine.least = min(mine.least, largest);
    mine.most = max(mine.most, largest);
    td_pin(mine.ties), td_pin(mine.least), td_pin(mine.most);
}

/* What a pivot that has been found leaves of its column, and of the next one. */
template <int column, class number, int rows, int columns>
TD_DEVICE void td_lu_divide(const td_lu_lane_rows<rows> &mine, number (&x)[rows][columns],
                            number reciprocal, number right)
{
    enum { SHUFFLES = td_lu_passes_by<number>::SHUFFLES, NEXT = column + 1 };
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const bool is_due = !SHUFFLES || mine.mask[r] != 0;
        const number left = td_times(x[r][column], reciprocal);
        if (is_due) x[r][column] = left;
        if constexpr (NEXT < columns) {
            if constexpr (SHUFFLES)
                td_take_away(is_due, x[r][NEXT], x[r][column], right);
            else
                x[r][NEXT] = td_minus(x[r][NEXT], left, right);
        }
    }
}

/* The step of a column, which is up to date; the others are, but for the step before. */
template <int lanes, int column, class number, int rows, int columns>
TD_DEVICE_LARGE void td_lu_plain_step(td_lu_lane_rows<rows> &mine, number (&x)[rows][columns],
                                      td_lu_upper_rows<number, columns> &upper)
{
    constexpr int next = column + 1 < columns ? column + 1 : column;
    const int lane = (int)threadIdx.x % 32;
    unsigned size[rows];
    TD_UNROLL
    for (int r = 0; r < rows; r++) size[r] = td_size_of(x[r][column]) & mine.mask[r];
    const bool is_second = rows > 1 && size[rows - 1] > size[0];
    const unsigned best = is_second ? size[rows - 1] : size[0];
    const unsigned largest = td_lanes_max<lanes>(best);
    number reciprocal = td_reciprocal(td_lu_offer(x, is_second, column));
    if constexpr (column > 0) td_lu_take_row<column - 1, column>(mine, x, upper);
    td_pin(reciprocal);

    td_lu_choose<lanes>(mine, size, best, largest);
    reciprocal = td_from_lane(reciprocal, mine.winner);
    const number right = td_from_lane(td_lu_offer(x, is_second, next), mine.winner);
    TD_UNROLL
    for (int r = 0; r < rows; r++)
        if (lane == mine.winner && is_second == (r > 0)) td_lu_win<column>(mine, x, r, upper);
    if (!td_lu_passes_by<number>::SHUFFLES) __syncwarp();
    td_lu_divide<column>(mine, x, reciprocal, right);
}

/* True if all pivots of the warp's matrices were plain. */
template <class number, int rows> TD_DEVICE bool td_lu_is_plain(const td_lu_lane_rows<rows> &mine)
{
    typedef typename td_real_of<number>::type real;
    const bool is_plain = mine.ties == 0 && !td_key_is_extreme<real>(TD_KEY | mine.least) &&
                          !td_key_is_extreme<real>(TD_KEY | mine.most);
    return __all_sync(~0u, is_plain);
}

/* The steps from `column` on. False if a pivot was not plain: looked at every eight columns. */
template <int lanes, int column, class number, int rows, int columns>
TD_DEVICE bool td_lu_plain_steps(td_lu_lane_rows<rows> &mine, number (&x)[rows][columns],
                                 td_lu_upper_rows<number, columns> &upper, int n)
{
    if constexpr (column > 0 && (column % 8 == 0 || column == columns))
        if (!td_lu_is_plain<number>(mine)) return false;
    if constexpr (column < columns) {
        if (column % 8 == 0 && column >= n) return true;
        td_lu_plain_step<lanes, column>(mine, x, upper);
        return td_lu_plain_steps<lanes, column + 1>(mine, x, upper, n);
    }
    return true;
}

/* pivots[i]: where the row that became pivot i was then. Each step moves the row at its position to
 * where its pivot was. */
template <int lanes, int rows>
TD_DEVICE void td_lu_put_pivots(int *rows_of, const int (&position)[rows], int n, int *pivots)
{
    const int lane = (int)threadIdx.x % lanes;
    TD_UNROLL
    for (int r = 0; r < rows; r++)
        if (position[r] < n) rows_of[position[r]] = lane + r * lanes;
    __syncwarp();
    for (int i = lane; pivots && i < n; i += lanes) {
        int at = rows_of[i];
        while (at < i) at = rows_of[at];
        pivots[i] = at + 1;
    }
}

/* n rows of A, and then the identity's. */
template <int lanes, class number, int rows, int columns>
TD_DEVICE void td_lu_load_rows(const number *a, int lda, int n, number (&x)[rows][columns])
{
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const int row = (int)threadIdx.x % lanes + r * lanes;
        const bool has_row = a && row < n;
        TD_UNROLL
        for (int c = 0; c < columns; c++)
            x[r][c] = has_row && c < n ? a[row + (int64_t)c * lda]
                                       : td_number<number>(row == c && !has_row ? 1 : 0);
    }
}

/* As td_lu_factor_lanes. False in all lanes of the warp if a pivot of any of its matrices was not
 * plain. */
template <int lanes, class number, int rows, int columns>
TD_DEVICE bool td_lu_factor_plain(td_lu_upper_rows<number, columns> &upper, const number *a,
                                  int lda, int n, int *pivots, number (&x)[rows][columns],
                                  int (&position)[rows])
{
    enum { COUNT = td_pack<number>::COUNT, SHUFFLES = td_lu_passes_by<number>::SHUFFLES };
    td_lu_lane_rows<rows> mine = {};
    mine.least = TD_SIZE;
    td_lu_load_rows<lanes>(a, lda, n, x);
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        mine.mask[r] = (int)threadIdx.x % lanes + r * lanes < columns ? (unsigned)TD_SIZE : 0;
        mine.position[r] = INT_MAX;
    }
    if (!td_lu_plain_steps<lanes, 0>(mine, x, upper, n)) return false;
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        position[r] = a ? mine.position[r] : INT_MAX;
        TD_UNROLL
        for (int c = 0; c < columns; c += COUNT)
            if (!SHUFFLES && position[r] < min(n, c + COUNT))
                td_read_packs<COUNT>(x[r] + c, upper.of[SHUFFLES ? 0 : position[r]] + c);
    }
    td_lu_put_pivots<lanes>(upper.rows, position, n, pivots);
    return true;
}

/* As td_lu_factor_lanes, whatever the pivots are, or without any. */
template <int lanes, class number, class exchange, int rows, int columns>
TD_DEVICE int td_lu_factor_any(exchange &e, const number *a, int lda, int n, bool has_pivots,
                               int *pivots, number (&x)[rows][columns], int (&position)[rows])
{
    td_lu_rows<number, rows> mine = {};
    mine.reach = has_pivots ? (int)TD_LU_ANY : 0;
    td_lu_load_rows<lanes>(a, lda, n, x);
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const int row = (int)threadIdx.x % lanes + r * lanes;
        mine.is_active[r] = a && row < n;
        mine.position[r] = mine.is_active[r] ? row : INT_MAX;
    }
    td_lu_panel<lanes>(mine, x, e, 0, n);
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        position[r] = mine.position[r];
        if (pivots && position[r] < n) pivots[position[r]] = mine.before[r] + 1;
    }
    return mine.info;
}

/* Factors the team's matrix a (NULL: none) of n <= columns columns, and no more rows than its lanes
 * have: x become rows of the factors, which are at `position` (INT_MAX: no row). pivots may be
 * NULL, whether or not rows are interchanged. Returns info. */
template <int lanes, class number, int teams, int rows, int columns>
TD_DEVICE int td_lu_factor_lanes(td_lu_lanes_memory<number, columns, teams> &memory,
                                 const number *a, int lda, int n, bool has_pivots, int *pivots,
                                 number (&x)[rows][columns], int (&position)[rows])
{
    auto &upper = memory.upper[(int)threadIdx.x % 32 / lanes];
    if (has_pivots && td_lu_factor_plain<lanes>(upper, a, lda, n, pivots, x, position)) return 0;
    td_rare();
    __syncwarp();
    const int info =
        td_lu_factor_any<lanes>(memory.exchange, a, lda, n, has_pivots, pivots, x, position);
    __syncwarp();
    return info;
}

#endif
