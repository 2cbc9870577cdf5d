/* lu_cluster.cu - a panel's LU factors by one cluster of blocks: see lu_cluster.h. The panel is cut
 * into leaves of columns that registers hold. Before a leaf, all that is left of it are products
 * with the leaves before (lu_cluster_products.h); then its columns are eliminated one after another
 * (lu_cluster_step.h). Nothing moves in memory until the panel is done: then its rows go to their
 * places, as those of all other columns do. */
#include "lu_cluster.h"

#include "lu_cluster_products.h"

/* What a panel leaves for other columns. Rows count from the panel's first. */
template <class number, int most> struct triangle_and_order {
    number lower[most * most]; /* L's triangle, by columns */
    int source[most];          /* where the row of each of the first places comes from */
    int target[most];          /* where each of the first rows goes */
};
template <class number> struct panel_of {
    enum {
        MOST =
            td_is_complex<number>::value ? (int)TD_CLUSTER_COMPLEX_COLUMNS : (int)TD_CLUSTER_COLUMNS
    };
};
template <class number> using row_order = triangle_and_order<number, panel_of<number>::MOST>;

size_t td_cluster_order_bytes(bool is_complex)
{
    return is_complex ? sizeof(row_order<td_complex<double>>) : sizeof(row_order<double>);
}

#if TD_HAS_CUDA_DEVICE

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

template <class number, int threads, int rows, int leaf> struct panel_shared_memory {
    step_shared<number, threads, rows, leaf> steps;
    product_shared<number, threads, leaf> products;
};

/* Returns shared memory by an address that is kept in a register. The compiler would make it again
 * from the block's number in its cluster wherever a step needs it, and wait for that. */
TD_DEVICE void *pinned_shared(void *memory)
{
    uint32_t address = td_shared_address(memory);
    td_pin(address);
    return __cvta_shared_to_generic(address);
}

/* ---- a leaf ---- */

/* The first leaf of a panel: nothing is to be taken away. */
template <class number, int threads, int rows, int leaf>
TD_DEVICE void load_leaf(step_state<number, threads, rows, leaf> &s, int columns)
{
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const int row = s.base + r * threads + (int)threadIdx.x;
        TD_UNROLL
        for (int c = 0; c < leaf; c++)
            s.a[r][c] = row < s.panel.rows && c < columns
                            ? static_cast<const number *>(s.panel.a)[row + c * s.panel.ld]
                            : td_number<number>(0.0);
    }
}

/* Eliminates `count` columns of a leaf from `column` on, of which at most `live` are left, and
 * `last` after them; 0: a new leaf comes then. */
template <int live, int last, class number, int threads, int rows, int leaf>
TD_DEVICE void eliminate(step_state<number, threads, rows, leaf> &s, int first, int column,
                         int count)
{
    TD_ROLLED
    for (int j = 0; j < count; j++)
        step<live>(s, first, column + j, j < live - last - 1 ? live : last > 0 ? last : leaf);
}

/* Copies what the leaf's pivots have to the left of the diagonal, and the leaf, to the triangle. */
template <class number, int threads, int rows, int leaf>
TD_DEVICE void keep_lower(const step_state<number, threads, rows, leaf> &s, number *lower,
                          int first, int end)
{
    const int lane = (int)threadIdx.x % 32;
    __syncwarp();
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const int place = s.place[r];
        for (unsigned left = __ballot_sync(~0u, place >= first && place < end); left;
             left &= left - 1) {
            const int of = __ffs((int)left) - 1, to = __shfl_sync(~0u, place, of);
            const number *row = static_cast<const number *>(s.panel.a) + s.base + r * threads +
                                (int)threadIdx.x / 32 * 32 + of;
            for (int k = lane; k < end; k += 32)
                lower[k * td_lower<number>::LD + to] = row[k * s.panel.ld];
        }
    }
}

/* ---- places ---- */

/* Rows of up to `most` columns, which begin at `a`, go to their places: a thread has the row of
 * each of the first places on its way there, and the first row of the same number. All threads of a
 * block take part, as many as a panel may have columns or more. */
template <class number, int most> struct moving_row {
    number *a;
    int64_t ld;
    int width, columns;
    number x[most];
};

