/* factor.h - what the kernels that factor matrices share, and the table of their shapes. */
#ifndef TD_LU_FACTOR_H
#define TD_LU_FACTOR_H

#include <limits.h>

#include "pivot.h"

enum { TD_LU_LANES_BLOCK = 128 };

/* Columns of a panel of larger matrices: no bits depend on it. */
#ifndef TD_TUNE_PANEL
#define TD_TUNE_PANEL 16
#endif
template <class number> struct td_lu_panel_of {
    enum { value = TD_TUNE_PANEL };
};

/* Rows that the panels before panel `panel` leave behind: those that have become pivots are in none. */
TD_HOST_DEVICE int td_lu_rows_before(int n, int columns, int panel)
{
    return panel * n - columns * (panel * (panel - 1) / 2);
}

/* Where a thread's row has come to, and the team's info. */
typedef struct {
    int position, info;
} td_lu_ends;

/* Factors the team's matrix a (NULL: none) of n <= lanes rows into `columns`, lanes numbers each, a row where it was. */
template <int lanes, class number, class exchange>
TD_DEVICE td_lu_ends td_lu_factor_lanes(exchange &e, const number *a, int lda, int n,
                                        bool has_pivots, int *pivots, number *columns)
{
    td_lu_row<number> row = {};
    const int rank = (int)threadIdx.x % lanes;
    row.position = row.slot = rank;
    row.rank = a ? rank : INT_MAX;
    row.is_active = row.rank < n;
    row.has_pivots = has_pivots;
    number x[lanes];
    TD_UNROLL
    for (int c = 0; c < lanes; c++)
        x[c] = row.is_active && c < n ? a[rank + (int64_t)c * lda] : td_number<number>(0);
    td_lu_panel<lanes>(row, x, e, 0, n,
                       [&](int slot, int column) { return columns + slot + column * lanes; });
    if (pivots && row.rank < n) pivots[rank] = row.pivot + 1;
    __syncwarp();
    return {row.position, row.info};
}

/* The fastest shape, from bench/lu. */
int td_lu_shape_of(td_lu_type type, int n);
int td_lu_threads_of(td_lu_type type, int n); /* vectors of a block */

cudaError_t td_lu_factor_prepare(void);
cudaError_t td_lu_solve_prepare(void);

#endif
