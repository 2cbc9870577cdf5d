/* binary64_sums.h - the sums of a tile of C in binary64, as binary64.h orders them, on the FP64 tensor cores where there are any: these
 * are chains of FMAs over ascending k, so that plain FMAs give the same bits. */
#ifndef TD_BINARY64_SUMS_H
#define TD_BINARY64_SUMS_H

#include "../copy_ring.h"
#include "../tensor64.h"
#include "binary64.h"

/* A block makes ROWS x COLUMNS elements of C, a warp WARP_ROWS x WARP_COLUMNS; a stage in shared memory has K_STEP elements of k of
 * both operands. */
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

/* Sums of a thread's elements. sums[i][j][2 h + e] belongs to row 16 i + 8 h + lane / 4 and column 8 j + 2 (lane % 4) + e of its
 * warp's: how products of the tensor cores are spread over a warp. */
typedef double warp_sums[HEIGHT][WIDTH][4];

/* ---- shared memory ---- */

#if TD_HAS_CUDA_DEVICE && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
#define TD_HAS_TENSOR_BINARY64 1
#else
#define TD_HAS_TENSOR_BINARY64 0
#endif

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

/* How an operand's elements stand there: as in global memory along k, or along lines. Eight lines and four elements of k are in
 * different banks. */
struct placing {
    int line_step, k_step;
};
enum { PAD = 4, ALONG_K = K_STEP + PAD, SLAB = ROWS * ALONG_K, STAGE = (ROWS + COLUMNS) * ALONG_K };

TD_HOST_DEVICE constexpr placing placing_of(bool along, int lines)
{
    return along ? placing{ALONG_K, 1} : placing{1, lines + PAD};
}

/* ---- copies ---- */

/* What a thread copies of a slab: chunks of one or two elements that are neighbours in memory. Rows of chunks are lines, if the operand
 * stands along k, or else elements of k; a thread has those of every THREADS-th chunk. */
template <bool along, int lines, int width> struct chunks {
    enum {
        IN_ROW = (along ? (int)K_STEP : lines) / width,
        ROWS_APART = THREADS / IN_ROW,
        COUNT = lines * K_STEP / THREADS / width,
        ROW_STEP = along ? (int)ALONG_K : lines + PAD
    };

    /* The thread's first. */
    static TD_INSIDE int row() { return (int)threadIdx.x / IN_ROW; }
    static TD_INSIDE int column() { return (int)threadIdx.x % IN_ROW * width; }
    static TD_INSIDE int in_slab() { return row() * ROW_STEP + column(); }
    static TD_INSIDE int64_t in_memory(const td_operand &o)
    {
        return row() * row_step(o) + column();
    }

    /* From row to row in memory. */
    static TD_INSIDE int64_t row_step(const td_operand &o)
    {
        return along ? o.line_step : o.k_step;
    }

    /* Starts the copies of a slab that is whole; rows are `step` bytes apart. */
    static TD_INSIDE void copy(const double *from, uint32_t step, shared_place to)
    {
        TD_UNROLL
        for (int i = 0; i < COUNT; i++)
            td_async_copy<8 * width>(further(to, i * ROWS_APART * ROW_STEP),
                                     reinterpret_cast<const char *>(from) +
                                         (uint64_t)step * (uint32_t)(i * ROWS_APART));
    }

    /* Of one that is not, with zeros for what is not there. */
    static TD_INSIDE void copy_edge(const td_operand &o, const double *from, int lines_left,
                                    int elements, double *slab)
    {
        const int rows_left = (along ? lines_left : elements) - row(),
                  columns_left = (along ? elements : lines_left) - column();
        TD_ROLLED
        for (int i = 0; i < COUNT; i++)
            td_async_copy_inside<8>(slab + in_slab() + i * ROWS_APART * ROW_STEP,
                                    from + in_memory(o) + i * ROWS_APART * row_step(o),
                                    i * ROWS_APART < rows_left && 0 < columns_left);
    }
};

/* The operands of a tile: their matrices, and the first lines. */
struct tile_operands {
    const td_operand &a, &b;
    const double *matrix_a, *matrix_b;
    int row, column;

    TD_INSIDE const double *first_a() const { return matrix_a + td_operand_at(a, row, 0); }
    TD_INSIDE const double *first_b() const { return matrix_b + td_operand_at(b, column, 0); }
};

/* True where pairs of elements can be copied: all of them are aligned. */
TD_DEVICE bool has_aligned_pairs(const td_operand &o, const double *first)
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