template <class number, int most>
TD_DEVICE void read_source(moving_row<number, most> &m, const int *source)
{
    const int t = (int)threadIdx.x;
    if (t >= m.width) return;
    const number *from = m.a + source[t];
    TD_UNROLL
    for (int c = 0; c < most; c++) m.x[c] = c < m.columns ? from[c * m.ld] : td_number<number>(0.0);
}

/* After all have read their sources. */
template <class number, int most>
TD_DEVICE void move_first_row(const moving_row<number, most> &m, const int *target)
{
    const int t = (int)threadIdx.x, to = t < m.width ? target[t] : 0;
    if (to < m.width) return;
    number y[most];
    TD_UNROLL
    for (int c = 0; c < most; c++)
        if (c < m.columns) y[c] = m.a[t + c * m.ld];
    TD_UNROLL
    for (int c = 0; c < most; c++)
        if (c < m.columns) m.a[to + c * m.ld] = y[c];
}

/* After all have moved their first rows. */
template <class number, int most> TD_DEVICE void write_place(const moving_row<number, most> &m)
{
    const int t = (int)threadIdx.x;
    if (t >= m.width) return;
    TD_UNROLL
    for (int c = 0; c < most; c++)
        if (c < m.columns) m.a[t + c * m.ld] = m.x[c];
}

/* The panel's own columns, of which each block has some. */
template <class number, int threads, int rows, int leaf>
TD_DEVICE void order_rows(const step_state<number, threads, rows, leaf> &s, const int *target)
{
    enum { MOST = td_lower<number>::VECTORS };
    const int width = (int)s.panel.columns, share = (width + s.blocks - 1) / s.blocks,
              end = min((s.block + 1) * share, width);
    TD_ROLLED
    for (int c = s.block * share; c < end; c += MOST) {
        moving_row<number, MOST> m = {static_cast<number *>(s.panel.a) + c * s.panel.ld, s.panel.ld,
                                      width, min((int)MOST, end - c)};
        read_source(m, s.shared.source);
        __syncthreads();
        move_first_row(m, target);
        __syncthreads();
        write_place(m);
    }
}

/* ---- the panel ---- */

template <class number, int threads, int rows, int leaf>
TD_DEVICE void begin_panel(step_state<number, threads, rows, leaf> &s)
{
    const int t = (int)threadIdx.x;
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const int row = s.base + r * threads + t;
        s.place[r] = row < s.panel.rows ? row : -1;
    }
    if (t < leaf) s.shared.zeros[t] = td_number<number>(0.0);
    if (t == 0)
        for (int i = 0; i < MESSAGES; i++) {
            td_barrier_start(&s.shared.of[i].keys_arrive, 1);
            td_barrier_start(&s.shared.of[i].rows_arrive, 1);
        }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();
    if (t == 0) expect_messages(s.shared.of[0], s.blocks, leaf);
    td_cluster_meet();
}

template <class number, int threads, int rows, int leaf>
TD_DEVICE void factor(const td_one_block_panel &panel, row_order<number> *order)
{
    enum { SOME = leaf / (2 * td_embedded<number>::COLUMNS) * td_embedded<number>::COLUMNS };
    TD_DYNAMIC_SHARED(unsigned char, bytes);
    panel_shared_memory<number, threads, rows, leaf> &shared =
        *static_cast<panel_shared_memory<number, threads, rows, leaf> *>(pinned_shared(bytes));
    const int base = (int)blockIdx.x * threads * rows;
    step_state<number, threads, rows, leaf> s = {shared.steps,
                                                 panel,
                                                 order->source,
                                                 (int)gridDim.x,
                                                 (int)blockIdx.x,
                                                 base,
                                                 static_cast<number *>(panel.a) + base +
                                                     threadIdx.x};
    s.step = 0;
    TD_MARK(START);
    begin_panel(s);
    TD_MARK(BEGIN);
    TD_ROLLED
    for (int first = 0; first < panel.columns; first += leaf) {
        const int columns = min(leaf, (int)panel.columns - first);
        if (first > 0)
            begin_leaf(s, shared.products, order->lower, first, columns);
        else
            load_leaf(s, columns);
        TD_MARK(LEAF);
        eliminate<leaf, leaf - SOME>(s, first, first, min((int)SOME, columns));
        eliminate<leaf - SOME, 0>(s, first, first + SOME, max(0, columns - SOME));
        keep_lower(s, order->lower, first, first + columns);
        td_cluster_meet();
        TD_MARK(KEEP);
    }
    TD_UNROLL
    for (int r = 0; r < rows; r++) {
        const int row = s.base + r * threads + (int)threadIdx.x;
        if (row < panel.columns) order->target[row] = s.place[r];
    }
    td_cluster_meet();
    order_rows(s, order->target);
    TD_MARK(ORDER);
}

