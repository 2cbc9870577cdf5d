/* magnitudes.h - int8 magnitudes of a tile of an operand (estimate.h). For kernels. */
#ifndef TD_MAGNITUDES_H
#define TD_MAGNITUDES_H

#include "../view/planes.h"
#include "estimate.h"
#include "fixed_tile.h"
#include "scales.h"

/* A tile is so many elements of k of TD_FIXED_LINES lines. A thread makes a run of neighbours of a
 * line; of operands that stand along k, pairs, PAIRS_APART apart, of its warp's lines. */
enum {
    TILE_K = 128,
    RUN = TILE_K * 32 / TD_FIXED_THREADS,
    OWN_LINES = TD_FIXED_LINES * 32 / TD_FIXED_THREADS,
    PAIRS_APART = 2 * 32,
    PAIRS = TILE_K / PAIRS_APART,
    MOST = 127
};
static_assert((int)TD_FIXED_LINES == 32, "a lane has a line");
static_assert((int)RUN == TD_SUBTILE * TD_SUBTILE, "a run is four words of bytes");

/* min(MOST, floor(abs(x) 2^exponent)) of normal numbers; of others too, if the exponent is at most
 * MOST_EXPONENT: it is 0 then. */
enum { MOST_EXPONENT = 1022, NO_MAGNITUDES = -(1 << 20) };
TD_DEVICE uint32_t magnitude_of(double x, int exponent)
{
    const uint32_t high = (uint32_t)(td_bits64(x) >> 32), leading = (high & 0xfffffu) | 1u << 20;
    const int drop = 20 + 1023 - exponent - (int)(high >> 20 & 0x7ff);
    return min(leading >> min(max(drop, 13), 31), (uint32_t)MOST);
}

/* Of any number. */
TD_DEVICE_CALL uint32_t magnitude_of_any(double x, int exponent)
{
    int q;
    const uint64_t m = td_significand64(td_bits64(x) & ~(1ull << 63), &q);
    const int e = q + 52 + exponent;
    if (m == 0 || e < 0) return 0;
    return e > 6 ? (uint32_t)MOST : (uint32_t)(m >> (52 - e));
}

/* What is added to the exponents of a line's elements, shifts aside; NO_MAGNITUDES: all are 0. */
TD_DEVICE int exponent_of(const td_fixed &fixed, const td_fixed_place &at, int line)
{
    if (line >= fixed.operand[at.which].lines) return NO_MAGNITUDES;
    const td_line &record = fixed.line[at.which][at.batch * fixed.lines_of_member[at.which] + line];
    return td_is_counted(record) ? -td_estimate_ulp(record) : (int)NO_MAGNITUDES;
}

/* What shifts, if there are any, add to that of element l of the pass. */
TD_DEVICE int shift_of(const td_fixed &fixed, const td_fixed_place &at, bool is_shifted, int64_t l)
{
    if (!is_shifted || l >= at.count) return 0;
    const int shift = fixed.shift[at.batch * fixed.operand[0].k + at.first + l];
    return at.which ? -shift : shift;
}

/* The magnitudes of neighbours, a byte each. */
template <int count> struct neighbours {
    double x[count];
    int shift[count];

    /* Stores the magnitudes; `exponent` is exponent_of the line. True if that is not NO_MAGNITUDES,
     * and one of the numbers is not 0. */
    TD_INSIDE bool store(int exponent, int8_t *to) const
    {
        enum { WORDS = (count + 3) / 4 };
        struct alignas(count) {
            uint8_t of[count];
        } bytes;
        uint32_t word[WORDS] = {};
        int most = exponent + shift[0];
        TD_UNROLL
        for (int i = 1; i < count; i++) most = max(most, exponent + shift[i]);
        TD_UNROLL
        for (int i = 0; i < count; i++)
            word[i / 4] += magnitude_of(x[i], exponent + shift[i]) << (8 * (i % 4));
        if (most > MOST_EXPONENT) {
            TD_UNROLL
            for (int w = 0; w < WORDS; w++) word[w] = 0;
            TD_UNROLL
            for (int i = 0; i < count; i++)
                word[i / 4] += magnitude_of_any(x[i], exponent + shift[i]) << (8 * (i % 4));
        }
        memcpy(&bytes, word, count);
        *reinterpret_cast<decltype(bytes) *>(to) = bytes;
        uint64_t any = 0;
        TD_UNROLL
        for (int i = 0; i < count; i++) any |= td_bits64(x[i]) << 1;
        return any != 0 && exponent != NO_MAGNITUDES;
    }
};

/* A thread's numbers of a tile, and the first of its lines; it has one of them, or OWN_LINES where
 * k is contiguous in memory. */
static_assert((int)RUN == 2 * (int)PAIRS * (int)OWN_LINES, "runs or pairs");
typedef double own_numbers[RUN];
TD_DEVICE int own_line(bool along)
{
    return along ? (int)threadIdx.x / 32 * OWN_LINES : (int)threadIdx.x % 32;
}

