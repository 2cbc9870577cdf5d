/* line_units.h - the first step of measuring lines: what is known of TD_UNIT elements of k of each line of a tile, and the largest
 * exponents along k. For lines.cu. */
#ifndef TD_LINE_UNITS_H
#define TD_LINE_UNITS_H

#include "../access.h"
#include "../arithmetic/logarithm.h"
#include "../divisor.h"
#include "line_tile.h"
#include "ozaki.h"

enum { THREADS = 256, PARTS = THREADS / TD_TILE, PER_THREAD = TD_UNIT / PARTS };
enum { NO_TOP = -0x7fff };

/* What is known of TD_UNIT elements of a line. Magnitudes are in units of 2^(top - 11), rounded up. */
struct unit {
    uint32_t squares; /* of the magnitudes */

    /* The sum of the magnitudes; from bit FRACTION on the largest element's fraction, from bit ZEROS whether any is zero. */
    uint32_t magnitudes;

    int32_t logs; /* sum of the logarithms, at most; where there are zeros, how many */
    int16_t top;  /* exponent of the largest element; NO_TOP: all are zero */
    int16_t low;  /* as in td_line */
};
enum { FRACTION = 20, ZEROS = 28 };

/* ---- measuring ---- */

/* As it is in shared memory. */
typedef td_line_tile<TD_TILE, TD_UNIT, TD_UNIT + 1, THREADS> tile_shape;

TD_DEVICE uint64_t magnitude(uint64_t bits) { return bits & ~(1ull << 63); }
TD_DEVICE uint32_t upper_half(uint64_t bits) { return (uint32_t)(bits >> 32) & 0x7fffffffu; }

/* The largest exponent over some lines of a tile for an element of k, special ones not counting; INT32_MIN: all are zeros. */
TD_DEVICE int top_of(const uint64_t (*tile)[TD_UNIT + 1], int l)
{
    const uint32_t first_normal = 1u << 20, first_special = 0x7ffu << 20;
    uint32_t largest = 0; /* upper half */
    TD_UNROLL
    for (int i = 0; i < TD_TILE / PARTS; i++) largest = max(largest, upper_half(tile[i][l]));
    if (largest >= first_normal && largest < first_special) return (int)(largest >> 20) - 1023;
    int top = INT32_MIN; /* zeros and subnormal numbers, or special ones */
    TD_UNROLL_N(1)
    for (int i = 0; i < TD_TILE / PARTS; i++)
        if (magnitude(tile[i][l]) && td_is_finite64(tile[i][l]))
            top = max(top, td_exponent64(magnitude(tile[i][l])));
    return top;
}

/* Leaves the largest exponents of each part of a tile's lines. */
TD_DEVICE void find_tops(const uint64_t (*tile)[TD_UNIT + 1], int (*top)[TD_UNIT])
{
    const int l = (int)threadIdx.x % 64, part = (int)threadIdx.x / 64;
    top[part][l] = top_of(tile + part * (TD_TILE / PARTS), l);
}

/* The largest exponents of a tile go to those of the operand, and to the bounds of each TD_BOUND of them. By whole warps. */
TD_DEVICE void raise_tops(const int (*top)[TD_UNIT], int32_t *tops, int64_t left, int32_t *bounds)
{
    const int l = (int)threadIdx.x;
    if (l >= TD_UNIT) return;
    int largest = top[0][l];
    TD_UNROLL
    for (int part = 1; part < PARTS; part++) largest = max(largest, top[part][l]);
    if (l < left && largest != INT32_MIN) atomicMax(&tops[l], largest);
    int below = l < left ? largest : INT32_MAX;
    TD_UNROLL
    for (int step = TD_BOUND / 2; step > 0; step /= 2) {
        largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, step));
        below = min(below, __shfl_xor_sync(0xffffffffu, below, step));
    }
    if (l % TD_BOUND || l >= left) return;
    if (largest != INT32_MIN) atomicMax(&bounds[l / TD_BOUND * 2], largest);
    if (below != INT32_MIN) atomicMax(&bounds[l / TD_BOUND * 2 + 1], below);
}

/* Of some elements of a unit. */
struct sums_of_unit {
    uint32_t magnitudes, squares;
};

/* The same; a unit, or a line, is all of its parts. */
struct summary {
    int peak, low; /* as in td_line, but for a peak of zeros */
    int zeros;     /* how many */
    int logs;      /* sum of the logarithms, of no use where there are zeros */
};
constexpr summary NO_ELEMENTS = {TD_LOG * NO_TOP, TD_NO_LOW, 0, 0};

TD_DEVICE summary join(const summary &a, const summary &b)
{
    return {max(a.peak, b.peak), min(a.low, b.low), a.zeros + b.zeros, a.logs + b.logs};
}

