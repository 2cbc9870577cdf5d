/* solve.h - substitution with a triangle, one lane of a warp or more for each right-hand side.
 * Vectors lie in shared memory, element k of vector v at k * ld + v; the triangle comes by in
 * strips of TD_SOLVE_ROWS rows, `depth` columns at a time. */
#ifndef TD_LU_SOLVE_H
#define TD_LU_SOLVE_H

#include "../device/async_copy.h"
#include "factor.h"
#include "tile.h"

enum { TD_SOLVE_ROWS = 16, TD_SOLVE_STAGES = 2, TD_SOLVE_MOST_DEPTH = 3 * TD_SOLVE_ROWS };

/* Which of a warp's lanes share a vector, and which rows of a strip a lane has: every lanes-th one.
 * The first VECTORS lanes have the first rows of the warp's vectors, and so on. */
template <int lanes> struct td_sharing {
    enum { VECTORS = 32 / lanes, ROWS = TD_SOLVE_ROWS / lanes };
    TD_INSIDE static int vector() { return (int)threadIdx.x % VECTORS; } /* of the warp */
    TD_INSIDE static int vector_of_block() { return (int)threadIdx.x / 32 * VECTORS + vector(); }
    TD_INSIDE static int share() { return (int)threadIdx.x % 32 / VECTORS; }

    /* Row j of the lane's. */
    TD_INSIDE static int row(int j) { return j * lanes + share(); }

    /* Rows of a strip lie so that those of a lane are neighbours. */
    TD_INSIDE static int place_of(int row) { return row % lanes * ROWS + row / lanes; }
    TD_INSIDE static int row_at(int place) { return place % ROWS * lanes + place / ROWS; }
};

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

/* A column of a strip: as many numbers apart as lie in different banks, and aligned to 16 bytes. */
template <class number> struct td_strip_column {
    enum { LD = TD_SOLVE_ROWS + (td_lu_is_wide<number>::value ? 4 : (int)td_pack<number>::COUNT) };
    alignas(16) number of[LD];
};

template <class number> struct td_diagonal {
    number reciprocal;
    int shift;
};

/* The triangle of a pass: of factors L and then U, of their transposes U and then L. */
typedef struct {
    bool is_upper, is_unit;
} td_lu_pass;
TD_DEVICE td_lu_pass td_lu_pass_of(const td_lu_vectors &p, int pass)
{
    if (p.what == td_lu_vectors::TD_VECTORS_TRIANGLE) return {p.is_upper, p.is_unit};
    const bool is_upper = (pass == 0) != (p.op == TD_LU_N);
    return {is_upper, !is_upper};
}

/* info of an inverse, if it is asked for: the number, from 1, of the first 0 on the diagonal, or
 * 0. */
template <class number>
TD_DEVICE void td_lu_tell_info(const td_lu_vectors &p, const number *a, int member)
{
    unsigned first = 0;
    if (!p.info || threadIdx.x >= 32) return;
    for (int i = (int)threadIdx.x; i < p.n; i += 32)
        if (first == 0 && td_is_zero(a[i * ((int64_t)p.lda + 1)])) first = (unsigned)(p.n - i);
    const unsigned most = td_lanes_max<32>(first);
    if (threadIdx.x == 0) p.info[member] = most ? p.n - (int)most + 1 : 0;
}

/* alpha, which is 1 where the problem has none. */
template <class number> TD_DEVICE number td_lu_alpha(const td_lu_vectors &p)
{
    typedef typename td_real_of<number>::type real;
    if (p.what != td_lu_vectors::TD_VECTORS_TRIANGLE) return td_number<number>(1);
    if (p.device_alpha) return *static_cast<const number *>(p.device_alpha);
    if constexpr (td_is_complex<number>::value)
        return {(real)p.alpha_re, (real)p.alpha_im};
    else
        return (real)p.alpha_re;
}

