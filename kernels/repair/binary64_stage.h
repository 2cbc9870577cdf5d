/* binary64_stage.h - stages of shared memory with elements of both operands of a tile, and the copies that fill them, in steps along k: by
 * all threads, or in boxes. */
#ifndef TD_BINARY64_STAGE_H
#define TD_BINARY64_STAGE_H

#include "../view/access.h"
#include "../device/copy_ring.h"
#include "../view/tma_view.h"
#include "binary64.h"

/* A block makes ROWS x COLUMNS elements of C, a warp WARP_ROWS x WARP_COLUMNS; a stage in shared memory has K_STEP elements of k of
 * both operands. */
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

/* Memory for this, which begins at td_first_box. */
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

/* Rows of a slab are 16 elements, as many as there are banks: of k of a line, if the operand stands along k; else of 16 lines at one k,
 * whose other rows follow. The eight chunks of two elements of row i are swapped by exclusive-or with i mod 8. */
TD_HOST_DEVICE int element_in_slab(bool along, int line, int l)
{
    const int row = along ? line : line / 16 * 16 + l, column = along ? l : line % 16;
    return row * 16 + ((column / 2 ^ row % 8) * 2 | column % 2);
}

/* The first elements of k of 16 lines are for 8 lanes n at four of k, and again, `second`, for their next ones: such that half of these
 * lanes, who load together, find theirs in different banks. */
TD_HOST_DEVICE int line_of_lane(bool along, int n, bool second)
{
    return along ? n % 4 * 2 + n / 4 + 8 * second
                 : n % 2 + 2 * (n / 4 + 2 * second + n / 2 % 2 * 4);
}

/* From a lane's first element of a warp's lines, at k = 0 .. 3, to that of lines 16 unit and so on, at k + 4 quarter. */
TD_HOST_DEVICE int later_element(bool along, int first, int unit, bool second, int quarter)
{
    return along ? (first ^ quarter * 4) + (unit * 16 + second * 8) * 16
                 : (first ^ second * 4 ^ quarter % 2 * 8) + (unit * 16 + quarter * 4) * 16;
}

/* ---- copies by threads ---- */

/* What a thread copies of a slab: chunks of one or two elements that are neighbours in memory. Rows of chunks are lines, if the operand
 * stands along k, or else elements of k; a thread has those of every THREADS-th chunk. */
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

    /* The i-th from the first: rows() < ROWS_APART, a power of two, so that bits of the row's number are the one's or the other's. */
    static TD_INSIDE int later(int first, int i)
    {
        return (first ^ i * ROWS_APART % 8 * 2) + i * ROWS_APART * 16;
    }

    /* From row to row in memory. */
    static TD_INSIDE int64_t row_step(const td_view &o) { return along ? o.line_step : o.k_step; }

    /* Starts the copies of a slab that is whole; rows are `step` bytes apart. */
    static TD_INSIDE void copy(const double *from, uint32_t step, shared_place slab)
    {
        TD_UNROLL
        for (int i = 0; i < COUNT; i++)
            td_async_copy<8 * width>(further(slab, later(in_slab(), i)),
                                     reinterpret_cast<const char *>(from) +
                                         (uint64_t)step * (uint32_t)(i * ROWS_APART));
    }

    /* Of one that is not, with zeros for what is not there. */
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

/* True where pairs of elements can be copied: all of them are aligned. */
TD_DEVICE bool has_aligned_pairs(const td_view &o, const double *first)
{
    const int64_t across = o.k_step == 1 ? o.line_step : o.k_step;
    return across % 2 == 0 && (reinterpret_cast<uintptr_t>(first) & 15) == 0;
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

/* A block's way through k for a tile: `steps` steps of `elements` elements of k, which are K_STEP, or half as many where blocks of k have
 * no more. All threads call fill(step, part) for all parts, and steps that may be past the last. */
template <int stages, bool along_a, bool along_b> struct passage {
    enum { STAGES = stages, ALONG_A = along_a, ALONG_B = along_b };
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
};

/* Copied by all threads. */
struct no_boxes {
};
template <int stages, bool along_a, bool along_b>
struct by_threads : passage<stages, along_a, along_b> {
    enum { EXISTS = 1, FILLERS = THREADS };
    typedef no_boxes parameter;
    typedef passage<stages, along_a, along_b> base;
    using base::elements;
    using base::ring;
    using base::stage;
    using base::steps;
    const tile_operands &operands;
    uint32_t whole;          /* steps of K_STEP elements of lines that are there */
    bool has_pairs;          /* pairs are copied in these, else single elements */
    uint32_t step_a, step_b; /* bytes from row to row of chunks */
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
        whole = elements == K_STEP && tile.row + ROWS <= o_a.lines &&
                        tile.column + COLUMNS <= o_b.lines && max(row_a, row_b) <= UINT32_MAX
                    ? (uint32_t)(o_a.k / K_STEP)
                    : 0;
        has_pairs = has_aligned_pairs(o_a, first_a) && has_aligned_pairs(o_b, first_b);
        a = first_a + (has_pairs ? chunks<along_a, ROWS, 2>::in_memory(o_a)
                                 : chunks<along_a, ROWS, 1>::in_memory(o_a));
        b = first_b + (has_pairs ? chunks<along_b, COLUMNS, 2>::in_memory(o_b)
                                 : chunks<along_b, COLUMNS, 1>::in_memory(o_b));
    }

    /* A chunk's successor in the next step. */
    template <bool along> TD_INSIDE static const double *later(const double *chunk, uint32_t step)
    {
        return reinterpret_cast<const double *>(reinterpret_cast<const char *>(chunk) +
                                                (along ? 8 : (uint64_t)step) * K_STEP);
    }

    template <bool along, int lines>
    TD_INSIDE void copy(const double *&from, uint32_t row_step, double *slab)
    {
        if (has_pairs)
            chunks<along, lines, 2>::copy(from, row_step, place_in_shared(slab));
        else
            chunks<along, lines, 1>::copy(from, row_step, place_in_shared(slab));
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
        if (part == 1 && step < whole) copy<along_a, ROWS>(a, step_a, stage(step));
        if (part == 2 && step < whole) copy<along_b, COLUMNS>(b, step_b, stage(step) + SLAB);
        if (part == 3 && step < steps) td_ring_fill<stages>(ring, step);
    }
};

#if TD_HAS_CUDA_DEVICE

/* Copied in boxes of K_STEP elements of k, by one warp after the other: blocks of k have that many. */
template <int stages, bool along_a, bool along_b>
struct by_boxes : passage<stages, along_a, along_b> {
    enum { EXISTS = TD_HAS_BOXES };
    enum { FILLERS = 1 };
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

    /* By one thread. */
    template <int which, bool along, int lines>
    TD_INSIDE void copy(int l0, double *slab, uint64_t *full)
    {
        if (along) {
            td_copy_box(slab, &boxes.of[which], full, l0, line[which], member[which], 0);
        } else {
            TD_UNROLL
            for (int i = 0; i < lines; i += 16)
                td_copy_box(slab + i * K_STEP, &boxes.of[which], full, line[which] + i, l0,
                            member[which], 0);
        }
    }

    TD_INSIDE void fill(uint32_t step, int part)
    {
        if (part != 0 || step >= steps || step % WARPS != warp) return;
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

#endif

#endif
