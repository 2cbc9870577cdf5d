/* chunk.h - the first step of measuring lines: what is known of TD_CHUNK elements of k of each line
 * of a tile. For measure.cu. */
#ifndef TD_CHUNK_H
#define TD_CHUNK_H

#include "../view/access.h"
#include "../arithmetic/logarithm.h"
#include "../device/warp.h"
#include "block_tile.h"

enum { NO_TOP = -0x7fff };

/* What is known of TD_CHUNK elements of a line. Magnitudes are in units of 2^(top - 11), rounded
 * up. */
struct chunk {
    uint32_t squares; /* of the magnitudes */

    /* The sum of the magnitudes; from bit FRACTION on the largest element's fraction, from bit
     * ZEROS whether any is zero. */
    uint32_t magnitudes;

    int32_t logs; /* sum of the logarithms, at most; where there are zeros, how many */
    int16_t top;  /* exponent of the largest element; NO_TOP: all are zero */
    int16_t low;  /* as in td_line */
};
enum { FRACTION = 20, ZEROS = 28 };

/* Sums of some elements of a chunk: of their magnitudes and of their squares. */
struct sums_of_chunk {
    uint32_t magnitudes, squares;
};

/* What else is known of some elements of a chunk; that of a chunk, or of a line, is joined of all
 * of its parts. */
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
struct join_summaries {
    TD_INSIDE summary operator()(const summary &a, const summary &b) const { return join(a, b); }
};
struct join_sums {
    TD_INSIDE sums_of_chunk operator()(const sums_of_chunk &a, const sums_of_chunk &b) const
    {
        return {a.magnitudes + b.magnitudes, a.squares + b.squares};
    }
};

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

/* Two neighbouring elements of a tile's line are a lane's, the next two those of another part. */
TD_DEVICE int part_of_element(int l) { return l / 2 % PARTS; }
TD_DEVICE int element_of_part(int part, int i) { return (i / 2 * PARTS + part) * 2 + i % 2; }

/* A thread's elements of a chunk: of a tile in shared memory, which has zeros past the end of k
 * ... */
template <bool along> struct tile_elements {
    enum { IS_OPERAND = 0 };
    const uint64_t *of[2];      /* where the one or the other are, alternately */
    const td_quad<int> *shifts; /* NULL: none */
    int count;

    TD_INSIDE tile_elements(const uint64_t *tile, int line, int part, int elements,
                            const td_quad<int> *own_shifts)
        : shifts(own_shifts), count(elements)
    {
        const int first = tile_shape::place<along>(line, element_of_part(part, 0));
        of[0] = tile + td_fresh(first);
        of[1] = tile + td_fresh(along ? first ^ TD_BOX / 2
                                      : tile_shape::place<along>(line, element_of_part(part, 1)));
    }
    TD_INSIDE const uint64_t *at(int i) const
    {
        static_assert((int)TD_BOX == 4 * (int)PARTS, "rows have two pairs of a part");
        return along ? (i / 2 % 2 ? of[1] : of[0]) + i / 4 * (TD_TILE * TD_BOX) + i % 2
                     : (i % 2 ? of[1] : of[0]) + i / 2 * (2 * PARTS * TD_BOX);
    }
    TD_INSIDE uint64_t load(int i) const { return *at(i); }
    TD_INSIDE uint64_t load_padded(int i) const { return load(i); }
    TD_INSIDE void load_all(uint64_t (&bits)[PER_THREAD]) const
    {
        TD_UNROLL
        for (int i = 0; i < PER_THREAD; i += 2) {
            const td_pair_of_elements x =
                along ? td_load_pair(at(i)) : td_pair_of_elements{{load(i), load(i + 1)}};
            bits[i] = x.of[0];
            bits[i + 1] = x.of[1];
        }
    }
    TD_INSIDE int shift(int i) const
    {
        return shifts ? shifts[i / TD_SUBTILE].of[i % TD_SUBTILE] : 0;
    }
};

/* Half of what B's exponent is above A's. */
TD_DEVICE int shift_of_tops(int a, int b)
{
    return a == INT32_MIN || b == INT32_MIN ? 0 : (b - a) >> 1;
}

/* ... or of an operand, every PARTS-th; shifts are made from the largest exponents along k. */
struct operand_elements {
    enum { IS_OPERAND = 1 };
    const uint64_t *at;
    int64_t step;
    const int32_t *tops[2]; /* NULL: no shifts */
    int count, which;

