/* row_steps.h - exchanges of one panel as the steps that each row takes, and rows of some columns
 * of a matrix. For kernels. */
#ifndef TD_FACTOR_ROW_STEPS_H
#define TD_FACTOR_ROW_STEPS_H

#include "../device/portable.h"
#include "row_exchange.h"

/* The row that is exchanged with row i. */
TD_DEVICE int load_pivot(const td_row_exchange &x, int64_t i)
{
    return (x.has_wide_pivots ? (int)static_cast<const int64_t *>(x.pivots)[i]
                              : static_cast<const int *>(x.pivots)[i]) -
           1 - (int)x.before;
}

/* A row's way: where the one that comes to row `own` was before all exchanges, and where the one
 * that was there goes. Among the first rows no other row moves than by an exchange of its own: so
 * rows behind them go up there, or stay. */
struct way_of_row {
    int source, target;
};
TD_DEVICE way_of_row way_of(const int *pivot, int count, int own)
{
    way_of_row way = {own, own};
    TD_UNROLL_N(8)
    for (int i = 0; i < count; i++) {
        const int last = count - 1 - i, up = pivot[last], down = pivot[i];
        way.source = way.source == last ? up : way.source == up ? last : way.source;
        way.target = way.target == i ? down : way.target == down ? i : way.target;
    }
    return way;
}

/* How many columns of a row a thread has at a time. */
template <class number> struct row_piece {
    enum { COLUMNS = 64 / (int)sizeof(number) };
};

/* A row of up to `most` columns of a matrix, to registers and from there. */
template <class number, int most>
TD_DEVICE void read_row(const number *row, int64_t ld, int columns, number (&x)[most])
{
    TD_UNROLL
    for (int c = 0; c < most; c++)
        if (c < columns) x[c] = row[c * ld];
}
template <class number, int most>
TD_DEVICE void write_row(number *row, int64_t ld, int columns, const number (&x)[most])
{
    TD_UNROLL
    for (int c = 0; c < most; c++)
        if (c < columns) row[c * ld] = x[c];
}

#endif
