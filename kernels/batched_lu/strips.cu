/* strips.cu - vectors of larger matrices of complex binary64: inverses and solutions from factors,
 * and solutions of triangles. A block has 32 vectors, and a warp 16 rows of these in registers.
 * Strips of 16 rows are solved one after the other; of a strip that is solved, all warps whose rows
 * come later take away its product with their rows of the triangle, and the warp whose rows come
 * next solves these at once. Warps wait for halves of strips, not for each other. */
#include "strips.h"

namespace
{

/* What a kernel makes: inverses, or solutions of systems that are not transposed; or whatever the
 * problem says. */
enum strip_kind { INVERSES, SOLUTIONS, ANY };

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
