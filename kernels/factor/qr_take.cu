/* qr_take.cu - what a panel of finished reflectors is made of again: V from below the diagonal of
 * A, and T from V'V and tau, by the recurrence for each leaf of columns (qr_number.h), then for the
 * rows above it; and a unit matrix to begin Q with. */
#include "qr.h"

#include "qr_number.h"

enum { THREADS = 256, MOST_BLOCKS = 1024 };

typedef td_complex<double> complex;

/* Columns of a leaf. */
template <class number> static constexpr int LEAF = QR_MOST_LEAF / qr_of<number>::PARTS;

/* ---- V ---- */

/* Grid: blocks over the elements of V. */
template <class number>
static __global__ void take_kernel(TD_PARAMETER td_qr_panel panel, double *v, int64_t v_ld)
{
    const number *const a = static_cast<const number *>(panel.a);
    const int64_t step = (int64_t)gridDim.x * THREADS, count = panel.rows * panel.columns;
    for (int64_t e = (int64_t)blockIdx.x * THREADS + threadIdx.x; e < count; e += step) {
        const int64_t i = e % panel.rows, j = e / panel.rows;
        qr_embed(v, v_ld, i, j, i <= j ? td_number<number>(i == j) : a[i + j * panel.ld]);
    }
}

/* ---- T ---- */

/* Grid: the panel's leaves. Each has its own triangle of T, and zeros elsewhere. `products` has V'V
 * above its diagonal. */
template <class number>
static __global__ void __launch_bounds__(THREADS)
    triangle_kernel(TD_PARAMETER td_qr_panel panel, double *t, const double *products)
{
    td_begin_kernel();
    enum { SIZE = LEAF<number>, T_ROWS = TD_QR_COLUMNS / qr_of<number>::PARTS };
    typedef qr_triangle<number, SIZE> triangle;
    TD_SHARED(triangle, shared, );
    const number *const product = reinterpret_cast<const number *>(products),
                        *const tau = static_cast<const number *>(panel.tau);
    const int thread = (int)threadIdx.x, first = (int)blockIdx.x * SIZE,
              count = min((int)SIZE, panel.columns - first);
    for (int e = thread; e < SIZE * count; e += THREADS) {
        const int k = e % SIZE, j = e / SIZE;
        if (k < j)
            shared.product[j][k] = td_conjugate(product[first + k + (first + j) * TD_QR_COLUMNS]);
        if (k == j) shared.tau[j] = tau[first + j];
    }
    __syncthreads();
    for (int j = 0; j < count; j++) qr_make_t(shared, thread, j);
    __syncthreads();
    for (int e = thread; e < T_ROWS * count; e += THREADS) {
        const int row = e % T_ROWS - first, j = e / T_ROWS;
        qr_embed(t, TD_QR_COLUMNS, e % T_ROWS, first + j,
                 row >= 0 && row <= j ? shared.t[row][j] : td_number<number>(0.0));
    }
}

/* ---- the unit matrix ---- */

/* Grid: blocks over the elements. */
template <class number>
static __global__ void unit_kernel(number *a, int64_t ld, int64_t rows, int64_t columns,
                                   int64_t below)
{
    const int64_t step = (int64_t)gridDim.x * THREADS, count = rows * columns;
    for (int64_t e = (int64_t)blockIdx.x * THREADS + threadIdx.x; e < count; e += step) {
        const int64_t i = e % rows, j = e / rows;
        a[i + j * ld] = td_number<number>(i == j + below);
    }
}

/* ---- launches ---- */

static dim3 blocks_of(int64_t elements)
{
    return dim3((unsigned)min((elements + THREADS - 1) / THREADS, (int64_t)MOST_BLOCKS));
}

cudaError_t td_qr_take_run(const td_qr_panel *panel, cudaStream_t stream)
{
    return TD_LAUNCH(panel->is_complex ? take_kernel<complex> : take_kernel<double>,
                     blocks_of(panel->rows * panel->columns), dim3(THREADS), 0, stream, *panel,
                     td_qr_v(panel), td_qr_ld(panel));
}

cudaError_t td_qr_triangle_run(const td_qr_panel *panel, cudaStream_t stream)
{
    const int size = panel->is_complex ? LEAF<complex> : LEAF<double>,
              leaves = (panel->columns + size - 1) / size;
    cudaError_t error =
        TD_LAUNCH_NEXT(panel->is_complex ? triangle_kernel<complex> : triangle_kernel<double>,
                       dim3((unsigned)leaves), dim3(THREADS), 0, stream, *panel, td_qr_t(panel),
                       td_qr_products(panel));
    for (int leaf = 1; leaf < leaves && error == cudaSuccess; leaf++)
        error = td_qr_extend_run(panel, leaf * size, stream);
    return error;
}

cudaError_t td_qr_unit_run(bool is_complex, void *a, int64_t ld, int64_t rows, int64_t columns,
                           int64_t below, cudaStream_t stream)
{
    const dim3 blocks = blocks_of(rows * columns);
    if (rows == 0 || columns == 0) return cudaSuccess;
    return is_complex ? TD_LAUNCH(unit_kernel<complex>, blocks, dim3(THREADS), 0, stream,
                                  static_cast<complex *>(a), ld, rows, columns, below)
                      : TD_LAUNCH(unit_kernel<double>, blocks, dim3(THREADS), 0, stream,
                                  static_cast<double *>(a), ld, rows, columns, below);
}

cudaError_t td_qr_prepare_taking(void)
{
    return td_load(cudaSuccess, take_kernel<double>, take_kernel<complex>, triangle_kernel<double>,
                   triangle_kernel<complex>, unit_kernel<double>, unit_kernel<complex>);
}
