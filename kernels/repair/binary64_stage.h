/* binary64_stage.h - stages of shared memory with elements of both operands of a tile, and the
 * copies that fill them, in steps along k: by all threads, or in boxes. */
#ifndef TD_BINARY64_STAGE_H
#define TD_BINARY64_STAGE_H

#include "../view/access.h"
#include "../device/cluster.h"
#include "../device/copy_ring.h"
#include "../view/tma_view.h"
#include "binary64.h"

/* A block makes ROWS x COLUMNS elements of C, a warp WARP_ROWS x WARP_COLUMNS; a stage in shared
 * memory has K_STEP elements of k of both operands. */
enum {
    ROWS = 2 * TD_TILE,
    COLUMNS = TD_TILE,
    WARP_ROWS = 32,
    WARP_COLUMNS = 32,
    WARP = 32,
    WARPS = ROWS / WARP_ROWS * (COLUMNS / WARP_COLUMNS),
    THREADS = WARP * WARPS,
    K_STEP = 16,
    SLAB = ROWS * K_STEP, /* where columns begin */
    STAGE = SLAB + COLUMNS * K_STEP,
    STAGE_BYTES = 8 * STAGE
};

#if TD_HAS_CUDA_DEVICE && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
#define TD_HAS_TENSOR_BINARY64 1
#else
#define TD_HAS_TENSOR_BINARY64 0
#endif

/* Returns the bytes of shared memory for a ring of stages, which begins at td_first_box. */
TD_HOST_DEVICE constexpr int bytes_of_stages(int stages)
{
    return stages * STAGE_BYTES + TD_BOX_ALIGNMENT;
}

/* ---- places ---- */

/* A place in shared memory, as the instructions have it, and the one so many numbers further. */
#if TD_HAS_TENSOR_BINARY64
typedef uint32_t shared_place;
TD_DEVICE shared_place place_in_shared(const double *at) { return td_shared_address(at); }
TD_DEVICE shared_place further(shared_place at, int numbers) { return at + 8 * numbers; }
#else
typedef double *shared_place;
TD_DEVICE shared_place place_in_shared(double *at) { return at; }
TD_DEVICE shared_place further(shared_place at, int numbers) { return at + numbers; }
#endif

/* Rows of a slab are 16 elements, as many as there are banks: of k of a line, if the operand stands
 * along k; else of 16 lines at one k, whose other rows follow. The eight chunks of two elements of
 * row i are swapped by exclusive-or with i mod 8. */
TD_HOST_DEVICE int element_in_slab(bool along, int line, int l)
{
    const int row = along ? line : line / 16 * 16 + l, column = along ? l : line % 16;
    return row * 16 + ((column / 2 ^ row % 8) * 2 | column % 2);
}

/* The first elements of k of 16 lines are for 8 lanes n at four of k, and again, `second`, for
 * their next ones: such that half of these lanes, who load together, find theirs in different
 * banks. */
TD_HOST_DEVICE int line_of_lane(bool along, int n, bool second)
{
    return along ? n % 4 * 2 + n / 4 + 8 * second
                 : n % 2 + 2 * (n / 4 + 2 * second + n / 2 % 2 * 4);
}

/* From a lane's first element of a warp's lines, at k = 0 .. 3, to that of lines 16 unit and so on,
 * at k + 4 quarter. */
TD_HOST_DEVICE int later_element(bool along, int first, int unit, bool second, int quarter)
{
    return along ? (first ^ quarter * 4) + (unit * 16 + second * 8) * 16
                 : (first ^ second * 4 ^ quarter % 2 * 8) + (unit * 16 + quarter * 4) * 16;
}

/* ---- copies by threads ---- */

/* What a thread copies of a slab: chunks of one or two elements that are neighbours in memory. Rows
 * of chunks are lines, if the operand stands along k, or else elements of k; a thread has those of
 * every THREADS-th chunk. */
