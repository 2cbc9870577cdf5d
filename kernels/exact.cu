/* exact.cu - masked elements of C with one rounding of the exact result. Lines whose bits span little become whole numbers of a
 * few digits, and sums stay in registers; other sums go through the whole range of products, in shared memory. What
 * needs infinities and NaN is left in the masks. */
#include "access.h"
#include "exact.h"

/* A group is SIDE x SIDE elements of C. A block has a strip of them, one below the other, in turn. */
enum {
    SIDE = 16,
    STRIP = TD_TILE / SIDE,
    GROUP_SUBTILES = SIDE / TD_SUBTILE * (SIDE / TD_SUBTILE)
};

/* The mask of a group's subtile, NULL if that has no elements. Subtiles are counted by columns. */
TD_DEVICE uint16_t *group_mask(const td_target &target, int row, int col, int subtile)
{
    row += subtile % (SIDE / TD_SUBTILE) * TD_SUBTILE;
    col += subtile / (SIDE / TD_SUBTILE) * TD_SUBTILE;
    return row < target.m && col < target.n ? td_target_mask(target, row, col) : NULL;
}

/* First row and column of the block's strip. Grid: tile, strip, batch member. */
TD_DEVICE void strip_at(const td_target &target, int *row, int *col)
{
    const int m_tiles = td_tiles(target.m);
    *row = (int)blockIdx.x % m_tiles * TD_TILE;
    *col = (int)blockIdx.x / m_tiles * TD_TILE + (int)blockIdx.y * SIDE;
}

/* True if no element of a strip is masked. All threads take part. */
TD_DEVICE bool strip_is_empty(const td_target &target, int row, int col)
{
    unsigned any = 0;
    for (int s = (int)threadIdx.x; s < STRIP * GROUP_SUBTILES; s += (int)blockDim.x) {
        const int group = s / GROUP_SUBTILES, subtile = s % GROUP_SUBTILES;
        const uint16_t *mask = group_mask(target, row + group * SIDE, col, subtile);
        if (mask) any |= *mask;
    }
    return !__syncthreads_or(any != 0);
}

/* Calls work(data, row, col) for the groups of the block's strip, unless none of its elements is masked; data: of both operands.
 * All threads take part. */
template <class function> TD_DEVICE void each_group(const td_repair &p, function work)
{
    int row, col;
    strip_at(p.target, &row, &col);
    if (strip_is_empty(p.target, row, col)) return;
    const double *data[2];
    TD_UNROLL
    for (int o = 0; o < 2; o++)
        data[o] = td_member<const double>(p.operand[o].matrix, p.target.batch_first + blockIdx.z);
    TD_UNROLL_N(1)
    for (int group = 0; group < STRIP; group++) {
        work(data, row + group * SIDE, col);
        __syncthreads();
    }
}

/* Takes the elements that are done out of a subtile's mask. */
TD_DEVICE void clear_mask(const td_repair &p, int row, int col, int subtile, unsigned done)
{
    if (!done) return;
    *group_mask(p.target, row, col, subtile) ^= (uint16_t)done;
    if (p.repaired) atomicAdd(p.repaired, (unsigned long long)__popc(done));
}

/* ---- narrow lines ---- */

enum { THREADS = SIDE * SIDE, K_STEP = SIDE };

/* Between carries, K_STEP elements of k, a sum of DIGITS K_STEP products of digits is below 2^62. */
enum { DIGITS = 4, DIGIT_BITS = 28 };

/* +- digit[0] + digit[1] 2^28 + ..., all of the sign of the number. */
struct alignas(16) digits {
    int32_t digit[DIGITS];
};

/* Exponents of the highest and the lowest bit of a line's numbers; top < bottom for a line of zeros. A line that holds a
 * NaN or an infinity spans more than any other. */
struct spans {
    int top[2][SIDE], bottom[2][SIDE];
};
enum { NO_TOP = -30000, NO_BOTTOM = 30000, TOP_SPECIAL = 30000 };

TD_DEVICE int span_of(const spans &s, int which, int line)
{
    return s.top[which][line] - s.bottom[which][line] + 1;
}

/* The line and the element of k that a thread loads, of SIDE lines and K_STEP elements: consecutive threads read
 * consecutive memory. */
