/* qr_reflect.cu - what a leaf does to the other columns of its panel, by the whole device: W = V'A
 * for the columns behind it, and V'V for those before it, in pieces of rows; sums of the pieces,
 * W = T'W; then A -= V W, and T's rows above the leaf's. On the tensor cores or not, each element
 * is a chain of fused multiply-adds over ascending rows or columns. All matrices are real ones
 * here: those of complex columns have their parts, and V and T are embedded (qr.h). */
#include "qr.h"

#include "../arithmetic/float32.h"
#include "../device/dmma.h"
#include "qr_order.h"

enum {
    GROUP = 16, /* columns of a block's product */
    WARPS = 8,
    THREADS = 32 * WARPS,
    OF_WARP = 32, /* rows that are one chain in V'A */
    PIECE = WARPS * OF_WARP,
    STRIP = 256 /* rows of a block in A -= V W */
};

/* A leaf and its panel. Columns of V before the leaf, `first` of them, and then those of A behind
 * it are the "others". */
typedef struct {
    double *a, *v, *t, *products; /* A's columns behind the leaf; A and V from its first row on */
    int64_t ld, v_ld;
    int rows, columns, first, behind; /* rows from the leaf's first one on; columns of the leaf */
    int odd;                          /* 1 if T is one of blocks of 2 x 2, else 0 */
    double *pieces, *w; /* [piece][other][column of the leaf], [other][column of the leaf] */
} reflection;

static int pieces_of(int64_t rows) { return (int)((rows + PIECE - 1) / PIECE); }

/* ---- memory ---- */

/* V, T, and V'V above T's diagonal blocks; pieces and W. */
static int64_t real_rows(int64_t rows, bool is_complex) { return is_complex ? 2 * rows : rows; }

static int64_t ld_of(int64_t rows) { return (rows + 15) / 16 * 16; }

int64_t td_qr_ld(const td_qr_panel *p) { return ld_of(real_rows(p->rows, p->is_complex)); }

enum { SQUARE = TD_QR_COLUMNS * TD_QR_COLUMNS };

size_t td_qr_work_bytes(int64_t rows, bool is_complex)
{
    return (size_t)(ld_of(real_rows(rows, is_complex)) * TD_QR_COLUMNS + 2 * SQUARE) *
           sizeof(double);
}

size_t td_qr_shared_work_bytes(int64_t rows, bool is_complex)
{
    return (size_t)(pieces_of(real_rows(rows, is_complex)) + 1) * TD_QR_COLUMNS * QR_MOST_LEAF *
           sizeof(double);
}

double *td_qr_t(const td_qr_panel *p) { return static_cast<double *>(p->work); }
double *td_qr_products(const td_qr_panel *p) { return td_qr_t(p) + SQUARE; }
double *td_qr_v(const td_qr_panel *p) { return td_qr_t(p) + 2 * SQUARE; }

static reflection reflection_of(const td_qr_panel *p, int first)
{
    double *const shared = static_cast<double *>(p->shared_work);
    const int parts = p->is_complex ? 2 : 1, leaf = td_qr_leaf(p);
    const int64_t ld = parts * p->ld;
    return {.a = static_cast<double *>(p->a) + parts * first + (first + leaf) * ld,
            .v = td_qr_v(p) + parts * first,
            .t = td_qr_t(p),
            .products = td_qr_products(p),
            .ld = ld,
            .v_ld = td_qr_ld(p),
            .rows = (int)(parts * (p->rows - first)),
            .columns = parts * min(leaf, p->columns - first),
            .first = parts * first,
            .behind = max(0, p->columns - first - leaf),
            .odd = parts - 1,
            .pieces = shared + TD_QR_COLUMNS * QR_MOST_LEAF,
            .w = shared};
}

/* The other column of that number, from the leaf's first row on. */
TD_DEVICE const double *other_of(const reflection &of, int other)
{
    return other < of.first ? of.v + other * of.v_ld : of.a + (other - of.first) * of.ld;
}

TD_HOST_DEVICE int others_of(const reflection &of) { return of.first + of.behind; }

/* ---- W = V'A ---- */

#if TD_HAS_CUDA_DEVICE

