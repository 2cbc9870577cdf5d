/* binary64_sums.h - the sums of a tile of C in binary64, as binary64.h orders them, on the FP64 tensor cores where there are any: these
 * are chains of FMAs over ascending k, so that plain FMAs give the same bits. */
#ifndef TD_BINARY64_SUMS_H
#define TD_BINARY64_SUMS_H

#include "../copy_ring.h"
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

/* First row and column of the thread's warp in its block. */
TD_DEVICE int warp_row() { return (int)threadIdx.x / WARP % (ROWS / WARP_ROWS) * WARP_ROWS; }
TD_DEVICE int warp_column() { return (int)threadIdx.x / WARP / (ROWS / WARP_ROWS) * WARP_COLUMNS; }

/* ---- copies to shared memory ---- */

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

/* What a thread copies of an operand: chunks of one or two elements that are neighbours in memory. Rows of chunks are lines, if the
 * operand stands along k, or else elements of k; a thread has those of every THREADS-th chunk of a slab. */
template <bool along, int lines, int width> struct chunks {
    enum {
        IN_ROW = (along ? (int)K_STEP : lines) / width,
        ROWS_APART = THREADS / IN_ROW,
        COUNT = lines * K_STEP / THREADS / width
    };

    /* The thread's first. */
    static TD_INSIDE int row() { return (int)threadIdx.x / IN_ROW; }
    static TD_INSIDE int column() { return (int)threadIdx.x % IN_ROW * width; }

    /* From row to row. */
    static TD_INSIDE int64_t in_memory(const td_operand &o)
    {
        return along ? o.line_step : o.k_step;
    }
    static TD_INSIDE int in_slab()
    {
        constexpr placing in = placing_of(along, lines);
        return along ? in.line_step : in.k_step;
    }

    /* Those of a whole slab, or those that are there and zeros. */
    static TD_INSIDE void copy(const td_operand &o, const double *from, double *to)
    {
        from += row() * in_memory(o) + column();
        to += row() * in_slab() + column();
        TD_UNROLL
        for (int i = 0; i < COUNT; i++) {
            td_async_copy<8 * width>(to, from);
            from += ROWS_APART * in_memory(o);
            to += ROWS_APART * in_slab();
        }
    }
    static TD_INSIDE void copy_edge(const td_operand &o, const double *from, int lines_left,
                                    int elements, double *to)
    {
        const int rows_left = (along ? lines_left : elements) - row(),
                  columns_left = (along ? elements : lines_left) - column();
        from += row() * in_memory(o) + column();
        to += row() * in_slab() + column();
        TD_ROLLED
        for (int i = 0; i < COUNT;
             i++, from += ROWS_APART * in_memory(o), to += ROWS_APART * in_slab())
            TD_ROLLED
        for (int e = 0; e < width; e++)
            td_async_copy8(to + e, from + e, i * ROWS_APART < rows_left && e < columns_left);
    }
};

/* The lines of an operand from line0 on, at the next step's first element. Two elements at a time are copied where all pairs are
 * aligned. */
struct source {
    const double *from;
    int lines; /* that there are */
    bool in_pairs;
};

TD_DEVICE source source_of(const td_operand &o, const double *data, int line0)
{
    const double *const from = data + td_operand_at(o, line0, 0);
    const int64_t across = o.k_step == 1 ? o.line_step : o.k_step;
    return {from, o.lines - line0,
            across % 2 == 0 && (reinterpret_cast<uintptr_t>(from) & 15) == 0};
}

/* Starts the copies of one step that is not whole. */
template <bool along, int lines>
TD_DEVICE_CALL void copy_edge(const td_operand &o, const source s, int elements, double *slab)
{
    if (s.in_pairs)
        chunks<along, lines, 2>::copy_edge(o, s.from, s.lines, elements, slab);
    else
        chunks<along, lines, 1>::copy_edge(o, s.from, s.lines, elements, slab);
}

/* Starts the copies of one step of so many elements. */
template <bool along, int lines>
TD_DEVICE void copy_slab(const td_operand &o, const source &s, int elements, double *slab)
{
    if (s.lines < lines || elements < K_STEP)
        copy_edge<along, lines>(o, s, elements, slab);
    else if (s.in_pairs)
        chunks<along, lines, 2>::copy(o, s.from, slab);
    else
        chunks<along, lines, 1>::copy(o, s.from, slab);
}

/* ---- products ---- */

