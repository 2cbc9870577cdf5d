/* binary64_sums.h - the sums of a tile of C in binary64, as binary64.h orders them, on the FP64
 * tensor cores where there are any: these are chains of FMAs over ascending k, so that plain FMAs
 * give the same bits. */
#ifndef TD_BINARY64_SUMS_H
#define TD_BINARY64_SUMS_H

#include "../device/dmma.h"
#include "binary64_stage.h"

enum {
    PRODUCT_K = 8, /* of one product of the tensor cores, 16 x 8 elements of C */
    HEIGHT = WARP_ROWS / 16,
    WIDTH = WARP_COLUMNS / 8
};

/* Sums of a thread's elements: row row_of_sum and column column_of_sum of its warp's for
 * sums[i][j][q]. This is how products of the tensor cores are spread over a warp. */
typedef double warp_sums[HEIGHT][WIDTH][4];

template <bool along> TD_DEVICE int row_of_sum(int i, int q)
{
    return 16 * i + line_of_lane(along, (int)threadIdx.x % WARP / 4, q / 2);
}
template <bool along> TD_DEVICE int column_of_sum(int j, int q)
{
    return 16 * (j / 2) + line_of_lane(along, (int)threadIdx.x % 4 * 2 + q % 2, j % 2);
}

/* First row and column of the thread's warp in its block: those of an upper tile are on different
 * parts of the multiprocessor. */
TD_DEVICE int warp_row()
{
    return td_uniform((int)threadIdx.x / WARP) / (COLUMNS / WARP_COLUMNS) * WARP_ROWS;
}
TD_DEVICE int warp_column()
{
    return td_uniform((int)threadIdx.x / WARP) % (COLUMNS / WARP_COLUMNS) * WARP_COLUMNS;
}

/* ---- products ---- */

/* Where a warp's lines stand in a stage, which PRODUCT_K elements of it are meant, and which of k
 * these are, l0 and so on. */
struct half_step {
    shared_place a, b;
    int half;
    int64_t l0;
};

template <class passage> TD_DEVICE half_step half_of(const passage &way, uint32_t step, int half)
{
    const shared_place stage = place_in_shared(way.stage(step));
    return {further(stage, warp_row() * K_STEP), further(stage, SLAB + warp_column() * K_STEP),
            half, (int64_t)step * way.elements + half * PRODUCT_K};
}

/* ---- scales ---- */

/* What elements are multiplied by: nothing; or the powers of two of their lines, in shared memory,
 * here from the warp's first lines on, times those of elements of k, for columns with the sign
 * changed; near if all of these are normal numbers. */
struct no_scales {
};
struct line_scales {
    const int *rows, *columns;
    const int16_t *shift; /* NULL: none along k */
    int64_t k;

    TD_INSIDE int shift_at(int64_t l) const { return shift && l < k ? shift[l] : 0; }
};
enum { LEAST_NORMAL = -1022, MOST_NORMAL = 1023 };

/* 2^e for a normal number. */
TD_DEVICE double normal_power(int e) { return td_from_bits64((uint64_t)(e + 1023) << 52); }

/* x 2^e: rounded once, but twice where 2^e is below all normal numbers. */
TD_DEVICE double scale_element(double x, int e)
{
    const int first = max((int)LEAST_NORMAL, min((int)MOST_NORMAL, e)),
              rest = max((int)LEAST_NORMAL, min((int)MOST_NORMAL, e - first));
    return td_mul64(td_mul64(x, normal_power(first)), normal_power(rest));
}

#if TD_HAS_TENSOR_BINARY64

/* A half step's elements of a warp's lines. */
struct fragments {
    double a[HEIGHT][4], b[WIDTH][2]; /* as td_multiply64 has them */
    int shift[2];                     /* of the lane's elements of k */
};

/* Loads, like products, stay in the order in which they stand: those of one step run beside the
 * products of the one before. */
TD_DEVICE double load_in_order(shared_place at)
{
    double x;
    asm volatile("ld.shared.f64 %0, [%1];" : "=d"(x) : "r"(at));
    return x;
}

/* Where the lane's elements of a warp's lines begin. */
template <bool along> TD_DEVICE int own_element()
{
    const int lane = (int)threadIdx.x % WARP;
    return element_in_slab(along, line_of_lane(along, lane / 4, false), lane % 4);
}

