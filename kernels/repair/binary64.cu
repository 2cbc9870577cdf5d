/* binary64.cu - the masked elements of C in binary64: a whole tile, or two, on the FP64 tensor cores where there are any. These are
 * chains of FMAs over ascending k, so that plain FMAs give the same bits. */
#include "binary64.h"

#include "../async_copy.h"

namespace
{

/* A block makes ROWS x COLUMNS elements of C, a warp WARP_ROWS x WARP_COLUMNS; shared memory has K_STEP elements of k of both
 * operands, in as many stages as are copied ahead. */
enum {
    ROWS = 2 * TD_TILE,
    COLUMNS = TD_TILE,
    WARP_ROWS = 32,
    WARP_COLUMNS = 32,
    WARP = 32,
    THREADS = WARP * (ROWS / WARP_ROWS) * (COLUMNS / WARP_COLUMNS),
    K_STEP = 16,
    PRODUCT_K = 8, /* of one product of the tensor cores, 16 x 8 elements of C */
    HEIGHT = WARP_ROWS / 16,
    WIDTH = WARP_COLUMNS / 8
};

/* How an operand's elements stand in shared memory: as in global memory along k, or along lines. Eight lines and four elements of k
 * are in different banks. */
struct placing {
    int line_step, k_step;
};
enum { PAD = 4, ALONG_K = K_STEP + PAD, SLAB = ROWS * ALONG_K, STAGE = (ROWS + COLUMNS) * ALONG_K };

TD_HOST_DEVICE constexpr placing placing_of(bool along, int lines)
{
    return along ? placing{ALONG_K, 1} : placing{1, lines + PAD};
}

/* Where both operands' lines begin, and how many rows there are. */
struct block_place {
    int row, column, rows;
};

/* What a thread copies of an operand: chunks of one or two elements that are neighbours in memory. Rows of chunks are lines, or elements
 * of k; a thread has those of every THREADS-th chunk of a slab. */
struct source {
    const double *from;   /* the thread's first chunk of the next step */
    int64_t step, apart;  /* from step to step, from chunk to chunk */
    int to, to_apart;     /* the same in a slab */
    int lines;            /* that there are, from the slab's first on */
    bool along, in_pairs; /* rows are lines; chunks are two elements */
};

/* Two elements at a time are copied where all pairs are aligned. */
TD_DEVICE bool has_aligned_pairs(const td_operand &o, const double *first)
{
    const int64_t across = o.k_step == 1 ? o.line_step : o.k_step;
    return across % 2 == 0 && (reinterpret_cast<uintptr_t>(first) & 15) == 0;
}

/* Chunks of a row of a slab of so many lines. */
template <int lines> TD_DEVICE int chunks_of(const source &s)
{
    return (s.along ? (int)K_STEP : lines) / (s.in_pairs ? 2 : 1);
}

/* Of `lines` lines from line0 on, of which the block uses `used`. */
template <int lines>
TD_DEVICE source source_of(const td_operand &o, const double *data, int line0, int used)
{
    source s;
    const double *const first = data + td_operand_at(o, line0, 0);
    s.along = o.k_step == 1;
    s.in_pairs = has_aligned_pairs(o, first);
    const placing in = placing_of(s.along, lines);
    const int chunks = chunks_of<lines>(s), apart = THREADS / chunks;
    const int row = (int)threadIdx.x / chunks,
              column = (int)threadIdx.x % chunks * (s.in_pairs ? 2 : 1);
    const int line = s.along ? row : column, l = s.along ? column : row;
    s.from = first + line * o.line_step + l * o.k_step;
    s.step = K_STEP * o.k_step;
    s.apart = apart * (s.along ? o.line_step : o.k_step);
    s.to = line * in.line_step + l * in.k_step;
    s.to_apart = apart * (s.along ? in.line_step : in.k_step);
    s.lines = min(used, o.lines - line0);
    return s;
}

/* Chunks that are all there. */
template <int width, int count> TD_DEVICE void copy_chunks(const source &s, double *to)
{
    const double *from = s.from;
    TD_UNROLL
    for (int i = 0; i < count; i++) {
        td_async_copy<8 * width>(to, from);
        from += s.apart;
        to += s.to_apart;
    }
}

/* Zeros where elements are not there; k has `left` more. */
template <int lines> TD_DEVICE void copy_edge(const source &s, int left, double *to)
{
    const int chunks = chunks_of<lines>(s), apart = THREADS / chunks, width = s.in_pairs ? 2 : 1;
    const int row = (int)threadIdx.x / chunks, column = (int)threadIdx.x % chunks * width;
    const int rows_left = (s.along ? s.lines : left) - row,
              columns_left = (s.along ? left : s.lines) - column;
    const double *from = s.from;
    TD_ROLLED
    for (int i = 0; i < lines * K_STEP / THREADS / width; i++) {
        TD_ROLLED
        for (int e = 0; e < width; e++)
            td_async_copy8(to + e, from + e, i * apart < rows_left && e < columns_left);
        from += s.apart;
        to += s.to_apart;
    }
}

/* Starts the copies of one step, of which k has `left` elements, and goes to the next. */
template <int lines> TD_DEVICE void copy_slab(source &s, int64_t left, double *slab)
{
    const int count = lines * K_STEP / THREADS;
    if (s.lines < lines || left < K_STEP)
        copy_edge<lines>(s, (int)min(left, (int64_t)K_STEP), slab + s.to);
    else if (s.in_pairs)
        copy_chunks<2, count / 2>(s, slab + s.to);
    else
        copy_chunks<1, count>(s, slab + s.to);
    s.from += s.step;
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
template <bool along_x, bool along_y>
TD_DEVICE void multiply_step(warp_sums &sums, const double *x, const double *y)
{
    constexpr placing in_x = placing_of(along_x, ROWS), in_y = placing_of(along_y, COLUMNS);
    const int group = (int)threadIdx.x % WARP / 4, l = (int)threadIdx.x % 4;
    const double *const own_x = x + group * in_x.line_step + l * in_x.k_step,
                        *const own_y = y + group * in_y.line_step + l * in_y.k_step;
    double b[WIDTH][2];
    TD_UNROLL
    for (int j = 0; j < WIDTH; j++) TD_UNROLL
    for (int q = 0; q < 2; q++) b[j][q] = own_y[8 * j * in_y.line_step + q * 4 * in_y.k_step];
    TD_UNROLL
    for (int i = 0; i < HEIGHT; i++) {
        double a[4];
        TD_UNROLL
        for (int q = 0; q < 4; q++)
            a[q] = own_x[(16 * i + q % 2 * 8) * in_x.line_step + q / 2 * 4 * in_x.k_step];
        TD_UNROLL
        for (int j = 0; j < WIDTH; j++) multiply(sums[i][j], a, b[j]);
    }
}

#else

template <bool along_x, bool along_y>
TD_DEVICE void multiply_step(warp_sums &sums, const double *x, const double *y)
{
    constexpr placing in_x = placing_of(along_x, ROWS), in_y = placing_of(along_y, COLUMNS);
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

/* K_STEP elements of k; a block has half as many, or a multiple. */
template <bool along_x, bool along_y>
TD_DEVICE void multiply_stage(running_sums &sums, const double *x, const double *y, int block)
{
    constexpr placing in_x = placing_of(along_x, ROWS), in_y = placing_of(along_y, COLUMNS);
    multiply_step<along_x, along_y>(sums.block, x, y);
    if (block == PRODUCT_K) end_block(sums, block);
    multiply_step<along_x, along_y>(sums.block, x + PRODUCT_K * in_x.k_step,
                                    y + PRODUCT_K * in_y.k_step);
    sums.left -= K_STEP;
    if (sums.left <= 0) end_block(sums, block);
}

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
    static_assert((int)THREADS >= (int)TD_SUBTILES, "a thread counts one subtile's elements");
    if (threadIdx.x == 0) *count = 0;
    __syncthreads();
    if (threadIdx.x < TD_SUBTILES && row < target.m && column < target.n) {
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
    TD_ROLLED
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

/* First row and column of the thread's warp in its block. */
TD_DEVICE int warp_row() { return (int)threadIdx.x / WARP % (ROWS / WARP_ROWS) * WARP_ROWS; }
TD_DEVICE int warp_column() { return (int)threadIdx.x / WARP / (ROWS / WARP_ROWS) * WARP_COLUMNS; }

/* The sums of all of k. All threads take part. */
template <int stages>
TD_DEVICE void add_up(const td_repair &p, const block_place &at, bool is_scaled,
                      const shared_state &shared, double *slabs, running_sums &sums)
{
    const td_operand &a = p.operand[0], &b = p.operand[1];
    const int64_t member = p.target.batch_first + blockIdx.z;
    source from_a = source_of<ROWS>(a, td_member<const double>(a.matrix, member), at.row, at.rows),
           from_b =
               source_of<COLUMNS>(b, td_member<const double>(b.matrix, member), at.column, COLUMNS);
    const placing in_a = placing_of(from_a.along, ROWS), in_b = placing_of(from_b.along, COLUMNS);
    const int block = td_binary64_block(a.k);
    const double *const rows = slabs + warp_row() * in_a.line_step, *const columns =
                                                                        slabs + SLAB +
                                                                        warp_column() *
                                                                            in_b.line_step;
    int64_t left = a.k, l0 = 0;
    sums = {};
    sums.left = block;
    __syncthreads();
    td_async_pipeline<stages>(
        (a.k + K_STEP - 1) / K_STEP,
        [&](int stage) {
            copy_slab<ROWS>(from_a, left, slabs + stage * STAGE);
            copy_slab<COLUMNS>(from_b, left, slabs + stage * STAGE + SLAB);
            left -= K_STEP;
        },
        [&](int stage) {
            if (is_scaled) {
                double *const slab = slabs + stage * STAGE;
                scale_slab(p, 0, at.rows, l0, shared.scale, in_a, slab);
                scale_slab(p, 1, COLUMNS, l0, shared.scale + ROWS, in_b, slab + SLAB);
                l0 += K_STEP;
                __syncthreads();
            }
            if (warp_row() >= at.rows) return;
            const double *const x = rows + stage * STAGE, *const y = columns + stage * STAGE;
            if (from_a.along && from_b.along)
                multiply_stage<true, true>(sums, x, y, block);
            else if (from_a.along)
                multiply_stage<true, false>(sums, x, y, block);
            else if (from_b.along)
                multiply_stage<false, true>(sums, x, y, block);
            else
                multiply_stage<false, false>(sums, x, y, block);
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
    TD_ROLLED
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
    td_each_open_tile(p.target, false,
                      [&](int tile) { repair_tile<stages>(p, tile, shared, slabs); });
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
    const unsigned tiles = td_grid_of_tiles(p->target, 1, batch).x;
    const dim3 grid(min(tiles, (unsigned)multiprocessors), 1, (unsigned)batch);
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
