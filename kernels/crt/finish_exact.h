/* finish_exact.h - correctly rounded C by finish_pairs.h. The error of X is added to the error
 * of the binary64 arithmetic; whole numbers decide the elements whose rounding that sum leaves
 * open. For crt.cu. */
#ifndef TD_FINISH_EXACT_H
#define TD_FINISH_EXACT_H

#include "finish_pairs.h"

/* Of a subtile's rows, or columns: the largest. */
struct largest_record {
    int norm, sum, rounded, least, most; /* norm and sum of scaled lines; of the scales */
    uint64_t scales;                     /* 16 bits each */
    bool is_special;

    template <bool is_early>
    TD_DEVICE largest_record load(const td_finish &finish, int which, int first)
    {
        largest_record r = {INT32_MIN, INT32_MIN, INT32_MIN, INT32_MAX, INT32_MIN, 0, false};
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++) {
            const td_line line = record_of<is_early>(finish, which, first + i);
            r.norm = max(r.norm, line.norm + TD_LOG * line.scale);
            r.sum = max(r.sum, line.sum + TD_LOG * line.scale);
            r.rounded = max(r.rounded, line.rounded);
            r.least = min(r.least, (int)line.scale);
            r.most = max(r.most, (int)line.scale);
            r.scales |= (uint64_t)(uint16_t)line.scale << (16 * i);
            r.is_special |= line.low == TD_SPECIAL;
        }
        return r;
    }
};

/* Bound of the error of X for a subtile's elements: the error of pairs.h, and four times what
 * rounding any of the subtile's lines costs. Where this bound does not decide the rounding of an
 * element, td_exact_room_log does not either. */
struct subtile_reach {
    double reach;
    uint64_t scales[2]; /* 16 bits each */
    bool is_usual, is_exact;
};

/* Scales, and exponents of alpha, that leave products of both normal numbers, if others are put to
 * them. */
enum { FAR_SCALE = 600, FAR_ALPHA = 400 };
TD_DEVICE bool is_usual_alpha(double alpha)
{
    const int exponent = (int)(td_bits64(alpha) >> 52 & 0x7ff) - 1023;
    return exponent >= -FAR_ALPHA && exponent <= FAR_ALPHA;
}

/* X rounded once, if `is_plain`: alpha is 1 and beta 0; else alpha X + beta C0, alpha being
 * usual. */
template <bool is_plain> struct by_exact_rounding {
    typedef subtile_reach records;

    template <class set, bool is_early>
    TD_DEVICE void load(records &own, const td_finish &finish, const td_choice &choice, int row,
                        int col)
    {
        const td_pairs &pairs = td_pairs_in_memory<set>();
        const largest_record a = largest_record::load<is_early>(finish, 0, row),
                             b = largest_record::load<is_early>(finish, 1, col);
        const int error = td_log_error_of(max(td_log_rounding(a.rounded, b.sum, b.norm),
                                              td_log_rounding(b.rounded, a.sum, a.norm)),
                                          choice.rest) >>
                          8;
        own.is_exact = max(a.rounded, b.rounded) == TD_NONE_ROUNDED;
        own.reach = pairs.reach + (own.is_exact ? 0.0 : td_near_power(error + 3));
        const int least = a.least + b.least, most = a.most + b.most;
        const bool are_near =
            is_plain ? td_are_near<set>(least, most) : (least >= -FAR_SCALE) & (most <= FAR_SCALE);
        own.is_usual = finish.counts_rounded & are_near & !(a.is_special | b.is_special) &
                       (own.is_exact | (error < pairs.bits));
        own.scales[0] = a.scales;
        own.scales[1] = b.scales;
    }

    template <class set, class work>
    TD_DEVICE unsigned finish_subtile(const td_residue_product &product, const td_finish &finish,
                                      const subtile &own, const td_choice &, const records &lines,
                                      const int8_t *stage)
    {
        if (own.rows <= 0 || own.cols <= 0) return 0;
        if ((own.row | own.col) % TD_TILE == 0)
            td_begin_tile(finish.target, td_tile_with(finish.target.m, own.row, own.col));
        const unsigned whole = td_whole_mask(finish.target, own.row, own.col);
        if (!whole) return td_finish_none(finish.target, own.row, own.col);
        unsigned unsure = whole, mask = 0;
        if (lines.is_usual)
            unsure &= finish_columns<set, work>(own, lines, whole, finish.target.c.ld, stage);
        if (unsure)
            mask = finish_elements_whole<TD_FINISH_EXACT, set>(product, finish, own.row, own.col,
                                                               unsure);
        *td_target_mask(finish.target, own.row, own.col) = (uint16_t)mask;
        return mask;
    }

    TD_DEVICE int scale_of(uint64_t scales, int i) { return (int16_t)(scales >> (16 * i)); }

    /* A column, what C had there being c0. */
    template <class set>
    TD_DEVICE void round_column(const subtile &own, const column_residues<set> &residues,
                                const records &lines, int j, const double (&c0)[TD_SUBTILE],
                                double *x, bool (&is_sure)[TD_SUBTILE])
    {
        const int scale_b = scale_of(lines.scales[1], j);
        if constexpr (is_plain) {
            uint32_t scale_a[TD_SUBTILE];
            TD_UNROLL
            for (int i = 0; i < TD_SUBTILE; i++)
                scale_a[i] = (uint32_t)scale_of(lines.scales[0], i) << 20;
            td_round_quad<set>(residues.of, scale_a, (uint32_t)scale_b << 20, lines.reach, x,
                               is_sure);
        } else {
            double alpha[TD_SUBTILE];
            TD_UNROLL
            for (int i = 0; i < TD_SUBTILE; i++)
                alpha[i] =
                    td_mul64(own.alpha, td_near_power(-scale_of(lines.scales[0], i) - scale_b));
            td_round_sums<set>(residues.of, alpha, own.beta, c0, lines.reach, x, is_sure);
        }
    }

    /* Returns the bits of the elements of which it is not sure. What C had in the next column is
     * loaded ahead. */
    template <class set, class work>
    TD_DEVICE unsigned finish_columns(const subtile &own, const records &lines, unsigned whole,
                                      int64_t ld, const int8_t *stage)
    {
        const bool has_c0 = !is_plain && own.beta != 0.0;
        double next[TD_SUBTILE] = {};
        unsigned unsure = 0;
        double *c = own.c;
        if (has_c0) td_column::load({c, td_column_bits(whole, 0)}, next);
        TD_UNROLL_N(1)
        for (int j = 0; j < own.cols; j++, c += ld) {
            const double c0[TD_SUBTILE] = {next[0], next[1], next[2], next[3]};
            const staged_quads<set::is_complex, work> quads(stage + stage_of_warp<set>(), j);
            column_residues<set> residues;
            double x[TD_SUBTILE];
            bool is_sure[TD_SUBTILE];
            unsigned here = 0;
            column_residues<set>::template load<work>(residues, quads);
            if (has_c0 && j + 1 < own.cols)
                td_column::load({c + ld, td_column_bits(whole, j + 1)}, next);
            round_column<set>(own, residues, lines, j, c0, x, is_sure);
            TD_UNROLL
            for (int i = 0; i < TD_SUBTILE; i++) here |= is_sure[i] ? 0u : 1u << i;
            if (is_plain && here && lines.is_exact)
                here = column_residues<set>::template without_zeros<work>(residues, quads, here, x);
            td_column::store({c, td_column_bits(whole, j)}, x, here);
            unsure |= here << (TD_SUBTILE * j);
        }
        return unsure;
    }
};

#endif
