/* mma.cu - products of residues on the tensor cores, by the instructions for a warp (on a host device: in plain C).
 *
 * A warp makes 64 x 64 elements of C, a block a tile of rows x columns warps. K_STEP of k of both panels pass through
 * shared memory at a time, one 64-byte row for each line, in as many stages as are copied ahead. Of the two operands of the
 * tensor cores the first is B: then each lane has neighbouring rows of C, which is column-major. */
#include "panels.h"

#include "../async_copy.h"
#include "../tile_order.h"
#include "residue.h"

namespace
{

enum {
    WARP_TILE = 64, /* rows, and columns, of C */
    K_STEP = 64,    /* bytes of a line in one stage */
    CHUNK = 16,     /* bytes that are copied, and loaded for the tensor cores, together */
    CHUNKS = K_STEP / CHUNK
};

/* A thread's elements of its warp's tile: sums[i][j][2 h + e] belongs to column 16 i + 8 h + lane / 4 and line
 * 8 j + 2 (lane % 4) + e of A. It is how m16n8 products of the tensor cores are spread over a warp. */
enum { MMA_COLUMNS = 16, MMA_ROWS = 8, COLUMN_MMAS = 4, ROW_MMAS = 8 };
typedef int32_t warp_sums[COLUMN_MMAS][ROW_MMAS][4];

template <int warp_rows, int warp_columns, int stage_count> struct shape {
    enum {
        threads = 32 * warp_rows * warp_columns,
        rows = WARP_TILE * warp_rows,
        columns = WARP_TILE * warp_columns,
        lines = rows + columns,
        stage_bytes = lines * K_STEP,
        stages = stage_count,
        shared_bytes = stages * stage_bytes
    };
};

/* The large tile needs least of the L2; with two stages it fits devices with little shared memory. */
using large = shape<2, 4, 4>;
using large_in_little = shape<2, 4, 2>;
using small = shape<1, 1, 4>;

#if TD_HAS_CUDA_DEVICE

/* Where chunk `chunk` of a line is: eight neighbouring lines have the same chunk in different banks. */
TD_DEVICE int place(int line, int chunk)
{
    return line * K_STEP + (chunk ^ (line / 2 % CHUNKS)) * CHUNK;
}

/* Four 8 x 16 matrices of bytes, a row of which is at the address that each lane gives. */
TD_DEVICE void load_matrices(uint32_t (&to)[4], const int8_t *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
}

/* sums += 16 x 32 bytes times 32 x 8 bytes. */
TD_DEVICE void multiply_matrices(int32_t (&s)[4], const uint32_t (&x)[4], const uint32_t *y)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
#elif defined(__CUDA_ARCH__)
    TD_UNROLL
    for (int q = 0; q < 4; q++) /* quarters: lower or upper columns, first or second half of k */
        asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+r"(s[q % 2 * 2]), "+r"(s[q % 2 * 2 + 1])
            : "r"(x[q]), "r"(y[q / 2]));
#endif
}

/* Adds the products of one stage; x are the lines of B, y those of A, of the warp's tile. */
TD_DEVICE void multiply_stage(warp_sums &sums, const int8_t *x, const int8_t *y)
{
    const int lane = (int)threadIdx.x % 32;
    TD_UNROLL
    for (int half = 0; half < K_STEP / 32; half++) {
        const int8_t *from_x = x + place(lane % 16, 2 * half + lane / 16);
        const int8_t *from_y = y + place(lane % 8 + lane / 16 * 8, 2 * half + lane / 8 % 2);
        uint32_t columns[COLUMN_MMAS][4], rows[ROW_MMAS / 2][4];
        TD_UNROLL
        for (int i = 0; i < COLUMN_MMAS; i++)
            load_matrices(columns[i], from_x + i * MMA_COLUMNS * K_STEP);
        TD_UNROLL
        for (int j = 0; j < ROW_MMAS / 2; j++)
            load_matrices(rows[j], from_y + j * 2 * MMA_ROWS * K_STEP);
        TD_UNROLL
        for (int i = 0; i < COLUMN_MMAS; i++) {
            TD_UNROLL
            for (int j = 0; j < ROW_MMAS; j++)
                multiply_matrices(sums[i][j], columns[i], &rows[j / 2][j % 2 * 2]);
        }
    }
}

#else

TD_DEVICE int place(int line, int chunk) { return line * K_STEP + chunk * CHUNK; }

/* int16, which compilers multiply and add in pairs, if they leave the loops loops. */
TD_DEVICE void widen(int16_t *to, const int8_t *from)
{
    TD_UNROLL_N(1)
    for (int l = 0; l < K_STEP; l++) to[l] = from[l];
}

