/* strips.cu - inverses of larger matrices from their factors. A block has 32 columns of an inverse,
 * and a warp 16 rows of these in registers. Strips of 16 rows are solved one after the other; of a
 * strip that is solved, all warps whose rows come later take away its product with their rows of
 * the triangle, and the warp whose rows come next solves these at once. */
#include "inverse.h"
#include "solve.h"

namespace
{

enum { ROWS = 16, VECTORS = 32, MOST_THREADS = TD_LU_MOST / ROWS * 32 };

/* What a block has in shared memory, each twice where one is read as the next is written. Rows of
 * vectors are so many numbers apart that the lanes of products find theirs in different banks. */
template <class number> struct strip_memory {
    enum { LD = VECTORS + 4 };
    alignas(16) number solved[2][ROWS][LD];     /* by rows in the order of elimination */
    alignas(16) number triangle[2][ROWS][ROWS]; /* by columns, as those */
    td_diagonal<number> diagonal[TD_LU_MOST];
    int pivots[TD_LU_MOST];
    uint8_t rows[TD_LU_MOST];
};

/* A triangle whose last row is the last of a strip: `missing` rows come before its first. */
template <class number> struct strip_triangle {
    const number *a;
    int64_t lda;
    int missing, least; /* columns before `least` count as zeros */
    bool is_upper;

    /* The row of A, from -missing on, of element e of a strip, in the order of elimination. */
    TD_INSIDE int at(int strip, int e) const
    {
        return strip * (int)ROWS + (is_upper ? (int)ROWS - 1 - e : e) - missing;
    }
};

/* Row i of the lane's two in a strip, and vector j of its eight. */
TD_DEVICE int own_row(int i) { return (int)threadIdx.x % 32 / 4 + 8 * i; }
TD_DEVICE int own_vector(int j) { return j / 2 * 8 + (int)threadIdx.x % 4 * 2 + j % 2; }

/* What a warp's rows of the triangle have in the columns of a strip. */
template <class number> struct strip_factor {
    number of[ROWS][2];

    TD_INSIDE void load(const strip_triangle<number> &t, int strip, int own_strip)
    {
        TD_UNROLL
        for (int e = 0; e < ROWS; e++) {
            const int k = t.at(strip, e);
            TD_UNROLL
            for (int i = 0; i < 2; i++) {
                const int row = max(own_strip * (int)ROWS + own_row(i) - t.missing, 0);
                of[e][i] = k >= t.least ? t.a[k * t.lda + row] : td_number<number>(0);
            }
        }
    }
    TD_INSIDE void subtract(number (&s)[2][8],
                            const number (&solved)[ROWS][strip_memory<number>::LD]) const
    {
        TD_UNROLL
        for (int e = 0; e < ROWS; e++) {
            number x[8];
            TD_UNROLL
            for (int j = 0; j < 8; j += 2) td_read_packs<2>(x + j, &solved[e][own_vector(j)]);
            TD_UNROLL
            for (int i = 0; i < 2; i++) TD_UNROLL
            for (int j = 0; j < 8; j++) s[i][j] = td_minus(s[i][j], of[e][i], x[j]);
        }
    }
};

/* The same for tensor cores: a complex column is two terms, of which a lane has every fourth. */
struct strip_terms {
    double of[ROWS / 4][4];

