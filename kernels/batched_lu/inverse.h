/* inverse.h - the inverse of a small matrix from its factors, which some lanes of a warp have in
 * shared memory; each has a few columns of the inverse in registers.
 *
 * A number of the factors that a lane reads serves all its columns, and instructions are the same
 * for all lanes: two or three columns a lane were mostly the best, four too many. */
#ifndef TD_LU_INVERSE_H
#define TD_LU_INVERSE_H

#include "../device/async_copy.h"
#include "pivot.h"

/* Factors, with the reciprocals of U's diagonal; then the inverse. Columns are LD numbers apart, so
 * that packs of eight neighbours are in different banks. What is beyond a matrix's rows and columns
 * is never used. */
template <class number, int columns> struct td_lu_square {
    typedef typename td_real_of<number>::type real;
    enum { PACK = td_pack<number>::COUNT, LD = (columns / PACK | 1) * PACK };
    alignas(16) number of[columns][LD];
    real factors[columns]; /* of rows before U's diagonal divides them: mostly 1 */
    int pivots[columns];
    uint8_t rows[columns]; /* of A, by position */
};

/* Starts to copy the team's factors. */
template <int lanes, class number, int columns>
TD_DEVICE void td_lu_fetch(td_lu_square<number, columns> &s, const number *a, int64_t lda, int n)
{
    const int lane = (int)threadIdx.x % lanes;
    TD_UNROLL_N(4)
    for (int c = 0; c < n; c++, a += lda) TD_UNROLL
    for (int r = 0; r < columns; r += lanes)
        if (lane + r < n) td_async_copy<sizeof(number)>(&s.of[c][lane + r], a + lane + r);
    td_async_copy_commit();
}

/* The diagonal of the team's U becomes reciprocals. Returns the number, from 1, of the first 0 on
 * it, or 0; `scales` becomes true if any matrix of the warp has a factor that is not 1. */
template <int lanes, class number, int columns>
TD_DEVICE int td_lu_invert_diagonal(td_lu_square<number, columns> &s, int n, bool &scales)
{
    typedef typename td_real_of<number>::type real;
    int info = 0;
    bool is_scaled = false;
    TD_UNROLL
    for (int r = 0; r < columns; r += lanes) {
        const int i = (int)threadIdx.x % lanes + r;
        bool is_zero = false;
        if (i < n) {
            const number x = s.of[i][i];
            const td_inverse<number> inverse = td_invert(x);
            s.of[i][i] = inverse.of;
            s.factors[i] = td_shift_factor<real>(inverse.shift);
            is_zero = td_is_zero(x);
            is_scaled |= inverse.shift != 0;
        }
        const unsigned zeros = td_lanes_ballot<lanes>(is_zero);
        if (info == 0 && zeros) info = r + __ffs((int)zeros);
    }
    scales = __any_sync(~0u, is_scaled);
    return info;
}

/* Row `position` of factors is row `row` of A. */
template <class number, int columns>
TD_DEVICE void td_lu_put_row(td_lu_square<number, columns> &s, int row, int position,
                             const number (&x)[columns])
{
    s.rows[position] = (uint8_t)row;
    TD_UNROLL
    for (int c = 0; c < columns; c++) s.of[c][position] = x[c];
}

/* Pivots from 0 on, none of them outside the matrix. */
TD_DEVICE void td_lu_read_pivots(const int *pivots, int n, int thread, int threads, int *to)
{
    TD_ROLLED
    for (int i = thread; i < n; i += threads) to[i] = pivots ? min(max(pivots[i], 1), n) - 1 : i;
}

/* The row of A that each position of P A has. */
TD_DEVICE void td_lu_find_rows(const int *pivots, int n, int thread, int threads, uint8_t *rows)
{
    TD_ROLLED
    for (int i = thread; i < n; i += threads) {
        int row = i;
        TD_UNROLL_N(4)
        for (int j = n - 1; j >= 0; j--) {
            const int p = pivots[j];
            row = row == j ? p : row == p ? j : row;
        }
        rows[i] = (uint8_t)row;
    }
}

/* x[i] becomes x[i - by], and the last come first. */
template <int by, class number, int vectors, int columns>
TD_DEVICE void td_lu_shift(number (&x)[vectors][columns])
{
    TD_UNROLL
    for (int v = 0; v < vectors && by % columns; v++) {
        number y[columns];
        TD_UNROLL
        for (int i = 0; i < columns; i++) y[(i + by) % columns] = x[v][i];
        TD_UNROLL
        for (int i = 0; i < columns; i++) x[v][i] = y[i];
    }
}

