/* strips.h - strips of 16 rows of a block's 32 vectors in shared memory, and their product with a
 * warp's rows of a triangle, taken away from the strip that the warp has in registers. For
 * strips.cu. */
#ifndef TD_LU_STRIPS_H
#define TD_LU_STRIPS_H

#include "../device/barrier.h"
#include "inverse.h"
#include "solve.h"

#if defined(__CUDA_ARCH__) && !TD_LU_HAS_MMA
#pragma nv_diag_suppress 177 /* functions that are never called: such devices run no kernel here */
#endif

namespace
{

typedef td_complex<double> number;

enum { ROWS = 16, VECTORS = 32, MOST_STRIPS = TD_LU_MOST / ROWS, PASSES = 2 };

/* A strip of the vectors, by rows in the order of elimination: real parts, then imaginary ones.
 * Rows and parts are so far apart that the lanes of products find theirs in different banks. */
struct strip_vectors {
    enum { LD = VECTORS + 4, PART = ROWS * LD + 8 };
    alignas(16) double of[2 * PART];

    TD_INSIDE number get(int e, int vector) const
    {
        return {of[e * LD + vector], of[PART + e * LD + vector]};
    }
    TD_INSIDE void set(int e, int vector, number x)
    {
        of[e * LD + vector] = x.re, of[PART + e * LD + vector] = x.im;
    }
};

/* Which halves of strips are solved in each pass. Where tensor cores are not used the block waits
 * for whole strips. */
struct strip_gates {
    uint64_t solved[PASSES][MOST_STRIPS][2];

    TD_INSIDE void start()
    {
#if TD_LU_HAS_MMA
        const int tid = (int)threadIdx.x, strip = tid / 4;
        if (strip < (int)blockDim.x / 32)
            td_barrier_start(&solved[tid / 2 % 2][strip][tid % 2], 32);
#endif
    }
    /* What the warp wrote of this half is there for all. */
    TD_INSIDE void open(int pass, int strip, int half)
    {
        __syncwarp();
#if TD_LU_HAS_MMA
        td_barrier_arrive(&solved[pass][strip][half]);
#else
        (void)pass, (void)strip, (void)half;
#endif
    }
    TD_INSIDE void wait_for_first(int pass, int strip, bool is_due)
    {
#if TD_LU_HAS_MMA
        if (is_due) td_barrier_wait(&solved[pass][strip][0], 0);
#else
        (void)pass, (void)strip, (void)is_due;
        __syncthreads();
#endif
    }
    TD_INSIDE void wait_for_second(int pass, int strip)
    {
#if TD_LU_HAS_MMA
        td_barrier_wait(&solved[pass][strip][1], 0);
#else
        (void)pass, (void)strip;
#endif
    }
};

/* What a block has in shared memory beside its strips. */
struct strip_memory {
    strip_gates gates;
    alignas(16) number triangle[2][ROWS][ROWS]; /* by columns in the order of elimination */
    td_diagonal<number> diagonal[TD_LU_MOST];
    int pivots[TD_LU_MOST];
    uint8_t rows[TD_LU_MOST]; /* of A, by position */
};

/* A lane has rows lane_row(i) of a strip, and vectors lane_vector(j). */
TD_DEVICE int lane_row(int i) { return (int)threadIdx.x % 32 / 4 + 8 * i; }
TD_DEVICE int lane_vector(int j) { return j / 2 * 8 + (int)threadIdx.x % 4 * 2 + j % 2; }

/* A triangle whose last row is the last of a strip: `missing` rows come before its first. Unless
 * kernels are of any triangle, it is L in the first pass, and U in the second, of factors that are
 * not transposed: the compiler knows what follows. Rows and columns are counted as A's ascend,
 * whatever the order of elimination. */
template <bool is_any> struct strip_triangle {
    const number *a;
    int64_t rows_apart, columns_apart;
    int pass, missing, least; /* columns before `least` count as zeros */
    bool is_reversed, is_unit, is_conjugate;

    TD_INSIDE strip_triangle(const number *of, const td_lu_vectors &p, int pass_, int missing_,
                             int least_)
        : a(of), rows_apart(1), columns_apart(p.lda), pass(pass_), missing(missing_), least(least_),
          is_reversed(pass_ > 0), is_unit(!is_reversed), is_conjugate(false)
    {
        if (!is_any) return;
        const td_lu_pass now = td_lu_pass_of(p, pass);
        const bool is_transposed = (p.op != TD_LU_N) != p.is_right;
        if (is_transposed) rows_apart = p.lda, columns_apart = 1;
        is_reversed = now.is_upper != is_transposed;
        is_unit = now.is_unit;
        is_conjugate = p.op == TD_LU_C_OP;
    }
    /* The row of A, from -missing on, of element e of a strip, in the order of elimination. */
    TD_INSIDE int at(int strip, int e) const
    {
        return strip * (int)ROWS + (is_reversed ? (int)ROWS - 1 - e : e) - missing;
    }
    /* The lane's row i of a strip. What a missing row has does not matter, but of any triangle it
     * might lie outside A. */
    TD_INSIDE int own_row(int strip, int i) const
    {
        const int row = strip * (int)ROWS + lane_row(i) - missing;
        return is_any ? max(row, 0) : row;
    }
    /* How far from the lane's first row its second is, in elements. */
    TD_INSIDE int64_t rows_below(int strip) const
    {
        return (own_row(strip, 1) - own_row(strip, 0)) * rows_apart;
    }
    TD_INSIDE const number *element(int row, int k) const
    {
        return a + (row * rows_apart + k * columns_apart);
    }
};

/* The real and imaginary parts of a lane's rows of a strip. */
struct strip_sums {
    double of[2][2][8];

