/* factor.h - what the kernels that factor matrices share, and the table of their shapes. */
#ifndef TD_LU_FACTOR_H
#define TD_LU_FACTOR_H

#include <limits.h>

#include "pivot.h"

enum { TD_LU_LANES_BLOCK = 128 };

/* Where a thread's rows have come to, and the team's info. */
template <int rows> struct td_lu_ends {
    int position[rows], info;
};

/* Factors the team's matrix a (NULL: none) of n <= rows * lanes rows: x becomes rows of the factors, wherever they were.
 * A lane has rows `lanes` apart. */
template <int lanes, class number, int rows, class exchange>
TD_DEVICE td_lu_ends<rows> td_lu_factor_lanes(exchange &e, const number *a, int lda, int n,
                                              bool has_pivots, int *pivots,
                                              number (&x)[rows][rows * lanes])
{
    td_lu_rows<number, rows> mine = {};
    td_lu_ends<rows> ends;
    mine.has_pivots = has_pivots;
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const int row = (int)threadIdx.x % lanes + r * lanes;
        mine.position[r] = row;
        mine.is_active[r] = a && row < n;
        TD_UNROLL
        for (int c = 0; c < rows * lanes; c++)
            x[r][c] = mine.is_active[r] && c < n ? a[row + (int64_t)c * lda] : td_number<number>(0);
    }
    td_lu_panel<lanes>(mine, x, e, 0, n);
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const int position = mine.position[r];
        if (pivots && position < n) pivots[position] = mine.before[r] + 1;
        ends.position[r] = position;
    }
    ends.info = mine.info;
    return ends;
}

/* The fastest shape, from bench/lu. */
int td_lu_shape_of(td_lu_type type, int n);
int td_lu_threads_of(td_lu_type type, int n); /* vectors of a block */

cudaError_t td_lu_factor_prepare(void);
cudaError_t td_lu_solve_prepare(void);

#endif