template <bool along, int lines, int width> struct chunks {
    enum {
        IN_ROW = (along ? (int)K_STEP : lines) / width,
        ROWS_APART = THREADS / IN_ROW,
        COUNT = lines * K_STEP / THREADS / width
    };

    /* The thread's first. */
    static TD_INSIDE int row() { return (int)threadIdx.x / IN_ROW; }
    static TD_INSIDE int column() { return (int)threadIdx.x % IN_ROW * width; }
    static TD_INSIDE int in_slab()
    {
        return along ? element_in_slab(true, row(), column())
                     : element_in_slab(false, column(), row());
    }
    static TD_INSIDE int64_t in_memory(const td_view &o) { return row() * row_step(o) + column(); }

    /* The i-th from the first: rows() < ROWS_APART, a power of two, so that bits of the row's
     * number are the one's or the other's. */
    static TD_INSIDE int later(int first, int i)
    {
        return (first ^ i * ROWS_APART % 8 * 2) + i * ROWS_APART * 16;
    }

    /* From row to row in memory. */
    static TD_INSIDE int64_t row_step(const td_view &o) { return along ? o.line_step : o.k_step; }

    /* Where the thread's first chunk of a slab is in memory. Lines past the last one are copies of
     * that. */
    static TD_INSIDE int64_t first(const td_view &o, int last_line)
    {
        return along ? min(row(), last_line) * row_step(o) + column()
                     : row() * row_step(o) + min(column(), last_line + 1 - width);
    }

    /* Starts the copies of a slab whose elements of k are all there; rows are `step` bytes apart.
     * at_edge: there may be lines past the last one. */
    template <bool at_edge>
    static TD_INSIDE void copy(const double *from, uint32_t step, int last_line, shared_place slab)
    {
        TD_UNROLL
        for (int i = 0; i < COUNT; i++) {
            const int rows =
                along && at_edge ? max(0, min(i * ROWS_APART, last_line - row())) : i * ROWS_APART;
            td_async_copy<8 * width>(further(slab, later(in_slab(), i)),
                                     reinterpret_cast<const char *>(from) +
                                         (uint64_t)step * (uint32_t)rows);
        }
    }

    /* Starts the copies of a slab that is not whole, with zeros for what is not there. */
    static TD_INSIDE void copy_edge(const td_view &o, const double *from, int lines_left,
                                    int elements, double *slab)
    {
        const int rows_left = (along ? lines_left : elements) - row(),
                  columns_left = (along ? elements : lines_left) - column();
        TD_ROLLED
        for (int i = 0; i < COUNT; i++)
            td_async_copy_inside<8>(slab + later(in_slab(), i),
                                    from + in_memory(o) + i * ROWS_APART * row_step(o),
                                    i * ROWS_APART < rows_left && 0 < columns_left);
    }
};

/* The operands of a tile: their matrices, and the first lines. */
struct tile_operands {
    const td_view &a, &b;
    const double *matrix_a, *matrix_b;
    int row, column;

    TD_INSIDE const double *first_a() const { return matrix_a + td_view_at(a, row, 0); }
    TD_INSIDE const double *first_b() const { return matrix_b + td_view_at(b, column, 0); }
};

/* True where pairs of elements can be copied: all of them are aligned, and no line is without its
 * neighbour. */
TD_DEVICE bool has_aligned_pairs(const td_view &o, const double *first)
{
    const int64_t across = o.k_step == 1 ? o.line_step : o.k_step;
    return across % 2 == 0 && (reinterpret_cast<uintptr_t>(first) & 15) == 0 &&
           (o.k_step == 1 || o.lines % 2 == 0);
}

/* Starts the copies of a step of so many elements from l0 on, at the end of k or of the lines. */
template <bool along_a, bool along_b>
TD_DEVICE_CALL void copy_edges(const tile_operands &t, int64_t l0, int elements, double *stage)
{
    chunks<along_a, ROWS, 1>::copy_edge(t.a, t.first_a() + l0 * t.a.k_step, t.a.lines - t.row,
                                        elements, stage);
    chunks<along_b, COLUMNS, 1>::copy_edge(t.b, t.first_b() + l0 * t.b.k_step, t.b.lines - t.column,
                                           elements, stage + SLAB);
}

/* ---- the way through k ---- */

enum { PARTS = 4 }; /* in which a step's copies are started, while products run */

/* A block's way through k for a tile: `steps` steps of `elements` elements of k, which are K_STEP,
 * or half as many where blocks of k have no more. All threads call start() first and end() last,
 * fill(step, part) for all parts, and steps that may be past the last, and release(step) when they
 * have read a step's elements. */
template <int stages, bool along_a, bool along_b> struct passage {
    enum { STAGES = stages, ALONG_A = along_a, ALONG_B = along_b, BLOCKS = 1 };
    td_copy_ring &ring;
    double *slabs;
    int elements;
    uint32_t steps;

    TD_INSIDE passage(td_copy_ring &own_ring, double *own_slabs, int64_t k)
        : ring(own_ring), slabs(own_slabs)
    {
        elements = min(td_binary64_block(k), (int)K_STEP);
        steps = (uint32_t)((k + elements - 1) / elements);
    }

    TD_INSIDE double *stage(uint32_t step) const { return slabs + (int)(step % stages) * STAGE; }
    TD_INSIDE void end() { td_ring_end<stages>(ring); }
    TD_INSIDE void release(uint32_t step) { td_ring_release<stages>(ring, step); }
};