/* A warp's product of its rows from `row` on, for GROUP others from `other` on. */
template <int leaf>
TD_DEVICE void multiply_rows(const reflection &of, int row, int other, int count,
                             double (&sum)[leaf][GROUP])
{
    const int lane = (int)threadIdx.x % 32, quad = lane / 4, at = lane % 4;
    const double *v[leaf / 8], *x[GROUP / 8];
    double c[leaf / 16][GROUP / 8][4] = {};
    TD_UNROLL
    for (int i = 0; i < leaf / 8; i++) v[i] = of.v + (of.first + i * 8 + quad) * of.v_ld + row + at;
    TD_UNROLL
    for (int i = 0; i < GROUP / 8; i++)
        x[i] = other_of(of, min(other + i * 8 + quad, count - 1)) + row + at;
    TD_UNROLL
    for (int k = 0; k < OF_WARP; k += 8) {
        const bool has_one = row + k + at < of.rows, has_two = row + k + at + 4 < of.rows;
        double a[leaf / 16][4], b[GROUP / 8][2];
        TD_UNROLL
        for (int i = 0; i < leaf / 8; i++) {
            a[i / 2][i % 2] = has_one ? v[i][k] : 0.0;
            a[i / 2][i % 2 + 2] = has_two ? v[i][k + 4] : 0.0;
        }
        TD_UNROLL
        for (int i = 0; i < GROUP / 8; i++) {
            b[i][0] = has_one ? x[i][k] : 0.0;
            b[i][1] = has_two ? x[i][k + 4] : 0.0;
        }
        TD_UNROLL
        for (int i = 0; i < leaf / 16; i++) TD_UNROLL
        for (int n = 0; n < GROUP / 8; n++) td_multiply64(c[i][n], a[i], b[n]);
    }
    TD_UNROLL
    for (int i = 0; i < leaf / 16; i++) TD_UNROLL
    for (int n = 0; n < GROUP / 8; n++) TD_UNROLL
    for (int q = 0; q < 4; q++) sum[i * 16 + q / 2 * 8 + quad][n * 8 + 2 * at + q % 2] = c[i][n][q];
}

#else

/* The warp's lanes have every 32nd element each. */
template <int leaf>
TD_DEVICE void multiply_rows(const reflection &of, int row, int other, int count,
                             double (&sum)[leaf][GROUP])
{
    for (int e = (int)threadIdx.x % 32; e < leaf * GROUP; e += 32) {
        const double *const v = of.v + (of.first + e / GROUP) * of.v_ld, *const x = other_of(
                                                                             of,
                                                                             min(other + e % GROUP,
                                                                                 count - 1));
        double s = 0.0;
        for (int i = row; i < min(row + OF_WARP, of.rows); i++) s = td_fma64(v[i], x[i], s);
        sum[e / GROUP][e % GROUP] = s;
    }
}

#endif

/* Grid: GROUP others by PIECE rows each. */
template <int leaf>
static __global__ void __launch_bounds__(THREADS) multiply_kernel(TD_PARAMETER reflection of)
{
    td_begin_kernel();
    TD_SHARED(double, sum, [WARPS][leaf][GROUP]);
    const int warp = (int)threadIdx.x / 32, count = others_of(of), other = (int)blockIdx.x * GROUP;
    multiply_rows<leaf>(of, (int)blockIdx.y * PIECE + warp * OF_WARP, other, count, sum[warp]);
    __syncthreads();
    for (int e = (int)threadIdx.x; e < leaf * GROUP; e += THREADS) {
        const int column = e % leaf, at = e / leaf;
        double x[WARPS];
        TD_UNROLL
        for (int i = 0; i < WARPS; i++) x[i] = sum[i][column][at];
        TD_UNROLL
        for (int half = WARPS / 2; half > 0; half /= 2) TD_UNROLL
        for (int i = 0; i < half; i++) x[i] = td_add64(x[i], x[i + half]);
        if (other + at < count)
            of.pieces[((int64_t)blockIdx.y * count + other + at) * leaf + column] = x[0];
    }
}

/* ---- sums of the pieces ---- */

