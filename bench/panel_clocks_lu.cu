/* panel_clocks_lu.cu - panels of LU (kernels/factor/lu_cluster_step.h) with marks. */
#include "panel_clocks.h"

#define CLOCKS(X)                                                                                  \
    X(START, false)                                                                                \
    X(BEGIN, false)                                                                                \
    X(SOLVE, false)                                                                                \
    X(MEET, false)                                                                                 \
    X(LEAF, false)                                                                                 \
    X(SEARCH, true)                                                                                \
    X(SYNC, true)                                                                                  \
    X(SEND, true)                                                                                  \
    X(KEYS, true)                                                                                  \
    X(CHOOSE, true)                                                                                \
    X(ROWS, true)                                                                                  \
    X(DIVIDE, true)                                                                                \
    X(UPDATE, true)                                                                                \
    X(KEEP, false)                                                                                 \
    X(ORDER, false)
#define TD_MARKS CLOCKS(MARK)

#include "../kernels/factor/lu_cluster.cu"
#include "panel_marks.h"

/* As pieces of large matrices are. */
static int columns(bool is_complex, int rows)
{
    enum { COLUMNS = 64, FEWER = 32, MANY_ROWS = 8192 };
    return is_complex && rows > MANY_ROWS ? FEWER : COLUMNS;
}

/* Work: info, pivots, and what other columns need. */
static bool run(bool is_complex, int rows, void *a, void *work)
{
    enum { ALIGNMENT = 256 };
    char *const memory = static_cast<char *>(work);
    const td_one_block_panel panel = {.is_complex = is_complex,
                                      .a = a,
                                      .ld = rows,
                                      .rows = rows,
                                      .columns = columns(is_complex, rows),
                                      .before = 0,
                                      .pivots = memory + ALIGNMENT,
                                      .has_wide_pivots = false,
                                      .info = reinterpret_cast<int *>(memory)};
    void *const order = memory + ALIGNMENT + TD_CLUSTER_COLUMNS * sizeof(int);
    return td_cluster_prepare() == cudaSuccess &&
           td_cluster_factor_run(&panel, order, NULL, NULL) == cudaSuccess;
}

const clocked clocked_lu = {"getrf", TD_MARK_NAMES, names, of_column, columns, run, take};
