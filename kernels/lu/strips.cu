/* strips.cu - inverses of larger complex matrices from their factors. A block has 32 columns of an
 * inverse, and a warp 16 rows of these in registers. Strips of 16 rows are solved one after the
 * other; of a strip that is solved, all warps whose rows come later take away its product with
 * their rows of the triangle, and the warp whose rows come next solves these at once. Warps wait
 * for strips, not for each other. */
#include "../device/barrier.h"
#include "inverse.h"
#include "solve.h"

namespace
{

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define HAS_BARRIERS 1
#else
#define HAS_BARRIERS 0
#endif

enum { ROWS = 16, VECTORS = 32, MOST_STRIPS = TD_LU_MOST / ROWS, MOST_THREADS = MOST_STRIPS * 32 };

/* A solved strip of the vectors, by rows in the order of elimination: real parts, then imaginary
 * ones. Rows and parts are so far apart that the lanes of products find theirs in different
 * banks. */
template <class real> struct strip_vectors {
    enum { LD = VECTORS + 4, PART = ROWS * LD + 8 };
    alignas(16) real of[2 * PART];

    TD_INSIDE td_complex<real> get(int e, int vector) const
    {
        return {of[e * LD + vector], of[PART + e * LD + vector]};
    }
    TD_INSIDE void set(int e, int vector, td_complex<real> x)
    {
        of[e * LD + vector] = x.re, of[PART + e * LD + vector] = x.im;
    }
};

/* Which halves of strips are solved in either pass. Where shared memory has no barriers, the block
 * waits for the second. */
struct strip_gates {
    uint64_t solved[2][MOST_STRIPS][2];

