#include "prices.h"

#include <math.h>

#include "../../kernels/select/choice.h"
#include "tuning.h"

/* What 14 moduli cost stands for this much; and the most that anything may cost: the sums of prices
 * of all tiles then stay far below 64 bits. */
static const double price_of_few = 1024.0, most_price = 0x1p20;

static int32_t price(double seconds, double few)
{
    return (int32_t)lrint(fmin(fmax(price_of_few * seconds / few, 1.0), most_price));
}

/* Seconds in which the elements of both operands are read once. */
static double reading_of(const td_model *model, const td_real_product *p)
{
    const double elements = ((double)p->m + (double)p->n) * (double)p->k * (double)p->batch;
    return elements * (double)sizeof(double) / model->rates.bytes;
}

/* Seconds that are left once all lines are measured, if cuBLAS makes C, or sums in binary64 of
 * aligned copies do; and kernels that end at once. */
static double late_seconds(const td_model *model, const td_real_product *p, double native)
{
    const double micro = 1e-6, unaligned = td_model_native_unaligned(model, p),
                 copies = 2.0 * reading_of(model, p),
                 sums = native / unaligned / td_tuned_binary64_share + copies;
    return (unaligned > 1.0 ? sums : native) + micro * td_tuned_late_kernels;
}

/* Elements that C has, as real numbers. */
static double elements_of_c(const td_real_product *p)
{
    const td_region region = td_real_region(p);
    return (double)td_region_blocks(&region, p->m, p->n, 1, 1) * (double)p->batch;
}

td_prices td_prices_of(const td_model *model, const td_engine *engine, const td_real_product *p)
{
    const td_parameter few = {.count = TD_COMMON_MODULI, .is_given = true},
                       more = {.count = TD_COMMON_MODULI + 1, .is_given = true};
    const double native = td_model_seconds(model, td_engines[0], (td_parameter){0}, p),
                 all = td_model_seconds(model, engine, few, p), reading = reading_of(model, p),
                 modulus = td_model_seconds(model, engine, more, p) - all,
                 residues = fmax(all - reading, 0.5 * all),
                 apart = fmax(
                     0.0,
                     td_tuned_apart_share * td_model_by_rates(&model->rates, engine, few, p) - all),
                 certify = td_tuned_certify_element * 1e-12 * elements_of_c(p),
                 of_wide_data = td_tuned_native_of_wide_data * native,
                 aligned = of_wide_data / td_model_native_unaligned(model, p),
                 binary64 = aligned / td_tuned_binary64_share; /* sums of aligned copies */
    return (td_prices){
        .binary64 = price(binary64, residues),
        .native = price((1.0 - td_tuned_least_gain) * of_wide_data, residues),
        .late = price(late_seconds(model, p, native), residues),
        .sums = price(td_tuned_sums_share * binary64, residues),
        .few = (int32_t)price_of_few,
        .more = price(td_tuned_further_modulus * modulus, residues),
        .wide = price(td_tuned_wide_readings * reading, residues),
        .wide_from = (int32_t)(p->is_paired ? td_tuned_wide_from_complex : td_tuned_wide_from),
        .apart = price(apart, residues),
        .estimate = price(modulus + td_tuned_estimate_readings * reading + certify, residues),
        .measure = price(td_tuned_measure_readings * reading, residues),
        .has_inner_branch = aligned >= of_wide_data,
        .has_late_branch = native >= td_tuned_late_branch_seconds,
        .is_unscaled = true};
}