    TD_INSIDE uint64_t load(int i) const { return __ldg(at + i * step); }
    TD_INSIDE uint64_t load_padded(int i) const { return i < count ? load(i) : 0; }
    TD_INSIDE void load_all(uint64_t (&bits)[PER_THREAD]) const
    {
        TD_UNROLL
        for (int i = 0; i < PER_THREAD; i++) bits[i] = load(i);
    }
    TD_INSIDE int shift(int i) const
    {
        if (!tops[0] || i >= count) return 0;
        const int up = shift_of_tops(tops[0][i * PARTS], tops[1][i * PARTS]);
        return which ? -up : up;
    }
};

template <class elements> TD_DEVICE int shifted_log(const elements &e, int i, uint64_t bits)
{
    return td_log_of64(bits) + TD_LOG * e.shift(i);
}

/* ---- elements that are normal numbers of which the lower half is not 0, or zeros ---- */

/* Returns false if there are other elements, and then leaves nothing of use in *s. Zeros are other
 * elements unless has_zeros. Leaves the upper halves of magnitudes in high[]. */
template <bool has_shifts, bool has_zeros, class elements>
TD_DEVICE bool summarise_full(const elements &e, uint32_t (&high)[PER_THREAD], summary *s)
{
    uint32_t least = ~0u, most = 0, least_low = ~0u;
    int peak = INT32_MIN, logs = 0, low = TD_NO_LOW, zeros = 0;
    uint64_t bits[PER_THREAD];
    e.load_all(bits);
    TD_UNROLL
    for (int i = 0; i < PER_THREAD; i++) {
        const uint32_t lower = (uint32_t)bits[i];
        const int shift = has_shifts ? e.shift(i) : 0;
        high[i] = upper_half(bits[i]);
        const bool is_zero = has_zeros && (high[i] | lower) == 0;
        const int log = (int)(high[i] >> 12) + TD_LOG * shift,
                  own_low = (int)(high[i] >> 20) + shift + __ffs((int)lower);
        least = min(least, is_zero ? ~0u : high[i]);
        most = max(most, high[i]);
        least_low = min(least_low, is_zero ? ~0u : lower);
        peak = max(peak, is_zero ? INT32_MIN : log);
        logs += log;
        low = min(low, is_zero ? (int)TD_NO_LOW : own_low);
        zeros += is_zero;
    }
    *s = has_zeros && zeros == PER_THREAD
             ? summary{TD_LOG * NO_TOP, TD_NO_LOW, PER_THREAD, 0}
             : summary{peak + LOG_OF_ZERO, low - 1076, zeros, logs + PER_THREAD * LOG_OF_ZERO};
    return least >= 1u << 20 && most < 0x7ffu << 20 && least_low != 0;
}

/* What is cut off is never 0. */
template <bool has_shifts, bool has_zeros, class elements>
TD_DEVICE sums_of_chunk sums_of_full(const uint32_t (&high)[PER_THREAD], const elements &e, int top)
{
    sums_of_chunk sums = {0, 0};
    TD_UNROLL
    for (int i = 0; i < PER_THREAD; i++) {
        const int shift = has_shifts ? e.shift(i) : 0;
        const int drop = min(9 + 1023 + top - ((int)(high[i] >> 20) + shift), 31);
        const uint32_t magnitude =
            has_zeros && high[i] == 0 ? 0 : (((high[i] & 0xfffffu) | 1u << 20) >> drop) + 1;
        sums.magnitudes += magnitude;
        sums.squares += magnitude * magnitude;
    }
    return sums;
}

/* ---- elements that are normal numbers or zero: no branches ---- */

template <class elements>
TD_DEVICE void load_magnitudes(const elements &e, uint64_t (&bits)[PER_THREAD])
{
    TD_UNROLL
    for (int i = 0; i < PER_THREAD; i++) bits[i] = magnitude(e.load_padded(i));
}

TD_DEVICE bool are_normal(const uint64_t *bits)
{
    bool normal = true;
    TD_UNROLL
    for (int i = 0; i < PER_THREAD; i++)
        normal &= (uint32_t)(bits[i] >> 52) - 1u < 0x7feu || bits[i] == 0;
    return normal;
}

/* A normal element's logarithm; of a zero without a shift it is LOG_OF_ZERO. */
template <bool has_shifts, class elements>
TD_DEVICE int log_of_normal(const elements &e, int i, uint64_t bits)
{
    return (int)(bits >> 44) + LOG_OF_ZERO + (has_shifts ? TD_LOG * e.shift(i) : 0);
}