/* Of a zero by the formula for normal numbers; below that of any of these. */
enum { LOG_OF_ZERO = -1023 * TD_LOG };

/* Exponent of the lowest bit that is set. */
TD_DEVICE int low_of(uint64_t bits)
{
    const int field = (int)(bits >> 52);
    const uint32_t low = (uint32_t)bits, high = (uint32_t)(bits >> 32) | (field ? 1u << 20 : 0u);
    const int zeros = low ? __ffs((int)low) - 1 : 31 + __ffs((int)high);
    return (field ? field : 1) - 1075 + zeros;
}

/* m 2^(log - 52) over 2^(top - 11), rounded up; m has 53 bits. */
TD_DEVICE uint32_t magnitude_of(uint64_t m, int log, int top)
{
    const uint32_t high = (uint32_t)(m >> 32);
    const int drop = min(9 + top - (log >> 8), 31); /* of high's 21 bits */
    const uint32_t rest = (high & ((1u << drop) - 1)) | (uint32_t)m;
    return (high >> drop) + (rest != 0);
}

/* Where a thread's elements of a line are, and the shifts. */
struct elements {
    const uint64_t *at;        /* every PARTS-th */
    const td_quad<int> *shift; /* NULL: none */
    int count;

    TD_DEVICE int shift_of(const elements &e, int i)
    {
        return e.shift ? e.shift[i / TD_SUBTILE].of[i % TD_SUBTILE] : 0;
    }
    TD_DEVICE int log(const elements &e, int i, uint64_t bits)
    {
        return td_log_of64(bits) + TD_LOG * shift_of(e, i);
    }
};

/* ---- elements that are normal numbers of which the lower half is not 0 ---- */

/* False if there are others: then the rest is of no use. Leaves the upper halves of magnitudes. */
template <bool has_shifts>
TD_DEVICE bool summarise_full(const elements &e, uint32_t (&high)[PER_THREAD], summary *s)
{
    uint32_t least = ~0u, most = 0, least_low = ~0u;
    int peak = INT32_MIN, logs = 0, low = TD_NO_LOW;
    TD_UNROLL
    for (int i = 0; i < PER_THREAD; i++) {
        const uint64_t bits = e.at[i * PARTS];
        const uint32_t lower = (uint32_t)bits;
        const int shift = has_shifts ? elements::shift_of(e, i) : 0;
        high[i] = upper_half(bits);
        least = min(least, high[i]);
        most = max(most, high[i]);
        least_low = min(least_low, lower);
        const int log = (int)(high[i] >> 12) + TD_LOG * shift;
        peak = max(peak, log);
        logs += log;
        low = min(low, (int)(high[i] >> 20) + shift + __ffs((int)lower));
    }
    *s = {peak + LOG_OF_ZERO, low - 1076, 0, logs + PER_THREAD * LOG_OF_ZERO};
    return least >= 1u << 20 && most < 0x7ffu << 20 && least_low != 0;
}

/* What is cut off is never 0. */
template <bool has_shifts>
TD_DEVICE sums_of_unit sums_of_full(const uint32_t (&high)[PER_THREAD], const elements &e, int top)
{
    sums_of_unit sums = {0, 0};
    TD_UNROLL
    for (int i = 0; i < PER_THREAD; i++) {
        const int shift = has_shifts ? elements::shift_of(e, i) : 0;
        const int drop = min(9 + 1023 + top - ((int)(high[i] >> 20) + shift), 31);
        const uint32_t magnitude = (((high[i] & 0xfffffu) | 1u << 20) >> drop) + 1;
        sums.magnitudes += magnitude;
        sums.squares += magnitude * magnitude;
    }
    return sums;
}

/* ---- elements that are normal numbers or zero, without shifts: no branches ---- */

TD_DEVICE void load_magnitudes(const uint64_t *at, uint64_t (&bits)[PER_THREAD])
{
    TD_UNROLL
    for (int i = 0; i < PER_THREAD; i++) bits[i] = magnitude(at[i * PARTS]);
}

TD_DEVICE bool are_normal(const uint64_t *bits)
{
    bool normal = true;
    TD_UNROLL
    for (int i = 0; i < PER_THREAD; i++)
        normal &= (uint32_t)(bits[i] >> 52) - 1u < 0x7feu || bits[i] == 0;
    return normal;
}

/* The last PER_THREAD - count elements are past the end of k. */
TD_DEVICE summary summarise_normal(const uint64_t *bits, int count)
{
    summary s = {LOG_OF_ZERO, TD_NO_LOW, count - PER_THREAD, (count - PER_THREAD) * LOG_OF_ZERO};
    TD_UNROLL
    for (int i = 0; i < PER_THREAD; i++) {
        const int log = (int)(bits[i] >> 44) + LOG_OF_ZERO;
        s.peak = max(s.peak, log);
        s.logs += log;
        s.zeros += bits[i] == 0;
        s.low = min(s.low, bits[i] == 0 ? (int)TD_NO_LOW : low_of(bits[i]));
    }
    s.peak = s.peak == LOG_OF_ZERO ? TD_LOG * NO_TOP : s.peak;
    return s;
}

