/* certify.h - finds, by an element's estimate, the first candidate (the fewest moduli) that
 * certifies it, and counts what each candidate leaves of a tile. For kernels of TD_SUBTILES
 * threads. */
#ifndef TD_CERTIFY_H
#define TD_CERTIFY_H

#include "../device/warp.h"
#include "../view/access.h"
#include "error.h"
#include "estimate.h"
#include "scales.h"

/* Returns at most the logarithm of an element of the estimate, which counts in the product of its
 * two lines' units; NOTHING for 0. `eighths` is eight times the element: the sum of what the
 * bytes of TD_PANEL_LOGARITHM stand for. */
enum { NOTHING = -(1 << 28), ELEMENTS = TD_SUBTILE * TD_SUBTILE };
TD_DEVICE int log_of_eighths(uint64_t eighths)
{
    const int zeros = td_clz64(eighths);
    return eighths ? TD_LOG * (63 - zeros - 3) + (int)(eighths << zeros >> 55 & 255) : (int)NOTHING;
}

TD_DEVICE int log_of_byte(uint32_t byte)
{
    return byte ? TD_LOG / 8 * ((int)byte - 1) : (int)NOTHING;
}

/* What certifying needs of a tile's lines: of its rows in [0], of its columns in [1]. */
typedef td_quad<int> of_lines[2][TD_TILE / TD_SUBTILE];
struct tile_lines {
    of_lines unit, sum, mean; /* the mean of a column is less choice.need */

    /* What an estimate has to exceed, negated. A sum has few terms if its line's sum is few norms;
     * their number is the square of that. There binary64 rounds less than sqrt(k) times, so that
     * more is needed: errors of 2 2^-53 for each term are allowed, if these are less than those of
     * choice.need_of_estimate. */
    of_lines need;

    /* The first candidate that rounds no element of the line. Where candidates are numbers of
     * digits: how many digits at the end of the scaled line are 0, or INEXACT. ALWAYS stands for
     * lines of zeros, and for special lines, which no candidate multiplies. */
    of_lines exact;

    of_lines scale[TD_CHOICES]; /* the line's scale with each candidate, times TD_LOG */

    /* A bit for each line, in a word for each warp that summarises lines: of lines whose `exact` is
     * a candidate or ALWAYS; and of lines that any candidate rounds by less than 2^8 of
     * choice.rest. */
    unsigned may_be_exact[2 * TD_TILE / 32], is_small[2 * TD_TILE / 32];
    unsigned is_wide[2 * TD_TILE / 32]; /* of lines that are not narrow */
};
enum { INEXACT = -(1 << 16), ALWAYS = 1 << 20 };

/* What the threads of a block share of a tile. uncertified: how many elements of each warp's
 * threads candidate c leaves, as count_left counts them, in the lower half of word c, and candidate
 * c + 4 in its upper half. */
struct tile_state {
    tile_lines lines;
    unsigned uncertified[TD_SUBTILES / 32][4];
};

/* Returns the first candidate that makes an element exactly, or TD_CHOICES; a and b are
 * tile_lines.exact of its lines. */
TD_DEVICE int exact_candidate(const td_estimate &p, int a, int b)
{
    if (max(a, b) == ALWAYS) return 0;
    if (!p.cut.digits) return max(a, b);
    return a + b >= p.cut.digits - 1 ? 0 : (int)TD_CHOICES;
}

/* The thread's line: threads have a tile's rows, then its columns; the last line stands for those
 * beyond the matrix. */
TD_DEVICE const td_line *place_line(const td_estimate &p, int tile)
{
    const int i = (int)threadIdx.x, m_tiles = td_tiles(p.target.m), which = i / TD_TILE,
              first = (which ? tile / m_tiles : tile % m_tiles) * TD_TILE,
              lines = which ? p.target.n : p.target.m, line = min(first + i % TD_TILE, lines - 1);
    return p.line[which] + blockIdx.z * p.lines_of_member[which] + line;
}

/* The place of the thread's line in each of_lines. */
struct place_of_line {
    int which, quad, element;

    TD_INSIDE int &of(of_lines &all) const { return all[which][quad].of[element]; }
};

