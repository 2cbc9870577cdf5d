/* qr_leaf.cu - a leaf's reflectors, by one cluster of blocks (qr_cluster.h), or on the host device
 * by one block, whose threads have a column of the leaf each, with the same sums: see qr.h. */
#include "qr.h"

#include "qr_cluster.h"
#include "qr_number.h"
#include "qr_order.h"
#include <string.h>

int td_qr_leaf(int64_t rows) { return QR_SLOTS * qr_sharing(rows); }

static qr_leaf leaf_of(const td_qr_panel *p, int first)
{
    const int64_t v_ld = td_qr_ld(p->rows);
    return {.a = p->a + first + first * p->ld,
            .ld = p->ld,
            .rows = (int)(p->rows - first),
            .columns = min(td_qr_leaf(p->rows), p->columns - first),
            .first = first,
            .tau = p->tau + first,
            .v = td_qr_v(p) + first + first * v_ld,
            .v_ld = v_ld,
            .t = td_qr_t(p) + first + first * TD_QR_COLUMNS};
}

#if TD_HAS_CUDA_DEVICE

/* Grid: one cluster. */
template <int sharing, int warps, int rows>
static __global__ void __launch_bounds__(32 * warps, 1) leaf_kernel(TD_PARAMETER qr_leaf leaf)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    qr_leaf_of<sharing, warps, rows>(leaf);
#endif
}

typedef struct {
    qr_shape shape;
    void (*kernel)(qr_leaf);
} shape_kernel;

#define SHAPE(sharing, warps, rows)                                                                \
    {                                                                                              \
        {sharing, warps, rows}, leaf_kernel<sharing, warps, rows>                                  \
    }
static const shape_kernel kernels[] = {SHAPE(4, 8, 1),  SHAPE(4, 8, 2), SHAPE(4, 8, 4),
                                       SHAPE(4, 16, 4), SHAPE(2, 8, 1), SHAPE(2, 8, 2),
                                       SHAPE(2, 8, 4),  SHAPE(2, 16, 4)};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static const shape_kernel *kernel_of(qr_shape shape)
{
    int i = 0;
    while (memcmp(&kernels[i].shape, &shape, sizeof shape) != 0) i++;
    return &kernels[i];
}

/* The smallest power of two of blocks that hold so many rows. */
static unsigned blocks_of(qr_shape shape, int64_t rows)
{
    unsigned blocks = 1;
    while ((int64_t)blocks * qr_rows_of_block(shape) < rows) blocks *= 2;
    return blocks;
}

bool td_qr_fits(int64_t rows)
{
    int device = 0, major = 0;
    return rows <= TD_QR_ROWS && cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) ==
               cudaSuccess &&
           (major == 9 || major == 10);
}

cudaError_t td_qr_leaf_run(const td_qr_panel *panel, int first, cudaStream_t stream)
{
    const qr_leaf leaf = leaf_of(panel, first);
    const qr_shape shape = qr_shape_of(leaf.rows, qr_sharing(panel->rows));
    const unsigned blocks = blocks_of(shape, leaf.rows);
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(32 * (unsigned)shape.warps);
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = 2;
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {blocks, 1, 1};
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    return cudaLaunchKernelEx(&config, kernel_of(shape)->kernel, leaf);
}

cudaError_t td_qr_prepare_leaves(void)
{
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < KERNELS && error == cudaSuccess; i++) {
        error = td_load(error, kernels[i].kernel);
        if (error == cudaSuccess)
            error = cudaFuncSetAttribute(kernels[i].kernel,
                                         cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    }
    return error;
}

#else

/* ---- the same by one block of the host device ---- */

template <int count> TD_DEVICE double halve(double (&x)[count])
{
    for (int half = count / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) x[i] = td_add64(x[i], x[i + half]);
    return x[0];
}

/* The product of the parts of two columns below a row, in the order of qr_order.h. */
template <int lanes, int warps>
TD_DEVICE double product_below(const qr_leaf &leaf, int each, const double *x, const double *y,
                               int row)
{
    double of_blocks[QR_BLOCKS] = {};
    for (int block = 0; block * each * warps * lanes < leaf.rows; block++) {
        double of_warps[warps];
        for (int warp = 0; warp < warps; warp++) {
            double of_lanes[lanes];
            for (int lane = 0; lane < lanes; lane++) {
                double sum = 0.0;
                bool has_any = false;
                for (int r = 0; r < each; r++) {
                    const int i = ((block * each + r) * warps + warp) * lanes + lane;
                    if (i <= row || i >= leaf.rows) continue;
                    sum = td_fma64(x[i], y[i], sum);
                    has_any = has_any || !(x[i] == 0.0);
                }
                of_lanes[lane] = x == y && has_any ? td_add64(sum, QR_TRACE) : sum;
            }
            of_warps[warp] = halve(of_lanes);
        }
        of_blocks[block] = halve(of_warps);
    }
    return halve(of_blocks);
}