TD_DEVICE sums_of_unit sums_of_normal(const uint64_t *bits, int top)
{
    sums_of_unit sums = {0, 0};
    TD_UNROLL
    for (int i = 0; i < PER_THREAD; i++) {
        const uint64_t m = (bits[i] & 0xfffffffffffffull) | 1ull << 52;
        const int log = (int)(bits[i] >> 44) + LOG_OF_ZERO;
        const uint32_t magnitude = bits[i] == 0 ? 0 : magnitude_of(m, log, top);
        sums.magnitudes += magnitude;
        sums.squares += magnitude * magnitude;
    }
    return sums;
}

/* ---- any elements ---- */

TD_DEVICE summary summarise_any(const elements &e)
{
    summary s = NO_ELEMENTS;
    TD_UNROLL_N(1)
    for (int i = 0; i < e.count; i++) {
        const uint64_t bits = magnitude(e.at[i * PARTS]);
        if (bits == 0) {
            s.zeros++;
            continue;
        }
        const int log = elements::log(e, i, bits);
        const int low = low_of(bits) + elements::shift_of(e, i);
        s.peak = max(s.peak, log);
        s.low = min(s.low, td_is_finite64(bits) ? low : (int)TD_SPECIAL);
        s.logs += log;
    }
    return s;
}

TD_DEVICE sums_of_unit sums_of_any(const elements &e, int top)
{
    sums_of_unit sums = {0, 0};
    TD_UNROLL_N(1)
    for (int i = 0; i < e.count; i++) {
        const uint64_t bits = magnitude(e.at[i * PARTS]);
        if (bits == 0) continue;
        int q;
        const uint64_t m = td_significand64(bits, &q);
        const uint32_t magnitude = magnitude_of(m, elements::log(e, i, bits), top);
        sums.magnitudes += magnitude;
        sums.squares += magnitude * magnitude;
    }
    return sums;
}

/* ---- units ---- */

/* What the unit of a line is, from the sums of its parts. */
TD_DEVICE unit unit_of(const summary &all, const sums_of_unit (*sums)[TD_TILE], int line)
{
    unit u = {0, (uint32_t)(all.peak & 255) << FRACTION | (uint32_t)(all.zeros != 0) << ZEROS,
              all.zeros ? all.zeros : all.logs, (int16_t)(all.peak >> 8), (int16_t)all.low};
    TD_UNROLL
    for (int i = 0; i < PARTS; i++) {
        u.magnitudes += sums[i][line].magnitudes;
        u.squares += sums[i][line].squares;
    }
    return u;
}

/* What is added to the exponents of a tile's elements, part by part. */
struct shifts_of_tile {
    td_quad<int> of[PARTS][PER_THREAD / TD_SUBTILE];
};

/* Part `part` of a line of a tile; `left` elements of k are not before the tile. */
TD_DEVICE elements elements_of(const uint64_t *line, int part, int64_t left,
                               const shifts_of_tile *shifts)
{
    const int64_t count = (left - part + PARTS - 1) / PARTS;
    return {line + part, shifts ? shifts->of[part] : NULL,
            (int)max((int64_t)0, min((int64_t)PER_THREAD, count))};
}

/* The units of a tile's lines, by all threads of a block, a part of a line each; to: where the line's goes, or NULL. */
template <bool has_shifts>
TD_DEVICE void measure_tile(const uint64_t (*tile)[TD_UNIT + 1], int64_t left,
                            const shifts_of_tile &shifts, unit *to)
{
    TD_SHARED(summary, summaries, [PARTS][TD_TILE]);
    TD_SHARED(sums_of_unit, sums, [PARTS][TD_TILE]);
    const int line = (int)threadIdx.x % TD_TILE, part = (int)threadIdx.x / TD_TILE;
    const elements mine = elements_of(tile[line], part, left, has_shifts ? &shifts : NULL);
    uint32_t high[PER_THREAD];
    uint64_t bits[PER_THREAD];
    summary own;
    const bool full = mine.count == PER_THREAD && summarise_full<has_shifts>(mine, high, &own);
    bool normal = false;
    if (!full) {
        load_magnitudes(mine.at, bits);
        normal = !has_shifts && are_normal(bits);
        own = normal ? summarise_normal(bits, mine.count) : summarise_any(mine);
    }
    summaries[part][line] = own;
    __syncthreads();
    summary all = summaries[0][line];
    TD_UNROLL
    for (int i = 1; i < PARTS; i++) all = join(all, summaries[i][line]);
    const int top = all.peak >> 8;
    sums[part][line] = {0, 0};
    if (full && all.low != TD_SPECIAL)
        sums[part][line] = sums_of_full<has_shifts>(high, mine, top);
    else if (all.low != TD_SPECIAL && top != NO_TOP && normal) {
        load_magnitudes(mine.at, bits);
        sums[part][line] = sums_of_normal(bits, top);
    } else if (all.low != TD_SPECIAL && top != NO_TOP) {
        sums[part][line] = sums_of_any(mine, top);
    }
    __syncthreads();
    if (to) *to = unit_of(all, sums, line);
}

