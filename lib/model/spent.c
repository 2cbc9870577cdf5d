#include "spent.h"

#include "../../kernels/select/choice.h"
#include "../../kernels/view/target.h"
#include "tuning.h"

_Static_assert((int)TD_ELEMENTS_OF_TILE == TD_TILE * TD_TILE, "outcomes count the tiles of C");

/* Takes the last field off a word. */
static unsigned take(unsigned long long *word, int bits)
{
    const unsigned value = (unsigned)(*word & ((1ull << bits) - 1));
    *word >>= bits;
    return value;
}

td_outcome td_outcome_of(unsigned long long word)
{
    td_outcome o;
    o.singles = take(&word, TD_BITS_OF_SINGLES);
    o.tiles = take(&word, TD_BITS_OF_TILES);
    o.work = take(&word, TD_BITS_OF_WORK);
    o.planes = take(&word, TD_BITS_OF_PLANES);
    o.ticket = take(&word, TD_BITS_OF_TICKET);
    return o;
}

/* The part of td_counters.work that stands for moduli of which no block of zeros is passed over. */
enum { WHOLE_WORK = 64 };

/* Residues, over those modulo TD_COMMON_MODULI numbers; and the estimate, if there was one. */
static double moduli_spent(const td_prices *prices, const td_outcome *outcome)
{
    const double few = prices->few, further = (double)outcome->planes - (double)TD_COMMON_MODULI,
                 work = outcome->work ? (double)outcome->work / (double)WHOLE_WORK : 1.0;
    if (prices->few == 0) return 1.0;
    const double residues =
        outcome->planes ? (few + further * (double)prices->more) / few * work : 0.0;
    return residues + (outcome->work ? (double)prices->estimate / few : 0.0);
}

double td_seconds_spent(const td_expected *expected, const td_outcome *outcome)
{
    const double binary64 = expected->native / td_tuned_binary64_share,
                 tiles = (double)outcome->tiles / (double)TD_OUTCOME_ALL,
                 sums = (double)outcome->singles / (double)TD_FEW * td_tuned_sums_share;
    return expected->emulated * moduli_spent(&expected->prices, outcome) +
           binary64 * (tiles + sums);
}

bool td_has_lost(const td_expected *expected, const td_outcome *outcome)
{
    return outcome->tiles == TD_OUTCOME_ALL ||
           td_seconds_spent(expected, outcome) > expected->native;
}
