/* binary64.cu - the masked elements of C in binary64: a whole tile, or two, on the FP64 tensor cores where there are any. These are
 * chains of FMAs over ascending k, so that plain FMAs give the same bits. */
#include "binary64.h"

#include "../async_copy.h"

namespace
{

/* A block makes ROWS x COLUMNS elements of C, a warp SIDE x SIDE; shared memory has K_STEP elements of k of both operands, in as many
 * stages as are copied ahead. */
enum {
    ROWS = 2 * TD_TILE,
    COLUMNS = TD_TILE,
    SIDE = 32,
    WARP = 32,
    WARPS = ROWS / SIDE * (COLUMNS / SIDE),
    THREADS = WARP * WARPS,
    K_STEP = 16,
    PRODUCT_K = 8, /* of one product of the tensor cores, 16 x 8 elements of C */
    HEIGHT = SIDE / 16,
    WIDTH = SIDE / 8
};

/* How an operand's elements stand in shared memory: as in global memory along lines, or along k. Eight lines and four elements of k
 * are in different banks. */
struct placing {
    int line_step, k_step;
};
enum { PAD = 4, ALONG_K = K_STEP + PAD, SLAB = ROWS * ALONG_K, STAGE = (ROWS + COLUMNS) * ALONG_K };

TD_DEVICE placing placing_of(const td_operand &o, int lines)
{
    if (o.k_step == 1) return {ALONG_K, 1};
    return {1, lines + PAD};
}

/* Where both operands' lines begin, and how many there are. */
struct block_place {
    int row, column, rows;
};

/* Starts the copies of K_STEP elements of k of `lines` lines; zeros past the ends. */
TD_DEVICE void copy_slab(const td_operand &o, const double *data, int line0, int lines, int64_t l0,
                         const placing &to, double *slab)
{
    const bool along = o.k_step == 1;
    const int inner_size = along ? (int)K_STEP : lines, tid = (int)threadIdx.x;
    const int inner = tid % inner_size, outer = tid / inner_size, apart = THREADS / inner_size;
    const int steps = lines * K_STEP / THREADS;
    TD_UNROLL_N(4)
    for (int i = 0; i < steps; i++) {
        const int at = outer + i * apart, line = along ? at : inner, l = along ? inner : at;
        const bool inside = line0 + line < o.lines && l0 + l < o.k;
        const double *from = inside ? data + td_operand_at(o, line0 + line, l0 + l) : data;
        td_async_copy8(&slab[line * to.line_step + l * to.k_step], from, inside);
    }
}

/* Sums of a thread's elements. sums[i][j][2 h + e] belongs to row 16 i + 8 h + lane / 4 and column 8 j + 2 (lane % 4) + e of its
 * warp's: how products of the tensor cores are spread over a warp. */
typedef double warp_sums[HEIGHT][WIDTH][4];

#if TD_HAS_CUDA_DEVICE

/* c += a b, 16 x 8 times 8 x 8: a[i + 2 j] is element (lane / 4 + 8 i, lane % 4 + 4 j), b[j] (lane % 4 + 4 j, lane / 4). */
TD_DEVICE void multiply(double (&c)[4], const double (&a)[4], const double (&b)[2])
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    TD_UNROLL
    for (int q = 0; q < 4; q++) /* lower or upper rows, first or second half of k */
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(c[q % 2 * 2]), "+d"(c[q % 2 * 2 + 1])
            : "d"(a[q]), "d"(b[q / 2]));
#else
    const int lane = (int)threadIdx.x % WARP;
    TD_UNROLL
    for (int l = 0; l < PRODUCT_K; l++) TD_UNROLL
    for (int q = 0; q < 4; q++) {
        const double x = __shfl_sync(0xffffffffu, a[q / 2 + l / 4 * 2], lane / 4 * 4 + l % 4);
        const double y = __shfl_sync(0xffffffffu, b[l / 4], (lane % 4 * 2 + q % 2) * 4 + l % 4);
        c[q] = td_fma64(x, y, c[q]);
    }
#endif
}

/* Adds PRODUCT_K products to the sums of a warp; x and y are its first row's and column's first elements. */
TD_DEVICE void multiply_step(warp_sums &sums, const double *x, const placing &in_x, const double *y,
                             const placing &in_y)
{
    const int group = (int)threadIdx.x % WARP / 4, l = (int)threadIdx.x % 4;
    double a[HEIGHT][4], b[WIDTH][2];
    TD_UNROLL
    for (int i = 0; i < HEIGHT; i++) TD_UNROLL
    for (int q = 0; q < 4; q++)
        a[i][q] = x[(16 * i + q % 2 * 8 + group) * in_x.line_step + (l + q / 2 * 4) * in_x.k_step];
    TD_UNROLL
    for (int j = 0; j < WIDTH; j++) TD_UNROLL
    for (int q = 0; q < 2; q++)
        b[j][q] = y[(8 * j + group) * in_y.line_step + (l + q * 4) * in_y.k_step];
    TD_UNROLL
    for (int i = 0; i < HEIGHT; i++) TD_UNROLL
    for (int j = 0; j < WIDTH; j++) multiply(sums[i][j], a[i], b[j]);
}

