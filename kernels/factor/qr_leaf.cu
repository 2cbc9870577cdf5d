/* qr_leaf.cu - a leaf's reflectors, by one cluster of blocks (qr_cluster.h), or on the host device
 * by one block, whose threads have a column of the leaf each, with the same sums: see qr.h. */
#include "qr.h"

#include "qr_cluster.h"
#include "qr_number.h"
#include "qr_order.h"
#include <string.h>

typedef td_complex<double> complex;

int td_qr_leaf(const td_qr_panel *p)
{
    return QR_SLOTS / (p->is_complex ? 2 : 1) * qr_sharing(p->rows);
}

template <class number> static qr_leaf<number> leaf_of(const td_qr_panel *p, int first)
{
    enum { PARTS = qr_of<number>::PARTS };
    const int64_t v_ld = td_qr_ld(p);
    return {static_cast<number *>(p->a) + first + first * p->ld,
            p->ld,
            (int)(p->rows - first),
            min(td_qr_leaf(p), p->columns - first),
            first,
            static_cast<number *>(p->tau) + first,
            td_qr_v(p) + PARTS * (first + first * v_ld),
            v_ld,
            td_qr_t(p) + PARTS * (first + first * TD_QR_COLUMNS)};
}

#if TD_HAS_CUDA_DEVICE

/* Grid: one cluster. */
template <class number, int sharing, int warps, int rows>
static __global__ void __launch_bounds__(32 * warps, 1)
    leaf_kernel(TD_PARAMETER qr_leaf<number> leaf)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    qr_leaf_of<number, sharing, warps, rows>(leaf);
#endif
}

template <class number> struct shape_kernel {
    qr_shape shape;
    void (*kernel)(qr_leaf<number>);
};

#define SHAPE(sharing, warps, rows)                                                                \
    {                                                                                              \
        {sharing, warps, rows}, leaf_kernel<number, sharing, warps, rows>                          \
    }
enum { KERNELS = 10 };
template <class number>
static const shape_kernel<number> kernels[KERNELS] = {
    SHAPE(4, 8, 1), SHAPE(4, 8, 2), SHAPE(4, 8, 4),  SHAPE(4, 16, 4), SHAPE(2, 8, 1),
    SHAPE(2, 8, 2), SHAPE(2, 8, 4), SHAPE(2, 16, 4), SHAPE(1, 8, 4),  SHAPE(1, 16, 4)};

