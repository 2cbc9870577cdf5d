/* int8_mma_sm75_sm120.cu - products of residues on the tensor cores, by the instructions for a
 * warp, which every device from sm_75 to sm_120 has; on a host device in plain C.
 *
 * A block makes a tile of C, each of its warps WARP_ROWS x 96 or 64 elements. 64 or 128 bytes of k
 * of all lines of both panels pass through shared memory at a time, in stages that are copied
 * ahead. */
#include "plane_gemm.h"

#include "../device/async_copy.h"
#include "../view/raster.h"
#include "epilogue.h"
#include "skip.h"
#include "warp_products.h"

namespace
{

/* One block of the wide tile, or two of the large one, take all registers. The wide one takes least
 * of what shared memory and the L2 can do, but nothing hides its start and its end. With shorter
 * stages two blocks of the large one fit devices with little shared memory. */
using wide = shape<4, 2, 96, 128, 2, 1>;
using large = shape<2, 2, 96, 128, 2, 2>;
using large_short = shape<2, 2, 96, 64, 2, 2>;
using small = shape<1, 1, 64, 64, 4, 7>;
static_assert((int)wide::rows == (int)TD_MMA_WIDE_ROWS &&
                  (int)wide::columns == (int)TD_MMA_WIDE_COLUMNS &&
                  (int)wide::shared_bytes == (int)TD_MMA_WIDE_BYTES &&
                  (int)large::rows == (int)TD_MMA_LARGE_ROWS &&
                  (int)large::columns == (int)TD_MMA_LARGE_COLUMNS &&
                  (int)large::shared_bytes == (int)TD_MMA_LARGE_BYTES &&
                  (int)small::rows == (int)TD_MMA_SMALL_SIDE &&
                  (int)small::columns == (int)TD_MMA_SMALL_SIDE,
              "those that routes count with");

/* What a block makes. */
struct job {
    int row, column, plane, slice, member;
    int first, end; /* of k */
};

/* Of a panel, what a thread copies of a stage: a chunk of every `apart`-th line. */
struct source {
    const int8_t *chunk; /* the next one */
    int64_t step;        /* to the chunk after it */
    int lines;           /* of the panel, from the thread's first one on */

    TD_INSIDE source(const int8_t *panel, int line, int count, int ld, int apart)
        : chunk(panel + (int64_t)line * ld), step((int64_t)apart * ld), lines(count - line)
    {
    }