TD_DEVICE place_of_line place_of_thread()
{
    const int i = (int)threadIdx.x;
    return {i / TD_TILE, i % TD_TILE / TD_SUBTILE, i % TD_SUBTILE};
}

/* What scales make of a line: tile_lines.exact, and whether any candidate rounds it by less than
 * 2^8 of choice.rest. */
struct scaled_line {
    int exact;
    bool is_small;
};

TD_DEVICE bool is_rounded_little(const td_choice &choice, const td_line &line, int scale)
{
    return line.sum + TD_LOG * scale < choice.rest + 8 * TD_LOG;
}

/* TD_SCALE_BY_NORM: sets the scales of a line with each candidate. */
TD_DEVICE scaled_line scale_by_norms(const td_rule &rule, const td_line &line,
                                     const place_of_line &at, tile_lines &all)
{
    scaled_line seen = {TD_CHOICES, false};
    TD_UNROLL
    for (int c = TD_CHOICES - 1; c >= 0; c--) {
        const int scale = td_scale_by_norm(rule.candidate[c].level, line);
        if (c >= rule.candidates) continue;
        at.of(all.scale[c]) = TD_LOG * scale;
        seen.is_small |= is_rounded_little(rule.candidate[c], line, scale);
        if (line.low + scale >= 0) seen.exact = c;
    }
    return seen;
}

/* Other rules: sets the scale of a line with the only candidate. */
TD_DEVICE scaled_line scale_by_peak(const td_estimate &p, const td_line &line,
                                    const place_of_line &at, tile_lines &all)
{
    const td_choice &only = p.choose.rule.candidate[0];
    const int scale = td_scale_of(td_scaling_of(&p.choose.rule, &only), line),
              low = line.low + scale;
    const bool is_small = is_rounded_little(only, line, scale);
    at.of(all.scale[0]) = TD_LOG * scale;
    if (p.cut.digits) return {low < 0 ? (int)INEXACT : low / p.cut.bits, is_small};
    return {low >= 0 ? 0 : (int)TD_CHOICES, is_small};
}

/* Sets what certifying needs of the thread's line. By whole warps. */
TD_DEVICE void summarise_line(const td_estimate &p, const td_line &line, tile_lines &all)
{
    const td_choice &any = p.choose.rule.candidate[0]; /* need and need_of_estimate are all alike */
    const place_of_line at = place_of_thread();
    const scaled_line scaled = p.choose.rule.scale == TD_SCALE_BY_NORM
                                   ? scale_by_norms(p.choose.rule, line, at, all)
                                   : scale_by_peak(p, line, at, all);
    const int exact = td_is_counted(line) ? scaled.exact : (int)ALWAYS,
              terms = 2 * (line.sum - line.norm); /* the logarithm of how many count */
    at.of(all.unit) = TD_LOG * td_estimate_ulp(line);
    at.of(all.sum) = line.sum;
    at.of(all.mean) = line.mean - (at.which ? any.need : 0);
    at.of(all.need) = -max(any.need_of_estimate, 52 * TD_LOG - terms);
    at.of(all.exact) = exact;
    const unsigned exacts = __ballot_sync(~0u, exact != TD_CHOICES && exact != INEXACT),
                   smalls = __ballot_sync(~0u, scaled.is_small),
                   wides = __ballot_sync(~0u, !td_is_narrow(line));
    const int warp = (int)threadIdx.x / 32;
    if (threadIdx.x % 32 != 0) return;
    all.may_be_exact[warp] = exacts;
    all.is_small[warp] = smalls;
    all.is_wide[warp] = wides;
}

/* The thread's subtile: where its bytes of td_min_moduli begin; how many rows and columns it has,
 * no rows if C has none of its elements; the bits of the elements that C has; and the logarithms of
 * the first sums, which may be anything for elements that C has not. */
struct tile_subtile {
    uint8_t *at;
    int rows, columns;
    unsigned inside;
    uint32_t bytes[TD_SUBTILE];
};

