/* factor.h - what the kernels that factor matrices share, and the table of their shapes. */
#ifndef TD_LU_FACTOR_H
#define TD_LU_FACTOR_H

#include <limits.h>

#include "pivot.h"

enum { TD_LU_LANES_BLOCK = 128 };

/* Where a thread's row has come to, and the team's info. */
typedef struct {
    int position, info;
} td_lu_ends;

/* Factors the team's matrix a (NULL: none) of n <= lanes rows: x becomes a row of the factors, wherever it was. */
template <int lanes, class number, class exchange>
TD_DEVICE td_lu_ends td_lu_factor_lanes(exchange &e, const number *a, int lda, int n,
                                        bool has_pivots, int *pivots, number (&x)[1][lanes])
{
    td_lu_rows<number, 1> mine = {};
    const int row = (int)threadIdx.x % lanes;
    const bool has_row = a && row < n;
    mine.position[0] = has_row ? row : INT_MAX;
    mine.is_active[0] = has_row;
    mine.reach = has_pivots ? (int)TD_LU_ANY : 0;
    TD_UNROLL
    for (int c = 0; c < lanes; c++)
        x[0][c] = has_row && c < n ? a[row + (int64_t)c * lda] : td_number<number>(0);
    td_lu_panel<lanes>(mine, x, e, 0, n);
    if (pivots && has_row) pivots[mine.position[0]] = mine.before[0] + 1;
    return {mine.position[0], mine.info};
}

/* The fastest shape, from bench/lu. */
int td_lu_shape_of(td_lu_type type, int n);
int td_lu_threads_of(td_lu_type type, int n); /* vectors of a block */

cudaError_t td_lu_factor_prepare(void);
cudaError_t td_lu_solve_prepare(void);

#endif