/* The last PER_THREAD - count elements are past the end of k: zeros without shifts. */
template <bool has_shifts, class elements>
TD_DEVICE summary summarise_normal(const elements &e, const uint64_t *bits)
{
    const int none = has_shifts ? TD_LOG * NO_TOP : (int)LOG_OF_ZERO, count = e.count;
    summary s = {none, TD_NO_LOW, count - PER_THREAD, (count - PER_THREAD) * LOG_OF_ZERO};
    TD_UNROLL
    for (int i = 0; i < PER_THREAD; i++) {
        const int log = log_of_normal<has_shifts>(e, i, bits[i]),
                  low = low_of(bits[i]) + (has_shifts ? e.shift(i) : 0);
        s.peak = max(s.peak, has_shifts && bits[i] == 0 ? none : log);
        s.logs += log;
        s.zeros += bits[i] == 0;
        s.low = min(s.low, bits[i] == 0 ? (int)TD_NO_LOW : low);
    }
    s.peak = s.peak == none ? TD_LOG * NO_TOP : s.peak;
    return s;
}

template <bool has_shifts, class elements>
TD_DEVICE sums_of_chunk sums_of_normal(const elements &e, const uint64_t *bits, int top)
{
    sums_of_chunk sums = {0, 0};
    TD_UNROLL
    for (int i = 0; i < PER_THREAD; i++) {
        const uint64_t m = (bits[i] & 0xfffffffffffffull) | 1ull << 52;
        const int log = log_of_normal<has_shifts>(e, i, bits[i]);
        const uint32_t magnitude = bits[i] == 0 ? 0 : magnitude_of(m, log, top);
        sums.magnitudes += magnitude;
        sums.squares += magnitude * magnitude;
    }
    return sums;
}

/* ---- any elements ---- */

template <class elements> TD_DEVICE summary summarise_any(const elements &e)
{
    summary s = NO_ELEMENTS;
    TD_UNROLL_N(1)
    for (int i = 0; i < e.count; i++) {
        const uint64_t bits = magnitude(e.load(i));
        if (bits == 0) {
            s.zeros++;
            continue;
        }
        const int log = shifted_log(e, i, bits);
        const int low = low_of(bits) + e.shift(i);
        s.peak = td_is_finite64(bits) ? max(s.peak, log) : s.peak;
        s.low = min(s.low, td_is_finite64(bits) ? low : (int)TD_SPECIAL);
        s.logs += log;
    }
    return s;
}

template <class elements> TD_DEVICE sums_of_chunk sums_of_any(const elements &e, int top)
{
    sums_of_chunk sums = {0, 0};
    TD_UNROLL_N(1)
    for (int i = 0; i < e.count; i++) {
        const uint64_t bits = magnitude(e.load(i));
        if (bits == 0) continue;
        int q;
        const uint64_t m = td_significand64(bits, &q);
        const uint32_t magnitude = magnitude_of(m, shifted_log(e, i, bits), top);
        sums.magnitudes += magnitude;
        sums.squares += magnitude * magnitude;
    }
    return sums;
}

/* ---- chunks ---- */

TD_DEVICE chunk chunk_of(const summary &all, const sums_of_chunk &sums)
{
    return {sums.squares,
            sums.magnitudes | (uint32_t)(all.peak & 255) << FRACTION |
                (uint32_t)(all.zeros != 0) << ZEROS,
            all.zeros ? all.zeros : all.logs, (int16_t)(all.peak >> 8), (int16_t)all.low};
}

/* An element's exponent above all; 0 for zeros and special numbers. */
enum { NO_EXPONENT = -1075 };
TD_DEVICE int height_of(uint64_t magnitude)
{
    const int field = (int)(magnitude >> 52);
    if (field == 0) return magnitude ? 64 - td_clz64(magnitude) : 0;
    return field == 0x7ff ? 0 : field - 1023 - NO_EXPONENT;
}

/* A part of a line's chunk: what it is, and the upper halves of magnitudes if all of them are full,
 * or all but zeros. */
struct part_of_chunk {
    summary own;
    uint32_t high[PER_THREAD];
    bool is_full, is_full_or_zero, is_normal;
};

/* Parts that are not full. least: the smallest height. */
struct other_part {
    summary own;
    bool is_normal;
    int least;
};

template <bool has_shifts, class elements> TD_DEVICE other_part summarise_other(const elements &e)
{
    other_part part;
    uint64_t bits[PER_THREAD];
    load_magnitudes(e, bits);
    part.least = INT32_MAX;
    TD_UNROLL
    for (int i = 0; i < PER_THREAD; i++)
        if (i < e.count) part.least = min(part.least, height_of(bits[i]));
    part.is_normal = are_normal(bits);
    part.own = part.is_normal ? summarise_normal<has_shifts>(e, bits) : summarise_any(e);
    return part;
}

