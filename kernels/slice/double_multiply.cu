/* double_multiply.cu - products of dense slices of binary64 digits, on the tensor cores (elsewhere:
 * in plain C).
 *
 * A block makes a tile of the sums of one weight, pair after pair of slices, a warp 64 x 32
 * elements of it. K_STEP of k of both slices at a time pass through shared memory, one 128-byte row
 * for each line, in as many stages as are copied ahead.
 * All sums are exact: order plays no part. Of the two operands of the tensor cores the first is B:
 * then each lane has neighbouring rows of C. */
#include "../device/async_copy.h"
#include "../device/dmma.h"
#include "double_tile.h"

namespace
{

enum {
    WARP_COLUMNS = 32,
    WARP_ROWS = 64,
    WARPS_DOWN = TD_DOUBLE_ROWS / WARP_ROWS,
    THREADS = 32 * WARPS_DOWN * TD_DOUBLE_COLUMNS / WARP_COLUMNS,
    K_STEP = 16, /* elements of a line in one stage */
    CHUNK = 2,   /* elements that are copied together */
    CHUNKS = K_STEP / CHUNK,
    STAGE = (TD_DOUBLE_ROWS + TD_DOUBLE_COLUMNS) * K_STEP /* the columns, then the rows */
};

/* A thread's elements of its warp's tile: sums[i][j][2 h + e] belongs to column 16 i + 8 h + lane /
 * 4 and row 8 j + 2 (lane % 4) + e. It is how m16n8 products of the tensor cores are spread over a
 * warp. */
enum { MMA_COLUMNS = 16, MMA_ROWS = 8, COLUMN_MMAS = 2, ROW_MMAS = 8 };
typedef double warp_sums[COLUMN_MMAS][ROW_MMAS][4];

/* Where element l of a line is in a stage: of four neighbouring lines, four neighbouring elements
 * are in different banks. */
TD_DEVICE int place_of(int line, int l) { return line * K_STEP + (l ^ (line % 4 * 4)); }

#if TD_HAS_CUDA_DEVICE && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)

/* Adds the products of one stage; x0 and y0 are the first lines of the warp's tile in it. */
TD_DEVICE void multiply_stage(warp_sums &sums, const double *stage, int x0, int y0)
{
    const int line = (int)threadIdx.x % 32 / 4, l = (int)threadIdx.x % 4;
    TD_UNROLL
    for (int half = 0; half < K_STEP; half += 8) {
        double columns[COLUMN_MMAS][4], rows[ROW_MMAS][2];
        TD_UNROLL
        for (int e = 0; e < 2; e++) {
            const double *from = stage + place_of(line, half + 4 * e + l);
            TD_UNROLL
            for (int i = 0; i < 2 * COLUMN_MMAS; i++)
                columns[i / 2][2 * e + i % 2] = from[(x0 + 8 * i) * K_STEP];
            TD_UNROLL
            for (int j = 0; j < ROW_MMAS; j++) rows[j][e] = from[(y0 + MMA_ROWS * j) * K_STEP];
        }
        TD_UNROLL
        for (int i = 0; i < COLUMN_MMAS; i++) TD_UNROLL
        for (int j = 0; j < ROW_MMAS; j++) td_multiply64(sums[i][j], columns[i], rows[j]);
    }
}

#else

TD_DEVICE void multiply_stage(warp_sums &sums, const double *stage, int x0, int y0)
{
    const int lane = (int)threadIdx.x % 32;
    TD_UNROLL_N(1)
    for (int l = 0; l < K_STEP; l++) {
        double rows[2 * ROW_MMAS];
        TD_UNROLL
        for (int j = 0; j < 2 * ROW_MMAS; j++)
            rows[j] = stage[place_of(y0 + j / 2 * MMA_ROWS + lane % 4 * 2 + j % 2, l)];
        TD_UNROLL
        for (int i = 0; i < 2 * COLUMN_MMAS; i++) {
            const double column = stage[place_of(x0 + 8 * i + lane / 4, l)];
            TD_UNROLL
            for (int j = 0; j < 2 * ROW_MMAS; j++)
                sums[i / 2][j / 2][i % 2 * 2 + j % 2] += column * rows[j];
        }
    }
}

#endif

/* A pair of slices, from this thread's chunk of the first line that it copies. */
enum { APART = THREADS / CHUNKS, LINES = TD_DOUBLE_ROWS + TD_DOUBLE_COLUMNS };
struct sources {
    const double *chunk[LINES / APART];
};

/* Lines beyond the digits are copies of the last one; what they give is not stored. */
TD_DEVICE void find_sources(const td_double_slices &p, const td_double_place &at, int slice_a,
                            int slice_b, sources &s)
{
    const int line = (int)threadIdx.x / CHUNKS, l = (int)threadIdx.x % CHUNKS * CHUNK;
    const double *a = td_digits_of(p, 0, slice_a) + l, *b = td_digits_of(p, 1, slice_b) + l;
    TD_UNROLL
    for (int i = 0; i < LINES / APART; i++) {
        const int column = line + i * APART, row = column - TD_DOUBLE_COLUMNS;
        s.chunk[i] = i * APART < TD_DOUBLE_COLUMNS
                         ? b + min(at.line[1] + column, p.lines[1] - 1) * p.k
                         : a + min(at.line[0] + row, p.lines[0] - 1) * p.k;
    }
}

/* Starts the copies of one step to a stage: [columns, then rows][K_STEP]. */
TD_DEVICE void fetch(sources &s, double *stage)
{
    const int line = (int)threadIdx.x / CHUNKS, chunk = (int)threadIdx.x % CHUNKS;
    double *to = stage + place_of(line, chunk * CHUNK);
    static_assert(APART % 4 == 0, "a thread's places differ by whole lines");
    TD_UNROLL
    for (int i = 0; i < LINES / APART; i++) {
        td_async_copy16(to + i * APART * K_STEP, s.chunk[i]);
        s.chunk[i] += K_STEP;
    }
}

template <int stages>
TD_DEVICE void multiply_pair(const td_double_slices &p, sources &from, double *shared,
                             warp_sums &sums)
{
    const int warp = (int)threadIdx.x / 32;
    const int x0 = warp / WARPS_DOWN * WARP_COLUMNS;
    const int y0 = TD_DOUBLE_COLUMNS + warp % WARPS_DOWN * WARP_ROWS;
    __syncthreads(); /* nobody reads a stage of the pair before any more */
    td_async_pipeline<stages>(
        p.k / K_STEP, [&](int stage) { fetch(from, shared + stage * STAGE); },
        [&](int stage) { multiply_stage(sums, shared + stage * STAGE, x0, y0); });
}

/* Calls work(sums, in memory) for each two neighbouring rows of the thread's elements that
 * exist. */
template <class function>
TD_DEVICE void each_two_rows(const td_double_slices &p, const td_double_place &at, warp_sums &sums,
                             function work)
{
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int row = at.line[0] + warp % WARPS_DOWN * WARP_ROWS + lane % 4 * 2;
    const int column = at.line[1] + warp / WARPS_DOWN * WARP_COLUMNS + lane / 4;
    double *c = td_sums_of(p, at.weight) + (int64_t)column * p.lines[0] + row;
    TD_UNROLL
    for (int i = 0; i < 2 * COLUMN_MMAS; i++) {
        TD_UNROLL
        for (int j = 0; j < ROW_MMAS; j++)
            if (column + 8 * i < p.lines[1] && row + j * MMA_ROWS < p.lines[0])
                work(&sums[i / 2][j][i % 2 * 2],
                     reinterpret_cast<double2 *>(c + (int64_t)(8 * i) * p.lines[0] + j * MMA_ROWS));
    }
}

template <int stages>
__global__ void __launch_bounds__(THREADS, 2) double_multiply_kernel(const td_double_slices p)
{
    TD_DYNAMIC_SHARED(double, shared); /* what the tile's slices are, then stages */
    const td_double_place at = td_double_place_of_block(p);
    if (at.weight < 0) return; /* the whole block, before any barrier */
    const td_tile_slices seen =
        td_look_at_slices(p, at, *reinterpret_cast<td_tile_slices *>(shared));
    warp_sums sums = {};
    if (p.accumulate)
        each_two_rows(p, at, sums, [](double *sum, const double2 *c) {
            sum[0] = c->x;
            sum[1] = c->y;
        });
    TD_UNROLL_N(1)
    for (int a = 0; a <= at.weight; a++) {
        sources from;
        if (!td_pair_is_dense(seen, a, at.weight - a)) continue;
        find_sources(p, at, a, at.weight - a, from);
        multiply_pair<stages>(p, from, shared, sums);
    }
    each_two_rows(p, at, sums,
                  [](const double *sum, double2 *c) { *c = make_double2(sum[0], sum[1]); });
}

/* With two stages it fits devices with little shared memory. */
enum { STAGES = 4, FEW_STAGES = 2 };

constexpr int bytes_of(int stages) { return stages * STAGE * (int)sizeof(double); }

template <int stages> cudaError_t launch(const td_double_slices *p, dim3 grid, cudaStream_t stream)
{
    return TD_LAUNCH(double_multiply_kernel<stages>, grid, THREADS, bytes_of(stages), stream, *p);
}

} // namespace

cudaError_t td_double_slices_multiply(const td_double_slices *p, cudaStream_t stream)
{
    int bytes = 0;
    const cudaError_t error = td_block_shared_bytes(&bytes);
    if (error != cudaSuccess) return error;
    const dim3 grid = td_double_grid(p);
    return bytes < bytes_of(STAGES) ? launch<FEW_STAGES>(p, grid, stream)
                                    : launch<STAGES>(p, grid, stream);
}

cudaError_t td_double_multiply_prepare(void)
{
    const cudaError_t error =
        td_allow_shared(cudaSuccess, double_multiply_kernel<STAGES>, bytes_of(STAGES));
    return td_allow_shared(error, double_multiply_kernel<FEW_STAGES>, bytes_of(FEW_STAGES));
}