    TD_INSIDE void start()
    {
#if HAS_BARRIERS
        const int strips = (int)blockDim.x / 32, strip = (int)threadIdx.x / 4;
        if (strip < strips)
            td_barrier_start(&solved[threadIdx.x / 2 % 2][strip][threadIdx.x % 2], 1);
#endif
    }
    TD_INSIDE void open(int pass, int strip, int half)
    {
        __syncwarp();
#if HAS_BARRIERS
        if (threadIdx.x % 32 == 0) td_barrier_arrive(&solved[pass][strip][half]);
#else
        (void)pass, (void)strip, (void)half;
#endif
    }
    TD_INSIDE void wait_for_first(int pass, int strip, bool is_due)
    {
#if HAS_BARRIERS
        if (is_due) td_barrier_wait(&solved[pass][strip][0], 0);
#else
        (void)pass, (void)strip, (void)is_due;
        __syncthreads();
#endif
    }
    TD_INSIDE void wait_for_second(int pass, int strip)
    {
#if HAS_BARRIERS
        td_barrier_wait(&solved[pass][strip][1], 0);
#else
        (void)pass, (void)strip;
#endif
    }
};

/* What a block has in shared memory; `strips` has as many as the matrix. */
template <class real> struct strip_memory {
    typedef td_complex<real> number;
    strip_gates gates;
    alignas(16) number triangle[2][ROWS][ROWS]; /* by columns in the order of elimination */
    td_diagonal<number> diagonal[TD_LU_MOST];
    int pivots[TD_LU_MOST];
    uint8_t rows[TD_LU_MOST];
    strip_vectors<real> strips[1];
};

/* A triangle whose last row is the last of a strip: `missing` rows come before its first. */
template <class real> struct strip_triangle {
    const td_complex<real> *a;
    int64_t lda;
    int missing, least; /* columns before `least` count as zeros */
    bool is_upper;

    /* The row of A, from -missing on, of element e of a strip, in the order of elimination. */
    TD_INSIDE int at(int strip, int e) const
    {
        return strip * (int)ROWS + (is_upper ? (int)ROWS - 1 - e : e) - missing;
    }
};

/* A lane has rows own_row(i) of a strip, and vectors own_vector(j): neighbours, of 16 bytes. */
TD_DEVICE int own_row(int i) { return (int)threadIdx.x % 32 / 4 + 8 * i; }
template <class real> TD_DEVICE int own_vector(int j)
{
    enum { RUN = 16 / sizeof(real) };
    return j / RUN * 4 * RUN + (int)threadIdx.x % 4 * RUN + j % RUN;
}

/* The parts of a lane's rows of a strip. */
template <class real> struct strip_sums {
    real of[2][2][8];

    TD_INSIDE td_complex<real> get(int i, int j) const { return {of[0][i][j], of[1][i][j]}; }
    TD_INSIDE void set(int i, int j, td_complex<real> x) { of[0][i][j] = x.re, of[1][i][j] = x.im; }
    template <class work> TD_INSIDE static void for_own(work of)
    {
        TD_UNROLL
        for (int i = 0; i < 2; i++) TD_UNROLL
        for (int j = 0; j < 8; j++) of(i, j, own_row(i), own_vector<real>(j));
    }
};

/* A lane's elements of the triangle in every column of a strip, or in every second one: numbers, or
 * parts of them. */
template <class element> struct strip_columns {
    const element *first;
    int64_t step; /* elements from a column to the next */
    int k, k_step, least;

    template <class real>
    TD_INSIDE strip_columns(const strip_triangle<real> &t, int strip, int own_strip, int from,
                            int every, int part)
        : k(t.at(strip, from)), k_step(t.is_upper ? -every : every), least(t.least)
    {
        const int64_t parts = sizeof(td_complex<real>) / sizeof(element);
        const int row = own_strip * (int)ROWS + own_row(0) - t.missing;
        first = reinterpret_cast<const element *>(t.a + (k * t.lda + row)) + part;
        step = parts * t.lda * k_step;
    }
    TD_INSIDE element at(int column, int below) const
    {
        return k + column * k_step >= least ? first[column * step + below] : td_number<element>(0);
    }
};

/* What a warp's rows of the triangle have in the columns of a strip: half of them at a time. */
template <class real> struct strip_factor {
    enum { AHEAD = ROWS / 2, BELOW = 8 };
    td_complex<real> of[AHEAD][2];
    strip_columns<td_complex<real>> columns;

    TD_INSIDE strip_factor(const strip_triangle<real> &t, int strip, int own_strip)
        : columns(t, strip, own_strip, 0, 1, 0)
    {
    }
    TD_INSIDE void load(int e)
    {
        of[e % AHEAD][0] = columns.at(e, 0);
        of[e % AHEAD][1] = columns.at(e, BELOW);
    }
    TD_INSIDE void load()
    {
        TD_UNROLL
        for (int e = 0; e < AHEAD; e++) load(e);
    }
    template <int half>
    TD_INSIDE void subtract(strip_sums<real> &s, const strip_vectors<real> &solved)
    {
        enum { RUN = 16 / sizeof(real) };
        TD_UNROLL
        for (int e = half * ROWS / 2; e < (half + 1) * ROWS / 2; e++) {
            real x[2][8];
            TD_UNROLL
            for (int part = 0; part < 2; part++) TD_UNROLL
            for (int j = 0; j < 8; j += RUN)
                td_read_packs<RUN>(x[part] + j, solved.of + part * (int)solved.PART +
                                                    e * (int)solved.LD + own_vector<real>(j));
            TD_UNROLL
            for (int i = 0; i < 2; i++) TD_UNROLL
            for (int j = 0; j < 8; j++)
                s.set(i, j, td_minus(s.get(i, j), of[e % AHEAD][i], {x[0][j], x[1][j]}));
            if (e + AHEAD < ROWS) load(e + AHEAD);
        }
    }
};

/* The same for tensor cores: a complex column is two terms, of which a lane has every fourth. A
 * real part is less re re and more im im, an imaginary part less re im and less im re. */
struct strip_terms {
    enum { BELOW = 16, STEPS = ROWS / 4 };
    double of[STEPS][4];
    strip_columns<double> columns;