#endif

/* Grid: one cluster. */
template <class number, int threads, int rows, int leaf>
static __global__ void __launch_bounds__(threads, 1)
    factor_kernel(TD_PARAMETER td_one_block_panel panel, void *order)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    factor<number, threads, rows, leaf>(panel, static_cast<row_order<number> *>(order));
#endif
}

/* ---- other columns ---- */

/* Grid: blocks over columns, td_lower::VECTORS each: first those before the panel. */
template <class number>
static __global__ void __launch_bounds__(panel_of<number>::MOST)
    exchange_kernel(TD_PARAMETER td_one_block_panel panel, const row_order<number> *order,
                    number *to, int64_t columns, int64_t before)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    enum { VECTORS = td_lower<number>::VECTORS, STRIDE = VECTORS + td_lower<number>::PADDING };
    TD_SHARED(number, x, [panel_of<number>::MOST * STRIDE]);
    const int64_t block = blockIdx.x, blocks_before = (before + VECTORS - 1) / VECTORS;
    const bool is_behind = block >= blocks_before;
    const int64_t first = (is_behind ? block - blocks_before : block) * VECTORS,
                  count = is_behind ? columns : before;
    number *const a = is_behind ? to : static_cast<number *>(panel.a) - before * panel.ld;
    const int width = (int)panel.columns, t = (int)threadIdx.x;
    moving_row<number, VECTORS> m = {a + first * panel.ld, panel.ld, width,
                                     (int)min((int64_t)VECTORS, count - first)};
    read_source(m, order->source);
    __syncthreads();
    move_first_row(m, order->target);
    if (is_behind) {
        TD_UNROLL
        for (int c = 0; c < VECTORS; c++) x[t * STRIDE + c] = m.x[c];
        __syncthreads();
        if (t < 32) td_solve_unit_lower(x, STRIDE, width, order->lower);
        __syncthreads();
        TD_UNROLL
        for (int c = 0; c < VECTORS; c++) m.x[c] = x[t * STRIDE + c];
    }
    __syncthreads();
    write_place(m);
#endif
}

/* ---- launches ---- */

/* A kernel and how many rows a block of it has. */
typedef struct {
    void (*kernel)(td_one_block_panel, void *);
    int threads, rows, shared_bytes;
} shape;

#if defined(__CUDA_ARCH__)
#define SHARED_BYTES(number, threads, rows, leaf) 0
#else
#define SHARED_BYTES(number, threads, rows, leaf)                                                  \
    ((int)(sizeof(step_shared<number, threads, rows, leaf>) +                                      \
           sizeof(product_shared<number, threads, leaf>)))
#endif
#define SHAPE(number, threads, rows, leaf)                                                         \
    {                                                                                              \
        factor_kernel<number, threads, rows, leaf>, threads, rows,                                 \
            SHARED_BYTES(number, threads, rows, leaf)                                              \
    }

/* By the rows that a cluster of MOST_BLOCKS holds. */
typedef td_complex<double> complex;
enum { SHAPES = 6 };
static const shape shapes[][SHAPES] = {
    {SHAPE(double, 128, 1, 32), SHAPE(double, 256, 1, 32), SHAPE(double, 256, 2, 24),
     SHAPE(double, 256, 4, 16), SHAPE(double, 256, 8, 8), SHAPE(double, 512, 8, 4)},
    {SHAPE(complex, 128, 1, 16), SHAPE(complex, 256, 1, 16), SHAPE(complex, 256, 2, 12),
     SHAPE(complex, 256, 4, 8), SHAPE(complex, 256, 8, 4), SHAPE(complex, 512, 8, 2)}};

