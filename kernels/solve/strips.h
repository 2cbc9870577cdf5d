/* strips.h - products of a strip of T, TD_SOLVE_TILE rows of real numbers, with known rows of X,
 * PRODUCT_K columns of T at a time: on the FP64 tensor cores where there are any, else by plain
 * FMAs in the same order. T is in global memory, X in shared memory. */
#ifndef TD_SOLVE_STRIPS_H
#define TD_SOLVE_STRIPS_H

#include "../device/dmma.h"
#include "../batched_lu/number.h"
#include "solve.h"

#if TD_HAS_CUDA_DEVICE && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
#define TD_SOLVE_HAS_TENSOR 1
#else
#define TD_SOLVE_HAS_TENSOR 0
#endif
#if TD_HAS_CUDA_DEVICE && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define TD_SOLVE_HAS_GATES 1
#else
#define TD_SOLVE_HAS_GATES 0
#endif

enum { SOLVE_WARP = 32, PRODUCT_K = 8, PRODUCT_COLUMNS = 8 };

/* Where vector v of row i is in a panel of so many vectors: such that four rows of four vectors,
 * which half of a warp reads together, lie in different banks. */
template <int vectors> TD_DEVICE int place_of(int i, int v)
{
    return i * vectors + (v ^ (vectors == 8 ? i / 2 % 2 * 4 : i % 4 * 4));
}

/* Numbers in rows and columns: where the first is, and how far, in real numbers, the next row and
 * column are. There are so many rows; what is asked of rows beyond is another row's. */
struct triangle_part {
    const double *first;
    int64_t row_step, column_step;
    int rows;
    bool is_conjugate;
};

/* The sums of a thread for PRODUCT_COLUMNS vectors: those of row row_of_sum(q) of the strip and of
 * vector column_of_sum(q). This is how products of the tensor cores are spread over a warp. */
typedef double strip_sums[4];
TD_DEVICE int row_of_sum(int q) { return (int)threadIdx.x % SOLVE_WARP / 4 + q / 2 * 8; }
TD_DEVICE int column_of_sum(int q) { return (int)threadIdx.x % 4 * 2 + q % 2; }

/* Real element (i, j) of T: a complex number has four. */
template <class number> TD_DEVICE const double *entry_at(const triangle_part &t, int i, int j)
{
    const int parts = td_parts_of<number>(), row = min(i / parts, t.rows - 1);
    return t.first + row * t.row_step + j / parts * t.column_step + (parts == 2 ? (i ^ j) & 1 : 0);
}

template <class number> TD_DEVICE bool entry_is_negative(const triangle_part &t, int i, int j)
{
    return td_parts_of<number>() == 2 && ((i ^ j) & 1) && (i % 2 == 0) != t.is_conjugate;
}

#if TD_SOLVE_HAS_TENSOR

/* A thread's elements of a strip for one product. */
struct strip_step {
    double a[4];
};

/* Where a thread's next elements are: of its two rows of the strip, from T's first column on. */
template <class number> struct strip_cursor {
    const double *of_row[2];
    int64_t later;  /* real numbers to four columns of real numbers on */
    unsigned flips; /* the sign bit, if the thread's elements change their sign */

    TD_INSIDE void begin(const triangle_part &t, int row)
    {
        const int lane = (int)threadIdx.x % SOLVE_WARP, i = row + lane / 4, j = lane % 4;
        of_row[0] = entry_at<number>(t, i, j);
        of_row[1] = entry_at<number>(t, i + 8, j);
        later = 4 / td_parts_of<number>() * t.column_step;
        flips = entry_is_negative<number>(t, i, j) ? 0x80000000u : 0;
    }

    /* Of PRODUCT_K columns; those of the next call come after them. */
    TD_INSIDE void load(strip_step &to)
    {
        TD_UNROLL
        for (int q = 0; q < 4; q++) {
            to.a[q] = *of_row[q % 2];
            of_row[q % 2] += later;
        }
    }

    TD_INSIDE double element(double a) const
    {
        if (td_parts_of<number>() == 1) return a;
        return __hiloint2double(__double2hiint(a) ^ (int)flips, __double2loint(a));
    }
};