/* The same of a whole step, single elements. */
template <bool along_a, bool along_b>
TD_DEVICE_CALL void copy_singles(const tile_operands &t, int64_t l0, double *stage)
{
    typedef chunks<along_a, ROWS, 1> of_a;
    typedef chunks<along_b, COLUMNS, 1> of_b;
    of_a::copy(t.first_a() + l0 * t.a.k_step + of_a::in_memory(t.a),
               (uint32_t)(8 * of_a::row_step(t.a)), place_in_shared(stage + of_a::in_slab()));
    of_b::copy(t.first_b() + l0 * t.b.k_step + of_b::in_memory(t.b),
               (uint32_t)(8 * of_b::row_step(t.b)),
               place_in_shared(stage + SLAB + of_b::in_slab()));
}

/* ---- products ---- */

enum { PRODUCTS = HEIGHT * WIDTH }; /* for each PRODUCT_K elements */

/* The next PRODUCT_K elements of a warp's lines. */
#if TD_HAS_TENSOR_BINARY64

/* In registers: a[i][q] is element (lane / 4 + 8 (q % 2), lane % 4 + 4 (q / 2)) of 16 rows, b[j][q] (lane % 4 + 4 q, lane / 4) of 8
 * columns. */
struct fragments {
    double a[HEIGHT][4], b[WIDTH][2];
};

/* Loads, like products, stay in the order in which they stand: those of one step run beside the products of the one before. */
TD_DEVICE double load_in_order(shared_place at)
{
    double x;
    asm volatile("ld.shared.f64 %0, [%1];" : "=d"(x) : "r"(at));
    return x;
}

/* Where the lane's elements of a warp's lines begin, from where the lines do. */
TD_DEVICE int own_element(const placing &in)
{
    const int lane = (int)threadIdx.x % WARP;
    return lane / 4 * in.line_step + lane % 4 * in.k_step;
}

enum {
    FRAGMENTS = 4 * HEIGHT + 2 * WIDTH,
    LOADS = 4
}; /* LOADS after a product, until all are loaded */

/* Loads fragment f of those whose first elements are at x and y. */
template <bool along_a, bool along_b>
TD_DEVICE void load_fragment(fragments &to, shared_place x, shared_place y, int f)
{
    constexpr placing in_a = placing_of(along_a, ROWS), in_b = placing_of(along_b, COLUMNS);
    const int i = f / 4, j = (f - 4 * HEIGHT) / 2, q = f % 4;
    if (i < HEIGHT)
        to.a[i][q] = load_in_order(
            further(x, (16 * i + q % 2 * 8) * in_a.line_step + q / 2 * 4 * in_a.k_step));
    else
        to.b[j][q % 2] =
            load_in_order(further(y, 8 * j * in_b.line_step + q % 2 * 4 * in_b.k_step));
}

template <bool along_a, bool along_b>
TD_DEVICE void load(fragments &next, shared_place x, shared_place y)
{
    TD_UNROLL
    for (int f = 0; f < FRAGMENTS; f++) load_fragment<along_a, along_b>(next, x, y, f);
}

/* Adds products to the sums, and loads what comes next. between(i) is called after product i, before loads: what it does runs beside
 * products. */
template <bool along_a, bool along_b, class function>
TD_DEVICE void multiply(warp_sums &sums, const fragments &own, fragments &next, shared_place x,
                        shared_place y, function between)
{
    TD_UNROLL
    for (int i = 0; i < PRODUCTS; i++) {
        td_multiply64(sums[i / WIDTH][i % WIDTH], own.a[i / WIDTH], own.b[i % WIDTH]);
        between(i);
        TD_UNROLL
        for (int f = i * LOADS; f < min((i + 1) * LOADS, (int)FRAGMENTS); f++)
            load_fragment<along_a, along_b>(next, x, y, f);
    }
}

#else

/* Where they are. */
struct fragments {
    shared_place x, y;
};

/* Where a thread's elements of a warp's lines begin: its rows are lane / 4 + 8 i, its columns lane % 4 * 2 + 8 j and the next; the
 * columns are found below. */
TD_DEVICE int own_element(const placing &) { return 0; }

template <bool along_a, bool along_b>
TD_DEVICE void load(fragments &next, shared_place x, shared_place y)
{
    next = {x, y};
}

