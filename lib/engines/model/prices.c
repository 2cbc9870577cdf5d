#include "prices.h"

#include <math.h>

#include "../../../kernels/select/choice.h"

/* What 14 moduli cost stands for this much; and the most that anything may cost: the sums of prices of
 * all tiles then stay far below 64 bits. */
static const double price_of_few = 1024.0, most_price = 0x1p20;

static int32_t price(double seconds, double few)
{
    return (int32_t)lrint(fmin(fmax(price_of_few * seconds / few, 1.0), most_price));
}

/* Seconds in which the elements of both operands are read once. */
static double reading_of(const td_model *model, const td_problem *p)
{
    const double elements = ((double)p->m + (double)p->n) * (double)p->k * (double)p->batch;
    return elements * (double)sizeof(double) / model->rates.bytes;
}

td_prices td_prices_of(const td_model *model, const td_engine *engine, const td_problem *p)
{
    const td_parameter few = {.count = TD_COMMON_MODULI, .is_given = true},
                       more = {.count = TD_COMMON_MODULI + 1, .is_given = true};
    const double native = td_model_seconds(model, td_engines[0], (td_parameter){0}, p),
                 all = td_model_seconds(model, engine, few, p), reading = reading_of(model, p),
                 modulus = td_model_seconds(model, engine, more, p) - all,
                 residues = fmax(all - reading, 0.5 * all);
    return (td_prices){.binary64 = price(native / TD_BINARY64_SHARE, residues),
                       .sums = price(TD_SUMS_SHARE * native / TD_BINARY64_SHARE, residues),
                       .few = (int32_t)price_of_few,
                       .more = price(TD_FURTHER_MODULUS * modulus, residues),
                       .estimate = price(TD_ESTIMATE_MODULI * modulus + reading, residues),
                       .is_unscaled = true};
}