    TD_INSIDE strip_terms(const strip_triangle<double> &t, int strip, int own_strip)
        : columns(t, strip, own_strip, (int)threadIdx.x % 4 / 2, 2, (int)threadIdx.x % 2)
    {
    }
    TD_INSIDE void load()
    {
        TD_UNROLL
        for (int step = 0; step < STEPS; step++) TD_UNROLL
        for (int e = 0; e < 4; e++) of[step][e] = columns.at(2 * step + e / 2, e % 2 * BELOW);
    }
    template <int half> TD_INSIDE void turn_signs(bool is_due)
    {
        TD_UNROLL
        for (int step = half * STEPS / 2; step < (half + 1) * STEPS / 2; step++) TD_UNROLL
        for (int e = 0; e < 4; e++)
            of[step][e] = td_from_bits64(td_bits64(of[step][e]) ^ (uint64_t)is_due << 63);
    }
    template <int half, int part>
    TD_INSIDE void subtract_part(double (&s)[2][8], const strip_vectors<double> &solved) const
    {
        enum { LD = strip_vectors<double>::LD, PART = strip_vectors<double>::PART };
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
    TD_INSIDE void subtract(strip_sums<double> &s, const strip_vectors<double> &solved)
    {
        turn_signs<half>((int)threadIdx.x % 2 == 0);
        subtract_part<half, 0>(s.of[0], solved);
        turn_signs<half>((int)threadIdx.x % 2 == 1);
        subtract_part<half, 1>(s.of[1], solved);
    }
};

template <class real> struct strip_factor_of {
    typedef std::conditional_t<td_lu_uses_mma<td_complex<real>>::value, strip_terms,
                               strip_factor<real>>
        type;
};

/* The triangle on the diagonal, on its way to shared memory. One warp. */
template <class real>
TD_DEVICE void fetch_triangle(td_complex<real> (&to)[ROWS][ROWS], const strip_triangle<real> &t,
                              int strip)
{
    const int lane = (int)threadIdx.x % 32, i = lane % ROWS, row = t.at(strip, i);
    TD_UNROLL
    for (int e = lane / ROWS; e < ROWS; e += 2) {
        const int k = t.at(strip, e);
        const bool is_inside = row >= 0 && k >= t.least;
        td_async_copy_inside<sizeof(to[0][0])>(&to[e][i], t.a + (is_inside ? k * t.lda + row : 0),
                                               is_inside);
    }
    td_async_copy_commit();
}

/* The lane's vector of a strip: in registers, where every reciprocal is of a diagonal that was not
 * scaled. */
template <bool is_upper, class real>
TD_DEVICE void
solve_vector(strip_vectors<real> &solved, const td_complex<real> (&triangle)[ROWS][ROWS],
             const td_diagonal<td_complex<real>> *diagonal, strip_gates &gates, int own)
{
    const int lane = (int)threadIdx.x % 32;
    td_complex<real> x[ROWS];
    TD_UNROLL
    for (int e = 0; e < ROWS; e++) x[e] = solved.get(e, lane);
    TD_UNROLL
    for (int k = 0; k < ROWS; k++) {
        if (is_upper) x[k] = td_times(x[k], diagonal[ROWS - 1 - k].reciprocal);
        solved.set(k, lane, x[k]);
        if (k == ROWS / 2 - 1) gates.open(is_upper, own, 0);
        TD_UNROLL
        for (int j = k + 1; j < ROWS; j++) x[j] = td_minus(x[j], triangle[k][j], x[k]);
    }
    gates.open(is_upper, own, 1);
}

/* The same in shared memory: for diagonals near the ends of the exponents' range. */
template <class real>
TD_DEVICE void
solve_scaled_vector(strip_vectors<real> &solved, const td_complex<real> (&triangle)[ROWS][ROWS],
                    const td_diagonal<td_complex<real>> *diagonal, strip_gates &gates, int own)
{
    const int lane = (int)threadIdx.x % 32;
    TD_ROLLED
    for (int k = 0; k < ROWS; k++) {
        const td_diagonal<td_complex<real>> d = diagonal[ROWS - 1 - k];
        const td_complex<real> x = td_divided(solved.get(k, lane), d.reciprocal, d.shift);
        solved.set(k, lane, x);
        TD_ROLLED
        for (int j = k + 1; j < ROWS; j++)
            solved.set(j, lane, td_minus(solved.get(j, lane), triangle[k][j], x));
    }
    gates.open(1, own, 0);
    gates.open(1, own, 1);
}

/* The warp's own rows: by way of shared memory, where a lane has a vector. */
template <class real>
TD_DEVICE void solve_strip(strip_sums<real> &s, strip_memory<real> &memory, int own, bool is_upper)
{
    strip_vectors<real> &solved = memory.strips[own];
    const auto &triangle = memory.triangle[own % 2];
    const auto *const diagonal = memory.diagonal + own * (int)ROWS;
    const int turned = is_upper ? (int)ROWS - 1 : 0; /* row e is row e ^ turned */
    s.for_own([&](int i, int j, int e, int v) { solved.set(e ^ turned, v, s.get(i, j)); });
    td_async_copy_wait<0>();
    __syncwarp();
    if (!is_upper)
        solve_vector<false>(solved, triangle, diagonal, memory.gates, own);
    else if (__any_sync(~0u, diagonal[threadIdx.x % ROWS].shift != 0))
        solve_scaled_vector(solved, triangle, diagonal, memory.gates, own);
    else
        solve_vector<true>(solved, triangle, diagonal, memory.gates, own);
    s.for_own([&](int i, int j, int e, int v) { s.set(i, j, solved.get(e ^ turned, v)); });
}

/* One triangle, from its strip `from` on in the order of elimination. Two triangles on the diagonal
 * are in memory: that of a strip that is being solved, and that of the next. */
template <class real>
TD_DEVICE void pass_strips(strip_sums<real> &s, strip_memory<real> &memory,
                           const strip_triangle<real> &t, int from)
{
    const int strips = (int)blockDim.x / 32, own = td_uniform((int)threadIdx.x / 32);
    const int turn = t.is_upper ? strips - 1 - own : own;
    TD_ROLLED
    for (int now = from - 1; now < strips; now++) {
        const int strip = t.is_upper ? strips - 1 - now : now;
        const bool is_due = now >= from && turn > now, is_next = turn == now + 1;
        typename strip_factor_of<real>::type factor(t, strip, own);
        if (is_next) fetch_triangle(memory.triangle[own % 2], t, own);
        if (is_due) factor.load();
        if (now >= from) memory.gates.wait_for_first(t.is_upper, strip, is_due);
        if (is_due) {
            factor.template subtract<0>(s, memory.strips[strip]);
            memory.gates.wait_for_second(t.is_upper, strip);
            factor.template subtract<1>(s, memory.strips[strip]);
        }
        if (is_next) solve_strip(s, memory, own, t.is_upper);
    }
}

/* Reads what all warps need: row exchanges, and reciprocals of the diagonal. */
template <class real>
TD_DEVICE void begin(strip_memory<real> &memory, const td_complex<real> *a, int missing,
                     const td_lu_vectors &p)
{
    typedef td_complex<real> number;
    const int n = p.n, tid = (int)threadIdx.x, threads = (int)blockDim.x;
    const int member = (int)blockIdx.x / ((n + VECTORS - 1) / VECTORS);
    memory.gates.start();
    td_lu_read_pivots(p.pivots ? p.pivots + (int64_t)member * n : nullptr, n, tid, threads,
                      memory.pivots);
    for (int i = tid; i < n + missing; i += threads) {
        td_inverse<number> inverse = {td_number<number>(0), 0};
        if (i >= missing) inverse = td_invert(a[(i - missing) * ((int64_t)p.lda + 1)]);
        memory.diagonal[i].reciprocal = inverse.of;
        memory.diagonal[i].shift = inverse.shift;
    }
    __syncthreads();
    td_lu_find_rows(memory.pivots, n, tid, threads, memory.rows);
    __syncthreads();
}

template <class real>
static __global__ void __launch_bounds__(MOST_THREADS, 1) invert_strips(const td_lu_vectors p)
{
    typedef td_complex<real> number;
    TD_DYNAMIC_SHARED(char, shared);
    strip_memory<real> &memory = *reinterpret_cast<strip_memory<real> *>(shared);
    const int n = p.n, tid = (int)threadIdx.x, missing = (int)blockDim.x / 32 * ROWS - n;
    const int groups = (n + VECTORS - 1) / VECTORS;
    const int member = (int)blockIdx.x / groups, group = (int)blockIdx.x % groups;
    const int first = group * VECTORS, own_first = tid / 32 * ROWS - missing;
    const number *const a = static_cast<const number *>(p.a[member]);
    begin(memory, a, missing, p);

    strip_sums<real> s;
    s.for_own([&](int i, int j, int row, int vector) {
        s.set(i, j, td_number<number>(own_first + row == first + vector));
    });
    TD_ROLLED
    for (int pass = 0; pass < 2; pass++) {
        const int least = pass == 0 ? first : 0;
        pass_strips(s, memory, {a, p.lda, missing, least, pass == 1},
                    pass == 0 ? (first + missing) / ROWS : 0);
    }

    number *const b = static_cast<number *>(p.b[member]);
    s.for_own([&](int i, int j, int e, int v) {
        const int row = own_first + e, vector = first + v;
        if (row >= 0 && vector < n) b[row + (int64_t)p.ldb * memory.rows[vector]] = s.get(i, j);
    });
    if (p.info && group == 0 && tid < 32) {
        const int info = td_lu_first_zero(a, p.lda, n);
        if (tid == 0) p.info[member] = info;
    }
}

template <class real> cudaError_t launch(const td_lu_vectors *p, cudaStream_t stream)
{
    const int64_t blocks = (int64_t)((p->n + VECTORS - 1) / VECTORS) * p->batch;
    const unsigned strips = (unsigned)((p->n + ROWS - 1) / ROWS);
    const size_t bytes = sizeof(strip_memory<real>) + (strips - 1) * sizeof(strip_vectors<real>);
    if (blocks > INT_MAX) return cudaErrorInvalidConfiguration;
    return TD_LAUNCH(invert_strips<real>, (unsigned)blocks, strips * 32, bytes, stream, *p);
}

} /* namespace */

cudaError_t td_lu_invert_strips(const td_lu_vectors *p, cudaStream_t stream)
{
    if (p->type == TD_LU_C) return launch<float>(p, stream);
    if (p->type == TD_LU_Z) return launch<double>(p, stream);
    return cudaErrorInvalidConfiguration;
}

cudaError_t td_lu_strips_prepare(void)
{
    const cudaError_t error = td_load(cudaSuccess, invert_strips<float>, invert_strips<double>);
    return td_allow_shared(td_allow_shared(error, invert_strips<float>, INT_MAX),
                           invert_strips<double>, INT_MAX);
}