    /* The compiler does not know the sum: else it would keep the addresses of all lines, for which
     * there are too few registers. */
    TD_INSIDE void move(int64_t bytes)
    {
#if TD_HAS_CUDA_DEVICE
        asm volatile("add.s64 %0, %0, %1;" : "+l"(chunk) : "l"(bytes));
#else
        chunk += bytes;
#endif
    }
};

/* What a thread copies to each stage. A stage is [columns, then rows][k_step]. Lines past a
 * panel's end are left out: what is computed of these is not stored. */
template <class tile> struct sources {
    enum {
        APART = tile::threads / tile::chunks,
        COLUMNS = tile::columns / APART, /* copies of a stage: of columns, of rows, of both */
        ROWS = tile::rows / APART,
        COPIES = COLUMNS + ROWS,
        OF_TURN = (2 * COPIES + tile::turns - 1) / tile::turns /* half of the turns have copies */
    };
    static_assert(APART % 8 == 0, "a thread's places differ by whole lines");
    source a, b;
    int8_t *to;            /* in the first stage */
    const td_stages *list; /* of the stages after those under way */
    int left, run; /* bytes of k from the chunk on; steps of the run of stages that is under way */

    static TD_INSIDE int line() { return (int)threadIdx.x / tile::chunks; }
    static TD_INSIDE int chunk() { return (int)threadIdx.x % tile::chunks; }

    TD_INSIDE sources(const td_panels &p, const job &own, int8_t *shared, const td_stages *stages)
        : a(static_cast<const int8_t *>(p.a) + own.plane * p.layout.plane_a +
                own.member * p.layout.member_a + chunk() * CHUNK,
            own.row + line(), (int)p.m, (int)p.layout.ld_a, APART),
          b(static_cast<const int8_t *>(p.b) + own.plane * p.layout.plane_b +
                own.member * p.layout.member_b + chunk() * CHUNK,
            own.column + line(), (int)p.n, (int)p.layout.ld_b, APART),
          to(shared + place<tile>(line(), chunk())), list(stages), left(own.end - chunk() * CHUNK)
    {
        begin_run();
    }

    TD_INSIDE void begin_run()
    {
        const int passed = list->passed * TD_SLICE_K;
        a.move(passed);
        b.move(passed);
        left -= passed;
        run = list->count * (TD_SLICE_K / tile::k_step);
        list++;
    }

    /* Starts a copy of the next step to a stage, of copies 0 to COPIES - 1 in turn, with zeros past
     * the end of k. `copies` false: moves on alone. */
    TD_INSIDE void copy(int stage, int i, bool copies)
    {
        const bool is_column = i < COLUMNS;
        const int own = is_column ? i : i - COLUMNS, last = (is_column ? COLUMNS : ROWS) - 1;
        source &from = is_column ? b : a;
        if (copies && own * APART < from.lines)
            td_async_copy_inside<16>(to + stage + i * APART * tile::k_step, from.chunk, left > 0);
        from.move(own == last ? tile::k_step - last * from.step : from.step);
    }

    /* The copies of one of tile::turns. */
    TD_INSIDE void copy_turn(int stage, int turn, bool copies)
    {
        TD_UNROLL
        for (int i = 0; i < OF_TURN; i++)
            if (turn * OF_TURN + i < COPIES) copy(stage, turn * OF_TURN + i, copies);
    }

    /* After all copies of a step. */
    TD_INSIDE void next()
    {
        left -= tile::k_step;
        if (--run == 0) begin_run();
    }

    TD_INSIDE void copy_all(int stage)
    {
        TD_UNROLL
        for (int i = 0; i < COPIES; i++) copy(stage, i, true);
        next();
    }
};

/* Sums of k of this thread's elements. x0 and y0 are its warp's first lines in the first stage;
 * columns and rows: how many there are in C from these on. Stages are copied one less than there
 * are ahead. */
template <class tile>
TD_DEVICE void multiply_panels(warp_sums<tile> &sums, sources<tile> &from, int steps,
                               const int8_t *x0, const int8_t *y0, int columns, int rows)
{
    TD_UNROLL
    for (int s = 0; s < tile::stages - 1; s++) {
        if (s < steps) from.copy_all(s * tile::stage_bytes);
        td_async_copy_commit();
    }
    td_async_copy_wait<tile::stages - 2>();
    __syncthreads();
    warp_products<tile> products(sums, x0, y0, columns, rows);
    int stage = 0, free = (tile::stages - 1) * tile::stage_bytes;
    TD_ROLLED
    for (int left = steps; left > 0; left--) {
        const int next =
            stage + tile::stage_bytes < tile::shared_bytes ? stage + tile::stage_bytes : 0;
        const bool copies = left >= tile::stages;
        products.read(stage, [&](int turn) { from.copy_turn(free, turn, copies); });
        from.next();
        td_async_copy_commit();
        td_async_copy_wait<tile::stages - 2>();
        __syncthreads(); /* the next stage is there, and nobody reads this one any more */
        products.finish(next);
        free = stage;
        stage = next;
    }
}

/* row and column are those of the warp's tile. */
template <td_reduction how, class tile>
TD_DEVICE void store_residues(const td_panels &p, const job &own, warp_sums<tile> &sums, int row,
                              int column, const td_sum_modulus &modulus)
{
    enum { COLUMNS = 2 * tile::column_mmas, APART = MMA_COLUMNS / 2 };
    const int lane = (int)threadIdx.x % 32, first = column + lane / 4, left = (int)p.n - first;
    const int64_t step = APART * p.layout.ld_c;
    int8_t *to = static_cast<int8_t *>(p.c) + own.plane * p.layout.plane_c +
                 own.member * p.layout.member_c + own.slice * p.slice_c + first * p.layout.ld_c +
                 row + lane % 4 * TD_LANE_LINES;
    if (row >= p.m) return;
    if (p.accumulate) {
        TD_UNROLL
        for (int i = 0; i < COLUMNS; i++)
            if (i * APART < left) td_add_residues<4>(&sums[i / 2][0][i % 2 * 2], to + i * step);
    }
    TD_UNROLL
    for (int i = 0; i < COLUMNS; i++) {
        if (td_skips(i * APART >= left)) return;
        const td_quad<uint32_t> residues =
            td_residues_of_lane<how, 4>(&sums[i / 2][0][i % 2 * 2], modulus);
        if (i * APART < left) *reinterpret_cast<td_quad<uint32_t> *>(to) = residues;
        to += step;
    }
}

template <class tile> TD_DEVICE job job_of_block(const td_panels &p)
{
    int row_tile, column_tile;
    job own = {};
    own.plane = (int)blockIdx.y;
    own.member = (int)blockIdx.z;
    own.end = (int)p.k;
    td_tile_of_block(((int)p.m + tile::rows - 1) / tile::rows,
                     ((int)p.n + tile::columns - 1) / tile::columns, &row_tile, &column_tile);
    own.row = row_tile * tile::rows;
    own.column = column_tile * tile::columns;
    if (p.slices > 1) {
        own.slice = own.plane % p.slices;
        own.plane /= p.slices;
        own.first = TD_SLICE_K * td_first_of_slice(&p, own.slice);
        own.end = min(own.end, TD_SLICE_K * td_first_of_slice(&p, own.slice + 1));
    }
    return own;
}

/* Lists the stages that a block goes through, and tells how many steps these have. */
template <class tile> TD_DEVICE int list_steps(const td_panels &p, const job &own, td_stages *list)
{
    TD_SHARED(int, steps, );
    if (threadIdx.x == 0) {
        const td_listed stages = td_list_stages<tile::rows, tile::columns>(
            p, own.member, own.row, own.column, own.first / TD_SLICE_K,
            (own.end + TD_SLICE_K - 1) / TD_SLICE_K, list);
        const int past_end = max(stages.end * TD_SLICE_K - own.end, 0);
        steps = (stages.count * TD_SLICE_K - past_end + tile::k_step - 1) / tile::k_step;
    }
    __syncthreads();
    return steps;
}

/* Grid: tile, plane * slices + slice, batch member. */
template <class tile>
__global__ void __launch_bounds__(tile::threads, tile::blocks)
    residue_products_kernel(const td_panels p)
{
    TD_DYNAMIC_SHARED(int8_t, shared);
    td_begin_kernel();
    const job own = job_of_block<tile>(p);
    if (own.plane >= td_planes_wanted(&p, own.member) ||
        !td_has_wanted(&p, own.member, own.row, own.column, tile::rows, tile::columns))
        return; /* the whole block, before any barrier */
    const int warp = td_uniform((int)threadIdx.x / 32), warp_rows = tile::rows / WARP_ROWS;
    const int x0 = warp / warp_rows * tile::column_mmas * MMA_COLUMNS,
              y0 = warp % warp_rows * WARP_ROWS;
    TD_SHARED(td_stages, list, [TD_MOST_RUNS]);
    const int steps = list_steps<tile>(p, own, list);
    warp_sums<tile> sums = {};
    sources<tile> from(p, own, shared, list);
    const int row = own.row + y0, column = own.column + x0;
    multiply_panels<tile>(sums, from, steps, shared + x0 * tile::k_step,
                          shared + (tile::columns + y0) * tile::k_step, (int)p.n - column,
                          (int)p.m - row);
    if (p.type == TD_PANEL_LOGARITHM) {
        store_residues<TD_LOGARITHM_OF_SUM, tile>(p, own, sums, row, column, {});
        return;
    }
    const td_sum_modulus modulus = td_modulus_of_plane(p, own.plane);
    if (p.k <= modulus.short_k)
        store_residues<TD_SHORT_SUM, tile>(p, own, sums, row, column, modulus);
    else
        store_residues<TD_LONG_SUM, tile>(p, own, sums, row, column, modulus);
}

template <class tile> int64_t tiles_of(const td_panels *p)
{
    return td_region_blocks(&p->region, p->m, p->n, tile::rows, tile::columns);
}

template <class tile> cudaError_t launch(const td_panels *p, cudaStream_t stream)
{
    const dim3 grid((unsigned)((p->m + tile::rows - 1) / tile::rows *
                               ((p->n + tile::columns - 1) / tile::columns)),
                    (unsigned)(p->planes * p->slices), (unsigned)p->batch);
    return TD_LAUNCH_NEXT(residue_products_kernel<tile>, grid, tile::threads, tile::shared_bytes,
                          stream, *p);
}

template <class tile> cudaError_t prepare(cudaError_t error)
{
    return td_allow_shared(error, residue_products_kernel<tile>, tile::shared_bytes);
}

} // namespace

cudaError_t td_mma_run(const td_panels *panels, cudaStream_t stream)
{
    switch (panels->gemm) {
    case TD_GEMM_MMA_WIDE:
        return launch<wide>(panels, stream);
    case TD_GEMM_MMA_LARGE:
        return launch<large>(panels, stream);
    case TD_GEMM_MMA_LARGE_SHORT:
        return launch<large_short>(panels, stream);
    case TD_GEMM_MMA_SMALL:
        return launch<small>(panels, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t td_mma_prepare(void)
{
    cudaError_t error = prepare<wide>(cudaSuccess);
    error = prepare<large>(error);
    error = prepare<large_short>(error);
    return prepare<small>(error);
}
