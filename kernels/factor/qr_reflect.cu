/* qr_reflect.cu - what a leaf does to the other columns of its panel, by the whole device: W = V'A
 * for the columns behind it, and V'V for those before it, in pieces of rows; sums of the pieces,
 * W = T'W; then A -= V W, and T's rows above the leaf's. On the tensor cores or not, each element
 * is a chain of fused multiply-adds over ascending rows or columns. All matrices are real ones
 * here: those of complex columns have their parts, and V and T are embedded (qr.h). */
#include "qr.h"

#include "../arithmetic/float32.h"
#include "../device/async_copy.h"
#include "../device/dmma.h"
#include "qr_order.h"

enum {
    WARPS = 8,
    THREADS = 32 * WARPS,
    OF_WARP = 32, /* rows that are one chain in V'A */
    PIECE = WARPS * OF_WARP,
    STRIP = WARPS * 16, /* rows of a block in A -= V W */
    BLOCKS = 264        /* of a kernel, if there is work for so many: two on each multiprocessor */
};

/* Others of a step: a thread of the block has one element of V'A. */
template <int leaf> static constexpr int STEP = THREADS / leaf;

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

/* A column of V or A that the leaf's reflectors meet, from the leaf's first row on. */
TD_DEVICE const double *other_of(const reflection &of, int other)
{
    return other < of.first ? of.v + other * of.v_ld : of.a + (other - of.first) * of.ld;
}

TD_HOST_DEVICE int others_of(const reflection &of) { return of.first + of.behind; }

/* ---- W = V'A ---- */

#if TD_HAS_CUDA_DEVICE

/* A warp's rows of V, from `row` on, and of a step's others, as td_multiply64 has them. */
template <int leaf> struct warp_rows {
    enum { DEPTH = OF_WARP / 8, OTHERS = STEP<leaf> / 8, TILES = (leaf + 15) / 16 };
    double v[DEPTH][TILES][4], x[DEPTH][OTHERS][2];
    int row;

    TD_INSIDE static int at() { return (int)threadIdx.x % 4; }
    TD_INSIDE static int quad() { return (int)threadIdx.x % 32 / 4; }

    TD_INSIDE double element(const reflection &of, const double *column, int k) const
    {
        return row + k < of.rows ? column[row + k] : 0.0;
    }
    TD_INSIDE void begin(const reflection &of, int first)
    {
        row = first + at();
        TD_UNROLL
        for (int i = 0; i < 2 * TILES; i++) {
            const double *const column = of.v + (of.first + i * 8 + quad()) * of.v_ld;
            TD_UNROLL
            for (int k = 0; k < OF_WARP; k += 4)
                v[k / 8][i / 2][k % 8 / 2 + i % 2] = i < leaf / 8 ? element(of, column, k) : 0.0;
        }
    }
    TD_INSIDE void load(const reflection &of, int other, int count)
    {
        TD_UNROLL
        for (int n = 0; n < OTHERS; n++) {
            const double *const column = other_of(of, min(other + n * 8 + quad(), count - 1));
            TD_UNROLL
            for (int k = 0; k < OF_WARP; k += 4) x[k / 8][n][k % 8 / 4] = element(of, column, k);
        }
    }
    TD_INSIDE void multiply(double (&sum)[STEP<leaf>][leaf + 2]) const
    {
        double c[TILES][OTHERS][4] = {};
        TD_UNROLL
        for (int k = 0; k < DEPTH; k++) TD_UNROLL
        for (int i = 0; i < TILES; i++) TD_UNROLL
        for (int n = 0; n < OTHERS; n++) td_multiply64(c[i][n], v[k][i], x[k][n]);
        TD_UNROLL
        for (int i = 0; i < TILES; i++) TD_UNROLL
        for (int n = 0; n < OTHERS; n++) TD_UNROLL
        for (int q = 0; q < min(4, leaf / 4); q++)
            sum[n * 8 + 2 * at() + q % 2][i * 16 + q / 2 * 8 + quad()] = c[i][n][q];
    }
};

#else

/* The warp's lanes have every 32nd element each. */
template <int leaf> struct warp_rows {
    const reflection *all;
    int row, other, last;

    void begin(const reflection &of, int first) { all = &of, row = first; }
    void load(const reflection &, int first, int count) { other = first, last = count - 1; }
    void multiply(double (&sum)[STEP<leaf>][leaf + 2]) const
    {
        for (int e = (int)threadIdx.x % 32; e < leaf * STEP<leaf>; e += 32) {
            const double *const v = all->v + (all->first + e % leaf) * all->v_ld,
                                *const x = other_of(*all, min(other + e / leaf, last));
            double s = 0.0;
            for (int i = row; i < min(row + OF_WARP, all->rows); i++) s = td_fma64(v[i], x[i], s);
            sum[e / leaf][e % leaf] = s;
        }
    }
};

