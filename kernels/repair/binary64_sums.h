/* binary64_sums.h - the sums of a tile of C in binary64, as binary64.h orders them, on the FP64 tensor cores where there are any: these
 * are chains of FMAs over ascending k, so that plain FMAs give the same bits. */
#ifndef TD_BINARY64_SUMS_H
#define TD_BINARY64_SUMS_H

#include "../tensor64.h"
#include "binary64_stage.h"

enum {
    PRODUCT_K = 8, /* of one product of the tensor cores, 16 x 8 elements of C */
    HEIGHT = WARP_ROWS / 16,
    WIDTH = WARP_COLUMNS / 8
};

/* Sums of a thread's elements: row row_of_sum and column column_of_sum of its warp's for sums[i][j][q]. This is how products of the tensor
 * cores are spread over a warp. */
typedef double warp_sums[HEIGHT][WIDTH][4];

template <bool along> TD_DEVICE int row_of_sum(int i, int q)
{
    return 16 * i + line_of_lane(along, (int)threadIdx.x % WARP / 4, q / 2);
}
template <bool along> TD_DEVICE int column_of_sum(int j, int q)
{
    return 16 * (j / 2) + line_of_lane(along, (int)threadIdx.x % 4 * 2 + q % 2, j % 2);
}

/* First row and column of the thread's warp in its block: those of an upper tile are on different parts of the multiprocessor. */
TD_DEVICE int warp_row()
{
    return td_uniform((int)threadIdx.x / WARP) / (COLUMNS / WARP_COLUMNS) * WARP_ROWS;
}
TD_DEVICE int warp_column()
{
    return td_uniform((int)threadIdx.x / WARP) % (COLUMNS / WARP_COLUMNS) * WARP_COLUMNS;
}

/* ---- products ---- */

/* Where a warp's lines stand in a stage, and which PRODUCT_K elements of k are meant. */
struct half_step {
    shared_place a, b;
    int half;
};

TD_DEVICE half_step half_of(double *stage, int half)
{
    return {further(place_in_shared(stage), warp_row() * K_STEP),
            further(place_in_shared(stage), SLAB + warp_column() * K_STEP), half};
}

#if TD_HAS_TENSOR_BINARY64

/* A half step's elements of a warp's lines. */
struct fragments {
    double a[HEIGHT][4], b[WIDTH][2]; /* as td_multiply64 has them */
};

/* Loads, like products, stay in the order in which they stand: those of one step run beside the products of the one before. */
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

template <bool along_a, bool along_b> TD_DEVICE void load(fragments &to, const half_step &from)
{
    TD_UNROLL
    for (int i = 0; i < HEIGHT; i++) load_a<along_a>(to, from, i);
    TD_UNROLL
    for (int j = 0; j < WIDTH; j++) load_b<along_b>(to, from, j);
}

/* Adds products to the sums, or begins them, and loads what comes next in the place of what is no more needed. between(i) is called after
 * product i, before loads: what it does runs beside products. */
template <bool along_a, bool along_b, bool begins, class function>
TD_DEVICE void multiply(warp_sums &sums, fragments &own, const half_step &next, function between)
{
    TD_UNROLL
    for (int i = 0; i < HEIGHT; i++) TD_UNROLL
    for (int j = 0; j < WIDTH; j++) {
        TD_UNROLL
        for (int q = 0; begins && q < 4; q++) sums[i][j][q] = 0.0;
        td_multiply64(sums[i][j], own.a[i], own.b[j]);
        between(i * WIDTH + j);
        if (j == WIDTH - 1) load_a<along_a>(own, next, i);
        if (i == HEIGHT - 1) load_b<along_b>(own, next, j);
    }
}

#else

/* Where they are. */
typedef half_step fragments;

template <bool along_a, bool along_b> TD_DEVICE void load(fragments &to, const half_step &from)
{
    to = from;
}

template <bool along_a, bool along_b, bool begins, class function>
TD_DEVICE void multiply(warp_sums &sums, fragments &own, const half_step &next, function between)
{
    for (int i = 0; i < HEIGHT * WIDTH; i++) between(i);
    for (int i = 0; i < HEIGHT; i++)
        for (int j = 0; j < WIDTH; j++)
            for (int q = 0; q < 4; q++) {
                const int row = row_of_sum<along_a>(i, q), column = column_of_sum<along_b>(j, q);
                double sum = begins ? 0.0 : sums[i][j][q];
                for (int l = own.half * PRODUCT_K; l < (own.half + 1) * PRODUCT_K; l++)
                    sum = td_fma64(own.a[element_in_slab(along_a, row, l)],
                                   own.b[element_in_slab(along_b, column, l)], sum);
                sums[i][j][q] = sum;
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

/* One step along k. wait(step) comes before the step's elements are loaded. */
template <bool begins, class passage, class function>
TD_DEVICE void take_step(passage &way, uint32_t step, warp_sums &sums, fragments &own,
                         function wait)
{
    multiply<passage::ALONG_A, passage::ALONG_B, begins>(
        sums, own, half_of(way.stage(step), 1), [&](int product) {
            if (product < PARTS) way.fill(step + td_ring_ahead<passage::STAGES>(), product);
        });
    multiply<passage::ALONG_A, passage::ALONG_B, false>(
        sums, own, half_of(way.stage(step + 1), 0), [&](int product) {
            if (product == WIDTH - 1 && step + 1 < way.steps) wait(step + 1);
        });
    td_ring_release<passage::STAGES>(way.ring, step);
}

/* The steps of a warp that makes no sums. */
template <class passage, class function> TD_DEVICE void pass_by(passage &way, function wait)
{
    TD_ROLLED
    for (uint32_t step = 0; step < way.steps; step++) {
        TD_UNROLL
        for (int part = 0; part < PARTS; part++)
            way.fill(step + td_ring_ahead<passage::STAGES>(), part);
        if (step + 1 < way.steps) wait(step + 1);
        td_ring_release<passage::STAGES>(way.ring, step);
    }
}

/* The sums of all of k, in blocks of so many elements. prepare(l0, stage) changes what was copied of elements from l0 on, before it is
 * read. All threads take part; those of idle warps make no sums. */
template <class passage, class function>
TD_DEVICE void add_up(passage &way, int block, bool is_idle, function prepare, warp_sums &total)
{
    const uint32_t steps_of_block = (uint32_t)(block / way.elements);
    const auto wait = [&](uint32_t step) {
        td_ring_wait<passage::STAGES>(way.ring, step);
        prepare((int64_t)step * way.elements, way.stage(step));
    };
    fragments own;
    td_ring_start<passage::STAGES>(way.ring, passage::FILLERS);
    TD_ROLLED
    for (uint32_t i = 0; i < (uint32_t)td_ring_ahead<passage::STAGES>(); i++) TD_UNROLL
    for (int part = 0; part < PARTS; part++) way.fill(i, part);
    wait(0);
    load<passage::ALONG_A, passage::ALONG_B>(own, half_of(way.stage(0), 0));
    if (is_idle) pass_by(way, wait);
    TD_ROLLED
    for (uint32_t step = 0; !is_idle && step < way.steps;) {
        warp_sums sums;
        const uint32_t end = min(way.steps, step + steps_of_block);
        take_step<true>(way, step++, sums, own, wait);
        TD_ROLLED
        for (; step < end; step++) take_step<false>(way, step, sums, own, wait);
        end_block(total, sums);
    }
    td_ring_end<passage::STAGES>(way.ring);
}

#endif