/* Of operands whose lines are neighbours in memory: lanes have lines, warps runs. */
TD_DEVICE void load_runs(const td_view &o, const td_fixed_place &at, const double *data,
                         own_numbers &x)
{
    const int line = at.line0 + own_line(false);
    const int64_t l = at.in_pass + (int)threadIdx.x / 32 * RUN;
    const double *from = data + td_view_at(o, at.line0 + own_line(false), at.first + l);
    const int64_t left = line < o.lines ? at.count - l : 0;
    TD_UNROLL
    for (int i = 0; i < RUN; i++) x[i] = i < left ? from[i * o.k_step] : 0.0;
}

/* Stores the magnitudes of the thread's numbers. exponents: exponent_of the thread's lines;
 * to(line, l): where the magnitude of element l goes, and after it those of the elements that
 * follow. True if any of this thread's numbers is not 0. */
template <class function>
TD_DEVICE bool store_runs(const td_fixed &fixed, int64_t k_padded, const td_fixed_place &at,
                          const int *exponents, bool is_shifted, const own_numbers &x, function to)
{
    const int line = at.line0 + own_line(false);
    const int64_t l = at.in_pass + (int)threadIdx.x / 32 * RUN;
    if (line >= at.padded_lines || l >= k_padded) return false;
    neighbours<RUN> own;
    TD_UNROLL
    for (int i = 0; i < RUN; i++) {
        own.x[i] = x[i];
        own.shift[i] = shift_of(fixed, at, is_shifted, l + i);
    }
    return own.store(exponents[0], to(line, l));
}

/* Of operands that stand along k: warps have lines. */
TD_DEVICE void load_pairs(const td_view &o, const td_fixed_place &at, const double *data,
                          own_numbers &x)
{
    const int line0 = at.line0 + own_line(true);
    const int64_t l0 = at.in_pass + (int)threadIdx.x % 32 * 2;
    const double *from = data + td_view_at(o, at.line0 + own_line(true), at.first + l0);
    const bool are_aligned = (reinterpret_cast<uintptr_t>(from) & 15) == 0 && o.line_step % 2 == 0;
    TD_UNROLL
    for (int i = 0; i < OWN_LINES; i++) {
        TD_UNROLL
        for (int h = 0; h < PAIRS; h++) {
            const int64_t left = line0 + i < o.lines ? at.count - l0 - h * PAIRS_APART : 0;
            const double *own = from + i * o.line_step + h * PAIRS_APART;
            double2 pair = {0.0, 0.0};
            if (are_aligned && left >= 2)
                pair = *reinterpret_cast<const double2 *>(own);
            else
                pair = {left > 0 ? own[0] : 0.0, left > 1 ? own[1] : 0.0};
            x[2 * (PAIRS * i + h)] = pair.x, x[2 * (PAIRS * i + h) + 1] = pair.y;
        }
    }
}

template <class function>
TD_DEVICE bool store_pairs(const td_fixed &fixed, int64_t k_padded, const td_fixed_place &at,
                           const int *exponents, bool is_shifted, const own_numbers &x, function to)
{
    const int line0 = at.line0 + own_line(true);
    const int64_t l0 = at.in_pass + (int)threadIdx.x % 32 * 2;
    bool any = false;
    TD_UNROLL
    for (int h = 0; h < PAIRS; h++) {
        const int64_t l = l0 + h * PAIRS_APART;
        const int shift[2] = {shift_of(fixed, at, is_shifted, l),
                              shift_of(fixed, at, is_shifted, l + 1)};
        TD_UNROLL
        for (int i = 0; i < OWN_LINES; i++) {
            const double *const pair = &x[2 * (PAIRS * i + h)];
            const neighbours<2> own = {{pair[0], pair[1]}, {shift[0], shift[1]}};
            if (line0 + i < at.padded_lines && l < k_padded)
                any |= own.store(exponents[i], to(line0 + i, l));
        }
    }
    return any;
}

/* Of a tile of TD_FIXED_LINES lines by TILE_K, by all threads of a block. */
TD_DEVICE void load_numbers(const td_fixed &fixed, const td_fixed_place &at, own_numbers &x)
{
    const td_view &o = fixed.operand[at.which];
    const double *const data = td_member<const double>(o.matrix, fixed.batch_first + at.batch);
    if (at.along)
        load_pairs(o, at, data, x);
    else
        load_runs(o, at, data, x);
}

template <class function>
TD_DEVICE bool store_magnitudes(const td_fixed &fixed, int64_t k_padded, const td_fixed_place &at,
                                const int *exponents, bool is_shifted, const own_numbers &x,
                                function to)
{
    return at.along ? store_pairs(fixed, k_padded, at, exponents, is_shifted, x, to)
                    : store_runs(fixed, k_padded, at, exponents, is_shifted, x, to);
}

/* Tells that the block's tile has numbers that are not 0. Their magnitudes may be: residues are
 * not. */
TD_DEVICE void mark_nonzero(const td_magnitudes &p, const td_fixed_place &at)
{
    static_assert((int)TILE_K == TD_SLICE_K && TD_LINE_GROUP % TD_FIXED_LINES == 0,
                  "a bit is of whole tiles");
    const int stage = (int)(at.in_pass / TILE_K);
    const int64_t place =
        td_nonzero_place(at.padded_lines, p.k_padded, at.batch, at.line0 / TD_LINE_GROUP, stage);
    atomicOr(p.nonzero[at.which] + place, td_nonzero_bit(stage));
}

#endif