TD_DEVICE void place_of_thread(const td_operand &o, int *line, int *l)
{
    const int slow = (int)threadIdx.x / SIDE, fast = (int)threadIdx.x % SIDE;
    *line = o.k_step == 1 ? slow : fast;
    *l = o.k_step == 1 ? fast : slow;
}

/* Spans of SIDE lines of an operand. */
TD_DEVICE void measure_lines(const td_operand &o, const double *data, int line0, int which,
                             spans &s)
{
    int line, first, top = NO_TOP, bottom = NO_BOTTOM;
    place_of_thread(o, &line, &first);
    if (line0 + line < o.lines)
        for (int64_t l = first; l < o.k; l += K_STEP) {
            int q;
            const uint64_t bits = td_bits64(data[td_operand_at(o, line0 + line, l)]);
            const uint64_t m = td_exact_significand(bits, &q);
            if (m == 0) continue;
            top = max(top, td_is_finite64(bits) ? td_exponent64(bits) : (int)TOP_SPECIAL);
            bottom = min(bottom, q + 63 - td_clz64(m & (~m + 1)));
        }
    atomicMax(&s.top[which][line], top);
    atomicMin(&s.bottom[which][line], bottom);
}

/* Bits 0 .. DIGIT_BITS - 1 of m 2^shift, m < 2^53. */
TD_DEVICE int32_t digit_of(uint64_t m, int shift)
{
    uint64_t bits = 0;
    if (shift >= 0 && shift < DIGIT_BITS) bits = m << shift;
    if (shift < 0 && shift > -64) bits = m >> -shift;
    return (int32_t)(bits & ((1u << DIGIT_BITS) - 1));
}

/* K_STEP elements of SIDE lines as digits; zeros past the ends, and something where a line spans too much. */
TD_DEVICE void load_digits(const td_operand &o, const double *data, int line0, int64_t l0,
                           const int *bottom, digits (*slab)[SIDE])
{
    int line, l, q;
    place_of_thread(o, &line, &l);
    const bool inside = line0 + line < o.lines && l0 + l < o.k;
    const uint64_t bits = inside ? td_bits64(data[td_operand_at(o, line0 + line, l0 + l)]) : 0;
    const uint64_t m = td_exact_significand(bits, &q);
    digits r;
    TD_UNROLL
    for (int i = 0; i < DIGITS; i++) {
        const int32_t digit = digit_of(m, q - bottom[line] - DIGIT_BITS * i);
        r.digit[i] = bits >> 63 ? -digit : digit;
    }
    slab[l][line] = r;
}

/* Adds a b to a sum; column[i] counts 2^(DIGIT_BITS i). */
template <int count>
TD_DEVICE void add_digits(const digits &a, const digits &b, int64_t (&column)[2 * count])
{
    TD_UNROLL
    for (int i = 0; i < count; i++) TD_UNROLL
    for (int j = 0; j < count; j++) column[i + j] += (int64_t)a.digit[i] * b.digit[j];
}

/* All columns but the last, which has the sign, to 0 .. 2^DIGIT_BITS - 1. */
template <int columns> TD_DEVICE void carry_columns(int64_t (&column)[columns])
{
    TD_UNROLL
    for (int i = 0; i + 1 < columns; i++) {
        column[i + 1] += column[i] >> DIGIT_BITS;
        column[i] &= (1 << DIGIT_BITS) - 1;
    }
}

/* alpha sum 2^e + beta c. */
template <int columns>
TD_DEVICE double combine_columns(const int64_t (&column)[columns], int e, double alpha, double beta,
                                 double c)
{
    enum { SUM_WORDS = (DIGIT_BITS * (columns - 1) + 63) / 32 + 1 };
    enum { WORDS = TD_EXACT_BELOW + SUM_WORDS + TD_EXACT_ABOVE };
    int64_t word[WORDS];
    td_exact x = {word, 1, WORDS, e - 32 * TD_EXACT_BELOW};
    td_exact_clear(&x);
    TD_UNROLL
    for (int i = 0; i < columns; i++) {
        const int at = TD_EXACT_BELOW + DIGIT_BITS * i / 32, shift = DIGIT_BITS * i % 32;
        word[at] += (int64_t)((uint64_t)(uint32_t)column[i] << shift);
        word[at + 1] += (column[i] >> 32) * (1 << shift);
    }
    td_exact_carry(&x);
    return td_exact_combine(&x, alpha, beta, c);
}

