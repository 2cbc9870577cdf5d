/* strips.cu - vectors of larger matrices of complex binary64: inverses and solutions from factors,
 * and solutions of triangles. A block has 32 vectors, and a warp 16 rows of these in registers.
 * Strips of 16 rows are solved one after the other; of a strip that is solved, all warps whose rows
 * come later take away its product with their rows of the triangle, and the warp whose rows come
 * next solves these at once. Warps wait for halves of strips, not for each other. */
#include "../device/barrier.h"
#include "inverse.h"
#include "solve.h"

#if defined(__CUDA_ARCH__) && !TD_LU_HAS_MMA
#pragma nv_diag_suppress 177 /* functions that are never called: such devices run no kernel here */
#endif

namespace
{

typedef td_complex<double> number;

/* What a kernel makes: inverses, or solutions of systems that are not transposed; or whatever the
 * problem says. */
enum strip_kind { INVERSES, SOLUTIONS, ANY };

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

/* The lane's elements of the triangle on the diagonal: work(element, its place in A, whether it is
 * there). One warp. */
template <bool is_any, class function>
TD_DEVICE void for_triangle(number (&to)[ROWS][ROWS], const strip_triangle<is_any> &t, int strip,
                            function work)
{
    const int lane = (int)threadIdx.x % 32, i = lane % ROWS, row = t.at(strip, i);
    TD_UNROLL
    for (int e = lane / ROWS; e < ROWS; e += 2) {
        const int k = t.at(strip, e);
        const bool is_inside = row >= 0 && k >= t.least;
        work(to[e][i], is_inside ? t.element(row, k) : t.a, is_inside);
    }
}

/* Sends it on its way to shared memory. */
template <bool is_any>
TD_DEVICE void fetch_triangle(number (&to)[ROWS][ROWS], const strip_triangle<is_any> &t, int strip)
{
    for_triangle(to, t, strip, [](number &element, const number *from, bool is_inside) {
        td_async_copy_inside<sizeof(number)>(&element, from, is_inside);
    });
    td_async_copy_commit();
}

/* Until it is there; the warp comes together after that. */
template <bool is_any>
TD_DEVICE void wait_for_triangle(number (&to)[ROWS][ROWS], const strip_triangle<is_any> &t,
                                 int strip)
{
    td_async_copy_wait<0>();
    if (t.is_conjugate)
        for_triangle(to, t, strip, [](number &element, const number *, bool) {
            element = td_conjugate(element);
        });
}

/* A strip that is being solved: where its rows are, and its part of the triangle. */
template <bool is_any> struct strip_at_work {
    strip_vectors &vectors;
    number (&triangle)[ROWS][ROWS];
    const td_diagonal<number> *diagonal; /* of the first row in the order of elimination */
    int step;                            /* from a row of the diagonal to the next in that order */
    int turned;                          /* row e of the strip is row e ^ turned in that order */
    strip_gates &gates;
    int pass, strip;

    TD_INSIDE strip_at_work(strip_memory &memory, strip_vectors &own,
                            const strip_triangle<is_any> &t, int strip_)
        : vectors(own), triangle(memory.triangle[strip_ % 2]),
          diagonal(memory.diagonal + strip_ * (int)ROWS), step(t.is_reversed ? -1 : 1),
          turned(t.is_reversed ? (int)ROWS - 1 : 0), gates(memory.gates), pass(t.pass),
          strip(strip_)
    {
        diagonal += turned;
    }
    TD_INSIDE const td_diagonal<number> &diagonal_of(int k) const
    {
        return diagonal[is_any ? k * step : -k];
    }
    /* The lane's vector, in registers: reciprocals are of diagonals that were not scaled. */
    template <bool divides> TD_INSIDE void solve() const
    {
        const int lane = (int)threadIdx.x % 32;
        number x[ROWS];
        TD_UNROLL
        for (int e = 0; e < ROWS; e++) x[e] = vectors.get(e, lane);
        TD_UNROLL
        for (int k = 0; k < ROWS; k++) {
            if (divides) x[k] = td_times(x[k], diagonal_of(k).reciprocal);
            vectors.set(k, lane, x[k]);
            if (k == ROWS / 2 - 1) gates.open(pass, strip, 0);
            TD_UNROLL
            for (int j = k + 1; j < ROWS; j++) x[j] = td_minus(x[j], triangle[k][j], x[k]);
        }
        gates.open(pass, strip, 1);
    }
    /* In shared memory: for diagonals near the ends of the exponents' range. */
    TD_INSIDE void solve_scaled() const
    {
        const int lane = (int)threadIdx.x % 32;
        TD_ROLLED
        for (int k = 0; k < ROWS; k++) {
            const td_diagonal<number> d = diagonal_of(k);
            const number x = td_divided(vectors.get(k, lane), d.reciprocal, d.shift);
            vectors.set(k, lane, x);
            TD_ROLLED
            for (int j = k + 1; j < ROWS; j++)
                vectors.set(j, lane, td_minus(vectors.get(j, lane), triangle[k][j], x));
        }
        gates.open(pass, strip, 0);
        gates.open(pass, strip, 1);
    }
};

/* The warp's own rows: by way of shared memory, where a lane has a vector. */
template <bool is_any>
TD_DEVICE void solve_strip(strip_sums &s, const strip_at_work<is_any> &w,
                           const strip_triangle<is_any> &t)
{
    __syncwarp(); /* after the last pass */
    s.for_own([&](int i, int j, int e, int v) { w.vectors.set(e ^ w.turned, v, s.get(i, j)); });
    wait_for_triangle(w.triangle, t, w.strip);
    __syncwarp();
    if (t.is_unit)
        w.template solve<false>();
    else if (__any_sync(~0u, w.diagonal_of((int)threadIdx.x % ROWS).shift != 0))
        w.solve_scaled();
    else
        w.template solve<true>();
    s.for_own([&](int i, int j, int e, int v) { s.set(i, j, w.vectors.get(e ^ w.turned, v)); });
}

/* One triangle, from the strip on that has its least column. Two triangles on the diagonal
 * are in memory: that of a strip that is being solved, and that of the next. */
template <bool is_any>
TD_DEVICE void pass_strips(strip_sums &s, strip_memory &memory, strip_vectors *vectors,
                           const strip_triangle<is_any> &t)
{
    const int from = (t.least + t.missing) / ROWS; /* 0 if none counts as zeros */
    const int strips = (int)blockDim.x / 32, own = td_uniform((int)threadIdx.x / 32);
    const int turn = t.is_reversed ? strips - 1 - own : own;
    TD_ROLLED
    for (int now = from - 1; now < strips; now++) {
        const int strip = t.is_reversed ? strips - 1 - now : now;
        const bool is_due = now >= from && turn > now, is_next = turn == now + 1;
        strip_of_warp terms;
        if (is_next) fetch_triangle(memory.triangle[own % 2], t, own);
        if (is_due) terms.load(t, strip, own);
        if (now >= from) memory.gates.wait_for_first(t.pass, strip, is_due);
        if (is_due) {
            terms.template subtract<0>(s, vectors[strip], t.is_conjugate);
            memory.gates.wait_for_second(t.pass, strip);
            terms.template subtract<1>(s, vectors[strip], t.is_conjugate);
        }
        if (is_next) solve_strip(s, strip_at_work<is_any>(memory, vectors[own], t, own), t);
    }
}

/* What a block makes: vectors from `first` on of a matrix. */
struct strip_work {
    int member, first, missing;

