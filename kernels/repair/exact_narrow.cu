/* exact_narrow.cu - exact elements of lines whose bits span little: these become whole numbers of a
 * few digits, and sums stay in registers. Where few elements of a group are masked, the threads
 * share each of them. */
#include "../device/warp.h"
#include "exact_group.h"

enum { THREADS = SIDE * SIDE, K_STEP = SIDE };

/* Between carries, K_STEP elements of k, a sum of DIGITS K_STEP products of digits is below
 * 2^62. */
enum { DIGITS = TD_NARROW_DIGITS, DIGIT_BITS = TD_NARROW_DIGIT_BITS };

/* +- digit[0] + digit[1] 2^28 + ..., all of the sign of the number. */
struct alignas(16) digits {
    int32_t digit[DIGITS];
};

/* Exponents of the highest and the lowest bit of a line's numbers; top < bottom for a line of
 * zeros. A line that holds a NaN or an infinity spans more than any other. */
struct spans {
    int top[2][SIDE], bottom[2][SIDE];
};
enum { NO_TOP = -30000, NO_BOTTOM = 30000, TOP_SPECIAL = 30000 };

/* Exponents of the highest and the lowest bit of the numbers that one thread has read so far. */
struct range {
    int top, bottom;
};

TD_DEVICE void measure_number(uint64_t bits, range *r)
{
    int q;
    const uint64_t m = td_exact_significand(bits, &q);
    if (m == 0) return;
    r->top = max(r->top, td_is_finite64(bits) ? td_exponent64(bits) : (int)TOP_SPECIAL);
    r->bottom = min(r->bottom, q + 63 - td_clz64(m & (~m + 1)));
}

TD_DEVICE int span_of(const spans &s, int which, int line)
{
    return s.top[which][line] - s.bottom[which][line] + 1;
}

/* The shifts along k that records of lines include, NULL if there are none: elements of rows are
 * multiplied by these powers of two, and those of columns divided. */
TD_DEVICE const int16_t *shifts_of(const td_repair &p)
{
    if (!p.line[0] || !p.shifted || !p.shifted[blockIdx.z]) return NULL;
    return p.shift + blockIdx.z * p.operand[0].k;
}

/* The exponents of a line's numbers, shifted along k, by its record; false if there is none. */
TD_DEVICE bool find_span(const td_repair &p, int which, int line, range *r)
{
    if (!p.line[0]) return false;
    const td_line &record = p.line[which][blockIdx.z * p.lines_of_member[which] + line];
    const bool has_numbers = record.low != TD_NO_LOW;
    r->top = has_numbers ? record.peak >> 8 : (int)NO_TOP;
    r->bottom = has_numbers ? record.low : (int)NO_BOTTOM;
    if (record.low == TD_SPECIAL) r->top = TOP_SPECIAL;
    return true;
}

/* The line and the element of k that a thread loads, of SIDE lines and K_STEP elements: consecutive
 * threads read consecutive memory. */
TD_DEVICE void place_of_thread(const td_view &o, int *line, int *l)
{
    const int slow = (int)threadIdx.x / SIDE, fast = (int)threadIdx.x % SIDE;
    *line = o.k_step == 1 ? slow : fast;
    *l = o.k_step == 1 ? fast : slow;
}

/* Spans of SIDE lines of an operand. */
TD_DEVICE void measure_lines(const td_view &o, const double *data, int line0, int which, spans &s)
{
    int line, first;
    range r = {NO_TOP, NO_BOTTOM};
    place_of_thread(o, &line, &first);
    if (line0 + line < o.lines)
        for (int64_t l = first; l < o.k; l += K_STEP)
            measure_number(td_bits64(td_view_load(o, data, line0 + line, l)), &r);
    atomicMax(&s.top[which][line], r.top);
    atomicMin(&s.bottom[which][line], r.bottom);
}

/* Bits 0 .. DIGIT_BITS - 1 of m 2^shift, m < 2^53. */
TD_DEVICE int32_t digit_of(uint64_t m, int shift)
{
    uint64_t bits = 0;
    if (shift >= 0 && shift < DIGIT_BITS) bits = m << shift;
    if (shift < 0 && shift > -64) bits = m >> -shift;
    return (int32_t)(bits & ((1u << DIGIT_BITS) - 1));
}