TD_DEVICE tile_subtile place_subtile(const td_estimate &p, int tile)
{
    const td_min_moduli &to = p.min_moduli;
    int row, col;
    td_subtile_of_tile(p.target, tile, &row, &col);
    const unsigned inside = td_whole_mask(p.target, row, col);
    return {to.of + blockIdx.z * to.batch_step + col * to.ld + row,
            inside ? min((int)TD_SUBTILE, p.target.m - row) : 0,
            min((int)TD_SUBTILE, p.target.n - col),
            inside,
            {}};
}

/* The logarithms of estimates of TD_SUBTILE neighbouring rows that are sums of several; the first
 * ones are at `at`. */
TD_DEVICE_CALL td_quad<int> join_logs(const uint8_t *at, int sums, int64_t step)
{
    uint64_t eighths[TD_SUBTILE] = {};
    td_quad<int> logs;
    for (int s = 0; s < sums; s++, at += step) {
        const uint32_t bytes = *reinterpret_cast<const uint32_t *>(at);
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++) {
            const int more = (int)(bytes >> (8 * i) & 255) - 1;
            if (more >= 0) eighths[i] += (uint64_t)(8 + (more & 7)) << (more >> 3);
        }
    }
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) logs.of[i] = log_of_eighths(eighths[i]);
    return logs;
}

/* The logarithms of estimates of a column of a subtile. */
TD_DEVICE td_quad<int> logs_of(const td_estimate &p, const tile_subtile &own, int j)
{
    td_quad<int> logs;
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) logs.of[i] = log_of_byte(own.bytes[j] >> (8 * i) & 255);
    if (p.sums > 1 && own.rows > 0 && j < own.columns)
        logs = join_logs(own.at + j * p.min_moduli.ld, p.sums, p.sum_step);
    return logs;
}

/* Returns the first candidate that may make an element of a subtile exactly; a and b are `exact` of
 * the subtile's rows and columns. */
TD_DEVICE int first_exact(const td_estimate &p, const td_quad<int> &a, const td_quad<int> &b)
{
    int least[2] = {TD_CHOICES, TD_CHOICES}, most = 0;
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) {
        least[0] = min(least[0], a.of[i]);
        least[1] = min(least[1], b.of[i]);
        most = max(most, max(a.of[i], b.of[i]));
    }
    return p.cut.digits || most == ALWAYS ? 0 : max(least[0], least[1]);
}

/* Returns the elements of a subtile that candidate c makes exactly, a bit each; a and b are `exact`
 * of the subtile's rows and columns. Seldom asked for. */
TD_DEVICE_CALL unsigned exact_elements(const td_estimate &p, const td_quad<int> &a,
                                       const td_quad<int> &b, int c)
{
    unsigned bits = 0;
    TD_UNROLL
    for (int e = 0; e < ELEMENTS; e++)
        if (exact_candidate(p, a.of[e % TD_SUBTILE], b.of[e / TD_SUBTILE]) <= c) bits |= 1u << e;
    return bits;
}

/* The thread's subtile: numbers of its quads of lines; how much more its elements have than they
 * need if their lines' scales are 0, by the estimate, or by the means of their lines' logarithms.
 * Sets of elements are bits, as in masks. */
struct tile_elements {
    const tile_lines &lines;
    int rows, columns;
    td_quad<int> sum[2];
    int surplus[ELEMENTS];

    TD_INSIDE tile_elements(const td_estimate &p, const tile_lines &of, const tile_subtile &own)
        : lines(of), rows((int)threadIdx.x % (TD_TILE / TD_SUBTILE)),
          columns((int)threadIdx.x / (TD_TILE / TD_SUBTILE))
    {
        const td_quad<int> unit[2] = {of.unit[0][rows], of.unit[1][columns]},
                           mean[2] = {of.mean[0][rows], of.mean[1][columns]},
                           need[2] = {of.need[0][rows], of.need[1][columns]};
        sum[0] = of.sum[0][rows];
        sum[1] = of.sum[1][columns];
        TD_UNROLL
        for (int j = 0; j < TD_SUBTILE; j++) {
            const td_quad<int> log = logs_of(p, own, j);
            TD_UNROLL
            for (int i = 0; i < TD_SUBTILE; i++)
                surplus[TD_SUBTILE * j + i] = max(log.of[i] + unit[0].of[i] + unit[1].of[j] +
                                                      min(need[0].of[i], need[1].of[j]),
                                                  mean[0].of[i] + mean[1].of[j]);
        }
    }

