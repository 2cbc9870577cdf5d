/* panel_clocks_qr.cu - leaves of QR (kernels/factor/qr_cluster.h) with marks. */
#include "panel_clocks.h"

#define CLOCKS(X)                                                                                  \
    X(START, false)                                                                                \
    X(BEGIN, false)                                                                                \
    X(LOAD, false)                                                                                 \
    X(SUM, true)                                                                                   \
    X(SYNC, true)                                                                                  \
    X(SEND, true)                                                                                  \
    X(WAIT, true)                                                                                  \
    X(DECIDE, true)                                                                                \
    X(UPDATE, true)                                                                                \
    X(FINISH, false)
#define TD_MARKS CLOCKS(MARK)

#include "../kernels/factor/qr_leaf.cu"
#include "panel_marks.h"

static td_qr_panel panel_of(bool is_complex, int rows, void *a, void *work)
{
    char *const memory = static_cast<char *>(work);
    const size_t own = td_qr_work_bytes(rows, is_complex);
    return {.is_complex = is_complex,
            .a = a,
            .ld = rows,
            .rows = rows,
            .columns = TD_QR_COLUMNS / 4,
            .tau = memory + own + td_qr_shared_work_bytes(rows, is_complex),
            .work = memory,
            .shared_work = memory + own};
}

static int columns(bool is_complex, int rows)
{
    const td_qr_panel panel = panel_of(is_complex, rows, NULL, NULL);
    return td_qr_leaf(&panel);
}

static bool run(bool is_complex, int rows, void *a, void *work)
{
    const td_qr_panel panel = panel_of(is_complex, rows, a, work);
    return td_qr_prepare_leaves() == cudaSuccess && td_qr_leaf_run(&panel, 0, NULL) == cudaSuccess;
}

const clocked clocked_qr = {"geqrf", TD_MARK_NAMES, names, of_column, columns, run, take};