template <bool has_shifts, class elements>
TD_DEVICE sums_of_chunk sum_other(const elements &e, bool is_normal, int top)
{
    uint64_t bits[PER_THREAD];
    if (!is_normal) return sums_of_any(e, top);
    load_magnitudes(e, bits);
    return sums_of_normal<has_shifts>(e, bits, top);
}

/* summarise_other and sum_other as calls, so that their code is out of the way of what is usual:
 * blocks that measure little wait for each piece of code that they have not had yet. */
template <bool has_shifts, class elements>
TD_DEVICE_CALL other_part summarise_other_away(const elements e)
{
    return summarise_other<has_shifts>(e);
}
template <bool has_shifts, class elements>
TD_DEVICE_CALL sums_of_chunk sum_other_away(const elements e, bool is_normal, int top)
{
    return sum_other<has_shifts>(e, is_normal, top);
}

/* Returns the smallest height of an operand's elements. */
template <bool has_shifts, class elements>
TD_DEVICE int summarise_part(const elements &e, part_of_chunk &part)
{
    other_part other;
    part.is_full =
        e.count == PER_THREAD && summarise_full<has_shifts, false>(e, part.high, &part.own);
    if (part.is_full) {
        uint32_t least = ~0u;
        TD_UNROLL
        for (int i = 0; i < PER_THREAD; i++) least = min(least, part.high[i]);
        return (int)(least >> 20) - 1023 - NO_EXPONENT;
    }
    if constexpr (elements::IS_OPERAND) {
        other = summarise_other_away<has_shifts>(e);
    } else {
        part.is_full_or_zero =
            e.count == PER_THREAD && summarise_full<has_shifts, true>(e, part.high, &part.own);
        if (part.is_full_or_zero) return 0;
        other = summarise_other<has_shifts>(e);
    }
    part.own = other.own;
    part.is_normal = other.is_normal;
    return other.least;
}

/* Its sums in units of all parts. */
template <bool has_shifts, class elements>
TD_DEVICE sums_of_chunk sum_part(const elements &e, const part_of_chunk &part, const summary &all)
{
    const int top = all.peak >> 8;
    if (all.low == TD_SPECIAL) return {0, 0};
    if (part.is_full) return sums_of_full<has_shifts, false>(part.high, e, top);
    if (top == NO_TOP) return {0, 0};
    if constexpr (elements::IS_OPERAND) {
        return sum_other_away<has_shifts>(e, part.is_normal, top);
    } else {
        if (part.is_full_or_zero) return sums_of_full<has_shifts, true>(part.high, e, top);
        return sum_other<has_shifts>(e, part.is_normal, top);
    }
}

/* What is added to the exponents of a tile's elements, part by part. */
struct shifts_of_tile {
    td_quad<int> of[PARTS][PER_THREAD / TD_SUBTILE];
};

/* All parts of lines, by the lanes that have them. */
TD_DEVICE summary join_parts(summary s)
{
    return td_warp_join_apart<WARP_LINES, 32, join_summaries>(s);
}

TD_DEVICE sums_of_chunk add_parts(sums_of_chunk sums)
{
    return td_warp_join_apart<WARP_LINES, 32, join_sums>(sums);
}

/* The chunks of a warp's lines of a tile, of which `lines` exist; `left` elements of k are not
 * before the tile. Half of a warp's lanes, who load together, have parts 0 and 2, the others 1 and
 * 3: they find theirs in different banks. */
template <bool has_shifts, bool along>
TD_DEVICE void measure_lines_of_tile(const uint64_t *tile, int line0, int lines, int left,
                                     const shifts_of_tile &shifts, chunk *to)
{
    static_assert((int)PARTS == 4, "a part has two bits");
    if (td_skips(lines <= 0)) return;
    const int lane = td_fresh((int)threadIdx.x % 32), own = lane % WARP_LINES,
              part = lane / WARP_LINES % 2 * 2 + lane / WARP_LINES / 2;
    const int count = left / (2 * PARTS) * 2 + min(2, max(0, left % (2 * PARTS) - 2 * part));
    const tile_elements<along> mine(tile, line0 + own, part, count,
                                    has_shifts ? shifts.of[part] : NULL);
    part_of_chunk seen = {};
    summarise_part<has_shifts>(mine, seen);
    const summary all = join_parts(seen.own);
    const sums_of_chunk sums = add_parts(sum_part<has_shifts>(mine, seen, all));
    if (part == 0 && own < lines) to[own] = chunk_of(all, sums);
}

#endif