/* The sum of an element of C by numbers of so many digits, and what becomes of it. All threads take part. */
template <int count>
TD_DEVICE double sum_digits(const td_repair &p, const double *const *data, int row0, int col0,
                            const spans &s, digits (*slab)[K_STEP][SIDE], double alpha, double beta,
                            double c)
{
    const int i = (int)threadIdx.x % SIDE, j = (int)threadIdx.x / SIDE;
    int64_t column[2 * count] = {};
    for (int64_t l0 = 0; l0 < p.operand[0].k; l0 += K_STEP) {
        load_digits(p.operand[0], data[0], row0, l0, s.bottom[0], slab[0]);
        load_digits(p.operand[1], data[1], col0, l0, s.bottom[1], slab[1]);
        __syncthreads();
        for (int l = 0; l < K_STEP; l++) add_digits<count>(slab[0][l][i], slab[1][l][j], column);
        carry_columns(column);
        __syncthreads();
    }
    return combine_columns(column, s.bottom[0][i] + s.bottom[1][j], alpha, beta, c);
}

struct narrow_shared {
    digits slab[2][K_STEP][SIDE];
    spans lines;
    unsigned done[GROUP_SUBTILES];
};

/* Measures the lines of a group. */
TD_DEVICE void measure_group(const td_repair &p, const double *const *data, int row0, int col0,
                             spans &lines)
{
    const int tid = (int)threadIdx.x;
    if (tid < 2 * SIDE) {
        lines.top[tid / SIDE][tid % SIDE] = NO_TOP;
        lines.bottom[tid / SIDE][tid % SIDE] = NO_BOTTOM;
    }
    __syncthreads();
    measure_lines(p.operand[0], data[0], row0, 0, lines);
    measure_lines(p.operand[1], data[1], col0, 1, lines);
    __syncthreads();
}

/* One thread an element. */
TD_DEVICE void narrow_group(const td_repair &p, const double *const *data, int row0, int col0,
                            narrow_shared &shared)
{
    const int tid = (int)threadIdx.x, i = tid % SIDE, j = tid / SIDE;
    const int subtile = j / TD_SUBTILE * (SIDE / TD_SUBTILE) + i / TD_SUBTILE;
    const unsigned bit = 1u << (j % TD_SUBTILE * TD_SUBTILE + i % TD_SUBTILE);
    const uint16_t *mask = group_mask(p.target, row0, col0, subtile);
    const bool is_wanted = mask && (*mask & bit);
    if (!__syncthreads_or(is_wanted)) return;
    if (tid < GROUP_SUBTILES) shared.done[tid] = 0;
    measure_group(p, data, row0, col0, shared.lines);

    const double alpha = td_scalar_value(p.target.alpha), beta = td_scalar_value(p.target.beta);
    double *element = td_target_c<double>(p.target) + row0 + i + (col0 + j) * p.target.c.ld;
    const double c = is_wanted && beta != 0.0 ? *element : 0.0;
    const int span = max(span_of(shared.lines, 0, i), span_of(shared.lines, 1, j));
    const bool is_ours = is_wanted && span <= DIGITS * DIGIT_BITS && td_exact_takes(alpha, beta, c);
    if (!__syncthreads_or(is_ours)) return;
    const bool needs_all = __syncthreads_or(is_ours && span > (DIGITS - 1) * DIGIT_BITS);
    const double result = needs_all ? sum_digits<DIGITS>(p, data, row0, col0, shared.lines,
                                                         shared.slab, alpha, beta, c)
                                    : sum_digits<DIGITS - 1>(p, data, row0, col0, shared.lines,
                                                             shared.slab, alpha, beta, c);
    if (is_ours) {
        *element = result;
        atomicOr(&shared.done[subtile], bit);
    }
    __syncthreads();
    if (tid < GROUP_SUBTILES) clear_mask(p, row0, col0, tid, shared.done[tid]);
}