TD_DEVICE int32_t dot(const int16_t *x, const int16_t *y)
{
    int32_t sum = 0;
    TD_UNROLL_N(1)
    for (int l = 0; l < K_STEP; l++) sum += x[l] * y[l];
    return sum;
}

TD_DEVICE void multiply_stage(warp_sums &sums, const int8_t *x, const int8_t *y)
{
    const int lane = (int)threadIdx.x % 32;
    int16_t column[K_STEP], rows[2 * ROW_MMAS][K_STEP];
    for (int j = 0; j < 2 * ROW_MMAS; j++)
        widen(rows[j], y + (j / 2 * MMA_ROWS + lane % 4 * 2 + j % 2) * K_STEP);
    for (int i = 0; i < 2 * COLUMN_MMAS; i++) {
        widen(column, x + (i * MMA_COLUMNS / 2 + lane / 4) * K_STEP);
        for (int j = 0; j < 2 * ROW_MMAS; j++) {
            int32_t *sum = &sums[i / 2][j / 2][i % 2 * 2 + j % 2];
            *sum = (int32_t)((uint32_t)*sum + (uint32_t)dot(column, rows[j]));
        }
    }
}

#endif

/* What a block makes. */
struct job {
    int64_t row, column;
    int plane, piece, member;
    int first, end; /* steps of k */
};

/* Both panels of the block's tile, from this thread's chunk of the first line that it copies. */
template <class tile> struct sources {
    enum { apart = tile::threads / CHUNKS, count = tile::lines / apart }; /* lines of this thread */
    const int8_t *chunk[count];
};

/* Lines beyond the panels are copies of the last one; what they give is not stored. */
template <class tile>
TD_DEVICE void find_sources(sources<tile> &s, const td_panels &p, const job &own)
{
    const int64_t first = (int64_t)own.first * K_STEP;
    const int8_t *a =
        static_cast<const int8_t *>(p.a) + own.plane * p.plane_a + own.member * p.member_a + first;
    const int8_t *b =
        static_cast<const int8_t *>(p.b) + own.plane * p.plane_b + own.member * p.member_b + first;
    TD_UNROLL
    for (int i = 0; i < sources<tile>::count; i++) {
        const int line = (int)threadIdx.x / CHUNKS + i * sources<tile>::apart;
        s.chunk[i] = line < tile::columns
                         ? b + min(own.column + line, p.n - 1) * p.ld_b
                         : a + min(own.row + line - tile::columns, p.m - 1) * p.ld_a;
        s.chunk[i] += threadIdx.x % CHUNKS * CHUNK;
    }
}

/* Starts the copies of one step to a stage: [columns, then rows][K_STEP]. */
template <class tile> TD_DEVICE void fetch(sources<tile> &s, int8_t *stage)
{
    const int line = (int)threadIdx.x / CHUNKS, chunk = (int)threadIdx.x % CHUNKS;
    static_assert(sources<tile>::apart % (2 * CHUNKS) == 0,
                  "a thread's places differ by whole lines");
    int8_t *to = stage + place(line, chunk);
    TD_UNROLL
    for (int i = 0; i < sources<tile>::count; i++) {
        td_async_copy16(to + i * sources<tile>::apart * K_STEP, s.chunk[i]);
        s.chunk[i] += K_STEP;
    }
}

/* Sums of k of this thread's elements. x0 and y0 are its warp's first lines of a stage. */
template <class tile>
TD_DEVICE void multiply_panels(warp_sums &sums, sources<tile> &from, int64_t steps, int8_t *shared,
                               int x0, int y0)
{
    td_async_pipeline<tile::stages>(
        steps, [&](int stage) { fetch<tile>(from, shared + stage * tile::stage_bytes); },
        [&](int stage) {
            const int8_t *lines = shared + stage * tile::stage_bytes;
            multiply_stage(sums, lines + x0 * K_STEP, lines + y0 * K_STEP);
        });
}

/* row and column are those of the warp's tile. */
template <td_reduction how>
TD_DEVICE void store_residues(const td_panels &p, const job &own, warp_sums &sums, int64_t row,
                              int64_t column, const td_sum_modulus &modulus)
{
    enum { COLUMNS = 2 * COLUMN_MMAS, APART = MMA_COLUMNS / 2 };
    const int lane = (int)threadIdx.x % 32, first = (int)column + lane / 4, left = (int)p.n - first;
    const int64_t step = APART * p.ld_c;
    int8_t *to = static_cast<int8_t *>(p.c) + own.plane * p.plane_c + own.member * p.member_c +
                 own.piece * p.piece_c + first * p.ld_c + row + lane % 4 * TD_LANE_LINES;
    if (row >= p.m) return;
    if (p.accumulate) {
        TD_UNROLL
        for (int i = 0; i < COLUMNS; i++)
            if (i * APART < left) td_add_residues<4>(&sums[i / 2][0][i % 2 * 2], to + i * step);
    }
    TD_UNROLL
    for (int i = 0; i < COLUMNS; i++) {
        const td_quad<uint32_t> residues =
            td_residues_of_lane<how, 4>(&sums[i / 2][0][i % 2 * 2], modulus);
        if (i * APART < left) *reinterpret_cast<td_quad<uint32_t> *>(to) = residues;
        to += step;
    }
}