template <bool along> TD_DEVICE void load_a(fragments &to, const half_step &from, int i)
{
    TD_UNROLL
    for (int q = 0; q < 4; q++)
        to.a[i][q] = load_in_order(further(
            from.a, later_element(along, own_element<along>(), i, q % 2, 2 * from.half + q / 2)));
}

template <bool along> TD_DEVICE void load_b(fragments &to, const half_step &from, int j)
{
    TD_UNROLL
    for (int q = 0; q < 2; q++)
        to.b[j][q] = load_in_order(further(
            from.b, later_element(along, own_element<along>(), j / 2, j % 2, 2 * from.half + q)));
}

/* Scales of the lane's lines and elements of k, which stay in registers where powers are normal
 * numbers: in the place of an exponent, those of lines with its bias. */
template <bool along_a, bool along_b> struct near_scales {
    const line_scales &by;
    uint32_t row[HEIGHT][2], column[WIDTH];

    TD_INSIDE explicit near_scales(const line_scales &own) : by(own)
    {
        const int n = (int)threadIdx.x % WARP / 4;
        TD_UNROLL
        for (int i = 0; i < HEIGHT; i++) TD_UNROLL
        for (int q = 0; q < 2; q++)
            row[i][q] = biased(by.rows[16 * i + line_of_lane(along_a, n, q != 0)]);
        TD_UNROLL
        for (int j = 0; j < WIDTH; j++)
            column[j] = biased(by.columns[16 * (j / 2) + line_of_lane(along_b, n, j % 2 != 0)]);
    }
    static TD_INSIDE uint32_t biased(int e) { return (uint32_t)(e + 1023) << 20; }
    static TD_INSIDE double scaled(double x, uint32_t power)
    {
        return td_mul64(x, td_from_bits64((uint64_t)power << 32));
    }
    TD_INSIDE int shift_at(int64_t l) const { return (int)((uint32_t)by.shift_at(l) << 20); }
    TD_INSIDE double of_row(double x, int i, int q, int shift) const
    {
        return scaled(x, row[i][q] + (uint32_t)shift);
    }
    TD_INSIDE double of_column(double x, int j, int shift) const
    {
        return scaled(x, column[j] - (uint32_t)shift);
    }
};

/* Scales for any powers of two, which are made anew for every element. */
template <bool along_a, bool along_b> struct far_scales {
    const line_scales &by;

    TD_INSIDE explicit far_scales(const line_scales &own) : by(own) {}
    static TD_INSIDE int own_line() { return (int)threadIdx.x % WARP / 4; }
    TD_INSIDE int shift_at(int64_t l) const { return by.shift_at(l); }
    TD_INSIDE double of_row(double x, int i, int q, int shift) const
    {
        return scale_element(x,
                             by.rows[16 * i + line_of_lane(along_a, own_line(), q != 0)] + shift);
    }
    TD_INSIDE double of_column(double x, int j, int shift) const
    {
        return scale_element(
            x, by.columns[16 * (j / 2) + line_of_lane(along_b, own_line(), j % 2 != 0)] - shift);
    }
};

TD_DEVICE void load_shifts(int (&)[2], const half_step &, const no_scales &) {}
template <class scales>
TD_DEVICE void load_shifts(int (&to)[2], const half_step &from, const scales &by)
{
    TD_UNROLL
    for (int q = 0; q < 2; q++) to[q] = by.shift_at(from.l0 + (int)threadIdx.x % 4 + 4 * q);
}

template <bool along_a, bool along_b, class scales>
TD_DEVICE void load(fragments &to, const half_step &from, const scales &by)
{
    TD_UNROLL
    for (int i = 0; i < HEIGHT; i++) load_a<along_a>(to, from, i);
    TD_UNROLL
    for (int j = 0; j < WIDTH; j++) load_b<along_b>(to, from, j);
    load_shifts(to.shift, from, by);
}