    /* The bits of elements that candidate c certifies (td_is_certified). */
    TD_INSIDE unsigned certified(const td_estimate &p, int c) const
    {
        const td_quad<int> a = lines.scale[c][0][rows], b = lines.scale[c][1][columns];
        const int rest = p.choose.rule.candidate[c].rest;
        unsigned bits = 0;
        TD_UNROLL
        for (int e = 0; e < ELEMENTS; e++) {
            const int i = e % TD_SUBTILE, j = e / TD_SUBTILE, scales = a.of[i] + b.of[j];
            const int rounding = max(sum[0].of[i] + a.of[i], sum[1].of[j] + b.of[j]);
            if (surplus[e] + scales >= td_log_error_of(rounding, rest)) bits |= 1u << e;
        }
        return bits;
    }

    /* The bits of elements that candidate c certifies, where the error of X is 2 above what
     * rounding costs (td_log_error_of). */
    TD_INSIDE unsigned certified_usual(int c) const
    {
        const td_quad<int> a = lines.scale[c][0][rows], b = lines.scale[c][1][columns];
        unsigned bits = 0;
        TD_UNROLL
        for (int e = 0; e < ELEMENTS; e++) {
            const int i = e % TD_SUBTILE, j = e / TD_SUBTILE;
            if (surplus[e] >= max(sum[0].of[i] + 2 - b.of[j], sum[1].of[j] + 2 - a.of[i]))
                bits |= 1u << e;
        }
        return bits;
    }
};

/* What certifying found of a subtile. of: how many candidates do not certify an element, in a byte
 * for each row and a word for each column. left: how many elements a candidate does not certify, in
 * a byte for each candidate. */
struct subtile_min_moduli {
    uint32_t of[TD_SUBTILE];
    uint64_t left;
};

/* Counts the elements of `left`, a bit each, as ones that candidates `first` to `last` do not
 * certify. */
TD_DEVICE void leave(subtile_min_moduli &found, unsigned left, unsigned inside, int first, int last)
{
    const uint64_t count = (uint64_t)__popc(left & inside);
    const int candidates = last + 1 - first;
    TD_UNROLL
    for (int j = 0; j < TD_SUBTILE; j++)
        found.of[j] +=
            ((left >> (TD_SUBTILE * j) & 15) * 0x204081u & 0x1010101u) * (uint32_t)candidates;
    found.left += count * (0x101010101010101ull >> (64 - 8 * candidates)) << (8 * first);
}

/* How elements of a subtile are asked which candidate makes them. */
struct element_test {
    const td_estimate &p;
    const tile_elements &own;
    bool is_usual;  /* no pair of lines is rounded by little: a shorter test does */
    int exact_from; /* the first candidate that may make an element exactly */

    TD_INSIDE element_test(const td_estimate &p_, const tile_elements &own_) : p(p_), own(own_)
    {
        const tile_lines &lines = own.lines;
        const unsigned *const exact = lines.may_be_exact, *const small = lines.is_small;
        is_usual = !(small[0] | small[1]) || !(small[2] | small[3]);
        exact_from = exact[0] | exact[1] | exact[2] | exact[3]
                         ? first_exact(p, lines.exact[0][own.rows], lines.exact[1][own.columns])
                         : (int)TD_CHOICES;
    }

    /* The bits of some elements that candidate c neither certifies nor makes exactly. */
    TD_INSIDE unsigned left_by(int c, unsigned elements) const
    {
        elements &= ~(is_usual ? own.certified_usual(c) : own.certified(p, c));
        if (elements && c >= exact_from)
            elements &= ~exact_elements(p, own.lines.exact[0][own.rows],
                                        own.lines.exact[1][own.columns], c);
        return elements;
    }
};