    TD_INSIDE strip_work(const td_lu_vectors &p)
    {
        const int groups = (p.vectors + VECTORS - 1) / VECTORS;
        member = (int)blockIdx.x / groups, first = (int)blockIdx.x % groups * VECTORS;
        missing = (int)blockDim.x / 32 * ROWS - p.n;
    }
    TD_INSIDE const number *a(const td_lu_vectors &p) const
    {
        return static_cast<const number *>(p.a[member]);
    }
    /* work(i, j, row, vector) for the lane's own that are in B. */
    template <class function> TD_INSIDE void for_own(const td_lu_vectors &p, function work) const
    {
        const int own_first = (int)threadIdx.x / 32 * ROWS - missing;
        strip_sums::for_own([&](int i, int j, int e, int v) {
            if (own_first + e >= 0 && first + v < p.vectors) work(i, j, own_first + e, first + v);
        });
    }
};

/* Where B has an element of a vector. */
template <strip_kind kind> struct strip_sides {
    number *b;
    int64_t element_step, vector_step;

    TD_INSIDE strip_sides(const strip_work &w, const td_lu_vectors &p)
        : b(static_cast<number *>(p.b[w.member])), element_step(1), vector_step(p.ldb)
    {
        if (kind == ANY && p.is_right) element_step = p.ldb, vector_step = 1;
    }
    TD_INSIDE number &at(int row, int vector) const
    {
        return b[row * element_step + vector * vector_step];
    }
};

/* Reads what all warps need: exchanges of rows, and reciprocals of the diagonal. */
TD_DEVICE void begin(strip_memory &memory, const strip_work &w, const td_lu_vectors &p)
{
    const int n = p.n, tid = (int)threadIdx.x, threads = (int)blockDim.x;
    const bool is_triangle = p.what == td_lu_vectors::TD_VECTORS_TRIANGLE;
    const number *const a = w.a(p);
    memory.gates.start();
    if (!is_triangle)
        td_lu_read_pivots(p.pivots ? p.pivots + (int64_t)w.member * n : nullptr, n, tid, threads,
                          memory.pivots);
    for (int i = tid; i < n + w.missing; i += threads) {
        td_inverse<number> inverse = {td_number<number>(0), 0};
        if (i >= w.missing && !(is_triangle && p.is_unit)) {
            const number x = a[(i - w.missing) * ((int64_t)p.lda + 1)];
            inverse = td_invert(p.op == TD_LU_C_OP ? td_conjugate(x) : x);
        }
        memory.diagonal[i].reciprocal = inverse.of;
        memory.diagonal[i].shift = inverse.shift;
    }
    __syncthreads();
    if (!is_triangle) td_lu_find_rows(memory.pivots, n, tid, threads, memory.rows);
    __syncthreads();
}

template <strip_kind kind>
TD_DEVICE void load(strip_sums &s, const strip_work &w, const td_lu_vectors &p,
                    const strip_memory &memory, number alpha)
{
    const bool is_permuted = kind == SOLUTIONS;
    const strip_sides<kind> sides(w, p);
    s.for_own([&](int i, int j, int, int) { s.set(i, j, td_number<number>(0)); });
    if (kind == ANY && td_is_zero(alpha)) return;
    w.for_own(p, [&](int i, int j, int row, int vector) {
        if (kind == INVERSES) {
            s.set(i, j, td_number<number>(row == vector));
        } else {
            const int of_b = is_permuted ? memory.rows[row] : row;
            const number x = sides.at(of_b, vector);
            s.set(i, j, kind == ANY && !td_lu_is_one(alpha) ? td_times(alpha, x) : x);
        }
    });
}

template <strip_kind kind>
TD_DEVICE void store(const strip_sums &s, const strip_work &w, const td_lu_vectors &p,
                     const strip_memory &memory)
{
    const bool is_permuted = kind == ANY && p.what == td_lu_vectors::TD_VECTORS_SOLUTION;
    const strip_sides<kind> sides(w, p);
    w.for_own(p, [&](int i, int j, int row, int vector) {
        const int to = is_permuted ? memory.rows[row] : row;
        const int to_vector = kind == INVERSES ? memory.rows[vector] : vector;
        sides.at(to, to_vector) = s.get(i, j);
    });
}

template <strip_kind kind>
static __global__ void __launch_bounds__(MOST_STRIPS * 32, 1) solve_strips(const td_lu_vectors p)
{
#if TD_LU_HAS_MMA || !defined(__CUDA_ARCH__)
    TD_SHARED(strip_memory, memory, );
    TD_DYNAMIC_SHARED(strip_vectors, vectors);
    const strip_work w(p);
    const bool is_triangle = kind == ANY && p.what == td_lu_vectors::TD_VECTORS_TRIANGLE;
    const number alpha = kind == ANY ? td_lu_alpha<number>(p) : td_number<number>(1);
    begin(memory, w, p);

    strip_sums s;
    load<kind>(s, w, p, memory, alpha);
    const int passes = is_triangle ? !td_is_zero(alpha) : (int)PASSES;
    TD_ROLLED
    for (int pass = 0; pass < passes; pass++) { /* of factors L, then U; transposed: U, then L */
        const int least = kind == INVERSES && pass == 0 ? w.first : 0;
        const strip_triangle<kind == ANY> t(w.a(p), p, pass, w.missing, least);
        pass_strips(s, memory, vectors, t);
    }
    store<kind>(s, w, p, memory);
    if (kind == INVERSES && w.first == 0) td_lu_tell_info(p, w.a(p), w.member);
#endif
}

} /* namespace */