    TD_INSIDE void load(const strip_triangle<td_complex<double>> &t, int strip, int own_strip)
    {
        const int lane = (int)threadIdx.x % 32;
        TD_UNROLL
        for (int step = 0; step < ROWS / 4; step++) TD_UNROLL
        for (int e = 0; e < 4; e++) {
            const int k = t.at(strip, 4 * step + lane % 4 / 2 + e / 2 * 2);
            const int row = max(own_strip * (int)ROWS + own_row(e % 2) - t.missing, 0);
            const double *const x = reinterpret_cast<const double *>(t.a + (k * t.lda + row));
            of[step][e] = k >= t.least ? x[lane % 2] : 0.0;
        }
    }
    /* A real part is less re re and more im im, an imaginary part less re im and less im re. */
    TD_INSIDE void
    subtract(td_complex<double> (&s)[2][8],
             const td_complex<double> (&solved)[ROWS][strip_memory<td_complex<double>>::LD]) const
    {
        const int lane = (int)threadIdx.x % 32, is_im = lane % 2;
        const uint64_t sign[2] = {(uint64_t)!is_im << 63, 1ull << 63};
        TD_UNROLL
        for (int step = 0; step < ROWS / 4; step++) {
            const int e0 = 4 * step + lane % 4 / 2;
            TD_UNROLL
            for (int part = 0; part < 2; part++) {
                double x[4];
                TD_UNROLL
                for (int e = 0; e < 4; e++)
                    x[e] = td_from_bits64(td_bits64(of[step][e]) ^ sign[part]);
                TD_UNROLL
                for (int j = 0; j < 8; j += 2) {
                    const int vector = 4 * j + lane / 4, of_y = (is_im + part) % 2;
                    const double y[2] = {
                        reinterpret_cast<const double *>(&solved[e0][vector])[of_y],
                        reinterpret_cast<const double *>(&solved[e0 + 2][vector])[of_y]};
                    if (part == 0)
                        td_lu_mma(s[0][j].re, s[0][j + 1].re, s[1][j].re, s[1][j + 1].re, x, y);
                    else
                        td_lu_mma(s[0][j].im, s[0][j + 1].im, s[1][j].im, s[1][j + 1].im, x, y);
                }
            }
        }
    }
};

template <class number> struct strip_factor_of {
    typedef std::conditional_t<td_lu_uses_mma<number>::value, strip_terms, strip_factor<number>>
        type;
};

/* The triangle on the diagonal, on its way to shared memory. One warp. */
template <class number>
TD_DEVICE void fetch_triangle(number (&to)[ROWS][ROWS], const strip_triangle<number> &t, int strip)
{
    const int lane = (int)threadIdx.x % 32, i = lane % ROWS, row = t.at(strip, i);
    TD_UNROLL
    for (int e = lane / ROWS; e < ROWS; e += 2) {
        const int k = t.at(strip, e);
        const bool is_inside = row >= 0 && k >= t.least;
        td_async_copy_inside<sizeof(number)>(&to[e][i], t.a + (is_inside ? k * t.lda + row : 0),
                                             is_inside);
    }
    td_async_copy_commit();
}

/* The warp's own rows: by way of shared memory, where a lane has a vector. */
template <class number>
TD_DEVICE void solve_strip(number (&s)[2][8], number (&solved)[ROWS][strip_memory<number>::LD],
                           const number (&triangle)[ROWS][ROWS],
                           const td_diagonal<number> *diagonal, bool is_upper)
{
    const int lane = (int)threadIdx.x % 32;
    number x[ROWS];
    const auto for_own = [&](auto work) {
        TD_UNROLL
        for (int i = 0; i < 2; i++) TD_UNROLL
        for (int j = 0; j < 8; j++) {
            const int e = is_upper ? (int)ROWS - 1 - own_row(i) : own_row(i);
            work(s[i][j], solved[e][own_vector(j)]);
        }
    };
    for_own([](const number &own, number &shared) { shared = own; });
    td_async_copy_wait<0>();
    __syncwarp();
    TD_UNROLL
    for (int e = 0; e < ROWS; e++) x[e] = solved[e][lane];
    TD_UNROLL
    for (int k = 0; k < ROWS; k++) {
        if (is_upper) {
            const td_diagonal<number> d = diagonal[ROWS - 1 - k];
            x[k] = d.shift == 0 ? td_times(x[k], d.reciprocal)
                                : td_divided(x[k], d.reciprocal, d.shift);
        }
        solved[k][lane] = x[k];
        TD_UNROLL
        for (int j = k + 1; j < ROWS; j++) x[j] = td_minus(x[j], triangle[k][j], x[k]);
    }
    __syncwarp();
    for_own([](number &own, const number &shared) { own = shared; });
}

/* One triangle, from its strip `from` on in the order of elimination. */
template <class number>
TD_DEVICE void pass_strips(number (&s)[2][8], strip_memory<number> &memory,
                           const strip_triangle<number> &t, int from)
{
    const int strips = (int)blockDim.x / 32, own = td_uniform((int)threadIdx.x / 32);
    const int turn = t.is_upper ? strips - 1 - own : own;
    const td_diagonal<number> *const diagonal = memory.diagonal + own * (int)ROWS;
    TD_ROLLED
    for (int now = from - 1; now < strips; now++) {
        typename strip_factor_of<number>::type factor;
        const bool is_due = now >= from && turn > now, is_next = turn == now + 1;
        if (is_next) fetch_triangle(memory.triangle[turn % 2], t, own);
        if (is_due) factor.load(t, t.is_upper ? strips - 1 - now : now, own);
        if (now >= from) __syncthreads();
        if (is_due) factor.subtract(s, memory.solved[now % 2]);
        if (is_next)
            solve_strip(s, memory.solved[turn % 2], memory.triangle[turn % 2], diagonal,
                        t.is_upper);
    }
}

template <class number>
static __global__ void __launch_bounds__(MOST_THREADS, 1) invert_strips(const td_lu_vectors p)
{
    TD_SHARED(strip_memory<number>, memories, [1]);
    strip_memory<number> &memory = memories[0];
    const int n = p.n, tid = (int)threadIdx.x, threads = (int)blockDim.x;
    const int groups = (n + VECTORS - 1) / VECTORS, missing = threads / 32 * ROWS - n;
    const int member = (int)blockIdx.x / groups, group = (int)blockIdx.x % groups;
    const int first = group * VECTORS, own_first = tid / 32 * ROWS - missing;
    const number *const a = static_cast<const number *>(p.a[member]);

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

    number s[2][8];
    TD_UNROLL
    for (int i = 0; i < 2; i++) TD_UNROLL
    for (int j = 0; j < 8; j++)
        s[i][j] = td_number<number>(own_first + own_row(i) == first + own_vector(j));
    pass_strips(s, memory, {a, p.lda, missing, first, false}, (first + missing) / ROWS);
    pass_strips(s, memory, {a, p.lda, missing, 0, true}, 0);

    number *const b = static_cast<number *>(p.b[member]);
    TD_UNROLL
    for (int i = 0; i < 2; i++) TD_UNROLL
    for (int j = 0; j < 8; j++) {
        const int row = own_first + own_row(i), vector = first + own_vector(j);
        if (row >= 0 && vector < n) b[row + (int64_t)p.ldb * memory.rows[vector]] = s[i][j];
    }
    if (p.info && group == 0 && tid < 32) {
        const int info = td_lu_first_zero(a, p.lda, n);
        if (tid == 0) p.info[member] = info;
    }
}

template <class number> cudaError_t launch(const td_lu_vectors *p, cudaStream_t stream)
{
    const int64_t blocks = (int64_t)((p->n + VECTORS - 1) / VECTORS) * p->batch;
    if (blocks > INT_MAX) return cudaErrorInvalidConfiguration;
    return TD_LAUNCH(invert_strips<number>, (unsigned)blocks,
                     (unsigned)((p->n + ROWS - 1) / ROWS * 32), 0, stream, *p);
}

} /* namespace */

cudaError_t td_lu_invert_strips(const td_lu_vectors *p, cudaStream_t stream)
{
    if (p->type == TD_LU_C) return launch<td_complex<float>>(p, stream);
    if (p->type == TD_LU_Z) return launch<td_complex<double>>(p, stream);
    return cudaErrorInvalidConfiguration;
}

cudaError_t td_lu_strips_prepare(void)
{
    return td_load(td_load(cudaSuccess, invert_strips<td_complex<float>>),
                   invert_strips<td_complex<double>>);
}