/* The next PRODUCT_K elements of a warp's lines. */
#if TD_HAS_CUDA_DEVICE && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)

/* In registers: a[i][q] is element (lane / 4 + 8 (q % 2), lane % 4 + 4 (q / 2)) of 16 rows, b[j][q] (lane % 4 + 4 q, lane / 4) of 8
 * columns. */
struct fragments {
    double a[HEIGHT][4], b[WIDTH][2];
};

/* Loads and products stay in the order in which they stand: the loads of one step run beside the products of the one before. */
TD_DEVICE double load_in_order(uint32_t at)
{
    double x;
    asm volatile("ld.shared.f64 %0, [%1];" : "=d"(x) : "r"(at));
    return x;
}

/* c += a b, 16 x 8 times 8 x 8. */
TD_DEVICE void multiply_in_order(double (&c)[4], const double (&a)[4], const double (&b)[2])
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
    TD_UNROLL
    for (int q = 0; q < 4; q++) /* lower or upper rows, first or second half of k */
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, "
                     "{%0, %1};"
                     : "+d"(c[q % 2 * 2]), "+d"(c[q % 2 * 2 + 1])
                     : "d"(a[q]), "d"(b[q / 2]));
#endif
}

/* Loads fragment f of those from the warp's lines at x and y. */
template <bool along_a, bool along_b>
TD_DEVICE void load_fragment(fragments &to, uint32_t x, uint32_t y, int f)
{
    constexpr placing in_x = placing_of(along_a, ROWS), in_y = placing_of(along_b, COLUMNS);
    const int i = f / 4, j = (f - 4 * HEIGHT) / 2, q = f % 4;
    if (i < HEIGHT)
        to.a[i][q] = load_in_order(
            x + 8 * ((16 * i + q % 2 * 8) * in_x.line_step + q / 2 * 4 * in_x.k_step));
    else
        to.b[j][q % 2] = load_in_order(y + 8 * (8 * j * in_y.line_step + q % 2 * 4 * in_y.k_step));
}

enum { FRAGMENTS = 4 * HEIGHT + 2 * WIDTH, PRODUCTS = HEIGHT * WIDTH };

/* Where the lane's elements of lines from `at` on begin. */
TD_DEVICE uint32_t own_address(const double *at, const placing &in)
{
    const int lane = (int)threadIdx.x % WARP;
    return td_shared_address(at + lane / 4 * in.line_step + lane % 4 * in.k_step);
}

template <bool along_a, bool along_b>
TD_DEVICE void load(fragments &next, const double *x, const double *y)
{
    const uint32_t own_x = own_address(x, placing_of(along_a, ROWS)),
                   own_y = own_address(y, placing_of(along_b, COLUMNS));
    TD_UNROLL
    for (int f = 0; f < FRAGMENTS; f++) load_fragment<along_a, along_b>(next, own_x, own_y, f);
}

/* Adds products to the sums, and loads what comes next. */
template <bool along_a, bool along_b>
TD_DEVICE void multiply(warp_sums &sums, const fragments &own, fragments &next, const double *x,
                        const double *y)
{
    const uint32_t own_x = own_address(x, placing_of(along_a, ROWS)),
                   own_y = own_address(y, placing_of(along_b, COLUMNS));
    TD_UNROLL
    for (int i = 0; i < PRODUCTS; i++) {
        multiply_in_order(sums[i / WIDTH][i % WIDTH], own.a[i / WIDTH], own.b[i % WIDTH]);
        TD_UNROLL
        for (int f = i * FRAGMENTS / PRODUCTS; f < (i + 1) * FRAGMENTS / PRODUCTS; f++)
            load_fragment<along_a, along_b>(next, own_x, own_y, f);
    }
}

#else

/* Where they are in shared memory. */
struct fragments {
    const double *x, *y;
};

template <bool along_a, bool along_b>
TD_DEVICE void load(fragments &next, const double *x, const double *y)
{
    next = {x, y};
}