template <class tile> TD_DEVICE job job_of_block(const td_panels &p)
{
    int row_tile, column_tile;
    job own;
    td_tile_of_block((int)((p.m + tile::rows - 1) / tile::rows),
                     (int)((p.n + tile::columns - 1) / tile::columns), &row_tile, &column_tile);
    own.row = (int64_t)row_tile * tile::rows;
    own.column = (int64_t)column_tile * tile::columns;
    own.piece = (int)blockIdx.y % p.pieces;
    own.plane = (int)blockIdx.y / p.pieces;
    own.member = (int)blockIdx.z;
    own.first = TD_PIECE_K / K_STEP * td_first_of_piece(&p, own.piece);
    own.end = min(TD_PIECE_K / K_STEP * td_first_of_piece(&p, own.piece + 1),
                  (int)((p.k + K_STEP - 1) / K_STEP));
    return own;
}

/* Grid: tile, plane * pieces + piece, batch member. */
template <class tile>
__global__ void __launch_bounds__(tile::threads) residue_products_kernel(const td_panels p)
{
    TD_DYNAMIC_SHARED(int8_t, shared);
    const job own = job_of_block<tile>(p);
    if (own.plane >= td_planes_wanted(&p, own.member) ||
        !td_has_wanted(&p, own.member, own.row, own.column, tile::rows, tile::columns))
        return; /* the whole block, before any barrier */
    const int warp = (int)threadIdx.x / 32, warp_rows = tile::rows / WARP_TILE;
    const int x0 = warp / warp_rows * WARP_TILE, y0 = warp % warp_rows * WARP_TILE;
    warp_sums sums = {};
    sources<tile> from;
    find_sources<tile>(from, p, own);
    multiply_panels<tile>(sums, from, own.end - own.first, shared, x0, tile::columns + y0);
    const int64_t row = own.row + y0, column = own.column + x0;
    if (p.type == TD_PANEL_LOGARITHM) {
        store_residues<TD_LOGARITHM_OF_SUM>(p, own, sums, row, column, {});
        return;
    }
    const td_sum_modulus modulus = td_moduli_of_sums.of[own.plane];
    if (p.k <= modulus.short_k)
        store_residues<TD_SHORT_SUM>(p, own, sums, row, column, modulus);
    else
        store_residues<TD_LONG_SUM>(p, own, sums, row, column, modulus);
}

template <class tile> int64_t tiles_of(const td_panels *p)
{
    return (p->m + tile::rows - 1) / tile::rows * ((p->n + tile::columns - 1) / tile::columns);
}

template <class tile> cudaError_t launch(const td_panels *p, cudaStream_t stream)
{
    const dim3 grid((unsigned)tiles_of<tile>(p), (unsigned)(p->planes * p->pieces),
                    (unsigned)p->batch);
    return TD_LAUNCH(residue_products_kernel<tile>, grid, tile::threads, tile::shared_bytes, stream,
                     *p);
}

/* Large tiles are faster unless they are too few for the device, or much of them is outside C. */
bool suits_large(const td_panels *p, int multiprocessors)
{
    const int64_t tiles = tiles_of<large>(p);
    const int64_t elements = tiles * large::rows * large::columns;
    const int64_t needed = tiles_of<small>(p) * small::rows * small::columns;
    return tiles * p->planes * p->pieces * p->batch >= multiprocessors &&
           2 * elements <= 3 * needed;
}

template <class tile> cudaError_t prepare(cudaError_t error)
{
    return td_allow_shared(error, residue_products_kernel<tile>, tile::shared_bytes);
}

} // namespace

cudaError_t td_mma_run(const td_panels *panels, cudaStream_t stream)
{
    int shared_bytes = 0, multiprocessors = 0;
    cudaError_t error = td_block_shared_bytes(&shared_bytes);
    if (error == cudaSuccess) error = td_multiprocessors(&multiprocessors);
    if (error != cudaSuccess) return error;
    if (suits_large(panels, multiprocessors))
        return shared_bytes < large::shared_bytes ? launch<large_in_little>(panels, stream)
                                                  : launch<large>(panels, stream);
    return launch<small>(panels, stream);
}

cudaError_t td_mma_prepare(void)
{
    cudaError_t error = prepare<large>(cudaSuccess);
    error = prepare<large_in_little>(error);
    return prepare<small>(error);
}