/* Scales what product (i, j) is the first to need. */
template <bool along_a, bool along_b> TD_DEVICE void scale(fragments &, int, int, const no_scales &)
{
}
template <bool along_a, bool along_b, class scales>
TD_DEVICE void scale(fragments &own, int i, int j, const scales &by)
{
    TD_UNROLL
    for (int q = 0; j == 0 && q < 4; q++)
        own.a[i][q] = by.of_row(own.a[i][q], i, q % 2, own.shift[q / 2]);
    TD_UNROLL
    for (int q = 0; i == 0 && q < 2; q++) own.b[j][q] = by.of_column(own.b[j][q], j, own.shift[q]);
}

/* Adds products to the sums, or begins them, and loads what comes next in the place of what is no
 * more needed. between(i) is called after product i, before loads: what it does runs beside
 * products. */
template <bool along_a, bool along_b, bool begins, class scales, class function>
TD_DEVICE void multiply(warp_sums &sums, fragments &own, const half_step &next, const scales &by,
                        function between)
{
    int next_shift[2] = {};
    load_shifts(next_shift, next, by);
    TD_UNROLL
    for (int i = 0; i < HEIGHT; i++) TD_UNROLL
    for (int j = 0; j < WIDTH; j++) {
        TD_UNROLL
        for (int q = 0; begins && q < 4; q++) sums[i][j][q] = 0.0;
        scale<along_a, along_b>(own, i, j, by);
        td_multiply64(sums[i][j], own.a[i], own.b[j]);
        between(i * WIDTH + j);
        if (j == WIDTH - 1) load_a<along_a>(own, next, i);
        if (i == HEIGHT - 1) load_b<along_b>(own, next, j);
    }
    TD_UNROLL
    for (int q = 0; q < 2; q++) own.shift[q] = next_shift[q];
}

#else

/* Any scales do. */
template <bool, bool> struct near_scales : line_scales {
    TD_INSIDE explicit near_scales(const line_scales &own) : line_scales(own) {}
};
template <bool along_a, bool along_b> using far_scales = near_scales<along_a, along_b>;

/* Where they are. */
typedef half_step fragments;

template <bool along_a, bool along_b, class scales>
TD_DEVICE void load(fragments &to, const half_step &from, const scales &)
{
    to = from;
}

TD_DEVICE double scaled(double x, bool, int, int64_t, const no_scales &) { return x; }
template <class scales>
TD_DEVICE double scaled(double x, bool of_column, int line, int64_t l, const scales &by)
{
    const int shift = by.shift_at(l);
    return scale_element(x, of_column ? by.columns[line] - shift : by.rows[line] + shift);
}

/* The lines of the factors of the thread's sums, and their elements at one of k. */
struct sum_lines {
    int row[HEIGHT][4], column[WIDTH][4];
};
struct sum_elements {
    double a[HEIGHT][4], b[WIDTH][4];
};

template <bool along_a, bool along_b> TD_DEVICE sum_lines lines_of_sums()
{
    sum_lines of;
    TD_UNROLL
    for (int q = 0; q < 4; q++) {
        TD_UNROLL
        for (int i = 0; i < HEIGHT; i++) of.row[i][q] = row_of_sum<along_a>(i, q);
        TD_UNROLL
        for (int j = 0; j < WIDTH; j++) of.column[j][q] = column_of_sum<along_b>(j, q);
    }
    return of;
}

template <bool along_a, bool along_b, class scales>
TD_DEVICE void load_elements(sum_elements &to, const fragments &own, const sum_lines &of, int n,
                             const scales &by)
{
    const int at = own.half * PRODUCT_K + n;
    TD_UNROLL
    for (int i = 0; i < HEIGHT; i++) TD_UNROLL
    for (int q = 0; q < 4; q += 2) {
        const double x = own.a[element_in_slab(along_a, of.row[i][q], at)];
        to.a[i][q] = to.a[i][q + 1] = scaled(x, false, of.row[i][q], own.l0 + n, by);
    }
    TD_UNROLL
    for (int j = 0; j < WIDTH; j++) TD_UNROLL
    for (int q = 0; q < 2; q++) {
        const double y = own.b[element_in_slab(along_b, of.column[j][q], at)];
        to.b[j][q] = to.b[j][q + 2] = scaled(y, true, of.column[j][q], own.l0 + n, by);
    }
}