template <bool along_a, bool along_b>
TD_DEVICE void multiply(warp_sums &sums, const fragments &own, fragments &next, const double *x,
                        const double *y)
{
    constexpr placing in_x = placing_of(along_a, ROWS), in_y = placing_of(along_b, COLUMNS);
    const int group = (int)threadIdx.x % WARP / 4, column = (int)threadIdx.x % 4 * 2;
    for (int l = 0; l < PRODUCT_K; l++)
        for (int i = 0; i < HEIGHT; i++)
            for (int j = 0; j < WIDTH; j++)
                for (int q = 0; q < 4; q++)
                    sums[i][j][q] = td_fma64(
                        own.x[(16 * i + q / 2 * 8 + group) * in_x.line_step + l * in_x.k_step],
                        own.y[(8 * j + column + q % 2) * in_y.line_step + l * in_y.k_step],
                        sums[i][j][q]);
    next = {x, y};
}

#endif

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

/* A block's way through k for a tile, in steps, which are numbered like the ring's fills. */
template <int stages, bool along_a, bool along_b> struct passage {
    const td_operand &operand_a, &operand_b;
    td_copy_ring &ring;
    double *slabs;
    source a, b; /* at the step to be filled next */
    int elements,
        last_has; /* of k in a step, K_STEP or half as many where blocks have no more; in the last one */
    uint32_t first, last;

    TD_INSIDE double *stage(uint32_t step) const { return slabs + step % stages * STAGE; }

    /* Starts the copies of a step, if there is one. */
    TD_INSIDE void fill(uint32_t step)
    {
        if (step > last) return;
        const int count = step == last ? last_has : elements;
        td_ring_claim<stages>(ring, step);
        copy_slab<along_a, ROWS>(operand_a, a, count, stage(step));
        copy_slab<along_b, COLUMNS>(operand_b, b, count, stage(step) + SLAB);
        td_ring_fill<stages>(ring, step);
        a.from += elements * operand_a.k_step;
        b.from += elements * operand_b.k_step;
    }
};

/* Of lines from row and column on, of matrices at a and b; the first step has the number `first`. */
template <int stages, bool along_a, bool along_b>
TD_DEVICE passage<stages, along_a, along_b>
passage_of(const td_operand &operand_a, const double *a, int row, const td_operand &operand_b,
           const double *b, int column, td_copy_ring &ring, double *slabs, uint32_t first)
{
    const int64_t k = operand_a.k;
    const int elements = min(td_binary64_block(k), (int)K_STEP);
    const uint32_t steps = (uint32_t)((k + elements - 1) / elements);
    return {operand_a,
            operand_b,
            ring,
            slabs,
            source_of(operand_a, a, row),
            source_of(operand_b, b, column),
            elements,
            (int)(k - (int64_t)(steps - 1) * elements),
            first,
            first + steps - 1};
}

/* The sums of all of k. prepare(step, stage) changes what was copied, before it is read. All threads take part; those of idle warps make
 * no sums. */
template <int stages, bool along_a, bool along_b, class function>
TD_DEVICE void add_up(passage<stages, along_a, along_b> &way, bool is_idle, function prepare,
                      warp_sums &total)
{
    constexpr placing in_a = placing_of(along_a, ROWS), in_b = placing_of(along_b, COLUMNS);
    constexpr int half_a = PRODUCT_K * in_a.k_step, half_b = PRODUCT_K * in_b.k_step;
    constexpr uint32_t ahead = td_ring_ahead<stages>();
    const int x = warp_row() * in_a.line_step, y = SLAB + warp_column() * in_b.line_step;
    const uint32_t steps_of_block = (uint32_t)(td_binary64_block(way.operand_a.k) / way.elements);
    const auto wait = [&](uint32_t step) {
        td_ring_wait<stages>(way.ring, step);
        prepare(step, way.stage(step));
    };
    warp_sums sums = {};
    fragments even, odd;
    TD_ROLLED
    for (uint32_t i = 0; i < ahead; i++) way.fill(way.first + i);
    wait(way.first);
    load<along_a, along_b>(even, way.stage(way.first) + x, way.stage(way.first) + y);
    TD_ROLLED
    for (uint32_t step = way.first; step <= way.last;) {
        const uint32_t end = min(way.last + 1, step + steps_of_block);
        TD_ROLLED
        for (; step < end; step++) {
            const double *const own = way.stage(step), *const next = way.stage(step + 1);
            way.fill(step + ahead);
            if (!is_idle)
                multiply<along_a, along_b>(sums, even, odd, own + x + half_a, own + y + half_b);
            if (step < way.last) wait(step + 1);
            if (!is_idle) multiply<along_a, along_b>(sums, odd, even, next + x, next + y);
            td_ring_release<stages>(way.ring, step);
        }
        end_block(total, sums);
    }
}

#endif