#endif

/* Grid: `width` others, in steps, by PIECE rows each. While the block adds what its warps have of a
 * step, the next one's elements are on their way. Sums have columns of leaf + 2 numbers, so that
 * they lie in different banks of shared memory. */
template <int leaf>
static __global__ void __launch_bounds__(THREADS, 2)
    multiply_kernel(TD_PARAMETER reflection of, int width)
{
    td_begin_kernel();
    TD_SHARED(double, sums, [2][WARPS][STEP<leaf>][leaf + 2]);
    const int warp = (int)threadIdx.x / 32, own = (int)threadIdx.x / leaf,
              column = (int)threadIdx.x % leaf, count = others_of(of),
              first = (int)blockIdx.x * width, end = min(first + width, count);
    double *const to = of.pieces + (int64_t)blockIdx.y * count * leaf + column;
    warp_rows<leaf> rows;
    rows.begin(of, (int)blockIdx.y * PIECE + warp * OF_WARP);
    rows.load(of, first, count);
    TD_ROLLED
    for (int other = first, turn = 0; other < end; other += STEP<leaf>, turn ^= 1) {
        rows.multiply(sums[turn][warp]);
        if (other + STEP<leaf> < end) rows.load(of, other + STEP<leaf>, count);
        __syncthreads();
        double x[WARPS];
        TD_UNROLL
        for (int i = 0; i < WARPS; i++) x[i] = sums[turn][i][own][column];
        TD_UNROLL
        for (int half = WARPS / 2; half > 0; half /= 2) TD_UNROLL
        for (int i = 0; i < half; i++) x[i] = td_add64(x[i], x[i + half]);
        if (other + own < end) to[(int64_t)(other + own) * leaf] = x[0];
    }
}

/* ---- sums of the pieces ---- */

enum { ADDED = 2 }; /* others of a block */

/* What the block reads of them, all at a time; T's columns lie in different banks. */
template <int leaf> struct added_shared {
    enum { PIECES = 2 * TD_QR_ROWS / PIECE * 8 / leaf, NUMBERS = ADDED * leaf, LD = leaf + 2 };
    alignas(16) double of[PIECES][NUMBERS], t[leaf][LD];
    double sum[ADDED][leaf];
};
static_assert((int)QR_WIDE_ROWS <= (int)TD_QR_ROWS / 32 * 8 &&
                  (int)QR_MEDIUM_ROWS <= (int)TD_QR_ROWS / 16 * 8,
              "leaves of 32 or 16 have more rows");

/* `numbers` are there of each piece: others may end within the block. */
template <int leaf>
TD_DEVICE void fetch(const reflection &of, added_shared<leaf> &shared, int pieces, int other,
                     int numbers)
{
    typedef added_shared<leaf> shape;
    const double *const from = of.pieces + (int64_t)other * leaf, *const t =
                                                                      of.t + of.first +
                                                                      of.first * TD_QR_COLUMNS;
    for (int e = 2 * (int)threadIdx.x; e < pieces * shape::NUMBERS; e += 2 * THREADS) {
        const int piece = e / shape::NUMBERS, number = e % shape::NUMBERS;
        if (number < numbers)
            td_async_copy16(&shared.of[piece][number],
                            from + (int64_t)piece * others_of(of) * leaf + number);
    }
    for (int e = 2 * (int)threadIdx.x; e < leaf * leaf; e += 2 * THREADS)
        td_async_copy16(&shared.t[e / leaf][e % leaf], t + e % leaf + e / leaf * TD_QR_COLUMNS);
    td_async_copy_commit();
    td_async_copy_wait<0>();
    __syncthreads();
}

/* Grid: ADDED others each. Products of V go to their place beside T; others become W = T'W. */
template <int leaf>
static __global__ void __launch_bounds__(THREADS) add_kernel(TD_PARAMETER reflection of, int pieces)
{
    td_begin_kernel();
    typedef added_shared<leaf> shared_memory;
    TD_SHARED(shared_memory, shared, );
    const int at = (int)threadIdx.x / leaf, column = (int)threadIdx.x % leaf,
              first = (int)blockIdx.x * ADDED, other = first + at,
              there = min((int)ADDED, others_of(of) - first);
    fetch(of, shared, pieces, first, there * leaf);
    double sum = 0.0;
    if (at < there) {
        TD_UNROLL_N(16)
        for (int i = 0; i < pieces; i++) sum = td_add64(sum, shared.of[i][threadIdx.x]);
        shared.sum[at][column] = sum;
    }
    __syncthreads();
    if (at >= there) return;
    if (other < of.first) {
        of.products[other + (of.first + column) * TD_QR_COLUMNS] = sum;
        return;
    }
    double w = 0.0;
    TD_UNROLL_N(8)
    for (int l = 0; l <= (column | of.odd); l++)
        w = td_fma64(shared.t[column][l], shared.sum[at][l], w);
    of.w[other * leaf + column] = w;
}

