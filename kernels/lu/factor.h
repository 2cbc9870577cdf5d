/* factor.h - what the kernels that factor matrices share, and the table of their shapes. */
#ifndef TD_LU_FACTOR_H
#define TD_LU_FACTOR_H

#include <limits.h>

#include "pivot.h"

/* Factors the team's matrix a (NULL: none) of n <= columns columns, and no more rows than its lanes have: x become rows of the
 * factors, wherever they were. */
template <int lanes, class number, class exchange, int rows, int columns>
TD_DEVICE int td_lu_factor_lanes(exchange &e, const number *a, int lda, int n, bool has_pivots,
                                 int *pivots, number (&x)[rows][columns], int (&position)[rows])
{
    td_lu_rows<number, rows> mine = {};
    mine.reach = has_pivots ? (int)TD_LU_ANY : 0;
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const int row = (int)threadIdx.x % lanes + r * lanes;
        const bool has_row = a && row < n;
        mine.position[r] = has_row ? row : INT_MAX;
        mine.is_active[r] = has_row;
        TD_UNROLL
        for (int c = 0; c < columns; c++)
            x[r][c] = has_row && c < n ? a[row + (int64_t)c * lda] : td_number<number>(0);
    }
    td_lu_panel<lanes>(mine, x, e, 0, n);
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        position[r] = mine.position[r];
        if (pivots && position[r] < n) pivots[position[r]] = mine.before[r] + 1;
    }
    return mine.info;
}

/* The fastest shape, from bench/lu. */
int td_lu_shape_of(td_lu_type type, int n);
int td_lu_threads_of(td_lu_type type, int n); /* vectors of a block */

cudaError_t td_lu_factor_prepare(void);
cudaError_t td_lu_solve_prepare(void);

#endif