bool td_lu_has_strips(td_lu_type type)
{
#if TD_HAS_CUDA_DEVICE
    return type == TD_LU_Z && td_has_code<solve_strips<INVERSES>>();
#else
    return type == TD_LU_Z;
#endif
}

cudaError_t td_lu_solve_strips(const td_lu_vectors *p, cudaStream_t stream)
{
    const int64_t blocks = (int64_t)((p->vectors + VECTORS - 1) / VECTORS) * p->batch;
    const unsigned strips = (unsigned)((p->n + ROWS - 1) / ROWS);
    const size_t bytes = strips * sizeof(strip_vectors);
    if (blocks > INT_MAX) return cudaErrorInvalidConfiguration;
    const auto launch = [&](auto kernel) {
        return TD_LAUNCH(kernel, (unsigned)blocks, strips * 32, bytes, stream, *p);
    };
    if (p->what == td_lu_vectors::TD_VECTORS_INVERSE) return launch(solve_strips<INVERSES>);
    return p->what == td_lu_vectors::TD_VECTORS_SOLUTION && p->op == TD_LU_N
               ? launch(solve_strips<SOLUTIONS>)
               : launch(solve_strips<ANY>);
}

template <strip_kind kind> static cudaError_t prepare(cudaError_t error)
{
    error = td_load(error, solve_strips<kind>);
    return td_lu_has_strips(TD_LU_Z) ? td_allow_shared(error, solve_strips<kind>, INT_MAX) : error;
}

cudaError_t td_lu_strips_prepare(void)
{
    return prepare<ANY>(prepare<SOLUTIONS>(prepare<INVERSES>(cudaSuccess)));
}