/* ---- A -= V W, and T ---- */

#if TD_HAS_CUDA_DEVICE

/* 16 rows of a step's columns of A, from `row` on, as td_multiply64 has them. */
template <int leaf> struct tile {
    enum { OTHERS = STEP<leaf> / 8 };
    double c[OTHERS][4];

    TD_INSIDE static int row_of(int q) { return (int)threadIdx.x % 32 / 4 + q / 2 * 8; }
    TD_INSIDE static int column_of(int n, int q)
    {
        return n * 8 + 2 * ((int)threadIdx.x % 4) + q % 2;
    }
    TD_INSIDE void load(const reflection &of, int row, int column, int count)
    {
        TD_UNROLL
        for (int n = 0; n < tile<leaf>::OTHERS; n++) TD_UNROLL
        for (int q = 0; q < 4; q++)
            c[n][q] = of.a[min(row + row_of(q), of.rows - 1) +
                           min(column + column_of(n, q), count - 1) * of.ld];
    }
    TD_INSIDE void store(const reflection &of, int row, int column, int count) const
    {
        TD_UNROLL
        for (int n = 0; n < tile<leaf>::OTHERS; n++) TD_UNROLL
        for (int q = 0; q < 4; q++)
            if (row + row_of(q) < of.rows && column + column_of(n, q) < count)
                of.a[row + row_of(q) + (column + column_of(n, q)) * of.ld] = c[n][q];
    }
};

/* Columns first..end - 1 of those behind the leaf, in the strip's rows. While a tile is made the
 * next one is on its way. */
template <int leaf> TD_DEVICE void take_off(const reflection &of, int strip, int first, int end)
{
    const int quad = (int)threadIdx.x % 32 / 4, at = (int)threadIdx.x % 4,
              row = strip + (int)threadIdx.x / 32 * 16;
    double v[leaf / 8][4];
    TD_UNROLL
    for (int k = 0; k < leaf / 8; k++) TD_UNROLL
    for (int q = 0; q < 4; q++)
        v[k][q] = of.v[min(row + quad + q % 2 * 8, of.rows - 1) +
                       (of.first + k * 8 + q / 2 * 4 + at) * of.v_ld];
    tile<leaf> next;
    next.load(of, row, first, of.behind);
    TD_ROLLED
    for (int column = first; column < end; column += STEP<leaf>) {
        tile<leaf> own = next;
        if (column + STEP<leaf> < end) next.load(of, row, column + STEP<leaf>, of.behind);
        TD_UNROLL
        for (int n = 0; n < tile<leaf>::OTHERS; n++) {
            const double *const w =
                of.w + (of.first + min(column + n * 8 + quad, of.behind - 1)) * leaf + at;
            TD_UNROLL
            for (int k = 0; k < leaf / 8; k++)
                td_multiply64(own.c[n], v[k], {-w[k * 8], -w[k * 8 + 4]});
        }
        own.store(of, row, column, end);
    }
}

#else

template <int leaf> TD_DEVICE void take_off(const reflection &of, int strip, int first, int end)
{
    for (int e = (int)threadIdx.x; e < STRIP * (end - first); e += THREADS) {
        const int row = strip + e % STRIP, column = first + e / STRIP;
        if (row >= of.rows) continue;
        double *const a = of.a + row + column * of.ld;
        for (int k = 0; k < leaf; k++)
            *a = td_fma64(of.v[row + (of.first + k) * of.v_ld],
                          -of.w[(of.first + column) * leaf + k], *a);
    }
}

#endif

/* sum + a[0] b[0] + ..., of which numbers from..to - 1 of the first `most` count; the others are
 * replaced by what changes no sum. a's numbers are in memory, `step` apart, and all are read at a
 * time: all lanes meet behind that, as the compiler would else read most of them one after the
 * other. */
template <int most>
TD_DEVICE double chain(double sum, const double *a, int64_t step, const double *b, int from, int to)
{
    double x[most];
    TD_UNROLL
    for (int l = 0; l < most; l++) x[l] = a[l * step];
    __syncwarp();
    TD_UNROLL
    for (int l = 0; l < most; l++) {
        const bool counts = from <= l && l < to;
        sum = td_fma64(counts ? x[l] : -0.0, counts ? b[l] : 1.0, sum);
    }
    return sum;
}

