/* special_values.h - the sums of a tile on their way into C, by one pass over k or two. A line is
 * special if it holds a NaN or an infinity: what these become is for sums of elements as they are
 * to say. Other lines' elements may need scales to have room in sums. For binary64.cu. */
#ifndef TD_SPECIAL_VALUES_H
#define TD_SPECIAL_VALUES_H

#include "binary64_sums.h"
#include "repair.h"

/* Where both operands' lines begin, how many rows there are, how many elements and how many whole
 * tiles of C are made, and whether these elements are all; the room for all of C, or
 * TD_ROOM_FOR_SOME: then there are masks. */
struct block_place {
    int row, column, rows, made, tiles;
    bool is_whole;
    td_room room;
};

/* Returns a scaled sum in C's own scale, rounded once. */
TD_DEVICE_CALL double unscale(double sum, int scale)
{
    const uint64_t bits = td_bits64(sum);
    int q;
    const uint64_t m = td_significand64(bits, &q);
    return td_round64(bits >> 63, m << 11, q - 11 - scale);
}

/* Which elements a pass over k is for, and whether they are scaled. */
struct pass {
    bool is_scaled, of_special, of_others;
};

TD_DEVICE bool is_wanted(const td_repair &p, const pass &own, const block_place &at, int row,
                         int column)
{
    const td_target &target = p.target;
    const int bit = column % TD_SUBTILE * TD_SUBTILE + row % TD_SUBTILE;
    if (!at.is_whole &&
        (row >= target.m || column >= target.n || !td_region_has(&target.region, row, column) ||
         (!at.room && !(*td_target_mask(target, row, column) >> bit & 1))))
        return false;
    if (own.of_special == own.of_others) return true;
    return own.of_special ==
           (p.line[0][blockIdx.z * p.lines_of_member[0] + row].low == TD_SPECIAL ||
            p.line[1][blockIdx.z * p.lines_of_member[1] + column].low == TD_SPECIAL);
}

enum { SUMS = HEIGHT * WIDTH * 4 };

/* Bit (WIDTH i + j) 4 + q for sums[i][j][q]. */
template <bool along_a, bool along_b>
TD_DEVICE uint32_t wanted_sums(const td_repair &p, const pass &own, const block_place &at)
{
    uint32_t wanted = 0;
    if (at.is_whole && own.of_special == own.of_others) return UINT32_MAX;
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

/* Stores the masked elements among the thread's sums into C: alpha and beta take part as in cuBLAS,
 * NaN and infinities among them. `scale` has those of the block's rows, then of its columns. */
template <bool along_a, bool along_b>
TD_DEVICE void store_sums(const td_repair &p, const block_place &at, const pass &own,
                          const int *scale, const warp_sums &sums)
{
    static_assert((int)SUMS == 32, "a bit of a word for each sum");
    const double alpha = td_scalar_value(p.target.alpha), beta = td_scalar_value(p.target.beta);
    if (warp_row() >= at.rows) return;
    const uint32_t wanted = wanted_sums<along_a, along_b>(p, own, at);
    double *const first = td_target_c<double>(p.target) + at.row + warp_row() +
                          (at.column + warp_column()) * p.target.c.ld;
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
            if (own.is_scaled)
                sum = unscale(
                    sum, scale[warp_row() + row_of_sum<along_a>(i, s % 4)] +
                             scale[ROWS + warp_column() + column_of_sum<along_b>(s / 4, s % 4)]);
            if (here >> s & 1) *element(s) = td_axpby(alpha, sum, beta, &c[s]);
        }
    }
}

#endif