template <class number> TD_DEVICE bool td_lu_is_one(number a)
{
    if constexpr (td_is_complex<number>::value)
        return a.re == 1 && a.im == 0;
    else
        return a == 1;
}

/* What a block needs of a triangle in shared memory. */
template <class number> struct td_solver {
    td_strip_column<number> *stages; /* TD_SOLVE_STAGES of `depth` columns */
    td_diagonal<number> *diagonal;   /* of n rows, and up to a multiple of TD_SOLVE_ROWS */
    int depth;                       /* a multiple of TD_SOLVE_ROWS */
};
/* The rows of its strips, of which the last ones may be none of its own. */
TD_HOST_DEVICE int td_solver_rows(int n)
{
    return (n + TD_SOLVE_ROWS - 1) / TD_SOLVE_ROWS * TD_SOLVE_ROWS;
}
template <class number> TD_HOST_DEVICE int td_solver_bytes(int n, int depth)
{
    return (int)TD_SOLVE_STAGES * depth * (int)sizeof(td_strip_column<number>) +
           td_solver_rows(n) * (int)sizeof(td_diagonal<number>);
}
template <class number> TD_DEVICE td_solver<number> td_solver_at(char *shared, int depth)
{
    auto *const stages = reinterpret_cast<td_strip_column<number> *>(shared);
    return {stages, reinterpret_cast<td_diagonal<number> *>(stages + TD_SOLVE_STAGES * depth),
            depth};
}

/* Where the passing of strips has come to: columns k0 .. k0 + count of the rows from i0 on. */
struct td_strip_at {
    int i0, k0;
};
TD_DEVICE int td_strip_count(td_strip_at s, int depth)
{
    return min(depth, s.i0 + TD_SOLVE_ROWS - s.k0);
}
TD_DEVICE td_strip_at td_strip_next(td_strip_at s, int depth)
{
    if (s.k0 + depth >= s.i0 + TD_SOLVE_ROWS) return {s.i0 + TD_SOLVE_ROWS, 0};
    return {s.i0, s.k0 + depth};
}
TD_DEVICE int td_strips(int n, int depth)
{
    int count = 0;
    for (td_strip_at s = {0, 0}; s.i0 < n; s = td_strip_next(s, depth)) count++;
    return count;
}

/* Starts the copies of a strip from global memory, so that neighbours there fall to neighbouring
 * threads: rows of columns, */
template <int lanes, class number>
TD_DEVICE void td_fetch_rows(td_strip_column<number> *strip, const number *from,
                             const td_lu_triangle<number> &t, int rows, int count)
{
    enum { LD = td_strip_column<number>::LD };
    const int own = (int)threadIdx.x % 32, step = (int)blockDim.x / 32;
    TD_ROLLED
    for (int r = (int)threadIdx.x / 32; r < rows; r += step) {
        const number *const x = from + r * t.row_step + own * t.column_step;
        number *const to = strip[own].of + td_sharing<lanes>::place_of(r);
        TD_UNROLL
        for (int e = 0; e < TD_SOLVE_MOST_DEPTH; e += 32)
            if (own + e < count)
                td_async_copy<sizeof(number)>(to + e * (int)LD, x + e * t.column_step);
    }
}

/* or columns of rows. */
template <int lanes, class number>
TD_DEVICE void td_fetch_columns(td_strip_column<number> *strip, const number *from,
                                const td_lu_triangle<number> &t, int rows, int count)
{
    const int r = (int)threadIdx.x % TD_SOLVE_ROWS, first = (int)threadIdx.x / TD_SOLVE_ROWS,
              step = (int)blockDim.x / TD_SOLVE_ROWS;
    const number *x = from + r * t.row_step + first * t.column_step;
    const auto copy = [&](int k) {
        td_async_copy<sizeof(number)>(strip[k].of + td_sharing<lanes>::place_of(r), x);
        x += step * t.column_step;
    };
    if (r >= rows) return;
    if constexpr (sizeof(number) == 4) {
        TD_UNROLL_N(4)
        for (int k = first; k < count; k += step) copy(k);
    } else {
        TD_ROLLED
        for (int k = first; k < count; k += step) copy(k);
    }
}