/* Units of the lines from line_first on, of both operands of all members: first those that are neighbours in memory. */
struct tiles {
    int line_first, count;
    td_divisor units, strips, matrix; /* tiles of a line, of a unit, of a matrix */
};

static tiles tiles_of(const td_measure *p, int line_first, int lines)
{
    const int units = (int)((p->operand[0].k + TD_UNIT - 1) / TD_UNIT), strips = td_tiles(lines);
    return {line_first, units * strips * 2 * p->batch, td_divisor_of(units), td_divisor_of(strips),
            td_divisor_of(units * strips)};
}

struct place {
    int which, batch, in_strip, line0, unit; /* in_strip: of the lines measured together */
};

TD_DEVICE place place_of(const td_measure &p, const tiles &t, int number)
{
    int in_matrix, unit, strip;
    const int matrix = td_divide(number, t.matrix, &in_matrix), which = matrix % 2;
    if (p.operand[which].k_step == 1)
        strip = td_divide(in_matrix, t.units, &unit);
    else
        unit = td_divide(in_matrix, t.strips, &strip);
    return {which, matrix / 2, strip * TD_TILE, t.line_first + strip * TD_TILE, unit};
}

/* A tile, which is copied to its beginning, and the largest exponents along k of both operands. */
struct tile_of_units {
    uint64_t of[tile_shape::lines][tile_shape::pitch];
    int32_t tops[2][TD_UNIT];
};

/* Starts the copies of these. */
TD_DEVICE void copy_tops(const td_measure &p, const place &at, tile_of_units &tile)
{
    const int o = (int)threadIdx.x / TD_UNIT, own = (int)threadIdx.x % TD_UNIT;
    const int64_t l = (int64_t)at.unit * TD_UNIT + own, k = p.operand[0].k;
    if (o < 2 && l < k) td_async_copy<4>(&tile.tops[o][own], &p.tops[o][at.batch * k + l]);
}

/* Half of what B's exponent is above A's is the shift of an element of k. The first tiles leave it in memory. */
TD_DEVICE void find_shifts(const td_measure &p, const place &at, int64_t left,
                           const tile_of_units &tile, shifts_of_tile &shifts)
{
    const int own = (int)threadIdx.x, part = own % PARTS, i = own / PARTS;
    if (own < TD_UNIT) {
        const int a = tile.tops[0][own], b = tile.tops[1][own];
        const int shift = own >= left || a == INT32_MIN || b == INT32_MIN ? 0 : (b - a) >> 1;
        shifts.of[part][i / TD_SUBTILE].of[i % TD_SUBTILE] = at.which ? -shift : shift;
        if (own < left && at.which == 0 && at.line0 == 0)
            p.shift[at.batch * p.operand[0].k + (int64_t)at.unit * TD_UNIT + own] = (int16_t)shift;
    }
    __syncthreads();
}

/* A unit of each line of a strip. All threads take part. */
template <bool again>
TD_DEVICE void measure_units(const td_measure &p, const place &at, int units,
                             const tile_of_units &tile)
{
    TD_SHARED(int, top, [PARTS][TD_UNIT]);
    TD_SHARED(shifts_of_tile, shifts, );
    const td_operand &o = p.operand[at.which];
    const int64_t l0 = (int64_t)at.unit * TD_UNIT, left = o.k - l0;
    const int line = (int)threadIdx.x;
    unit *to = static_cast<unit *>((again ? p.units_again : p.units)[at.which]) +
               ((int64_t)at.batch * units + at.unit) * p.strip_lines + at.in_strip;
    if (again)
        find_shifts(p, at, left, tile, shifts);
    else
        find_tops(tile.of, top);
    measure_tile<again>(tile.of, left, shifts,
                        line < TD_TILE && at.line0 + line < o.lines ? to + line : NULL);
    int32_t *const bounds = p.bounds[at.which] + 2 * (at.batch * td_bounds(o.k) + l0 / TD_BOUND);
    if (!again) raise_tops(top, p.tops[at.which] + at.batch * o.k + l0, left, bounds);
}

#endif