/* Copied by all threads. */
struct no_boxes {
};
template <int stages, bool along_a, bool along_b>
struct by_threads : passage<stages, along_a, along_b> {
    enum { EXISTS = 1 };
    typedef by_threads single;
    typedef no_boxes parameter;
    typedef passage<stages, along_a, along_b> base;
    using base::elements;
    using base::ring;
    using base::stage;
    using base::steps;
    const tile_operands &operands;
    uint32_t whole;          /* steps of K_STEP elements that are there */
    bool has_pairs;          /* pairs are copied in these, else single elements */
    uint32_t step_a, step_b; /* bytes from row to row of chunks */
    int last_a, last_b;      /* lines of the tile that are there, less one */
    bool at_edge;            /* there are not all */
    const double *a, *b;     /* the thread's first chunks of the step to be filled next */

    TD_INSIDE by_threads(const parameter &, const tile_operands &tile, td_copy_ring &own_ring,
                         double *own_slabs)
        : base(own_ring, own_slabs, tile.a.k), operands(tile)
    {
        const td_view &o_a = tile.a, &o_b = tile.b;
        const double *const first_a = tile.first_a(), *const first_b = tile.first_b();
        const int64_t row_a = 8 * (along_a ? o_a.line_step : o_a.k_step),
                      row_b = 8 * (along_b ? o_b.line_step : o_b.k_step);
        step_a = (uint32_t)row_a;
        step_b = (uint32_t)row_b;
        last_a = min((int)ROWS, o_a.lines - tile.row) - 1;
        last_b = min((int)COLUMNS, o_b.lines - tile.column) - 1;
        whole =
            elements == K_STEP && max(row_a, row_b) <= UINT32_MAX ? (uint32_t)(o_a.k / K_STEP) : 0;
        at_edge = last_a < (int)ROWS - 1 || last_b < (int)COLUMNS - 1;
        has_pairs = has_aligned_pairs(o_a, first_a) && has_aligned_pairs(o_b, first_b);
        a = first_a + (has_pairs ? chunks<along_a, ROWS, 2>::first(o_a, last_a)
                                 : chunks<along_a, ROWS, 1>::first(o_a, last_a));
        b = first_b + (has_pairs ? chunks<along_b, COLUMNS, 2>::first(o_b, last_b)
                                 : chunks<along_b, COLUMNS, 1>::first(o_b, last_b));
    }

    /* A chunk's successor in the next step. */
    template <bool along> TD_INSIDE static const double *later(const double *chunk, uint32_t step)
    {
        return reinterpret_cast<const double *>(reinterpret_cast<const char *>(chunk) +
                                                (along ? 8 : (uint64_t)step) * K_STEP);
    }

    TD_INSIDE void start() { td_ring_start<stages>(ring, THREADS); }

    template <bool along, int lines>
    TD_INSIDE void copy(const double *&from, uint32_t row_step, int last_line, double *slab)
    {
        const shared_place to = place_in_shared(slab);
        if (has_pairs && !at_edge)
            chunks<along, lines, 2>::template copy<false>(from, row_step, last_line, to);
        else if (has_pairs)
            chunks<along, lines, 2>::template copy<true>(from, row_step, last_line, to);
        else if (!at_edge)
            chunks<along, lines, 1>::template copy<false>(from, row_step, last_line, to);
        else
            chunks<along, lines, 1>::template copy<true>(from, row_step, last_line, to);
        from = later<along>(from, row_step);
    }

    /* The copies of a step at the ends. */
    TD_INSIDE void copy_end(uint32_t step)
    {
        const int64_t l0 = (int64_t)step * elements;
        copy_edges<along_a, along_b>(operands, l0, (int)min(operands.a.k - l0, (int64_t)elements),
                                     stage(step));
    }

    TD_INSIDE void fill(uint32_t step, int part)
    {
        if (part == 0 && step < steps) td_ring_claim<stages>(ring, step);
        if (part == 0 && step < steps && step >= whole) copy_end(step);
        if (part == 1 && step < whole) copy<along_a, ROWS>(a, step_a, last_a, stage(step));
        if (part == 2 && step < whole)
            copy<along_b, COLUMNS>(b, step_b, last_b, stage(step) + SLAB);
        if (part == 3 && step < steps) td_ring_fill<stages>(ring, step);
    }
};

#if TD_HAS_CUDA_DEVICE

/* Lines of a box, if the operand stands along k: as many as a tile has columns, and half as many as
 * it has rows. */
enum { BOX_LINES = COLUMNS };

/* Copied in boxes of K_STEP elements of k, by one warp after the other: blocks of k have that
 * many. */
template <int stages, bool along_a, bool along_b>
struct by_boxes : passage<stages, along_a, along_b> {
    enum { EXISTS = TD_HAS_BOXES };
    typedef by_boxes single;
    typedef td_view_boxes parameter;
    typedef passage<stages, along_a, along_b> base;
    using base::ring;
    using base::stage;
    using base::steps;
    const parameter &boxes;
    int line[2], member[2];
    uint32_t warp;