#else

TD_DEVICE void multiply_step(warp_sums &sums, const double *x, const placing &in_x, const double *y,
                             const placing &in_y)
{
    const int group = (int)threadIdx.x % WARP / 4, column = (int)threadIdx.x % 4 * 2;
    for (int l = 0; l < PRODUCT_K; l++)
        for (int i = 0; i < HEIGHT; i++)
            for (int j = 0; j < WIDTH; j++)
                for (int q = 0; q < 4; q++)
                    sums[i][j][q] =
                        td_fma64(x[(16 * i + q / 2 * 8 + group) * in_x.line_step + l * in_x.k_step],
                                 y[(8 * j + column + q % 2) * in_y.line_step + l * in_y.k_step],
                                 sums[i][j][q]);
}

#endif

/* What the block knows of its lines. */
struct line_summary {
    int peak[2], low[2]; /* of the counted ones */
    int has_special;
};

struct shared_state {
    int masked[2]; /* elements of both tiles */
    line_summary lines;
    int scale[ROWS + COLUMNS]; /* of rows, then columns */
};

/* A tile's masked elements, by all threads. */
TD_DEVICE int count_masked(const td_target &target, int row, int column, int *count)
{
    row += (int)threadIdx.x % (TD_TILE / TD_SUBTILE) * TD_SUBTILE;
    column += (int)threadIdx.x / (TD_TILE / TD_SUBTILE) * TD_SUBTILE;
    static_assert((int)THREADS == (int)TD_SUBTILES, "a thread counts one subtile's elements");
    if (threadIdx.x == 0) *count = 0;
    __syncthreads();
    if (row < target.m && column < target.n) {
        const int own = __popc(*td_target_mask(target, row, column));
        if (own) atomicAdd(count, own);
    }
    __syncthreads();
    return *count;
}

/* The tiles that the block makes of one that has masked elements: of two dense ones in a pair of tile rows the upper one's block makes
 * both. rows: 0 if it makes none. */
TD_DEVICE block_place place_of(const td_target &target, int tile, shared_state &shared)
{
    const int m_tiles = td_tiles(target.m), tile_row = tile % m_tiles, other = tile_row ^ 1;
    block_place at = {tile_row * TD_TILE, tile / m_tiles * TD_TILE, TD_TILE};
    __syncthreads();
    const int own = count_masked(target, at.row, at.column, &shared.masked[0]);
    const int others =
        other < m_tiles ? count_masked(target, other * TD_TILE, at.column, &shared.masked[1]) : 0;
    if (own == 0 || (tile_row % 2 && own > TD_FEW && others > 0)) at.rows = 0;
    if (own != 0 && tile_row % 2 == 0 && others > TD_FEW) at.rows = ROWS;
    return at;
}

/* Sets what the block knows of its lines. All threads take part. */
TD_DEVICE void summarise_lines(const td_repair &p, const block_place &at, shared_state &shared)
{
    line_summary &s = shared.lines;
    __syncthreads();
    if (threadIdx.x == 0) s = {{INT32_MIN, INT32_MIN}, {INT32_MAX, INT32_MAX}, 0};
    __syncthreads();
    TD_UNROLL_N(1)
    for (int i = (int)threadIdx.x; i < at.rows + COLUMNS; i += THREADS) {
        const int which = i >= at.rows;
        const int line = which ? at.column + i - at.rows : at.row + i;
        const int place = which ? ROWS + i - at.rows : i;
        shared.scale[place] = 0;
        if (line >= p.operand[which].lines) continue;
        const td_line record = p.line[which][blockIdx.z * p.lines_of_member[which] + line];
        if (record.low == TD_SPECIAL) s.has_special = 1;
        if (!td_is_counted(record)) continue;
        shared.scale[place] = td_binary64_scale(record);
        atomicMax(&s.peak[which], record.peak >> 8);
        atomicMin(&s.low[which], (int)record.low);
    }
    __syncthreads();
}

/* True if no product of the block's elements overflows or has bits that binary64 has no room for, and no sum overflows. */
TD_DEVICE bool has_room(const line_summary &s, int64_t k)
{
    if (s.peak[0] == INT32_MIN || s.peak[1] == INT32_MIN) return true;
    return s.peak[0] + s.peak[1] + 2 + 64 - td_clz64((uint64_t)k) <= 1023 &&
           s.low[0] + s.low[1] >= TD_BINARY64_LEAST;
}