/* What is above the diagonal comes along, and is not used. */
template <int lanes, class number>
TD_DEVICE void td_fetch_strip(td_strip_column<number> *strip, const td_lu_triangle<number> &t,
                              int n, td_strip_at s, int depth)
{
    const int rows = min((int)TD_SOLVE_ROWS, n - s.i0),
              count = min(td_strip_count(s, depth), n - s.k0);
    const number *from = t.at + s.i0 * t.row_step + s.k0 * t.column_step;
    if (t.column_step == 1 || t.column_step == -1)
        td_fetch_rows<lanes>(strip, from, t, rows, count);
    else
        td_fetch_columns<lanes>(strip, from, t, rows, count);
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

/* The lane's rows of a column of a strip. */
template <int lanes, class number>
TD_DEVICE void td_read_column(number (&l)[td_sharing<lanes>::ROWS],
                              const td_strip_column<number> &column, bool is_conjugate)
{
    enum { ROWS = td_sharing<lanes>::ROWS };
    td_read_packs<ROWS>(l, column.of + td_sharing<lanes>::share() * (int)ROWS);
    if constexpr (td_is_complex<number>::value) {
        TD_UNROLL
        for (int j = 0; j < ROWS; j++) l[j] = is_conjugate ? td_conjugate(l[j]) : l[j];
    }
}

/* The lane's rows of its vector, of which there are `rows` in all, `step` apart. */
template <int lanes, class number>
TD_DEVICE void td_read_rows(number (&x)[td_sharing<lanes>::ROWS], const number *at, int step,
                            int rows)
{
    TD_UNROLL
    for (int j = 0; j < td_sharing<lanes>::ROWS; j++) {
        const int row = td_sharing<lanes>::row(j);
        x[j] = row < rows ? at[row * step] : td_number<number>(0);
    }
}

/* What is left of TD_SOLVE_ROWS elements of vectors, less the strip's product with elements that
 * are known. Rows are `step` apart, `at` is the lane's vector. By rows that a lane has: */
template <class number, int lanes> struct td_strip_sums {
    enum { ROWS = td_sharing<lanes>::ROWS };
    number of[ROWS];

    TD_INSIDE void load(const number *at, int step, int rows)
    {
        td_read_rows<lanes>(of, at, step, rows);
    }
    /* Columns from .. to of the strip, which known[k * step] meets. */
    TD_INSIDE void subtract(const td_strip_column<number> *strip, int from, int to,
                            const number *known, int step, bool is_conjugate)
    {
        known += from * step;
        for (int k = from; k < to; k += 4) {
            TD_UNROLL
            for (int i = 0; i < 4; i++, known += step) {
                number l[ROWS];
                td_read_column<lanes>(l, strip[k + i], is_conjugate);
                TD_UNROLL
                for (int j = 0; j < ROWS; j++) of[j] = td_minus(of[j], l[j], *known);
            }
        }
    }
    /* The lane's rows. */
    TD_INSIDE void give(number (&x)[ROWS], number *, int, int) const
    {
        TD_UNROLL
        for (int j = 0; j < ROWS; j++) x[j] = of[j];
    }
};

/* On tensor cores, which sum up real and imaginary parts apart: of vectors 8 t + lane % 4 * 2 and
 * the next, the rows at places lane / 4 and that + 8. */
template <class number, int lanes> struct td_strip_products {
    typedef td_sharing<lanes> sharing;
    enum {
        PARTS = sizeof(number) / sizeof(double),
        TILES = sharing::VECTORS / 8,
        ROWS = sharing::ROWS
    };
    double of[PARTS][TILES][4];

    /* work(tile, sum, row, vector - the lane's own, whether the row is one of `rows`) */
    template <class function> TD_INSIDE static void for_each(int rows, function work)
    {
        const int lane = (int)threadIdx.x % 32;
        TD_UNROLL
        for (int t = 0; t < TILES; t++) TD_UNROLL
        for (int e = 0; e < 4; e++) {
            const int row = sharing::row_at(lane / 4 + e / 2 * 8);
            work(t, e, row, 8 * t + lane % 4 * 2 + e % 2 - sharing::vector(), row < rows);
        }
    }
    TD_INSIDE void load(const number *at, int step, int rows)
    {
        for_each(rows, [&](int t, int e, int row, int vector, bool is_inside) {
            const double *x = reinterpret_cast<const double *>(at + row * step + vector);
            TD_UNROLL
            for (int part = 0; part < PARTS; part++) of[part][t][e] = is_inside ? x[part] : 0.0;
        });
    }
    /* By way of the vectors. */
    TD_INSIDE void give(number (&x)[ROWS], number *at, int step, int rows)
    {
        for_each(rows, [&](int t, int e, int row, int vector, bool is_inside) {
            double *to = reinterpret_cast<double *>(at + row * step + vector);
            TD_UNROLL
            for (int part = 0; part < PARTS; part++)
                if (is_inside) to[part] = of[part][t][e];
        });
        __syncwarp();
        td_read_rows<lanes>(x, at, step, rows);
    }
    /* Terms of complex numbers are two for each column: a real part is less re re and more im im,
     * an imaginary part less re im and less im re. A lane has every fourth of them. */
    TD_INSIDE void subtract(const td_strip_column<number> *strip, int from, int to,
                            const number *known, int step, bool is_conjugate)
    {
        const int lane = (int)threadIdx.x % 32, column = from + lane % 4 / PARTS,
                  is_im = lane % 4 % PARTS;
        const double *x = reinterpret_cast<const double *>(strip->of) +
                          (column * LD + lane / 4) * PARTS + is_im,
                     *y = reinterpret_cast<const double *>(known - sharing::vector() + lane / 4 +
                                                           column * step);
        const uint64_t sign[2] = {(uint64_t)(!is_im || is_conjugate) << 63,
                                  (uint64_t)(!is_im || !is_conjugate) << 63};
        TD_ROLLED
        for (int k = from; k < to; k += STEPS * 8 / PARTS) TD_UNROLL
        for (int s = 0; s < STEPS; s++, x += 8 * LD, y += 8 * step)
            add_terms(x, sign, y, step, is_im);
    }

  private:
    /* Steps of eight terms that are unrolled; their columns divide TD_SOLVE_ROWS. */
    enum { STEPS = PARTS == 1 ? 2 : 1, LD = td_strip_column<number>::LD };

    /* Eight terms; those of x with the signs that each part gives them. */
    TD_INSIDE void add_terms(const double *x, const uint64_t (&sign)[2], const double *y, int step,
                             int is_im)
    {
        double from_x[4], signed_x[4];
        TD_UNROLL
        for (int e = 0; e < 4; e++) from_x[e] = x[e / 2 * 4 * LD + e % 2 * 8 * PARTS];
        TD_UNROLL
        for (int part = 0; part < PARTS; part++) {
            TD_UNROLL
            for (int e = 0; e < 4; e++)
                signed_x[e] = td_from_bits64(td_bits64(from_x[e]) ^ sign[part]);
            TD_UNROLL
            for (int t = 0; t < TILES; t++) {
                const double *const y_at = y + 8 * t * PARTS + (is_im + part) % PARTS;
                double(&sum)[4] = of[part][t];
                td_lu_mma(sum[0], sum[1], sum[2], sum[3], signed_x, {y_at[0], y_at[4 * step]});
            }
        }
    }
};

template <class number, int lanes> struct td_strip_sums_of {
    typedef std::conditional_t<td_lu_uses_mma<number>::value, td_strip_products<number, lanes>,
                               td_strip_sums<number, lanes>>
        type;
};

/* x of another lane. */
template <class number> TD_DEVICE number td_from_lane(number x, int lane)
{
    if constexpr (td_is_complex<number>::value)
        return {__shfl_sync(~0u, x.re, lane), __shfl_sync(~0u, x.im, lane)};
    else
        return __shfl_sync(~0u, x, lane);
}

/* The last step for TD_SOLVE_ROWS elements of a vector from i0 on: with the triangle on the
 * diagonal, column `first` of the strip and on. Whole warps take part. */
template <int lanes, class number>
TD_DEVICE void td_solve_diagonal(number (&x)[td_sharing<lanes>::ROWS],
                                 const td_solver<number> &solver,
                                 const td_strip_column<number> *strip, int first, int i0,
                                 const td_lu_triangle<number> &t)
{
    typedef td_sharing<lanes> sharing;
    TD_UNROLL
    for (int k = 0; k < TD_SOLVE_ROWS; k++) {
        number known = x[k / lanes], l[sharing::ROWS];
        if (!t.is_unit) {
            const auto d = solver.diagonal[i0 + k];
            known = d.shift == 0 ? td_times(known, d.reciprocal)
                                 : td_divided(known, d.reciprocal, d.shift);
        }
        if (sharing::share() == k % lanes) x[k / lanes] = known;
        if (lanes > 1)
            known = td_from_lane(known, k % lanes * (int)sharing::VECTORS + sharing::vector());
        td_read_column<lanes>(l, strip[first + k], t.is_conjugate);
        TD_UNROLL
        for (int j = k / lanes; j < sharing::ROWS; j++)
            if (sharing::row(j) > k) x[j] = td_minus(x[j], l[j], known);
    }
}

/* Solves for the lane's vector, from its element `start` on, a multiple of TD_SOLVE_ROWS. The
 * triangle is in global memory. All threads of the block take part; begins and ends with a
 * barrier. */
template <int lanes, class number>
TD_DEVICE void td_substitute(const td_solver<number> &solver, const td_lu_triangle<number> &t,
                             int n, number *vector, int ld, int start)
{
    td_strip_at ahead = {0, 0}, now = {0, 0};
    number x[td_sharing<lanes>::ROWS];
    typename td_strip_sums_of<number, lanes>::type sums;
    const int step = t.is_reversed ? -ld : ld, depth = solver.depth;
    number *const zeroth = t.is_reversed ? vector + (n - 1) * ld : vector;
    __syncthreads();
    td_invert_diagonal(solver, t, n);
    td_async_pipeline<TD_SOLVE_STAGES>(
        td_strips(n, depth),
        [&](int stage) {
            td_fetch_strip<lanes>(solver.stages + stage * depth, t, n, ahead, depth);
            ahead = td_strip_next(ahead, depth);
        },
        [&](int stage) {
            const td_strip_column<number> *strip = solver.stages + stage * depth;
            const int i0 = now.i0, k0 = now.k0, rows = min((int)TD_SOLVE_ROWS, n - i0);
            const int count = td_strip_count(now, depth), known = min(count, i0 - k0);
            now = td_strip_next(now, depth);
            if (i0 < start) return;
            number *const strip_rows = zeroth + i0 * step;
            if (k0 == 0) sums.load(strip_rows, step, rows);
            const int from = max(0, start - k0);
            sums.subtract(strip, from, known, zeroth + k0 * step, step, t.is_conjugate);
            if (k0 + count <= i0) return;
            sums.give(x, strip_rows, step, rows);
            td_solve_diagonal<lanes>(x, solver, strip, known, i0, t);
            TD_UNROLL
            for (int j = 0; j < td_sharing<lanes>::ROWS; j++) {
                const int row = td_sharing<lanes>::row(j);
                if (row < rows) strip_rows[row * step] = x[j];
            }
        });
    __syncthreads();
}

#endif