static __global__ void __launch_bounds__(THREADS) narrow_kernel(const td_repair p)
{
    TD_SHARED(narrow_shared, shared, );
    each_group(p, [&](const double *const *data, int row, int col) {
        narrow_group(p, data, row, col, shared);
    });
}

/* ---- all others ---- */

enum { WARP = 32, CARRY_AFTER = 1 << 30 };

/* The exact sum of an element of C, carried; false if an operand is not finite. */
TD_DEVICE bool sum_products(const td_repair &p, const double *const *data, int row, int col,
                            const td_exact *x)
{
    const int64_t k = p.operand[0].k;
    bool is_finite = true;
    td_exact_clear(x);
    for (int64_t l = 0; l < k && is_finite; l++) {
        const uint64_t a = td_bits64(data[0][td_operand_at(p.operand[0], row, l)]);
        const uint64_t b = td_bits64(data[1][td_operand_at(p.operand[1], col, l)]);
        is_finite = td_is_finite64(a) && td_is_finite64(b);
        td_exact_add_product(x, a, b);
        if (l % CARRY_AFTER == CARRY_AFTER - 1) td_exact_carry(x);
    }
    td_exact_carry(x);
    return is_finite;
}

/* An element of C; false if it needs the chain. */
TD_DEVICE bool wide_element(const td_repair &p, const double *const *data, int row, int col,
                            int64_t *words)
{
    const double alpha = td_scalar_value(p.target.alpha), beta = td_scalar_value(p.target.beta);
    double *element = td_target_c<double>(p.target) + row + col * p.target.c.ld;
    const double c = beta == 0.0 ? 0.0 : *element;
    td_exact x = {words, WARP, TD_EXACT_WORDS, TD_EXACT_LOWEST};
    if (!td_exact_takes(alpha, beta, c) || !sum_products(p, data, row, col, &x)) return false;
    *element = td_exact_combine(&x, alpha, beta, c);
    return true;
}

struct wide_shared {
    int64_t words[TD_EXACT_WORDS][WARP];
    unsigned masks[GROUP_SUBTILES], done[GROUP_SUBTILES];
};

/* One thread an element, two subtiles at a time. */
TD_DEVICE void wide_group(const td_repair &p, const double *const *data, int row0, int col0,
                          wide_shared &shared)
{
    const int lane = (int)threadIdx.x;
    if (lane < GROUP_SUBTILES) {
        const uint16_t *mask = group_mask(p.target, row0, col0, lane);
        shared.masks[lane] = mask ? *mask : 0;
        shared.done[lane] = 0;
    }
    __syncthreads();
    TD_UNROLL_N(1)
    for (int e = lane; e < SIDE * SIDE; e += WARP) {
        const int subtile = e / (TD_SUBTILE * TD_SUBTILE), at = e % (TD_SUBTILE * TD_SUBTILE);
        const int row = row0 + subtile % (SIDE / TD_SUBTILE) * TD_SUBTILE + at % TD_SUBTILE;
        const int col = col0 + subtile / (SIDE / TD_SUBTILE) * TD_SUBTILE + at / TD_SUBTILE;
        if ((shared.masks[subtile] >> at & 1) &&
            wide_element(p, data, row, col, &shared.words[0][lane]))
            atomicOr(&shared.done[subtile], 1u << at);
    }
    __syncthreads();
    if (lane < GROUP_SUBTILES) clear_mask(p, row0, col0, lane, shared.done[lane]);
}

static __global__ void __launch_bounds__(WARP) wide_kernel(const td_repair p)
{
    TD_SHARED(wide_shared, shared, );
    each_group(p, [&](const double *const *data, int row, int col) {
        wide_group(p, data, row, col, shared);
    });
}

cudaError_t td_exact_run(const td_repair *p, int batch, cudaStream_t stream)
{
    const dim3 grid = td_grid_of_tiles(p->target, STRIP, batch);
    cudaError_t error = TD_LAUNCH(narrow_kernel, grid, THREADS, 0, stream, *p);
    if (error == cudaSuccess) error = TD_LAUNCH(wide_kernel, grid, WARP, 0, stream, *p);
    return error;
}

cudaError_t td_exact_prepare(void) { return td_load(cudaSuccess, narrow_kernel, wide_kernel); }
