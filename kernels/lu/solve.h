/* solve.h - substitution with a triangle, a thread for each right-hand side. Vectors lie in shared
 * memory, element k of vector v at k * ld + v; the triangle comes by in strips of TD_SOLVE_ROWS
 * rows, DEPTH columns at a time. */
#ifndef TD_LU_SOLVE_H
#define TD_LU_SOLVE_H

#include "../device/async_copy.h"
#include "factor.h"
#include "tile.h"

enum { TD_SOLVE_ROWS = 16, TD_SOLVE_STAGES = 2, TD_SOLVE_MOST_THREADS = 256 };

/* Element (i, k), k <= i < n, in the order of elimination: from the last row on for a triangle that
 * is upper. */
template <class number> struct td_lu_triangle {
    const number *at;
    int64_t row_step, column_step;
    bool is_reversed; /* element i of a vector is its n - 1 - i th */
    bool is_unit, is_conjugate;
};

/* The triangle op(A) or, for vectors that are rows, its transpose. */
template <class number>
TD_DEVICE td_lu_triangle<number> td_lu_triangle_of(const number *a, int64_t lda, int n,
                                                   bool is_upper, bool is_unit, td_lu_operation op,
                                                   bool is_right)
{
    const bool is_transposed = (op != TD_LU_N) != is_right;
    td_lu_triangle<number> t = {
        a,       is_transposed ? lda : 1, is_transposed ? 1 : lda, is_upper != is_transposed,
        is_unit, op == TD_LU_C_OP};
    if (!t.is_reversed) return t;
    t.at += (n - 1) * (lda + 1);
    t.row_step = -t.row_step;
    t.column_step = -t.column_step;
    return t;
}

/* Part of a strip, by columns. */
template <class number> struct td_strip {
    enum { LD = TD_SOLVE_ROWS + (td_lu_is_wide<number>::value ? 4 : (int)td_pack<number>::COUNT) };
    enum { DEPTH = sizeof(number) == 16 ? 16 : 48 }; /* multiples of TD_SOLVE_ROWS */
    alignas(16) number of[DEPTH][LD];
};

template <class number> struct td_diagonal {
    number reciprocal;
    int shift;
};

/* What a block needs of a triangle in shared memory. */
template <class number> struct td_solver {
    td_strip<number> *stages;      /* TD_SOLVE_STAGES */
    td_diagonal<number> *diagonal; /* of n rows, and up to a multiple of TD_SOLVE_ROWS */
};
template <class number> TD_HOST_DEVICE int td_solver_bytes(int n)
{
    const int rows = (n + TD_SOLVE_ROWS - 1) / TD_SOLVE_ROWS * TD_SOLVE_ROWS;
    return (int)TD_SOLVE_STAGES * (int)sizeof(td_strip<number>) +
           rows * (int)sizeof(td_diagonal<number>);
}
template <class number> TD_DEVICE td_solver<number> td_solver_at(char *shared)
{
    td_strip<number> *stages = reinterpret_cast<td_strip<number> *>(shared);
    return {stages, reinterpret_cast<td_diagonal<number> *>(stages + TD_SOLVE_STAGES)};
}

/* Where the passing of strips has come to: columns k0 .. k0 + count of the rows from i0 on. */
template <int depth> struct td_strip_at {
    int i0, k0;
};
template <int depth> TD_DEVICE int td_strip_count(td_strip_at<depth> s)
{
    return min(depth, s.i0 + TD_SOLVE_ROWS - s.k0);
}
template <int depth> TD_DEVICE td_strip_at<depth> td_strip_next(td_strip_at<depth> s)
{
    if (s.k0 + depth >= s.i0 + TD_SOLVE_ROWS) return {s.i0 + TD_SOLVE_ROWS, 0};
    return {s.i0, s.k0 + depth};
}
template <int depth> TD_DEVICE int td_strips(int n)
{
    int count = 0;
    for (td_strip_at<depth> s = {0, 0}; s.i0 < n; s = td_strip_next(s)) count++;
    return count;
}

/* Starts the copies of a strip. What is above the diagonal comes along, and is not used.
 * Asynchronous copies are from global memory alone. */
template <bool is_global, class number>
TD_DEVICE void td_fetch_strip(td_strip<number> &strip, const td_lu_triangle<number> &t, int n,
                              td_strip_at<td_strip<number>::DEPTH> s)
{
    const int tid = (int)threadIdx.x, threads = (int)blockDim.x;
    const int rows = min((int)TD_SOLVE_ROWS, n - s.i0), count = min(td_strip_count(s), n - s.k0);
    const number *from = t.at + s.i0 * t.row_step + s.k0 * t.column_step;
    const bool by_rows = t.column_step == 1 || t.column_step == -1;
    const int across = by_rows ? 32 : TD_SOLVE_ROWS;
    const int step = threads / across, i = tid % across, most = by_rows ? count : rows;
    for (int j = tid / across; j < (by_rows ? rows : count); j += step)
        for (int e = i; e < most; e += across) {
            const int r = by_rows ? j : e, k = by_rows ? e : j;
            const number *x = from + r * t.row_step + k * t.column_step;
            if (is_global)
                td_async_copy<sizeof(number)>(&strip.of[k][r], x);
            else
                strip.of[k][r] = *x;
        }
}