/* Adds their products to the sums, which do not wait for each other. */
TD_UNCHECKED TD_DEVICE void add_products(warp_sums &sums, const sum_elements &of)
{
    TD_UNROLL
    for (int i = 0; i < HEIGHT; i++) TD_UNROLL
    for (int j = 0; j < WIDTH; j++) {
        TD_LANES
        for (int q = 0; q < 4; q++) sums[i][j][q] = td_fma64(of.a[i][q], of.b[j][q], sums[i][j][q]);
    }
}

template <bool along_a, bool along_b, bool begins, class scales, class function>
TD_DEVICE void multiply(warp_sums &sums, fragments &own, const half_step &next, const scales &by,
                        function between)
{
    for (int i = 0; i < HEIGHT * WIDTH; i++) between(i);
    TD_UNROLL
    for (int i = 0; begins && i < HEIGHT; i++) TD_UNROLL
    for (int j = 0; j < WIDTH; j++) TD_UNROLL
    for (int q = 0; q < 4; q++) sums[i][j][q] = 0.0;
    const sum_lines lines = lines_of_sums<along_a, along_b>();
    for (int n = 0; n < PRODUCT_K; n++) {
        sum_elements of;
        load_elements<along_a, along_b>(of, own, lines, n, by);
        add_products(sums, of);
    }
    own = next;
}

#endif

/* ---- a tile ---- */

/* Adds a block's sums. */
TD_DEVICE void end_block(warp_sums &total, const warp_sums &sums)
{
    TD_UNROLL
    for (int i = 0; i < HEIGHT; i++) TD_UNROLL
    for (int j = 0; j < WIDTH; j++) TD_UNROLL
    for (int q = 0; q < 4; q++) total[i][j][q] = td_add64(total[i][j][q], sums[i][j][q]);
}

/* One step along k. */
template <bool begins, class passage, class scales>
TD_DEVICE void take_step(passage &way, uint32_t step, warp_sums &sums, fragments &own,
                         const scales &by)
{
    multiply<passage::ALONG_A, passage::ALONG_B, begins>(
        sums, own, half_of(way, step, 1), by, [&](int product) {
            if (product < PARTS) way.fill(step + td_ring_ahead<passage::STAGES>(), product);
        });
    multiply<passage::ALONG_A, passage::ALONG_B, false>(
        sums, own, half_of(way, step + 1, 0), by, [&](int product) {
            if (product == WIDTH - 1 && step + 1 < way.steps)
                td_ring_wait<passage::STAGES>(way.ring, step + 1);
        });
    way.release(step);
}

/* The steps of a warp that makes no sums. */
template <class passage> TD_DEVICE void pass_by(passage &way)
{
    TD_ROLLED
    for (uint32_t step = 0; step < way.steps; step++) {
        TD_UNROLL
        for (int part = 0; part < PARTS; part++)
            way.fill(step + td_ring_ahead<passage::STAGES>(), part);
        if (step + 1 < way.steps) td_ring_wait<passage::STAGES>(way.ring, step + 1);
        way.release(step);
    }
}

/* The sums of all of k, in blocks of so many elements. All threads take part; those of idle warps
 * make no sums. */
template <class passage, class scales>
TD_DEVICE void add_up(passage &way, int block, bool is_idle, const scales &by, warp_sums &total)
{
    const uint32_t steps_of_block = (uint32_t)(block / way.elements);
    fragments own;
    way.start();
    TD_ROLLED
    for (uint32_t i = 0; i < (uint32_t)td_ring_ahead<passage::STAGES>(); i++) TD_UNROLL
    for (int part = 0; part < PARTS; part++) way.fill(i, part);
    td_ring_wait<passage::STAGES>(way.ring, 0);
    load<passage::ALONG_A, passage::ALONG_B>(own, half_of(way, 0, 0), by);
    if (is_idle) pass_by(way);
    TD_ROLLED
    for (uint32_t step = 0; !is_idle && step < way.steps;) {
        warp_sums sums;
        const uint32_t end = min(way.steps, step + steps_of_block);
        take_step<true>(way, step++, sums, own, by);
        TD_ROLLED
        for (; step < end; step++) take_step<false>(way, step, sums, own, by);
        end_block(total, sums);
    }
    way.end();
}

#endif