/* K_STEP elements of SIDE lines as digits; zeros past the ends, and something where a line spans
 * too much. */
TD_DEVICE void load_digits(const td_repair &p, int which, const double *data, int line0, int64_t l0,
                           const int *bottom, digits (*slab)[SIDE])
{
    const td_view &o = p.operand[which];
    const int16_t *const shifts = shifts_of(p);
    int line, l, q;
    place_of_thread(o, &line, &l);
    const bool inside = line0 + line < o.lines && l0 + l < o.k;
    const uint64_t bits = inside ? td_bits64(td_view_load(o, data, line0 + line, l0 + l)) : 0;
    const uint64_t m = td_exact_significand(bits, &q);
    if (shifts && inside) q += which ? -shifts[l0 + l] : shifts[l0 + l];
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

/* Brings all columns but the last, which has the sign, to 0 .. 2^DIGIT_BITS - 1. */
template <int columns> TD_DEVICE void carry_columns(int64_t (&column)[columns])
{
    TD_UNROLL
    for (int i = 0; i + 1 < columns; i++) {
        column[i + 1] += column[i] >> DIGIT_BITS;
        column[i] &= (1 << DIGIT_BITS) - 1;
    }
}

/* sum over i of column[i] 2^(DIGIT_BITS i + e). */
struct sum {
    int64_t column[2 * DIGITS];
    int e;
};

/* Row, column, subtile of a group and bit of the subtile's mask, of element i + SIDE j. */
namespace
{
struct place {
    int row, col, subtile;
    unsigned bit;
};
} // namespace

TD_DEVICE place place_of(int element)
{
    const int i = element % SIDE, j = element / SIDE;
    place r;
    r.row = i;
    r.col = j;
    r.subtile = j / TD_SUBTILE * (SIDE / TD_SUBTILE) + i / TD_SUBTILE;
    r.bit = 1u << (j % TD_SUBTILE * TD_SUBTILE + i % TD_SUBTILE);
    return r;
}

/* An element of C from its sum. */
TD_DEVICE void store_sum(const td_repair &p, int row, int col, const sum &s)
{
    enum { SUM_WORDS = (DIGIT_BITS * (2 * DIGITS - 1) + 63) / 32 + 1 };
    enum { WORDS = TD_EXACT_BELOW + SUM_WORDS + TD_EXACT_ABOVE };
    int64_t word[WORDS];
    td_exact x = {word, 1, WORDS, s.e - 32 * TD_EXACT_BELOW};
    td_exact_clear(&x);
    TD_UNROLL
    for (int i = 0; i < 2 * DIGITS; i++) {
        const int at = TD_EXACT_BELOW + DIGIT_BITS * i / 32, shift = DIGIT_BITS * i % 32;
        word[at] += (int64_t)((uint64_t)(uint32_t)s.column[i] << shift);
        word[at + 1] += (s.column[i] >> 32) * (1 << shift);
    }
    td_exact_carry(&x);
    store_element(p, row, col, &x);
}

/* A group with more elements than this is summed up as a whole. In instructions of threads, an
 * element of k costs a group 7000 and 1500 more to measure its lines: 70 cycles of a
 * multiprocessor. One element of C by itself costs 120, or 1 cycle; where a line is not contiguous,
 * memory has it read up to 64 bytes for each number, and that takes 3 or 4. */
enum { MOST_ALONE = 16 };

struct narrow_shared {
    union {
        digits slab[2][K_STEP][SIDE];
        int64_t part[2 * DIGITS][THREADS]; /* of a sum */
        int end[4][THREADS];               /* of the numbers that a thread has seen */
    };
    spans lines;
    unsigned done[GROUP_SUBTILES];

    /* Elements by themselves: */
    int count, element[MOST_ALONE], end_of_lines[4];
    bool is_known[MOST_ALONE];
    sum alone[MOST_ALONE];
};

/* ---- all elements of a group ---- */

/* The sum of the thread's element by numbers of so many digits. All threads take part. */
template <int count>
TD_DEVICE sum sum_digits(const td_repair &p, const double *const *data, int row0, int col0,
                         narrow_shared &shared)
{
    const place at = place_of((int)threadIdx.x);
    const spans &lines = shared.lines;
    int64_t column[2 * count] = {};
    for (int64_t l0 = 0; l0 < p.operand[0].k; l0 += K_STEP) {
        load_digits(p, 0, data[0], row0, l0, lines.bottom[0], shared.slab[0]);
        load_digits(p, 1, data[1], col0, l0, lines.bottom[1], shared.slab[1]);
        __syncthreads();
        for (int l = 0; l < K_STEP; l++)
            add_digits<count>(shared.slab[0][l][at.row], shared.slab[1][l][at.col], column);
        carry_columns(column);
        __syncthreads();
    }
    sum s = {};
    TD_UNROLL
    for (int i = 0; i < 2 * count; i++) s.column[i] = column[i];
    s.e = lines.bottom[0][at.row] + lines.bottom[1][at.col];
    return s;
}

/* Finds the spans of a group's lines in their records, or measures them. */
TD_DEVICE void measure_group(const td_repair &p, const double *const *data, int row0, int col0,
                             spans &lines)
{
    const int tid = (int)threadIdx.x, which = tid / SIDE;
    bool is_known = true;
    if (tid < 2 * SIDE) {
        const int line = (which ? col0 : row0) + tid % SIDE;
        range r = {NO_TOP, NO_BOTTOM};
        if (line < p.operand[which].lines) is_known = find_span(p, which, line, &r);
        lines.top[which][tid % SIDE] = r.top;
        lines.bottom[which][tid % SIDE] = r.bottom;
    }
    if (__syncthreads_and(is_known)) return;
    measure_lines(p.operand[0], data[0], row0, 0, lines);
    measure_lines(p.operand[1], data[1], col0, 1, lines);
    __syncthreads();
}

/* One thread an element. */
TD_DEVICE void repair_group(const td_repair &p, int row0, int col0, bool is_wanted,
                            narrow_shared &shared)
{
    const place at = place_of((int)threadIdx.x);
    const double *const data[2] = {operand_data(p, 0), operand_data(p, 1)};
    measure_group(p, data, row0, col0, shared.lines);
    const int span = max(span_of(shared.lines, 0, at.row), span_of(shared.lines, 1, at.col));
    const bool is_ours = is_wanted && span <= DIGITS * DIGIT_BITS;
    if (!__syncthreads_or(is_ours)) return;
    const bool needs_all = __syncthreads_or(is_ours && span > (DIGITS - 1) * DIGIT_BITS);
    const sum s = needs_all ? sum_digits<DIGITS>(p, data, row0, col0, shared)
                            : sum_digits<DIGITS - 1>(p, data, row0, col0, shared);
    if (!is_ours) return;
    store_sum(p, row0 + at.row, col0 + at.col, s);
    atomicOr(&shared.done[at.subtile], at.bit);
}

/* ---- elements by themselves ---- */

/* Finds the spans of a row and a column. All threads take part. */
TD_DEVICE void measure_pair(const line_pair &pair, narrow_shared &shared, range (&r)[2])
{
    const int tid = (int)threadIdx.x;
    range mine[2] = {{NO_TOP, NO_BOTTOM}, {NO_TOP, NO_BOTTOM}};
    for (int64_t l0 = tid; l0 < pair.k; l0 += AT_ONCE * THREADS) {
        uint64_t bits[2][AT_ONCE];
        load_products(pair, l0, THREADS, bits);
        TD_UNROLL
        for (int o = 0; o < 2; o++) TD_UNROLL
        for (int i = 0; i < AT_ONCE; i++) measure_number(bits[o][i], &mine[o]);
    }
    __syncthreads();
    if (tid < 4) shared.end_of_lines[tid] = NO_TOP;
    TD_UNROLL
    for (int o = 0; o < 2; o++) {
        shared.end[o][tid] = mine[o].top;
        shared.end[2 + o][tid] = -mine[o].bottom;
    }
    __syncthreads();
    if (tid < 4 * WARP) {
        int most = NO_TOP;
        for (int i = tid % WARP; i < THREADS; i += WARP)
            most = max(most, shared.end[tid / WARP][i]);
        atomicMax(&shared.end_of_lines[tid / WARP], most);
    }
    __syncthreads();
    TD_UNROLL
    for (int o = 0; o < 2; o++) {
        r[o].top = shared.end_of_lines[o];
        r[o].bottom = -shared.end_of_lines[2 + o];
    }
}

/* The digits of a number from 2^bottom on; false if it has bits beyond them. */
template <int count> TD_DEVICE bool cut_digits(uint64_t bits, int bottom, digits *r)
{
    int q;
    const uint64_t m = td_exact_significand(bits, &q);
    const int shift = q - bottom, up = min(max(shift, 0), 63), down = min(max(-shift, 0), 63);
    const uint64_t whole = m >> down, low = whole << up, high = whole >> 1 >> (63 - up);
    TD_UNROLL
    for (int i = 0; i < count; i++) {
        const int at = DIGIT_BITS * i;
        uint64_t d = at < 64 ? low >> (at % 64) : high >> (at % 64);
        if (at < 64 && at + DIGIT_BITS > 64) d |= high << (64 - at % 64);
        const int32_t digit = (int32_t)(d & ((1u << DIGIT_BITS) - 1));
        r->digit[i] = bits >> 63 ? -digit : digit;
    }
    return td_is_finite64(bits) && shift <= DIGIT_BITS * count - 53 && whole << down == m;
}

/* Adds every THREADS-th product to a sum; false if a number has bits beyond the digits. */
template <int count>
TD_DEVICE bool add_products(const line_pair &pair, const int16_t *shifts, const range (&r)[2],
                            int64_t (&column)[2 * count])
{
    bool fits = true;
    int added = 0;
    for (int64_t l0 = (int)threadIdx.x; l0 < pair.k; l0 += AT_ONCE * THREADS) {
        uint64_t bits[2][AT_ONCE];
        load_products(pair, l0, THREADS, bits);
        TD_UNROLL
        for (int i = 0; i < AT_ONCE; i++) {
            digits a, b;
            const int64_t l = l0 + i * THREADS;
            const int shift = shifts && l < pair.k ? shifts[l] : 0;
            fits &= cut_digits<count>(bits[0][i], r[0].bottom - shift, &a);
            fits &= cut_digits<count>(bits[1][i], r[1].bottom + shift, &b);
            add_digits<count>(a, b, column);
        }
        added += AT_ONCE;
        if (added % K_STEP == 0) carry_columns(column);
    }
    carry_columns(column);
    return fits;
}

/* Adds up the columns of all threads. A warp has a column of the sum. */
template <int count>
TD_DEVICE void add_up(const int64_t (&column)[2 * count], narrow_shared &shared, sum *s)
{
    static_assert(2 * DIGITS * WARP == THREADS, "as many warps as columns");
    const int tid = (int)threadIdx.x, c = tid / WARP;
    TD_UNROLL
    for (int i = 0; i < 2 * DIGITS; i++) shared.part[i][tid] = i < 2 * count ? column[i] : 0;
    __syncthreads();
    int64_t total = 0;
    TD_UNROLL
    for (int i = 0; i < THREADS; i += WARP) total += shared.part[c][i + tid % WARP];
    total = td_warp_add_long(total);
    if (tid % WARP == 0) s->column[c] = total;
}

/* The sum by so many digits; false if they are not enough. All threads take part. */
template <int count>
TD_DEVICE bool sum_pair(const line_pair &pair, const int16_t *shifts, const range (&r)[2],
                        narrow_shared &shared, sum *s)
{
    int64_t column[2 * count] = {};
    const bool fits = add_products<count>(pair, shifts, r, column);
    if (__syncthreads_or(!fits)) return false;
    add_up<count>(column, shared, s);
    if (threadIdx.x == 0) s->e = r[0].bottom + r[1].bottom;
    return true;
}

/* Bits by which a line's span may exceed that of its first numbers. */
enum { SLACK = 16 };

/* Makes the span of a line's first numbers one of `bits` that probably has all: more room below,
 * where numbers close to 0 are, than above. No number has bits below 2^-1074. */
TD_DEVICE void widen(range *r, int bits)
{
    r->bottom = max(r->bottom - (bits - (r->top - r->bottom + 1)) * 2 / 3, -1074);
}

/* The sum of element (row, col), by the spans of its lines' records; without these by a guess from
 * the lines' first numbers and, if these deceive, by measuring first. All threads take part. False,
 * for all, if a line spans too much. */
TD_DEVICE bool sum_alone(const td_repair &p, int row, int col, narrow_shared &shared, sum *s)
{
    enum { FEW = (DIGITS - 1) * DIGIT_BITS, ALL = DIGITS * DIGIT_BITS };
    const line_pair pair = pair_at(p, row, col);
    const int16_t *const shifts = shifts_of(p);
    range r[2];
    const bool is_known = find_span(p, 0, row, &r[0]) && find_span(p, 1, col, &r[1]);
    bool is_done = false;
    TD_UNROLL_N(1)
    for (int round = is_known; round < 2 && !is_done; round++) {
        line_pair seen = pair;
        if (round == 0) seen.k = min(pair.k, (int64_t)THREADS);
        const bool is_guess = seen.k < pair.k;
        if (!is_known) measure_pair(seen, shared, r);
        const int span = max(r[0].top - r[0].bottom, r[1].top - r[1].bottom) + 1;
        if (span > ALL) return false;
        const bool is_few = span + (is_guess ? SLACK : 0) <= FEW;
        TD_UNROLL
        for (int o = 0; o < 2 && is_guess; o++) widen(&r[o], is_few ? FEW : ALL);
        is_done = is_few ? sum_pair<DIGITS - 1>(pair, shifts, r, shared, s)
                         : sum_pair<DIGITS>(pair, shifts, r, shared, s);
    }
    return is_done;
}

/* Makes the masked elements one after the other; all threads share each of them. */
TD_DEVICE void repair_scattered(const td_repair &p, int row0, int col0, bool is_wanted,
                                narrow_shared &shared)
{
    const int tid = (int)threadIdx.x;
    if (tid == 0) shared.count = 0;
    __syncthreads();
    if (is_wanted) shared.element[atomicAdd(&shared.count, 1)] = tid;
    __syncthreads();
    const int count = shared.count;
    TD_UNROLL_N(1)
    for (int n = 0; n < count; n++) {
        const place at = place_of(shared.element[n]);
        const bool is_known = sum_alone(p, row0 + at.row, col0 + at.col, shared, &shared.alone[n]);
        if (tid == 0) shared.is_known[n] = is_known;
    }
    __syncthreads();
    if (tid < count && shared.is_known[tid]) {
        const place at = place_of(shared.element[tid]);
        store_sum(p, row0 + at.row, col0 + at.col, shared.alone[tid]);
        atomicOr(&shared.done[at.subtile], at.bit);
    }
}

/* The masked elements of a group. */
TD_DEVICE void narrow_group(const td_repair &p, int row0, int col0, const uint16_t *masks,
                            narrow_shared &shared)
{
    const int tid = (int)threadIdx.x;
    const place at = place_of(tid);
    const bool is_masked = masks[at.subtile] & at.bit;
    if (!__syncthreads_or(is_masked)) return;
    if (tid < GROUP_SUBTILES) shared.done[tid] = 0;
    const bool is_wanted = is_masked && is_for_us(p, row0 + at.row, col0 + at.col);
    const int count = __syncthreads_count(is_wanted);
    if (count > MOST_ALONE)
        repair_group(p, row0, col0, is_wanted, shared);
    else if (count > 0)
        repair_scattered(p, row0, col0, is_wanted, shared);
    __syncthreads();
    if (tid < GROUP_SUBTILES) clear_mask(p, row0, col0, tid, masks[tid], shared.done[tid]);
}

static __global__ void __launch_bounds__(THREADS) narrow_kernel(const td_repair p)
{
    TD_SHARED(narrow_shared, shared, );
    td_begin_kernel();
    each_group(p, [&](int row, int col, const uint16_t *masks) {
        narrow_group(p, row, col, masks, shared);
    });
}

cudaError_t td_exact_narrow_run(const td_repair *p, int batch, cudaStream_t stream)
{
    return TD_LAUNCH_NEXT(narrow_kernel, grid_of_strips(p, batch, 4), THREADS, 0, stream, *p);
}

cudaError_t td_exact_narrow_prepare(void) { return td_load(cudaSuccess, narrow_kernel); }