/* Finds the first candidate that certifies each element of a subtile. A candidate certifies all
 * that those before it certify (docs/numerics.md), and what the last one does not certify, none
 * does. So the first candidate is asked, then the last, then those between while there are elements
 * that the last one certifies and none of the others that were asked. inside: the elements that are
 * in C, which count. */
TD_DEVICE subtile_min_moduli certify_elements(const td_estimate &p, const tile_elements &own,
                                              unsigned inside)
{
    const element_test test(p, own);
    const int last = p.choose.rule.candidates - 1;
    subtile_min_moduli found = {};
    unsigned left = (1u << ELEMENTS) - 1, least = 0; /* by the one before; by the last */
    TD_ROLLED
    for (int step = 0; step <= last && left; step++) {
        const int c = step == 0 ? 0 : step == 1 ? last : step - 1;
        if (step > 1 && left == least) {
            leave(found, left, inside, c, last - 1);
            break;
        }
        const unsigned now = test.left_by(c, left);
        if (c == last)
            leave(found, least = now, inside, last, TD_CHOICES - 1);
        else
            leave(found, left = now, inside, c, c);
    }
    return found;
}

/* True if the lines of op(A) and of op(B) of a tile may have numbers other than 0 at the same
 * elements of k: if not, A' B' is 0 there, which any candidate makes exactly. */
TD_DEVICE bool may_meet(const td_estimate &p, int tile)
{
    static_assert((int)TD_TILE == (int)TD_LINE_GROUP, "a tile has the lines of two groups");
    const td_target &target = p.target;
    const int m_tiles = td_tiles(target.m), member = (int)blockIdx.z;
    const int64_t k = p.choose.measured.k,
                  a = td_nonzero_place(target.m, k, member, tile % m_tiles, 0),
                  b = td_nonzero_place(target.n, k, member, tile / m_tiles, 0);
    uint32_t both = !p.nonzero[0];
    for (int w = 0; w < td_nonzero_words(k) && !both; w++)
        both = p.nonzero[0][a + w] & p.nonzero[1][b + w];
    return both != 0;
}

/* Writes the number of the first candidate that certifies each element of a tile's subtile; returns
 * how many elements each candidate leaves, a byte for each. */
TD_DEVICE uint64_t certify_subtile(const td_estimate &p, int tile, const tile_lines &lines,
                                   const tile_subtile &of)
{
    subtile_min_moduli found = certify_elements(p, tile_elements(p, lines, of), of.inside);
    if (found.left && !may_meet(p, tile)) found = {};
    TD_UNROLL
    for (int j = 0; j < TD_SUBTILE; j++)
        if (of.rows > 0 && j < of.columns)
            *reinterpret_cast<uint32_t *>(of.at + j * p.min_moduli.ld) = found.of[j];
    return found.left;
}

/* Counts the elements of a tile that each candidate does not certify, from the counts of the
 * threads' subtiles (subtile_min_moduli.left). Where a line of the tile is wide, one counts as
 * TD_FEW: the tile is then made as a whole. Two candidates' counts are added up at a time, each at
 * most 512. Whole warps take part. */
TD_DEVICE void count_left(tile_state &state, uint64_t left)
{
    unsigned wide = 0;
    for (const unsigned lines : state.lines.is_wide) wide |= lines;

    TD_UNROLL
    for (int c = 0; c < 4; c++) {
        const unsigned both =
            (unsigned)(left >> (8 * c) & 255) | (unsigned)(left >> (8 * c + 32) & 255) << 16;
        const unsigned all = td_warp_add(both);
        if (threadIdx.x % 32 == 0)
            state.uncertified[threadIdx.x / 32][c] = wide ? TD_FEW * all : all;
    }
}

/* Thread c returns how many elements of the tile candidate c leaves, TD_FEW at most. */
TD_DEVICE unsigned left_of_tile(const tile_state &state)
{
    const int tid = (int)threadIdx.x;
    unsigned uncertified = 0;
    for (int w = 0; w < TD_SUBTILES / 32 && tid < TD_CHOICES; w++)
        uncertified += state.uncertified[w][tid % 4] >> (tid / 4 * 16) & 0xffff;
    return min(uncertified, (unsigned)TD_FEW);
}

#endif