template <bool along_a, bool along_b, class function>
TD_DEVICE void multiply(warp_sums &sums, const fragments &own, fragments &next, shared_place x,
                        shared_place y, function between)
{
    for (int i = 0; i < PRODUCTS; i++) between(i);
    constexpr placing in_a = placing_of(along_a, ROWS), in_b = placing_of(along_b, COLUMNS);
    const int row = (int)threadIdx.x % WARP / 4, column = (int)threadIdx.x % 4 * 2;
    for (int l = 0; l < PRODUCT_K; l++)
        for (int i = 0; i < HEIGHT; i++)
            for (int j = 0; j < WIDTH; j++)
                for (int q = 0; q < 4; q++)
                    sums[i][j][q] = td_fma64(
                        own.x[(16 * i + q / 2 * 8 + row) * in_a.line_step + l * in_a.k_step],
                        own.y[(8 * j + column + q % 2) * in_b.line_step + l * in_b.k_step],
                        sums[i][j][q]);
    next = {x, y};
}

#endif

/* First row and column of the thread's warp in its block: those of an upper tile are on different parts of the multiprocessor. */
TD_DEVICE int warp_row()
{
    return td_uniform((int)threadIdx.x / WARP) / (COLUMNS / WARP_COLUMNS) * WARP_ROWS;
}
TD_DEVICE int warp_column()
{
    return td_uniform((int)threadIdx.x / WARP) % (COLUMNS / WARP_COLUMNS) * WARP_COLUMNS;
}

/* Adds a block's sums, and begins the next. */
TD_DEVICE void end_block(warp_sums &total, warp_sums &sums)
{
    TD_UNROLL
    for (int i = 0; i < HEIGHT; i++) TD_UNROLL
    for (int j = 0; j < WIDTH; j++) TD_UNROLL
    for (int q = 0; q < 4; q++) {
        total[i][j][q] = td_add64(total[i][j][q], sums[i][j][q]);
        sums[i][j][q] = 0.0;
    }
}

/* ---- a tile ---- */

/* A block's way through k for a tile, in steps. */
template <int stages, bool along_a, bool along_b> struct passage {
    typedef chunks<along_a, ROWS, 2> of_a;
    typedef chunks<along_b, COLUMNS, 2> of_b;
    const tile_operands &operands;
    td_copy_ring &ring;
    double *slabs;
    int elements;            /* of k in a step: K_STEP, or half as many where blocks have no more */
    uint32_t steps, whole;   /* all; those of K_STEP elements of lines that are there ... */
    uint32_t pairs;          /* ... where pairs are copied */
    uint32_t step_a, step_b; /* bytes from row to row of chunks */
    const double *a, *b;     /* the thread's first chunks of the step to be filled next */
    shared_place to_a, to_b; /* where they go in stage 0 */
    shared_place x, y;       /* the lane's first elements there */

    TD_INSIDE static int stage(uint32_t step) { return (int)(step % stages) * STAGE; }

    TD_INSIDE passage(const tile_operands &tile, td_copy_ring &own_ring, double *own_slabs)
        : operands(tile), ring(own_ring), slabs(own_slabs)
    {
        const td_operand &o_a = tile.a, &o_b = tile.b;
        elements = min(td_binary64_block(o_a.k), (int)K_STEP);
        steps = (uint32_t)((o_a.k + elements - 1) / elements);
        const int64_t row_a = 8 * chunks<along_a, ROWS, 1>::row_step(o_a),
                      row_b = 8 * chunks<along_b, COLUMNS, 1>::row_step(o_b);
        step_a = (uint32_t)row_a;
        step_b = (uint32_t)row_b;
        whole = elements == K_STEP && tile.row + ROWS <= o_a.lines &&
                        tile.column + COLUMNS <= o_b.lines && max(row_a, row_b) <= UINT32_MAX
                    ? (uint32_t)(o_a.k / K_STEP)
                    : 0;
        pairs = has_aligned_pairs(o_a, tile.first_a()) && has_aligned_pairs(o_b, tile.first_b())
                    ? whole
                    : 0;
        a = tile.first_a() + of_a::in_memory(o_a);
        b = tile.first_b() + of_b::in_memory(o_b);
        to_a = place_in_shared(slabs + of_a::in_slab());
        to_b = place_in_shared(slabs + SLAB + of_b::in_slab());
        x = place_in_shared(slabs + warp_row() * placing_of(along_a, ROWS).line_step +
                            own_element(placing_of(along_a, ROWS)));
        y = place_in_shared(slabs + SLAB + warp_column() * placing_of(along_b, COLUMNS).line_step +
                            own_element(placing_of(along_b, COLUMNS)));
    }

    /* A chunk's successor in the next step. */
    template <bool along> TD_INSIDE static const double *later(const double *chunk, uint32_t step)
    {
        return reinterpret_cast<const double *>(reinterpret_cast<const char *>(chunk) +
                                                (along ? 8 : (uint64_t)step) * K_STEP);
    }

    TD_INSIDE void copy_a(uint32_t step)
    {
        of_a::copy(a, step_a, further(to_a, stage(step)));
        a = later<along_a>(a, step_a);
    }
    TD_INSIDE void copy_b(uint32_t step)
    {
        of_b::copy(b, step_b, further(to_b, stage(step)));
        b = later<along_b>(b, step_b);
    }

    /* The copies of a step that are not of aligned pairs. */
    TD_INSIDE void copy_others(uint32_t step)
    {
        const int64_t l0 = (int64_t)step * elements;
        if (step < whole)
            copy_singles<along_a, along_b>(operands, l0, slabs + stage(step));
        else
            copy_edges<along_a, along_b>(
                operands, l0, (int)min(operands.a.k - l0, (int64_t)elements), slabs + stage(step));
    }

    /* Starts the copies of a step, if there is one, in PRODUCTS parts: late ones, since loads of fragments wait for them. */
    TD_INSIDE void fill(uint32_t step, int part)
    {
        if (part == PRODUCTS - 4 && step < steps) td_ring_claim<stages>(ring, step);
        if (part == PRODUCTS - 4 && step < steps && step >= pairs) copy_others(step);
        if (part == PRODUCTS - 3 && step < pairs) copy_a(step);
        if (part == PRODUCTS - 2 && step < pairs) copy_b(step);
        if (part == PRODUCTS - 1 && step < steps) td_ring_fill<stages>(ring, step);
    }
};