    TD_INSIDE number get(int i, int j) const { return {of[0][i][j], of[1][i][j]}; }
    TD_INSIDE void set(int i, int j, number x) { of[0][i][j] = x.re, of[1][i][j] = x.im; }

    /* work(i, j, row of the strip, vector) */
    template <class function> TD_INSIDE static void for_own(function work)
    {
        TD_UNROLL
        for (int i = 0; i < 2; i++) TD_UNROLL
        for (int j = 0; j < 8; j++) work(i, j, lane_row(i), lane_vector(j));
    }
};

/* What a warp's rows of the triangle have in the columns of a strip, for tensor cores: a complex
 * column is two terms, of which a lane has every fourth. A real part is less re re and more im im,
 * an imaginary part less re im and less im re. */
struct strip_terms {
    enum { STEPS = ROWS / 4, LD = strip_vectors::LD, PART = strip_vectors::PART };
    double of[STEPS][4];

    template <bool is_any>
    TD_INSIDE void load(const strip_triangle<is_any> &t, int strip, int own_strip)
    {
        const int lane = (int)threadIdx.x % 32, by = t.is_reversed ? -2 : 2;
        const int k = t.at(strip, lane % 4 / 2);
        const double *x =
            reinterpret_cast<const double *>(t.element(t.own_row(own_strip, 0), k)) + lane % 2;
        const double *below = x + 2 * t.rows_below(own_strip);
        const int64_t step = 2 * by * t.columns_apart; /* in real numbers */
        TD_UNROLL
        for (int column = 0; column < 2 * STEPS; column++, x += step, below += step) {
            const bool counts = k + column * by >= t.least;
            of[column / 2][column % 2 * 2] = counts ? *x : 0.0;
            of[column / 2][column % 2 * 2 + 1] = counts ? *below : 0.0;
        }
    }
    template <int half> TD_INSIDE void turn_signs(bool is_due)
    {
        TD_UNROLL
        for (int step = half * STEPS / 2; step < (half + 1) * STEPS / 2; step++) TD_UNROLL
        for (int e = 0; e < 4; e++)
            of[step][e] = td_from_bits64(td_bits64(of[step][e]) ^ (uint64_t)is_due << 63);
    }
    template <int half, int part>
    TD_INSIDE void subtract_part(double (&s)[2][8], const strip_vectors &solved) const
    {
        const int lane = (int)threadIdx.x % 32;
        const double *const x = solved.of + (lane + part) % 2 * PART + lane % 4 / 2 * LD + lane / 4;
        TD_UNROLL
        for (int step = half * STEPS / 2; step < (half + 1) * STEPS / 2; step++) TD_UNROLL
        for (int j = 0; j < 8; j += 2) {
            const double y[2] = {x[4 * step * LD + 4 * j], x[(4 * step + 2) * LD + 4 * j]};
            td_lu_mma(s[0][j], s[0][j + 1], s[1][j], s[1][j + 1], of[step], y);
        }
    }
    template <int half>
    TD_INSIDE void subtract(strip_sums &s, const strip_vectors &solved, bool is_conjugate)
    {
        const bool is_im = threadIdx.x % 2 != 0;
        turn_signs<half>(!is_im || is_conjugate);
        subtract_part<half, 0>(s.of[0], solved);
        turn_signs<half>(is_im);
        subtract_part<half, 1>(s.of[1], solved);
    }
};

/* A lane's share of a strip of L or U in types without products on tensor cores: sums by FMAs. */
struct strip_factor {
    number of[ROWS][2];

    template <bool is_any>
    TD_INSIDE void load(const strip_triangle<is_any> &t, int strip, int own_strip)
    {
        for (int e = 0; e < ROWS; e++)
            for (int i = 0; i < 2; i++) {
                const int row = t.own_row(own_strip, i), k = t.at(strip, e);
                of[e][i] = k >= t.least ? *t.element(row, k) : td_number<number>(0);
            }
    }
    template <int half>
    TD_INSIDE void subtract(strip_sums &s, const strip_vectors &solved, bool is_conjugate)
    {
        for (int e = half * ROWS / 2; e < (half + 1) * ROWS / 2; e++)
            s.for_own([&](int i, int j, int, int vector) {
                const number a = is_conjugate ? td_conjugate(of[e][i]) : of[e][i];
                s.set(i, j, td_minus(s.get(i, j), a, solved.get(e, vector)));
            });
    }
};

typedef std::conditional_t<td_lu_uses_mma<number>::value, strip_terms, strip_factor> strip_of_warp;

} /* namespace */

#endif