#else

/* The columns of a strip for one product. */
struct strip_step {
    triangle_part t;
    int row, column;
};

template <class number> struct strip_cursor {
    strip_step next;
    TD_INSIDE void begin(const triangle_part &t, int row) { next = {t, row, 0}; }
    TD_INSIDE void load(strip_step &to)
    {
        to = next;
        next.column += PRODUCT_K;
    }
};

#endif

/* A strip of a warp: where its next elements of T are, and the sums of its products, for each
 * PRODUCT_COLUMNS vectors. */
template <class number, int vectors> struct own_strip {
    int at; /* its number */
    strip_cursor<number> cursor;
    strip_sums sums[vectors / PRODUCT_COLUMNS];

    TD_INSIDE void begin(const triangle_part &t, int strip)
    {
        at = strip;
        cursor.begin(t, strip * TD_SOLVE_TILE);
        clear();
    }
    TD_INSIDE void clear()
    {
        TD_UNROLL
        for (int n = 0; n < vectors / PRODUCT_COLUMNS; n++) TD_UNROLL
        for (int q = 0; q < 4; q++) sums[n][q] = 0.0;
    }
    /* Takes the sums away from the strip's rows of the panel. */
    TD_INSIDE void take_away(double *x)
    {
        TD_UNROLL
        for (int n = 0; n < vectors / PRODUCT_COLUMNS; n++) TD_UNROLL
        for (int q = 0; q < 4; q += 2) {
            double2 *const pair = reinterpret_cast<double2 *>(
                x + at * TD_SOLVE_TILE * vectors +
                place_of<vectors>(row_of_sum(q), n * PRODUCT_COLUMNS + column_of_sum(q)));
            *pair = make_double2(td_sub64(pair->x, sums[n][q]), td_sub64(pair->y, sums[n][q + 1]));
        }
        clear();
    }
};

/* Adds the steps' products with the rows of the panel x from `row` on, a multiple of PRODUCT_K, to
 * the sums of a warp's strips. */
template <class number, int vectors, int count>
TD_DEVICE void multiply(own_strip<number, vectors> (&own)[count], const strip_step (&steps)[count],
                        const double *x, int row)
{
#if TD_SOLVE_HAS_TENSOR
    const int lane = (int)threadIdx.x % SOLVE_WARP;
    double a[count][4];
    TD_UNROLL
    for (int s = 0; s < count; s++) TD_UNROLL
    for (int q = 0; q < 4; q++) a[s][q] = own[s].cursor.element(steps[s].a[q]);
    TD_UNROLL
    for (int n = 0; n < vectors / PRODUCT_COLUMNS; n++) {
        const double *const at =
            x + row * vectors + place_of<vectors>(lane % 4, n * PRODUCT_COLUMNS + lane / 4);
        const double b[2] = {at[0], at[4 * vectors]};
        TD_UNROLL
        for (int s = 0; s < count; s++) td_multiply64(own[s].sums[n], a[s], b);
    }
#else
    for (int e = 0; e < count * vectors / 2; e++) {
        const int q = e / count % 4, n = e / count / 4, v = n * PRODUCT_COLUMNS + column_of_sum(q);
        const strip_step &step = steps[e % count];
        double &sum = own[e % count].sums[n][q];
        for (int k = 0; k < PRODUCT_K; k++) {
            const int i = step.row + row_of_sum(q), j = step.column + k;
            const double t = *entry_at<number>(step.t, i, j);
            sum = td_fma64(entry_is_negative<number>(step.t, i, j) ? -t : t,
                           x[place_of<vectors>(row + k, v)], sum);
        }
    }
#endif
}

#endif
