/* qr_take.cu - what a panel of finished reflectors is made of again: V from below the diagonal of
 * A, and T from V'V and tau, by the recurrence for each leaf of columns (qr_number.h), then for the
 * rows above it; and a unit matrix to begin Q with. */
#include "qr.h"

#include "../arithmetic/float32.h"
#include "qr_number.h"
#include "qr_order.h"

enum { THREADS = 256, MOST_BLOCKS = 1024, LEAF = QR_MOST_LEAF };

/* ---- V ---- */

/* Grid: blocks over the elements of V. */
static __global__ void take_kernel(TD_PARAMETER td_qr_panel panel, double *v, int64_t v_ld)
{
    const int64_t step = (int64_t)gridDim.x * THREADS, count = panel.rows * panel.columns;
    for (int64_t e = (int64_t)blockIdx.x * THREADS + threadIdx.x; e < count; e += step) {
        const int64_t i = e % panel.rows, j = e / panel.rows;
        v[i + j * v_ld] = i < j ? 0.0 : i == j ? 1.0 : panel.a[i + j * panel.ld];
    }
}

/* ---- T ---- */

/* Grid: the panel's leaves. Each has its own triangle of T, and zeros elsewhere. `products` has V'V
 * above its diagonal. */
static __global__ void __launch_bounds__(THREADS)
    triangle_kernel(TD_PARAMETER td_qr_panel panel, double *t, const double *products)
{
    td_begin_kernel();
    TD_SHARED(qr_triangle<LEAF>, shared, );
    const int thread = (int)threadIdx.x, first = (int)blockIdx.x * LEAF,
              count = min((int)LEAF, panel.columns - first);
    for (int e = thread; e < LEAF * count; e += THREADS) {
        const int k = e % LEAF, j = e / LEAF;
        if (k < j) shared.product[j][k] = products[first + k + (first + j) * TD_QR_COLUMNS];
        if (k == j) shared.tau[j] = panel.tau[first + j];
    }
    __syncthreads();
    for (int j = 0; j < count; j++) qr_make_t(shared, thread, j);
    __syncthreads();
    for (int e = thread; e < TD_QR_COLUMNS * count; e += THREADS) {
        const int row = e % TD_QR_COLUMNS - first, j = e / TD_QR_COLUMNS;
        t[e % TD_QR_COLUMNS + (first + j) * TD_QR_COLUMNS] =
            row >= 0 && row <= j ? shared.t[row][j] : 0.0;
    }
}

/* ---- the unit matrix ---- */

/* Grid: blocks over the elements. */
static __global__ void unit_kernel(double *a, int64_t ld, int64_t rows, int64_t columns,
                                   int64_t below)
{
    const int64_t step = (int64_t)gridDim.x * THREADS, count = rows * columns;
    for (int64_t e = (int64_t)blockIdx.x * THREADS + threadIdx.x; e < count; e += step) {
        const int64_t i = e % rows, j = e / rows;
        a[i + j * ld] = i == j + below ? 1.0 : 0.0;
    }
}

/* ---- launches ---- */

static dim3 blocks_of(int64_t elements)
{
    return dim3((unsigned)min((elements + THREADS - 1) / THREADS, (int64_t)MOST_BLOCKS));
}

cudaError_t td_qr_take_run(const td_qr_panel *panel, cudaStream_t stream)
{
    return TD_LAUNCH(take_kernel, blocks_of(panel->rows * panel->columns), dim3(THREADS), 0, stream,
                     *panel, td_qr_v(panel), td_qr_ld(panel->rows));
}

cudaError_t td_qr_triangle_run(const td_qr_panel *panel, cudaStream_t stream)
{
    const int leaves = (panel->columns + LEAF - 1) / LEAF;
    cudaError_t error = TD_LAUNCH_NEXT(triangle_kernel, dim3((unsigned)leaves), dim3(THREADS), 0,
                                       stream, *panel, td_qr_t(panel), td_qr_products(panel));
    for (int leaf = 1; leaf < leaves && error == cudaSuccess; leaf++)
        error = td_qr_extend_run(panel, leaf * LEAF, stream);
    return error;
}

cudaError_t td_qr_unit_run(double *a, int64_t ld, int64_t rows, int64_t columns, int64_t below,
                           cudaStream_t stream)
{
    if (rows == 0 || columns == 0) return cudaSuccess;
    return TD_LAUNCH(unit_kernel, blocks_of(rows * columns), dim3(THREADS), 0, stream, a, ld, rows,
                     columns, below);
}

cudaError_t td_qr_prepare_taking(void)
{
    return td_load(cudaSuccess, take_kernel, triangle_kernel, unit_kernel);
}