/* The leaf's column of T: above the leaf's own part it is -T (V'V T), of what stands before the
 * leaf and the leaf's. Threads that have no row do the last one's work. */
template <int leaf> TD_DEVICE void extend(const reflection &of, int column)
{
    TD_SHARED(double, own, [leaf]);
    TD_SHARED(double, y, [TD_QR_COLUMNS]);
    const int thread = (int)threadIdx.x, row = min(thread, of.first - 1);
    double *const to = of.t + (of.first + column) * TD_QR_COLUMNS;
    if (thread < leaf) own[thread] = to[of.first + thread];
    __syncthreads();
    y[row] = chain<leaf>(0.0, of.products + row + of.first * TD_QR_COLUMNS, TD_QR_COLUMNS, own, 0,
                         (column | of.odd) + 1);
    __syncthreads();
    double sum = 0.0;
    TD_ROLLED
    for (int l = row / 32 * 32; l < of.first; l += leaf)
        sum = chain<leaf>(sum, of.t + row + l * TD_QR_COLUMNS, TD_QR_COLUMNS, y + l,
                          (row & ~of.odd) - l, leaf);
    if (thread < of.first) to[row] = -sum;
}

/* Grid: the leaf's columns, if `columns` says how many T has rows above, then `width` columns of A,
 * in steps, by STRIP rows each. */
template <int leaf>
static __global__ void __launch_bounds__(THREADS, 2)
    take_off_kernel(TD_PARAMETER reflection of, int columns, int strips, int width)
{
    td_begin_kernel();
    const int block = (int)blockIdx.x - columns;
    if (block < 0)
        extend<leaf>(of, (int)blockIdx.x);
    else
        take_off<leaf>(of, block % strips * STRIP, block / strips * width,
                       min((block / strips + 1) * width, of.behind));
}

/* Grid: the leaf's columns. */
static __global__ void __launch_bounds__(THREADS) extend_kernel(TD_PARAMETER reflection of)
{
    td_begin_kernel();
    extend<QR_MOST_LEAF>(of, (int)blockIdx.x);
}

/* ---- launches ---- */

/* How so many columns are shared by blocks, of which there are `blocks` for each share: columns of
 * one share, whole steps. */
static int width_of(int columns, int step, int blocks)
{
    const int steps = (columns + step - 1) / step, shares = max(1, min(steps, BLOCKS / blocks));
    return max(1, (steps + shares - 1) / shares) * step;
}

static int shares_of(int columns, int width) { return (columns + width - 1) / width; }

template <int leaf> static cudaError_t reflect(const reflection &of, cudaStream_t stream)
{
    const int others = others_of(of), pieces = pieces_of(of.rows),
              strips = (of.rows + STRIP - 1) / STRIP, columns = of.first > 0 ? of.columns : 0,
              width = width_of(others, STEP<leaf>, pieces),
              width_of_a = width_of(of.behind, STEP<leaf>, strips);
    if (others == 0) return cudaSuccess;
    cudaError_t error = TD_LAUNCH_NEXT(multiply_kernel<leaf>,
                                       dim3((unsigned)shares_of(others, width), (unsigned)pieces),
                                       dim3(THREADS), 0, stream, of, width);
    if (error != cudaSuccess) return error;
    error = TD_LAUNCH_NEXT(add_kernel<leaf>, dim3((unsigned)((others + ADDED - 1) / ADDED)),
                           dim3(THREADS), 0, stream, of, pieces);
    if (error != cudaSuccess) return error;
    return TD_LAUNCH_NEXT(take_off_kernel<leaf>,
                          dim3((unsigned)(columns + shares_of(of.behind, width_of_a) * strips)),
                          dim3(THREADS), 0, stream, of, columns, strips, width_of_a);
}

cudaError_t td_qr_reflect_run(const td_qr_panel *panel, int first, cudaStream_t stream)
{
    const reflection of = reflection_of(panel, first);
    switch (qr_sharing(panel->rows)) {
    case 4:
        return reflect<32>(of, stream);
    case 2:
        return reflect<16>(of, stream);
    default:
        return reflect<8>(of, stream);
    }
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
        td_load(cudaSuccess, multiply_kernel<32>, multiply_kernel<16>, multiply_kernel<8>,
                add_kernel<32>, add_kernel<16>, add_kernel<8>, take_off_kernel<32>,
                take_off_kernel<16>, take_off_kernel<8>, extend_kernel);
    if (error == cudaSuccess) error = td_qr_prepare_leaves();
    return error == cudaSuccess ? td_qr_prepare_taking() : error;
}