/* The reciprocals of the diagonal. */
template <class number>
TD_DEVICE void td_invert_diagonal(const td_solver<number> &solver, const td_lu_triangle<number> &t,
                                  int n)
{
    for (int i = (int)threadIdx.x; i < n && !t.is_unit; i += (int)blockDim.x) {
        const number x = t.at[i * (t.row_step + t.column_step)];
        const td_inverse<number> inverse = td_invert(t.is_conjugate ? td_conjugate(x) : x);
        solver.diagonal[i].reciprocal = inverse.of;
        solver.diagonal[i].shift = inverse.shift;
    }
}

/* A column of a strip. */
template <class number>
TD_DEVICE void td_read_column(number (&l)[TD_SOLVE_ROWS], const td_strip<number> &strip, int k,
                              bool is_conjugate)
{
    td_read_packs<TD_SOLVE_ROWS>(l, strip.of[k]);
    if constexpr (td_is_complex<number>::value) {
        TD_UNROLL
        for (int r = 0; r < TD_SOLVE_ROWS; r++) l[r] = is_conjugate ? td_conjugate(l[r]) : l[r];
    }
}

/* What is left of TD_SOLVE_ROWS elements of vectors, less the strip's product with elements that
 * are known. Rows are `step` apart, `at` is the thread's vector. A thread for each vector: */
template <class number> struct td_strip_sums {
    number of[TD_SOLVE_ROWS];

    TD_INSIDE void load(const number *at, int step, int rows)
    {
        TD_UNROLL
        for (int r = 0; r < TD_SOLVE_ROWS; r++)
            of[r] = r < rows ? at[r * step] : td_number<number>(0);
    }
    /* Columns from .. to of the strip, which known[k * step] meets. */
    TD_INSIDE void subtract(const td_strip<number> &strip, int from, int to, const number *known,
                            int step, bool is_conjugate)
    {
        known += from * step;
        for (int k = from; k < to; k += 4) {
            TD_UNROLL
            for (int i = 0; i < 4; i++, known += step) {
                number l[TD_SOLVE_ROWS];
                td_read_column(l, strip, k + i, is_conjugate);
                TD_UNROLL
                for (int r = 0; r < TD_SOLVE_ROWS; r++) of[r] = td_minus(of[r], l[r], *known);
            }
        }
    }
    /* The thread's vector. */
    TD_INSIDE void give(number (&x)[TD_SOLVE_ROWS], number *, int, int) const
    {
        TD_UNROLL
        for (int r = 0; r < TD_SOLVE_ROWS; r++) x[r] = of[r];
    }
};

/* On tensor cores: of vectors 8 t + lane % 4 * 2 and the next, rows lane / 4 and that + 8. */
template <class number> struct td_strip_products {
    number of[4][4];

    /* work(sum, row, vector - the thread's own, whether the row is one of `rows`) */
    template <class function> TD_INSIDE void for_each(int rows, function work)
    {
        const int lane = (int)threadIdx.x % 32;
        TD_UNROLL
        for (int t = 0; t < 4; t++) TD_UNROLL
        for (int e = 0; e < 4; e++) {
            const int row = lane / 4 + e / 2 * 8;
            work(of[t][e], row, 8 * t + lane % 4 * 2 + e % 2 - lane, row < rows);
        }
    }
    TD_INSIDE void load(const number *at, int step, int rows)
    {
        for_each(rows, [&](number &sum, int row, int vector, bool is_inside) {
            sum = is_inside ? at[row * step + vector] : td_number<number>(0);
        });
    }
    /* By way of the vectors. */
    TD_INSIDE void give(number (&x)[TD_SOLVE_ROWS], number *at, int step, int rows)
    {
        for_each(rows, [&](number &sum, int row, int vector, bool is_inside) {
            if (is_inside) at[row * step + vector] = sum;
        });
        __syncwarp();
        TD_UNROLL
        for (int r = 0; r < TD_SOLVE_ROWS; r++)
            x[r] = r < rows ? at[r * step] : td_number<number>(0);
    }
    TD_INSIDE void subtract(const td_strip<number> &strip, int from, int to, const number *known,
                            int step, bool is_conjugate)
    {
        constexpr int parts = sizeof(number) / sizeof(double);
        const int lane = (int)threadIdx.x % 32;
        const double *strip_reals = reinterpret_cast<const double *>(strip.of);
        const double *reals = reinterpret_cast<const double *>(known - lane + lane / 4);
        for (int k0 = from * parts; k0 < to * parts; k0 += 8) {
            const int k = k0 + lane % 4;
            double x[4];
            TD_UNROLL
            for (int e = 0; e < 4; e++) {
                const int at =
                    (k + e / 2 * 4) / parts * td_strip<number>::LD + lane / 4 + e % 2 * 8;
                x[e] = -strip_reals[at * parts + k % parts];
                if (parts == 2 && is_conjugate && k % 2) x[e] = -x[e];
            }
            TD_UNROLL
            for (int part = 0; part < parts; part++) {
                if (parts == 2) {
                    TD_UNROLL
                    for (int e = 0; e < 4; e++) x[e] = k % 2 ? -x[e] : x[e];
                }
                TD_UNROLL
                for (int t = 0; t < 4; t++) {
                    double y[2];
                    TD_UNROLL
                    for (int e = 0; e < 2; e++)
                        y[e] = reals[((k + 4 * e) / parts * step + 8 * t) * parts +
                                     (k + part) % parts];
                    multiply(of[t], part, x, y);
                }
            }
        }
    }
    TD_INSIDE static void multiply(number (&s)[4], int part, const double (&x)[4],
                                   const double (&y)[2])
    {
        if constexpr (!td_is_complex<number>::value)
            td_lu_mma(s[0], s[1], s[2], s[3], x, y);
        else if (part == 0)
            td_lu_mma(s[0].re, s[1].re, s[2].re, s[3].re, x, y);
        else
            td_lu_mma(s[0].im, s[1].im, s[2].im, s[3].im, x, y);
    }
};

