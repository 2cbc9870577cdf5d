/* choose.h - what the extremes of all lines choose. For kernels. */
#ifndef TD_CHOOSE_H
#define TD_CHOOSE_H

#include "../measure/extremes.h"
#include "cost.h"
#include "scales.h"

/* The extremes of an operand's lines (../measure/extremes.h); NO_LINE where there are none. */
struct extremes {
    int all, rounded, width, peak, depth;
    bool has_special;
};
TD_DEVICE extremes extremes_of(const td_line_extremes &seen)
{
    const int32_t *above = seen.above;
    return {above[ALL] + NO_LINE,  above[ROUNDED] + NO_LINE, above[WIDTH] + NO_LINE,
            above[PEAK] + NO_LINE, above[DEPTH] + NO_LINE,   above[SPECIAL] != 0};
}

/* What binary64 has for sums of all lines of both operands. */
TD_DEVICE td_room room_of(const extremes &a, const extremes &b, int64_t k)
{
    if (a.all == NO_LINE || b.all == NO_LINE) return TD_ROOM_IF_SCALED;
    return !a.has_special && !b.has_special && td_has_room(a.peak + b.peak, -a.depth - b.depth, k)
               ? TD_ROOM
               : TD_ROOM_IF_SCALED;
}

/* Returns the first candidate that certifies all pairs of lines, or candidates_of_lines if none
 * does: a pair is certified if neither line is rounded, or if both are little loose. */
TD_DEVICE int candidate_of_lines(const td_rule &p, const extremes *seen)
{
    const int most = max(seen[0].rounded + seen[1].all, seen[0].all + seen[1].rounded);
    int i = 0;
    while (i < p.candidates_of_lines && most >= p.candidate[i].level - p.level_of_pair) i++;
    return i;
}

/* Where the choice rounds no line, takes the fewest moduli that round none: X is the same, and
 * every element is certified. width: the largest of all lines. */
TD_DEVICE void take_fewer(const td_rule &p, int width, td_choice *choice)
{
    int i = 0;
    if (width > choice->level) return;
    choice->need = TD_NEEDS_NOTHING;
    while (i < p.fewer && p.level_of_fewer[i] < width) i++;
    if (i == p.fewer) return;
    choice->parameter = p.least_of_fewer + i;
    choice->level = p.level_of_fewer[i];
}

static_assert((int)TD_CHOICES == (int)TD_LIMITS, "a limit for each candidate");

/* Tiles of C that have a line that a candidate does not certify: loose lines lie apart. */
TD_DEVICE uint64_t loose_tiles(const td_measured &p, int batch, int candidate)
{
    uint64_t all = 1, others = 1;
    TD_UNROLL
    for (int o = 0; o < 2; o++) {
        const int tiles = td_tiles(p.lines[o]);
        all *= (uint64_t)tiles;
        others *= (uint64_t)max(0, tiles - p.extremes[batch].loose[o][candidate]);
    }
    return all - others;
}

/* True if an estimate pays where lines alone certified what a probe looked at, but do not certify
 * all of C: a candidate and exact sums in the tiles of its loose lines cost less than what is left
 * to do otherwise. */
TD_DEVICE bool is_worth_for_few(const td_choose &p, int batch)
{
    const td_prices &prices = p.rule.prices;
    const uint64_t tiles =
        (uint64_t)td_tiles(p.measured.lines[0]) * (uint64_t)td_tiles(p.measured.lines[1]);
    bool is_worth = false;
    TD_ROLLED
    for (int i = 0; i < p.rule.candidates; i++) {
        const uint64_t moduli = td_price_of_moduli(prices, p.rule.candidate[i].parameter, true) +
                                (unsigned)prices.estimate;
        is_worth |= tiles * moduli + loose_tiles(p.measured, batch, i) * (unsigned)prices.sums <
                    tiles * (unsigned)prices.late;
    }
    return is_worth;
}

/* True if an estimate may pay: the fewest moduli and the estimate cost less than other ways, even
 * if nothing is repaired and no block of zeros is passed over; or a probe said so. By the prices of
 * mode auto alone. */
TD_DEVICE bool is_worth_estimating(const td_choose &p, int batch)
{
    const td_prices &prices = p.rule.prices;
    if (!prices.is_unscaled) return true;
    if (td_is_by_lines(p.measured.looseness)) return is_worth_for_few(p, batch);
    if (prices.is_probed) return true;
    return td_price_of_moduli(prices, p.rule.candidate[0].parameter, true) +
               (unsigned)prices.estimate <
           td_price_of_others(prices);
}

/* Leaves all of C to binary64. */
TD_DEVICE void leave_to_binary64(td_choice *choice)
{
    choice->parameter = 0;
    choice->number = -1;
    choice->is_estimated = 0;
}

/* Returns the choice that the extremes of all lines of a member make; seen[0] are those of rows of
 * op(A), seen[1] of columns of op(B). has_lines: alpha is not 0. */
TD_DEVICE td_choice choice_of_lines(const td_choose &c, bool has_lines, int batch,
                                    const td_line_extremes *seen)
{
    const td_rule &p = c.rule;
    td_choice choice = p.candidate[0];
    if (!has_lines) choice.is_estimated = 0;
    if (!has_lines || p.candidates == 1) return choice;
    const extremes of[2] = {extremes_of(seen[0]), extremes_of(seen[1])};
    const int i = candidate_of_lines(p, of);
    if (i < p.candidates_of_lines) {
        choice = p.candidate[i];
        choice.is_estimated = 0;
        take_fewer(p, max(of[0].width, of[1].width), &choice);
    }
    choice.room = room_of(of[0], of[1], c.measured.k);
    if (!choice.is_estimated) return choice;
    const bool is_worth = is_worth_estimating(c, batch);
    if (!is_worth) choice.room = TD_ROOM;
    if (!is_worth || p.skips_estimate) leave_to_binary64(&choice);
    return choice;
}

/* The choice of all members after a verdict other than TD_RESIDUES, which leaves lines unmeasured.
 */
TD_DEVICE td_choice choice_of_verdict(const td_rule &p, td_verdict verdict)
{
    td_choice choice = p.candidate[0];
    leave_to_binary64(&choice);
    choice.room = verdict == TD_C_IS_MADE ? TD_MADE : TD_ROOM_UNMEASURED;
    return choice;
}

/* Writes a member's choice, and raises td_chosen.planes to it if it is final. For one thread. */
TD_DEVICE void leave_choice(const td_choose &p, int batch, const td_choice &choice)
{
    p.chosen.choice[batch] = choice;
    if (p.chosen.planes && !(p.rule.candidates > 1 && choice.is_estimated))
        atomicMax(p.chosen.planes, (unsigned long long)choice.parameter);
}

#endif
