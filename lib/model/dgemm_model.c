#include "dgemm_model.h"

#include "../routine/columns.h"

/* True if every element needs its mirror image, too: of the update of rank 2k whose result is
 * Hermitian. */
static bool makes_all(const td_real_product *p)
{
    return td_kind_is_update(p->routine) && p->region == TD_REGION_ALL;
}

/* The seconds of a product of the sizes of a part, C without its scalars. */
static double product_seconds(const td_model *model, const td_real_product *p, const td_part *part)
{
    const td_real_product product = {.type = p->type,
                                     .m = part->m,
                                     .n = part->n,
                                     .k = p->k,
                                     .alpha.value.binary64 = 1.0,
                                     .batch = 1};
    return td_model_seconds(model, td_engines[0], (td_parameter){0}, &product);
}

/* T is written and read, and C written and, if it counts, read; by a launch for each part, or, of
 * complex matrices, one for all. */
static double join_seconds(const td_rates *rates, const td_real_product *p, const td_part *part)
{
    const double numbers = td_real_has_beta(p) ? 4.0 : 3.0,
                 launches = !p->is_paired || part->j == 0 ? 1.0 : 0.0;
    return launches * rates->launch +
           8.0 * numbers * (double)part->m * (double)part->n / rates->bytes;
}

/* Complex factors of two parts are unfolded, one by one, and the parts of C put together. */
static double unfold_seconds(const td_rates *rates, const td_real_product *p)
{
    if (p->routine != TD_RANK_2K || makes_all(p)) return 0.0;
    return 3.0 * rates->launch + p->unfolded_bytes / rates->bytes;
}

/* Of a real A B' + B A' one product is made, of all of C, in half the time of one of as many terms
 * as both have, but for its launches; its mirror image is read in pieces of a fourth of a cache
 * line. */
static double seconds_of_mirrored(const td_model *model, const td_real_product *p)
{
    const td_part all = {.m = (int)p->n, .n = (int)p->n, .batch = 1};
    const double numbers = td_real_has_beta(p) ? 7.0 : 6.0, elements = 0.5 * (double)(p->n * p->n);
    return 0.5 * product_seconds(model, p, &all) + 2.0 * model->rates.launch +
           8.0 * numbers * elements / model->rates.bytes;
}

double td_model_dgemm(const td_model *model, const td_real_product *p)
{
    td_part_sizes sizes = td_largest_part(p);
    td_part part = td_before_parts(p, &sizes, 0);
    double seconds = unfold_seconds(&model->rates, p);
    if (!td_kind_is_update(p->routine) || p->batch != 1 || p->n > TD_MAX_PART_LINES) return -1.0;
    if (p->routine == TD_RANK_2K && !p->is_paired)
        return seconds_of_mirrored(model, p) * td_model_timed(model, TD_TIMED_dgemm_dsyrk, p);
    if (!makes_all(p)) sizes.n = td_smaller(sizes.n, td_dgemm_columns(p->n));
    while (td_next_part(p, &sizes, &part)) {
        const td_part rows = td_dgemm_rows(td_real_region(p), &part);
        seconds += product_seconds(model, p, &rows) + join_seconds(&model->rates, p, &rows);
    }
    return seconds * td_model_timed(model, TD_TIMED_dgemm_dsyrk, p);
}
