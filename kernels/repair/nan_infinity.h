/* nan_infinity.h - the sums of a tile on their way into C, by one pass over k or two. A line is
 * special if it holds a NaN or an infinity: what these become is for sums of elements as they are
 * to say. Other lines' elements may need scales to have room in sums. Of lines that are too wide
 * for that, sums of elements as they are lose little if they stay finite, and scaled ones if they
 * would not. For binary64_repair.h. */
#ifndef TD_NAN_INFINITY_H
#define TD_NAN_INFINITY_H

#include "binary64_lines.h"

/* Returns a scaled sum in C's own scale, rounded once. */
TD_DEVICE_CALL double unscale(double sum, int scale)
{
    const uint64_t bits = td_bits64(sum);
    int q;
    const uint64_t m = td_significand64(bits, &q);
    return td_round64(bits >> 63, m << 11, q - 11 - scale);
}

/* Which sums a pass over k is for: all; or first, of elements as they are, those of special and of
 * wide lines and those that have room so, and then, scaled, the others and the thread's sums whose
 * bits are set in `left`. */
struct pass {
    bool is_scaled, is_only;
    uint32_t left;
};

TD_DEVICE bool is_special(const td_repair &p, int row, int column)
{
    return record_of(p, 0, row).low == TD_SPECIAL || record_of(p, 1, column).low == TD_SPECIAL;
}

/* True if sums of two lines' products have room without scales. */
TD_DEVICE bool has_room_as_it_is(const td_line &a, const td_line &b, int64_t k)
{
    return !td_is_counted(a) || !td_is_counted(b) ||
           td_has_room((a.peak >> 8) + (b.peak >> 8), a.low + b.low, k);
}

/* True if two lines' elements are first summed as they are: scales change no bit of a sum that has
 * room without them. */
TD_DEVICE bool is_unscaled_first(const td_repair &p, int row, int column)
{
    const td_line a = record_of(p, 0, row), b = record_of(p, 1, column);
    return is_special(p, row, column) || has_room_as_it_is(a, b, p.operand[0].k) ||
           !td_fits_binary64(a, b);
}

TD_DEVICE bool is_wanted(const td_repair &p, const pass &own, const block_place &at, int row,
                         int column)
{
    const td_target &target = p.target;
    const int bit = column % TD_SUBTILE * TD_SUBTILE + row % TD_SUBTILE;
    if (!at.is_whole &&
        (row >= target.m || column >= target.n || !td_region_has(&target.region, row, column) ||
         (!at.room && !(*td_target_mask(target, row, column) >> bit & 1))))
        return false;
    return own.is_only || own.is_scaled != is_unscaled_first(p, row, column);
}

enum { SUMS = HEIGHT * WIDTH * 4 };

/* The thread's sums that a pass is for: bit (WIDTH i + j) 4 + q for sums[i][j][q]. */
template <bool along_a, bool along_b>
TD_DEVICE uint32_t wanted_sums(const td_repair &p, const pass &own, const block_place &at)
{
    uint32_t wanted = own.left;
    if (warp_row() >= at.rows) return 0;
    if (at.is_whole && own.is_only) return UINT32_MAX;
    TD_ROLLED
    for (int s = 0; s < SUMS; s++) {
        const int row = row_of_sum<along_a>(s / 4 / WIDTH, s % 4),
                  column = column_of_sum<along_b>(s / 4 % WIDTH, s % 4);
        wanted |= (uint32_t)is_wanted(p, own, at, at.row + warp_row() + row,
                                      at.column + warp_column() + column)
                  << s;
    }
    return wanted;
}

/* Stores the sums that a pass is for into C: alpha and beta take part as in cuBLAS, NaN and
 * infinities among them. `scale` has those of the block's rows, then of its columns. Returns the
 * bits of sums that are left to the next pass, as they did not stay finite. */
template <bool along_a, bool along_b>
TD_DEVICE uint32_t store_sums(const td_repair &p, const block_place &at, const pass &own,
                              const int *scale, const warp_sums &sums)
{
    static_assert((int)SUMS == 32, "a bit of a word for each sum");
    const double alpha = td_scalar_value(p.target.alpha), beta = td_scalar_value(p.target.beta);
    const uint32_t wanted = wanted_sums<along_a, along_b>(p, own, at);
    const bool may_leave = !own.is_only && !own.is_scaled;
    /* Found by whole warps, before lanes part. */
    const int own_row = warp_row(), own_column = warp_column(), row0 = at.row + own_row,
              column0 = at.column + own_column;
    double *const first = td_target_c<double>(p.target) + row0 + column0 * p.target.c.ld;
    uint32_t left = 0;
    if (wanted == 0) return 0;
    TD_UNROLL
    for (int i = 0; i < HEIGHT; i++) {
        double c[WIDTH * 4] = {}; /* loaded together: each has to wait for memory */
        const uint32_t here = wanted >> (i * WIDTH * 4);
        const auto element = [&](int s) {
            return first + row_of_sum<along_a>(i, s % 4) +
                   column_of_sum<along_b>(s / 4, s % 4) * p.target.c.ld;
        };
        TD_UNROLL
        for (int s = 0; s < WIDTH * 4; s++)
            if (beta != 0.0 && (here >> s & 1)) c[s] = *element(s);
        TD_UNROLL
        for (int s = 0; s < WIDTH * 4; s++) {
            double sum = sums[i][s / 4][s % 4];
            const int row = row_of_sum<along_a>(i, s % 4),
                      column = column_of_sum<along_b>(s / 4, s % 4);
            if (own.is_scaled)
                sum = unscale(sum, scale[own_row + row] + scale[ROWS + own_column + column]);
            if (!(here >> s & 1)) continue;
            if (may_leave && !td_is_finite64(td_bits64(sum)) &&
                !is_special(p, row0 + row, column0 + column))
                left |= 1u << (i * WIDTH * 4 + s);
            else
                *element(s) = td_axpby(alpha, sum, beta, &c[s]);
        }
    }
    return left;
}

#endif
