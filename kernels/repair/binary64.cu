/* binary64.cu - sums in binary64 of operands that all threads of a block copy to shared memory,
 * which serve any operand and any device; and the choice between these and binary64_tma.cu. */
#include "binary64_repair.h"
#include "binary64_tma.h"

namespace
{

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

} // namespace

cudaError_t td_binary64_run(const td_repair *p, int batch, cudaStream_t stream)
{
    const td_binary64_route route = p->binary64.route;
    const bool has_boxes = route == TD_BINARY64_TMA || route == TD_BINARY64_TMA_PAIR;
    const dim3 grid((unsigned)p->binary64.blocks, 1, (unsigned)batch);
    cudaError_t error = cudaSuccess;
    if (has_boxes && td_binary64_run_tma(p, batch, grid, stream, &error)) return error;
    return route == TD_BINARY64_FEW_STAGES
               ? launch<by_threads, FEW_STAGES>(p, no_boxes{}, grid, stream)
               : launch<by_threads, MANY_STAGES>(p, no_boxes{}, grid, stream);
}

cudaError_t td_binary64_prepare(void)
{
    cudaError_t error = allow_shared<by_threads, FEW_STAGES>(cudaSuccess);
    error = allow_shared<by_threads, MANY_STAGES>(error);
    return td_binary64_prepare_tma(error);
}