    TD_INSIDE by_boxes(const parameter &own_boxes, const tile_operands &tile,
                       td_copy_ring &own_ring, double *own_slabs)
        : base(own_ring, own_slabs, tile.a.k), boxes(own_boxes)
    {
        line[0] = tile.row;
        line[1] = tile.column;
        member[0] = td_box_member(tile.a, (int)blockIdx.z);
        member[1] = td_box_member(tile.b, (int)blockIdx.z);
        warp = (uint32_t)td_uniform((int)threadIdx.x / WARP);
    }

    TD_INSIDE void start() { td_ring_start<stages>(ring, 1); }

    /* Calls box(place, x, y) for the boxes of `lines` lines of an operand, of which the first in
     * the slab is `first`. */
    template <int which, bool along, int lines, class function>
    TD_INSIDE void each_box(int first, int l0, double *slab, function box)
    {
        TD_UNROLL
        for (int i = first; i < first + lines; i += along ? (int)BOX_LINES : (int)TD_BOX)
            box(slab + i * K_STEP, along ? l0 : line[which] + i, along ? line[which] + i : l0);
    }

    /* By one thread. */
    template <int which, bool along, int lines>
    TD_INSIDE void copy(int l0, double *slab, uint64_t *full)
    {
        each_box<which, along, lines>(0, l0, slab, [&](double *to, int x, int y) {
            td_copy_box(to, &boxes.of[which], full, x, y, member[which], 0);
        });
    }

    TD_INSIDE bool is_own(uint32_t step) const { return step < steps && step % WARPS == warp; }

    TD_INSIDE void fill(uint32_t step, int part)
    {
        if (part != 0 || !is_own(step)) return;
        td_ring_claim<stages>(ring, step);
        if (td_is_elected()) {
            uint64_t *const full = &ring.full[step % stages];
            td_barrier_expect(full, STAGE_BYTES);
            copy<0, along_a, ROWS>((int)step * K_STEP, stage(step), full);
            copy<1, along_b, COLUMNS>((int)step * K_STEP, stage(step) + SLAB, full);
        }
        __syncwarp();
    }
};

#if TD_HAS_BOXES

/* Copied in boxes by two blocks of a cluster, whose tiles have the same rows of C and neighbouring
 * columns: each block copies half of the rows' elements to both. A block's barrier of an empty
 * stage waits for the threads of the block, and for a lane of each warp of the other one: what a
 * block copies to both has a place in both. Both blocks go through as many tiles, and as many
 * steps. */
template <int stages, bool along_a, bool along_b>
struct by_box_pairs : by_boxes<stages, along_a, along_b> {
    enum { BLOCKS = 2 };
    typedef by_boxes<stages, along_a, along_b> single;
    using single::boxes;
    using single::by_boxes;
    using single::is_own;
    using single::member;
    using single::ring;
    using single::stage;

    TD_INSIDE void start()
    {
        if ((int)threadIdx.x < stages) {
            td_barrier_start(&ring.full[threadIdx.x], 1);
            td_barrier_start(&ring.empty[threadIdx.x], THREADS + WARPS);
            td_barriers_started();
        }
        td_cluster_meet();
    }

    TD_INSIDE void end()
    {
        td_cluster_meet();
        td_ring_end<stages>(ring);
    }

    TD_INSIDE void release(uint32_t step)
    {
        td_ring_release<stages>(ring, step);
        __syncwarp();
        if (threadIdx.x % WARP == 0)
            td_barrier_arrive_in_block(td_shared_address(&ring.empty[step % stages]),
                                       1 - td_block_of_cluster<2>());
    }

    TD_INSIDE void fill(uint32_t step, int part)
    {
        if (part != 0 || !is_own(step)) return;
        td_ring_claim<stages>(ring, step);
        if (td_is_elected()) {
            uint64_t *const full = &ring.full[step % stages];
            const int l0 = (int)step * K_STEP;
            td_barrier_expect(full, STAGE_BYTES);
            single::template each_box<0, along_a, ROWS / 2>(
                td_block_of_cluster<2>() * ROWS / 2, l0, stage(step),
                [&](double *to, int x, int y) {
                    td_copy_box_to_all<2>(to, &boxes.of[0], full, x, y, member[0], 0);
                });
            single::template copy<1, along_b, COLUMNS>(l0, stage(step) + SLAB, full);
        }
        __syncwarp();
    }
};

#else

template <int stages, bool along_a, bool along_b>
struct by_box_pairs : by_boxes<stages, along_a, along_b> {
    enum { BLOCKS = 2 };
    using by_boxes<stages, along_a, along_b>::by_boxes;
};

#endif

#endif

#endif