template <class number> struct td_strip_sums_of {
    typedef std::conditional_t<td_lu_uses_mma<number>::value, td_strip_products<number>,
                               td_strip_sums<number>>
        type;
};

/* The last step for TD_SOLVE_ROWS elements of a vector from i0 on: with the triangle on the
 * diagonal, column `first` of the strip and on. */
template <class number>
TD_DEVICE void td_solve_diagonal(number (&x)[TD_SOLVE_ROWS], const td_solver<number> &solver,
                                 const td_strip<number> &strip, int first, int i0,
                                 const td_lu_triangle<number> &t)
{
    TD_UNROLL
    for (int k = 0; k < TD_SOLVE_ROWS; k++) {
        if (!t.is_unit) {
            const auto d = solver.diagonal[i0 + k];
            x[k] = d.shift == 0 ? td_times(x[k], d.reciprocal)
                                : td_divided(x[k], d.reciprocal, d.shift);
        }
        number l[TD_SOLVE_ROWS];
        td_read_column(l, strip, first + k, t.is_conjugate);
        TD_UNROLL
        for (int r = 1; r < TD_SOLVE_ROWS; r++)
            if (r > k) x[r] = td_minus(x[r], l[r], x[k]);
    }
}

/* Solves for the thread's vector, from its element `start` on, a multiple of TD_SOLVE_ROWS. All
 * threads of the block take part; begins and ends with a barrier. is_global: the triangle is in
 * global memory, not in shared memory. */
template <bool is_global, class number>
TD_DEVICE void td_substitute(const td_solver<number> &solver, const td_lu_triangle<number> &t,
                             int n, number *vector, int ld, int start)
{
    td_strip_at<td_strip<number>::DEPTH> ahead = {0, 0}, now = {0, 0};
    number x[TD_SOLVE_ROWS];
    typename td_strip_sums_of<number>::type sums;
    const int step = t.is_reversed ? -ld : ld;
    number *const zeroth = t.is_reversed ? vector + (n - 1) * ld : vector;
    __syncthreads();
    td_invert_diagonal(solver, t, n);
    td_async_pipeline<TD_SOLVE_STAGES>(
        td_strips<td_strip<number>::DEPTH>(n),
        [&](int stage) {
            td_fetch_strip<is_global>(solver.stages[stage], t, n, ahead);
            ahead = td_strip_next(ahead);
        },
        [&](int stage) {
            const td_strip<number> &strip = solver.stages[stage];
            const int i0 = now.i0, k0 = now.k0, rows = min((int)TD_SOLVE_ROWS, n - i0);
            const int count = td_strip_count(now), known = min(count, i0 - k0);
            now = td_strip_next(now);
            if (i0 < start) return;
            number *const strip_rows = zeroth + i0 * step;
            if (k0 == 0) sums.load(strip_rows, step, rows);
            const int from = max(0, start - k0);
            sums.subtract(strip, from, known, zeroth + k0 * step, step, t.is_conjugate);
            if (k0 + count <= i0) return;
            sums.give(x, strip_rows, step, rows);
            td_solve_diagonal(x, solver, strip, known, i0, t);
            TD_UNROLL
            for (int r = 0; r < TD_SOLVE_ROWS; r++)
                if (r < rows) strip_rows[r * step] = x[r];
        });
    __syncthreads();
}

#endif