/* The sums of all of k. prepare(l0, stage) changes what was copied of elements from l0 on, before it is read. All threads take part; those
 * of idle warps make no sums. */
template <int stages, bool along_a, bool along_b, class function>
TD_DEVICE void add_up(const tile_operands &tile, td_copy_ring &ring, double *slabs, bool is_idle,
                      function prepare, warp_sums &total)
{
    constexpr int half_a = PRODUCT_K * placing_of(along_a, ROWS).k_step,
                  half_b = PRODUCT_K * placing_of(along_b, COLUMNS).k_step,
                  ahead = td_ring_ahead<stages>();
    passage<stages, along_a, along_b> way(tile, ring, slabs);
    const uint32_t steps_of_block = (uint32_t)(td_binary64_block(tile.a.k) / way.elements);
    const auto wait = [&](uint32_t step) {
        td_ring_wait<stages>(ring, step);
        prepare((int64_t)step * way.elements, slabs + way.stage(step));
    };
    warp_sums sums = {};
    fragments even, odd;
    td_ring_start<stages>(ring);
    TD_ROLLED
    for (uint32_t i = 0; i < ahead; i++) TD_UNROLL
    for (int part = 0; part < PRODUCTS; part++) way.fill(i, part);
    wait(0);
    load<along_a, along_b>(even, way.x, way.y);
    TD_ROLLED
    for (uint32_t step = 0; is_idle && step < way.steps; step++) {
        TD_UNROLL
        for (int part = 0; part < PRODUCTS; part++) way.fill(step + ahead, part);
        if (step + 1 < way.steps) wait(step + 1);
        td_ring_release<stages>(ring, step);
    }
    TD_ROLLED
    for (uint32_t step = 0; !is_idle && step < way.steps;) {
        const uint32_t end = min(way.steps, step + steps_of_block);
        TD_ROLLED
        for (; step < end; step++) {
            const int own = way.stage(step), next = way.stage(step + 1);
            multiply<along_a, along_b>(sums, even, odd, further(way.x, own + half_a),
                                       further(way.y, own + half_b),
                                       [&](int part) { way.fill(step + ahead, part); });
            multiply<along_a, along_b>(sums, odd, even, further(way.x, next), further(way.y, next),
                                       [&](int part) {
                                           if (part == 0 && step + 1 < way.steps) wait(step + 1);
                                       });
            td_ring_release<stages>(ring, step);
        }
        end_block(total, sums);
    }
    td_ring_end<stages>(ring);
}

#endif