template <class number> static const shape_kernel<number> *kernel_of(qr_shape shape)
{
    int i = 0;
    while (memcmp(&kernels<number>[i].shape, &shape, sizeof shape) != 0) i++;
    return &kernels<number>[i];
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

template <class number>
static cudaError_t run(const td_qr_panel *panel, int first, cudaStream_t stream)
{
    const qr_leaf<number> leaf = leaf_of<number>(panel, first);
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
    return cudaLaunchKernelEx(&config, kernel_of<number>(shape)->kernel, leaf);
}

template <class number> static cudaError_t prepare(cudaError_t error)
{
    for (const shape_kernel<number> &of : kernels<number>) {
        error = td_load(error, of.kernel);
        if (error == cudaSuccess)
            error =
                cudaFuncSetAttribute(of.kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    }
    return error;
}

#else

/* ---- the same by one block of the host device ---- */

template <class number, int count> TD_DEVICE number halve(number (&x)[count])
{
    for (int half = count / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) x[i] = qr_add(x[i], x[i + half]);
    return x[0];
}

/* The product of the parts of two columns below a row, in the order of qr_order.h. */
template <int lanes, int warps, class number>
TD_DEVICE number product_below(const qr_leaf<number> &leaf, int each, const number *x,
                               const number *y, int row)
{
    number of_blocks[QR_BLOCKS] = {};
    for (int block = 0; block * each * warps * lanes < leaf.rows; block++) {
        number of_warps[warps];
        for (int warp = 0; warp < warps; warp++) {
            number of_lanes[lanes];
            for (int lane = 0; lane < lanes; lane++) {
                number sum = td_number<number>(0.0);
                bool has_any = false;
                for (int r = 0; r < each; r++) {
                    const int i = ((block * each + r) * warps + warp) * lanes + lane;
                    if (i <= row || i >= leaf.rows) continue;
                    sum = qr_plus_product(sum, x[i], y[i]);
                    has_any = has_any || !td_is_zero(x[i]);
                }
                of_lanes[lane] = x == y && has_any ? qr_add(sum, td_number<number>(QR_TRACE)) : sum;
            }
            of_warps[warp] = halve(of_lanes);
        }
        of_blocks[block] = halve(of_warps);
    }
    return halve(of_blocks);
}

template <int sharing, class number>
TD_DEVICE number product_below(const qr_leaf<number> &leaf, const number *x, const number *y,
                               int row)
{
    enum { LANES = 32 / sharing, MOST = QR_MOST_WARPS };
    const qr_shape shape = qr_shape_of(leaf.rows, sharing);
    return shape.warps == MOST ? product_below<LANES, MOST>(leaf, shape.rows, x, y, row)
                               : product_below<LANES, MOST / 2>(leaf, shape.rows, x, y, row);
}

template <class number, int size> struct leaf_shared {
    qr_triangle<number, size> triangle;
    number sum[size];
    int exponent[size];
};

template <class number, int size>
TD_DEVICE void level(const qr_leaf<number> &leaf, leaf_shared<number, size> &shared)
{
    const int c = (int)threadIdx.x;
    number *const own = leaf.a + c * leaf.ld;
    int top = 0;
    for (int i = 0; i < leaf.rows; i++) top = max(top, qr_top(own[i]));
    shared.exponent[c] = qr_exponent(top);
    for (int i = 0; i < leaf.rows; i++) own[i] = td_scaled(own[i], qr_power(-shared.exponent[c]));
}

/* One column's step, of which the thread's own column has its part; false: the column is lifted. */
template <int sharing, class number, int size>
TD_DEVICE bool step(const qr_leaf<number> &leaf, leaf_shared<number, size> &shared, int column)
{
    const int c = (int)threadIdx.x;
    number *const x = leaf.a + column * leaf.ld, *const own = leaf.a + c * leaf.ld;
    const bool is_there = c < leaf.columns;
    if (is_there) shared.sum[c] = product_below<sharing>(leaf, x, own, column);
    __syncthreads();
    const qr_reflector<number> h = qr_reflector_of(x[column], shared.sum[column]);
    __syncthreads();
    if (h.lifts) {
        for (int i = column; i < leaf.rows && c == column; i++)
            x[i] = td_scaled(x[i], qr_power(QR_LIFT));
        if (c == column) shared.exponent[c] -= QR_LIFT;
        __syncthreads();
        return false;
    }
    const number along =
                     is_there ? qr_along(shared.sum[c], h, own[column]) : td_number<number>(0.0),
                 taken = qr_taken(h, along, c > column);
    if (c < column) shared.triangle.product[column][c] = along;
    for (int i = column + 1; i < leaf.rows && c == column; i++) x[i] = td_times(x[i], h.scale);
    __syncthreads();
    for (int i = column + 1; i < leaf.rows && is_there && c > column; i++)
        own[i] = td_minus(own[i], x[i], taken);
    if (is_there && c >= column)
        own[column] = qr_times_power(c == column ? td_number<number>(h.beta)
                                                 : qr_add(own[column], qr_minus(taken)),
                                     shared.exponent[c]);
    if (c == column) shared.triangle.tau[c] = leaf.tau[c] = h.tau;
    return true;
}

/* V, and the leaf's columns of T. */
template <class number, int size>
TD_DEVICE void write(const qr_leaf<number> &leaf, const leaf_shared<number, size> &shared)
{
    enum { T_ROWS = TD_QR_COLUMNS / qr_of<number>::PARTS };
    const int c = (int)threadIdx.x;
    const number zero = td_number<number>(0.0), one = td_number<number>(1.0);
    for (int i = -leaf.first; i < leaf.rows; i++)
        qr_embed(leaf.v, leaf.v_ld, i, c,
                 i < c || c >= leaf.columns ? zero
                 : i == c                   ? one
                                            : leaf.a[i + c * leaf.ld]);
    for (int i = -leaf.first; i < T_ROWS - leaf.first; i++)
        qr_embed(leaf.t, TD_QR_COLUMNS, i, c,
                 i >= 0 && i <= c && c < leaf.columns ? shared.triangle.t[i][c] : zero);
}

/* Grid: one block of a thread for each column. */
template <class number, int sharing>
static __global__ void leaf_kernel(TD_PARAMETER qr_leaf<number> leaf)
{
    typedef leaf_shared<number, sharing * qr_of<number>::SLOTS> shared_memory;
    TD_SHARED(shared_memory, shared, );
    if ((int)threadIdx.x < leaf.columns) level(leaf, shared);
    __syncthreads();
    for (int column = 0; column < leaf.columns;) {
        const bool is_done = step<sharing>(leaf, shared, column);
        __syncthreads();
        if (is_done) qr_make_t(shared.triangle, (int)threadIdx.x, column++);
    }
    __syncthreads();
    write(leaf, shared);
}

bool td_qr_fits(int64_t rows) { return rows <= TD_QR_ROWS; }

template <class number>
static cudaError_t run(const td_qr_panel *panel, int first, cudaStream_t stream)
{
    const qr_leaf<number> leaf = leaf_of<number>(panel, first);
    const dim3 threads((unsigned)td_qr_leaf(panel));
    switch (qr_sharing(panel->rows)) {
    case 4:
        return TD_LAUNCH((leaf_kernel<number, 4>), dim3(1), threads, 0, stream, leaf);
    case 2:
        return TD_LAUNCH((leaf_kernel<number, 2>), dim3(1), threads, 0, stream, leaf);
    default:
        return TD_LAUNCH((leaf_kernel<number, 1>), dim3(1), threads, 0, stream, leaf);
    }
}

template <class number> static cudaError_t prepare(cudaError_t error)
{
    return td_load(error, leaf_kernel<number, 4>, leaf_kernel<number, 2>, leaf_kernel<number, 1>);
}

#endif

cudaError_t td_qr_leaf_run(const td_qr_panel *panel, int first, cudaStream_t stream)
{
    return panel->is_complex ? run<complex>(panel, first, stream)
                             : run<double>(panel, first, stream);
}

cudaError_t td_qr_prepare_leaves(void) { return prepare<complex>(prepare<double>(cudaSuccess)); }