/* x 2^e, which binary64 has, or nobody asks for. */
TD_DEVICE double scale_element(double x, int e)
{
    return x == 0.0 ? x : td_scale64(x, max(-2148, min(2046, e)));
}

/* Scales what was copied of an operand's lines. */
TD_DEVICE void scale_slab(const td_repair &p, int which, int lines, int64_t l0, const int *scale,
                          const placing &in, double *slab)
{
    const int64_t k = p.operand[which].k;
    const int16_t *shift = p.shifted[blockIdx.z] ? p.shift + blockIdx.z * k : NULL;
    for (int i = (int)threadIdx.x; i < lines * K_STEP; i += THREADS) {
        const int line = i / K_STEP, l = i % K_STEP;
        if (l0 + l >= k) continue;
        const int shifted = shift ? (which ? -shift[l0 + l] : shift[l0 + l]) : 0;
        double *const at = &slab[line * in.line_step + l * in.k_step];
        *at = scale_element(*at, scale[line] + shifted);
    }
}

/* One block of k after the other. */
struct running_sums {
    warp_sums block, total;
    int left; /* elements of k of the block */
};

TD_DEVICE void end_block(running_sums &sums, int block)
{
    sums.left = block;
    TD_UNROLL
    for (int i = 0; i < HEIGHT; i++) TD_UNROLL
    for (int j = 0; j < WIDTH; j++) TD_UNROLL
    for (int q = 0; q < 4; q++) {
        sums.total[i][j][q] = td_add64(sums.total[i][j][q], sums.block[i][j][q]);
        sums.block[i][j][q] = 0.0;
    }
}

/* First row and column of the thread's warp in its block. */
TD_DEVICE int warp_row() { return (int)threadIdx.x / WARP % (ROWS / SIDE) * SIDE; }
TD_DEVICE int warp_column() { return (int)threadIdx.x / WARP / (ROWS / SIDE) * SIDE; }

/* The sums of all of k. All threads take part. */
template <int stages>
TD_DEVICE void add_up(const td_repair &p, const block_place &at, bool is_scaled,
                      const shared_state &shared, double *slabs, running_sums &sums)
{
    const td_operand &a = p.operand[0], &b = p.operand[1];
    const int64_t member = p.target.batch_first + blockIdx.z;
    const double *const from_a = td_member<const double>(a.matrix, member),
                        *const from_b = td_member<const double>(b.matrix, member);
    const placing in_a = placing_of(a, ROWS), in_b = placing_of(b, COLUMNS);
    const int block = td_binary64_block(a.k);
    const bool works = warp_row() < at.rows;
    int64_t next = 0, own = 0;
    sums = {};
    sums.left = block;
    __syncthreads();
    td_async_pipeline<stages>(
        (a.k + K_STEP - 1) / K_STEP,
        [&](int stage) {
            double *const slab = slabs + stage * STAGE;
            copy_slab(a, from_a, at.row, at.rows, next, in_a, slab);
            copy_slab(b, from_b, at.column, COLUMNS, next, in_b, slab + SLAB);
            next += K_STEP;
        },
        [&](int stage) {
            double *const slab = slabs + stage * STAGE;
            if (is_scaled) {
                scale_slab(p, 0, at.rows, own, shared.scale, in_a, slab);
                scale_slab(p, 1, COLUMNS, own, shared.scale + ROWS, in_b, slab + SLAB);
                __syncthreads();
            }
            own += K_STEP;
            if (!works) return;
            const double *const x = slab + warp_row() * in_a.line_step, *const y =
                                                                            slab + SLAB +
                                                                            warp_column() *
                                                                                in_b.line_step;
            TD_UNROLL
            for (int l = 0; l < K_STEP; l += PRODUCT_K) {
                multiply_step(sums.block, x + l * in_a.k_step, in_a, y + l * in_b.k_step, in_b);
                sums.left -= PRODUCT_K;
                if (sums.left == 0) end_block(sums, block);
            }
        });
    end_block(sums, block);
    __syncthreads();
}

/* A scaled sum in C's units, rounded once. */
TD_DEVICE double unscale(double sum, int scale)
{
    const uint64_t bits = td_bits64(sum);
    int q;
    const uint64_t m = td_significand64(bits, &q);
    return td_round64(bits >> 63, m << 11, q - 11 - scale);
}

/* Which elements a pass over k is for. */
struct pass {
    bool is_scaled, of_special, of_others;
};

TD_DEVICE bool is_wanted(const td_repair &p, const pass &own, int row, int column)
{
    const td_target &target = p.target;
    const int bit = column % TD_SUBTILE * TD_SUBTILE + row % TD_SUBTILE;
    if (row >= target.m || column >= target.n || !(*td_target_mask(target, row, column) >> bit & 1))
        return false;
    if (own.of_special == own.of_others) return true;
    return own.of_special ==
           (p.line[0][blockIdx.z * p.lines_of_member[0] + row].low == TD_SPECIAL ||
            p.line[1][blockIdx.z * p.lines_of_member[1] + column].low == TD_SPECIAL);
}