enum { ADDED = 4 }; /* others of a block */

/* Grid: ADDED others each. Products of V go to their place beside T; others become W = T'W. */
template <int leaf>
static __global__ void __launch_bounds__(leaf *ADDED)
    add_kernel(TD_PARAMETER reflection of, int pieces)
{
    td_begin_kernel();
    TD_SHARED(double, shared, [ADDED][leaf]);
    const int count = others_of(of), at = (int)threadIdx.x / leaf, column = (int)threadIdx.x % leaf,
              other = (int)blockIdx.x * ADDED + at;
    double sum = 0.0;
    if (other < count) {
        const double *piece = of.pieces + (int64_t)other * leaf + column;
        TD_UNROLL_N(8)
        for (int i = 0; i < pieces; i++) sum = td_add64(sum, piece[(int64_t)i * count * leaf]);
    }
    shared[at][column] = sum;
    __syncthreads();
    if (other < of.first)
        of.products[other + (of.first + column) * TD_QR_COLUMNS] = sum;
    else if (other < count) {
        const double *const t = of.t + of.first + (of.first + column) * TD_QR_COLUMNS;
        double w = 0.0;
        for (int l = 0; l <= (column | of.odd); l++) w = td_fma64(t[l], shared[at][l], w);
        of.w[other * leaf + column] = w;
    }
}

/* ---- A -= V W, and T ---- */

#if TD_HAS_CUDA_DEVICE

/* A warp has every WARPS'th 16 rows of the strip. */
template <int leaf>
TD_DEVICE void take_off(const reflection &of, int first_row, int other, int count)
{
    const int lane = (int)threadIdx.x % 32, quad = lane / 4, at = lane % 4;
    double b[leaf / 8][GROUP / 8][2];
    TD_UNROLL
    for (int k = 0; k < leaf / 8; k++) TD_UNROLL
    for (int n = 0; n < GROUP / 8; n++) {
        const double *const w = of.w + min(other + n * 8 + quad, count - 1) * leaf + k * 8 + at;
        b[k][n][0] = -w[0], b[k][n][1] = -w[4];
    }
    for (int i = (int)threadIdx.x / 32 * 16; i < STRIP; i += WARPS * 16) {
        const int row = first_row + i + quad, rows[2] = {row, row + 8};
        double a[leaf / 8][4], c[GROUP / 8][4];
        TD_UNROLL
        for (int k = 0; k < leaf / 8; k++) TD_UNROLL
        for (int q = 0; q < 4; q++)
            a[k][q] =
                of.v[min(rows[q % 2], of.rows - 1) + (of.first + k * 8 + q / 2 * 4 + at) * of.v_ld];
        TD_UNROLL
        for (int n = 0; n < GROUP / 8; n++) TD_UNROLL
        for (int q = 0; q < 4; q++) {
            const int to = other + n * 8 + 2 * at + q % 2;
            c[n][q] = of.a[min(rows[q / 2], of.rows - 1) + (min(to, count - 1) - of.first) * of.ld];
        }
        TD_UNROLL
        for (int k = 0; k < leaf / 8; k++) TD_UNROLL
        for (int n = 0; n < GROUP / 8; n++) td_multiply64(c[n], a[k], b[k][n]);
        TD_UNROLL
        for (int n = 0; n < GROUP / 8; n++) TD_UNROLL
        for (int q = 0; q < 4; q++) {
            const int to = other + n * 8 + 2 * at + q % 2;
            if (rows[q / 2] < of.rows && to < count)
                of.a[rows[q / 2] + (to - of.first) * of.ld] = c[n][q];
        }
    }
}

#else

template <int leaf>
TD_DEVICE void take_off(const reflection &of, int first_row, int other, int count)
{
    for (int e = (int)threadIdx.x; e < STRIP * GROUP; e += THREADS) {
        const int row = first_row + e % STRIP, to = other + e / STRIP;
        if (row >= of.rows || to >= count) continue;
        double *const a = of.a + row + (to - of.first) * of.ld;
        for (int k = 0; k < leaf; k++)
            *a = td_fma64(of.v[row + (of.first + k) * of.v_ld], -of.w[to * leaf + k], *a);
    }
}