template <int size>
TD_DEVICE double product_below(const qr_leaf &leaf, const double *x, const double *y, int row)
{
    enum { LANES = 32 * QR_SLOTS / size, MOST = QR_MOST_WARPS };
    const qr_shape shape = qr_shape_of(leaf.rows, size / QR_SLOTS);
    return shape.warps == MOST ? product_below<LANES, MOST>(leaf, shape.rows, x, y, row)
                               : product_below<LANES, MOST / 2>(leaf, shape.rows, x, y, row);
}

template <int size> struct leaf_shared {
    qr_triangle<size> triangle;
    double sum[size];
    int exponent[size];
};

template <int size> TD_DEVICE void level(const qr_leaf &leaf, leaf_shared<size> &shared)
{
    const int c = (int)threadIdx.x;
    int top = 0;
    for (int i = 0; i < leaf.rows; i++)
        top = max(top, __double2hiint(leaf.a[i + c * leaf.ld]) & INT_MAX);
    shared.exponent[c] = qr_exponent(top);
    for (int i = 0; i < leaf.rows; i++)
        leaf.a[i + c * leaf.ld] = td_mul64(leaf.a[i + c * leaf.ld], qr_power(-shared.exponent[c]));
}

/* One column's step, of which the thread's own column has its part; false: the column is lifted. */
template <int size> TD_DEVICE bool step(const qr_leaf &leaf, leaf_shared<size> &shared, int column)
{
    const int c = (int)threadIdx.x;
    double *const x = leaf.a + column * leaf.ld, *const own = leaf.a + c * leaf.ld;
    const bool is_there = c < leaf.columns;
    if (is_there) shared.sum[c] = product_below<size>(leaf, x, own, column);
    __syncthreads();
    const qr_reflector h = qr_reflector_of(x[column], shared.sum[column]);
    __syncthreads();
    if (h.lifts) {
        for (int i = column; i < leaf.rows && c == column; i++)
            x[i] = td_mul64(x[i], qr_power(QR_LIFT));
        if (c == column) shared.exponent[c] -= QR_LIFT;
        __syncthreads();
        return false;
    }
    const double along = is_there ? qr_along(shared.sum[c], h, own[column]) : 0.0,
                 taken = c > column && h.tau != 0.0 ? td_mul64(h.tau, along) : 0.0;
    if (c < column) shared.triangle.product[column][c] = along;
    for (int i = column + 1; i < leaf.rows && is_there && c > column; i++)
        own[i] = td_fma64(-td_mul64(x[i], h.scale), taken, own[i]);
    __syncthreads();
    if (is_there && c >= column)
        own[column] = qr_times_power(c == column ? h.beta : td_add64(own[column], -taken),
                                     shared.exponent[c]);
    if (c != column) return true;
    shared.triangle.tau[c] = leaf.tau[c] = h.tau;
    for (int i = column + 1; i < leaf.rows; i++) own[i] = td_mul64(own[i], h.scale);
    return true;
}

/* V, and the leaf's columns of T. */
template <int size> TD_DEVICE void write(const qr_leaf &leaf, const leaf_shared<size> &shared)
{
    const int c = (int)threadIdx.x;
    for (int i = -leaf.first; i < leaf.rows; i++)
        leaf.v[i + c * leaf.v_ld] = i < c || c >= leaf.columns ? 0.0
                                    : i == c                   ? 1.0
                                                               : leaf.a[i + c * leaf.ld];
    for (int i = -leaf.first; i < TD_QR_COLUMNS - leaf.first; i++)
        leaf.t[i + c * TD_QR_COLUMNS] =
            i >= 0 && i <= c && c < leaf.columns ? shared.triangle.t[i][c] : 0.0;
}

/* Grid: one block of `size` threads. */
template <int size> static __global__ void leaf_kernel(TD_PARAMETER qr_leaf leaf)
{
    TD_SHARED(leaf_shared<size>, shared, );
    if ((int)threadIdx.x < leaf.columns) level(leaf, shared);
    __syncthreads();
    for (int column = 0; column < leaf.columns;) {
        const bool is_done = step(leaf, shared, column);
        __syncthreads();
        if (is_done) qr_make_t(shared.triangle, (int)threadIdx.x, column++);
    }
    __syncthreads();
    write(leaf, shared);
}

bool td_qr_fits(int64_t rows) { return rows <= TD_QR_ROWS; }

cudaError_t td_qr_leaf_run(const td_qr_panel *panel, int first, cudaStream_t stream)
{
    const qr_leaf leaf = leaf_of(panel, first);
    const int size = td_qr_leaf(panel->rows);
    return size == 32 ? TD_LAUNCH(leaf_kernel<32>, dim3(1), dim3(32), 0, stream, leaf)
                      : TD_LAUNCH(leaf_kernel<16>, dim3(1), dim3(16), 0, stream, leaf);
}

cudaError_t td_qr_prepare_leaves(void)
{
    return td_load(cudaSuccess, leaf_kernel<32>, leaf_kernel<16>);
}

#endif