/* What x[k] leaves of x[from] and on, before x[to]: column[i] is what x[k] is multiplied by for
 * x[i]. Vectors from 32 on begin at row 32 of L. A barrier keeps the compiler from reading so far
 * ahead that registers do not suffice. */
template <int lanes, bool is_lower, class number, int vectors, int columns>
TD_DEVICE void td_lu_eliminate(const number *column, int k, int from, int to,
                               number (&x)[vectors][columns])
{
    enum { PACK = td_pack<number>::COUNT };
    TD_UNROLL
    for (int i0 = from / PACK * PACK; i0 < to; i0 += PACK) {
        number l[PACK];
        td_read_packs<PACK>(l, column + i0);
        TD_UNROLL
        for (int i = i0; i < i0 + PACK; i++) TD_UNROLL
        for (int v = 0; v < vectors; v++)
            if (i >= from && i < to && (!is_lower || k >= v * lanes / 32 * 32))
                x[v][i] = td_minus(x[v][i], l[i - i0], x[v][k]);
    }
    __syncwarp();
}

/* x = L^-1 x. `rows` steps are unrolled, and then the row that they have come to is shifted to the
 * first place. */
template <int lanes, int rows, class number, int vectors, int columns>
TD_DEVICE void td_lu_solve_lower(const td_lu_square<number, columns> &s, int n,
                                 number (&x)[vectors][columns])
{
    TD_ROLLED
    for (int row = 0; row < columns; row += rows) {
        TD_UNROLL
        for (int i = 0; i < columns; i += rows) {
            if (row + i >= n) continue;
            TD_UNROLL
            for (int k = 0; k < rows; k++)
                if (row + k < n)
                    td_lu_eliminate<lanes, true>(s.of[row + k] + row, k, max(i, k + 1), i + rows,
                                                 x);
        }
        td_lu_shift<columns - rows>(x);
    }
}

/* x = U^-1 x, from the last row on. */
template <int lanes, int rows, class number, int vectors, int columns>
TD_DEVICE void td_lu_solve_upper(const td_lu_square<number, columns> &s, int n, bool scales,
                                 number (&x)[vectors][columns])
{
    TD_ROLLED
    for (int row = columns - rows; row >= 0; row -= rows) {
        td_lu_shift<rows>(x);
        TD_UNROLL
        for (int k = rows - 1; k >= 0; k--) {
            if (row + k >= n) continue;
            const number reciprocal = s.of[row + k][row + k];
            TD_UNROLL
            for (int v = 0; v < vectors; v++) {
                if (scales) x[v][k] = td_scaled(x[v][k], s.factors[row + k]);
                x[v][k] = td_times(x[v][k], reciprocal);
            }
            td_lu_eliminate<lanes, false>(s.of[row + k] + row, k, 0, k, x);
        }
        TD_UNROLL
        for (int i = rows; i < columns; i += rows) {
            if (row + i < columns || row >= n) continue;
            TD_UNROLL
            for (int k = rows - 1; k >= 0; k--)
                if (row + k < n)
                    td_lu_eliminate<lanes, false>(s.of[row + k] + row - columns, k, i, i + rows, x);
        }
    }
}

/* The inverse of the team's matrix to c (NULL: nowhere), from its factors and rows in s, which is
 * overwritten. */
template <int lanes, int rows, class number, int columns>
TD_DEVICE void td_lu_invert_lanes(td_lu_square<number, columns> &s, int n, bool scales, number *c,
                                  int64_t ldc)
{
    enum { VECTORS = (columns + lanes - 1) / lanes, PACK = td_pack<number>::COUNT };
    enum { ROWS = rows ? rows : columns };
    const int lane = (int)threadIdx.x % lanes;
    number x[VECTORS][columns];
    TD_UNROLL
    for (int v = 0; v < VECTORS; v++) TD_UNROLL
    for (int i = 0; i < columns; i++) x[v][i] = td_number<number>(i == lane + v * lanes ? 1 : 0);
    __syncwarp();
    td_lu_solve_lower<lanes, ROWS>(s, n, x);
    td_lu_solve_upper<lanes, ROWS>(s, n, scales, x);
    TD_UNROLL
    for (int v = 0; v < VECTORS; v++) TD_UNROLL
    for (int i = 0; i < columns; i += PACK)
        if (lane + v * lanes < columns) td_write_packs<PACK>(s.of[lane + v * lanes] + i, x[v] + i);
    __syncwarp();
    TD_UNROLL_N(4)
    for (int v = 0; c && v < n; v++) {
        number *const to = c + s.rows[v] * ldc;
        TD_UNROLL
        for (int r = 0; r < columns; r += lanes)
            if (lane + r < n) to[lane + r] = s.of[v][lane + r];
    }
}

#endif