#endif

/* The leaf's column of T: above the leaf's own part it is -T (V'V T), of what stands before the
 * leaf and the leaf's. */
template <int leaf> TD_DEVICE void extend(const reflection &of, int column)
{
    TD_SHARED(double, y, [TD_QR_COLUMNS]);
    const int row = (int)threadIdx.x;
    double *const to = of.t + (of.first + column) * TD_QR_COLUMNS;
    double sum = 0.0;
    if (row < of.first)
        for (int l = 0; l <= (column | of.odd); l++)
            sum =
                td_fma64(of.products[row + (of.first + l) * TD_QR_COLUMNS], to[of.first + l], sum);
    if (row < of.first) y[row] = sum;
    __syncthreads();
    sum = 0.0;
    if (row >= of.first) return;
    TD_UNROLL_N(8)
    for (int l = row & ~of.odd; l < of.first; l++)
        sum = td_fma64(of.t[row + l * TD_QR_COLUMNS], y[l], sum);
    to[row] = -sum;
}

/* Grid: GROUP others behind the leaf by STRIP rows each, then the leaf's columns. */
template <int leaf>
static __global__ void __launch_bounds__(THREADS)
    take_off_kernel(TD_PARAMETER reflection of, int groups, int strips)
{
    td_begin_kernel();
    const int block = (int)blockIdx.x, count = others_of(of);
    if (block < groups * strips)
        take_off<leaf>(of, block / groups * STRIP, of.first + block % groups * GROUP, count);
    else
        extend<leaf>(of, block - groups * strips);
}

/* Grid: the leaf's columns. */
static __global__ void __launch_bounds__(THREADS) extend_kernel(TD_PARAMETER reflection of)
{
    td_begin_kernel();
    extend<QR_MOST_LEAF>(of, (int)blockIdx.x);
}

/* ---- launches ---- */

template <int leaf> static cudaError_t reflect(const reflection &of, cudaStream_t stream)
{
    const int others = others_of(of), pieces = pieces_of(of.rows),
              groups = (of.behind + GROUP - 1) / GROUP, strips = (of.rows + STRIP - 1) / STRIP,
              columns = of.first > 0 ? of.columns : 0;
    if (others == 0) return cudaSuccess;
    cudaError_t error = TD_LAUNCH_NEXT(
        multiply_kernel<leaf>, dim3((unsigned)((others + GROUP - 1) / GROUP), (unsigned)pieces),
        dim3(THREADS), 0, stream, of);
    if (error != cudaSuccess) return error;
    error = TD_LAUNCH_NEXT(add_kernel<leaf>, dim3((unsigned)((others + ADDED - 1) / ADDED)),
                           dim3(leaf * ADDED), 0, stream, of, pieces);
    if (error != cudaSuccess) return error;
    return TD_LAUNCH_NEXT(take_off_kernel<leaf>, dim3((unsigned)(groups * strips + columns)),
                          dim3(THREADS), 0, stream, of, groups, strips);
}

cudaError_t td_qr_reflect_run(const td_qr_panel *panel, int first, cudaStream_t stream)
{
    const reflection of = reflection_of(panel, first);
    return qr_sharing(panel->rows) == 4 ? reflect<32>(of, stream) : reflect<16>(of, stream);
}

cudaError_t td_qr_extend_run(const td_qr_panel *panel, int first, cudaStream_t stream)
{
    reflection of = reflection_of(panel, first);
    of.columns = min((int)QR_MOST_LEAF, (panel->is_complex ? 2 : 1) * (panel->columns - first));
    return TD_LAUNCH_NEXT(extend_kernel, dim3((unsigned)of.columns), dim3(THREADS), 0, stream, of);
}

cudaError_t td_qr_prepare(void)
{
    cudaError_t error =
        td_load(cudaSuccess, multiply_kernel<32>, multiply_kernel<16>, add_kernel<32>,
                add_kernel<16>, take_off_kernel<32>, take_off_kernel<16>, extend_kernel);
    if (error == cudaSuccess) error = td_qr_prepare_leaves();
    return error == cudaSuccess ? td_qr_prepare_taking() : error;
}