static const shape *shape_of(const td_one_block_panel *panel)
{
    for (int i = 0; i < SHAPES; i++) {
        const shape *s = &shapes[panel->is_complex][i];
        if (panel->rows <= (int64_t)MOST_BLOCKS * s->threads * s->rows) return s;
    }
    return NULL;
}

bool td_cluster_fits(const td_one_block_panel *panel)
{
    int device = 0, major = 0;
    return panel->columns <=
               (panel->is_complex ? TD_CLUSTER_COMPLEX_COLUMNS : TD_CLUSTER_COLUMNS) &&
           panel->rows >= panel->columns && panel->rows <= TD_CLUSTER_ROWS &&
           cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) ==
               cudaSuccess &&
           (major == 9 || major == 10);
}

/* The smallest power of two of blocks that hold so many rows. */
static unsigned blocks_of(const shape *s, int64_t rows)
{
    unsigned blocks = 1;
    while ((int64_t)blocks * s->threads * s->rows < rows) blocks *= 2;
    return blocks;
}

cudaError_t td_cluster_factor_run(const td_one_block_panel *panel, void *order, cudaEvent_t begun,
                                  cudaStream_t stream)
{
    const shape *s = shape_of(panel);
    const unsigned blocks = blocks_of(s, panel->rows);
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3((unsigned)s->threads);
    config.dynamicSmemBytes = (size_t)s->shared_bytes;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = begun ? 2 : 1;
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {blocks, 1, 1};
    attributes[1].id = cudaLaunchAttributeLaunchCompletionEvent;
    attributes[1].val.launchCompletionEvent.event = begun;
    return cudaLaunchKernelEx(&config, s->kernel, *panel, order);
}

template <class number>
static cudaError_t exchange_run(const td_one_block_panel *panel, const void *order, void *to,
                                int64_t columns, int64_t before, cudaStream_t stream)
{
    const int64_t vectors = td_lower<number>::VECTORS,
                  blocks = (columns + vectors - 1) / vectors + (before + vectors - 1) / vectors;
    return TD_LAUNCH(exchange_kernel<number>, dim3((unsigned)blocks),
                     dim3((unsigned)panel_of<number>::MOST), 0, stream, *panel,
                     static_cast<const row_order<number> *>(order), static_cast<number *>(to),
                     columns, before);
}

cudaError_t td_cluster_exchange_run(const td_one_block_panel *panel, const void *order, void *to,
                                    int64_t columns, int64_t before, cudaStream_t stream)
{
    if (columns == 0 && before == 0) return cudaSuccess;
    return panel->is_complex ? exchange_run<complex>(panel, order, to, columns, before, stream)
                             : exchange_run<double>(panel, order, to, columns, before, stream);
}

cudaError_t td_cluster_prepare(void)
{
    cudaError_t error = td_load(cudaSuccess, exchange_kernel<double>, exchange_kernel<complex>);
    for (int i = 0; i < 2 * SHAPES && error == cudaSuccess; i++) {
        const shape *s = &shapes[i / SHAPES][i % SHAPES];
        error = td_allow_shared(error, s->kernel, s->shared_bytes);
        if (error == cudaSuccess)
            error =
                cudaFuncSetAttribute(s->kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    }
    return error;
}

#else

bool td_cluster_fits(const td_one_block_panel *panel)
{
    (void)panel;
    return false;
}

cudaError_t td_cluster_factor_run(const td_one_block_panel *panel, void *order, cudaEvent_t begun,
                                  cudaStream_t stream)
{
    (void)panel, (void)order, (void)begun, (void)stream;
    return cudaErrorNotSupported;
}

cudaError_t td_cluster_exchange_run(const td_one_block_panel *panel, const void *order, void *to,
                                    int64_t columns, int64_t before, cudaStream_t stream)
{
    (void)panel, (void)order, (void)to, (void)columns, (void)before, (void)stream;
    return cudaErrorNotSupported;
}

cudaError_t td_cluster_prepare(void) { return cudaSuccess; }

#endif