/* The masked elements of the thread's sums into C. */
TD_DEVICE void store_sums(const td_repair &p, const block_place &at, const pass &own,
                          const shared_state &shared, const warp_sums &sums)
{
    const double alpha = td_scalar_value(p.target.alpha), beta = td_scalar_value(p.target.beta);
    const int lane = (int)threadIdx.x % WARP;
    if (warp_row() >= at.rows) return;
    TD_UNROLL
    for (int i = 0; i < HEIGHT; i++) TD_UNROLL
    for (int j = 0; j < WIDTH; j++) TD_UNROLL
    for (int q = 0; q < 4; q++) {
        const int in_row = warp_row() + 16 * i + q / 2 * 8 + lane / 4;
        const int in_column = warp_column() + 8 * j + lane % 4 * 2 + q % 2;
        const int row = at.row + in_row, column = at.column + in_column;
        if (!is_wanted(p, own, row, column)) continue;
        double sum = sums[i][j][q];
        if (own.is_scaled)
            sum = unscale(sum, shared.scale[in_row] + shared.scale[ROWS + in_column]);
        double *const c = td_target_c<double>(p.target) + row + column * p.target.c.ld;
        *c = td_axpby(alpha, sum, beta, c);
    }
}

/* One tile of C, and perhaps the one below. Sums of special lines are NaN or infinite, and want elements as they are. */
template <int stages>
TD_DEVICE void repair_tile(const td_repair &p, int tile, shared_state &shared, double *slabs)
{
    const block_place at = place_of(p.target, tile, shared);
    if (at.rows == 0) return;
    bool has_to_scale = false, has_special = false;
    if (p.line[0]) {
        summarise_lines(p, at, shared);
        has_special = shared.lines.has_special;
        has_to_scale = !has_room(shared.lines, p.operand[0].k);
    }
    TD_UNROLL_N(1)
    for (int scaled = has_to_scale && !has_special; scaled <= has_to_scale; scaled++) {
        const pass own = {scaled != 0, !scaled || !has_special, scaled || !has_to_scale};
        running_sums sums;
        add_up<stages>(p, at, own.is_scaled, shared, slabs, sums);
        store_sums(p, at, own, shared, sums.total);
    }
    if (p.repaired && threadIdx.x == 0)
        atomicAdd(p.repaired, (unsigned long long)(shared.masked[0] +
                                                   (at.rows == ROWS ? shared.masked[1] : 0)));
}

/* Grid: blocks over open tiles, 1, batch member. */
template <int stages>
__global__ void __launch_bounds__(THREADS, 1) binary64_kernel(const td_repair p)
{
    TD_SHARED(shared_state, shared, );
    TD_DYNAMIC_SHARED(double, slabs);
    td_each_open_tile(p.target, [&](int tile) { repair_tile<stages>(p, tile, shared, slabs); });
    td_each_dense_tile(p.target, [&](int tile) { repair_tile<stages>(p, tile, shared, slabs); });
}

enum { FEW_STAGES = 2, MANY_STAGES = 4, STAGE_BYTES = STAGE * 8 };

} // namespace

cudaError_t td_binary64_run(const td_repair *p, int batch, cudaStream_t stream)
{
    int multiprocessors = 0, bytes = 0;
    cudaError_t error = td_multiprocessors(&multiprocessors);
    if (error == cudaSuccess) error = td_block_shared_bytes(&bytes);
    if (error != cudaSuccess) return error;
    /* An odd number: every other tile of a list is made with the one before. */
    const unsigned tiles = td_grid_of_tiles(p->target, 1, batch).x;
    const dim3 grid(min(tiles, (unsigned)(multiprocessors - 1) | 1u), 1, (unsigned)batch);
    if (bytes >= MANY_STAGES * STAGE_BYTES)
        return TD_LAUNCH(binary64_kernel<MANY_STAGES>, grid, THREADS, MANY_STAGES * STAGE_BYTES,
                         stream, *p);
    return TD_LAUNCH(binary64_kernel<FEW_STAGES>, grid, THREADS, FEW_STAGES * STAGE_BYTES, stream,
                     *p);
}

cudaError_t td_binary64_prepare(void)
{
    const cudaError_t error =
        td_allow_shared(cudaSuccess, binary64_kernel<FEW_STAGES>, FEW_STAGES * STAGE_BYTES);
    return td_allow_shared(error, binary64_kernel<MANY_STAGES>, MANY_STAGES * STAGE_BYTES);
}
