#include "dgemm_model.h"

#include "../dgemm/columns.h"

/* T is written and read, and C written and, if it counts, read. */
static double join_seconds(const td_rates *rates, const td_problem *p, const td_part *part)
{
    const double numbers = td_problem_has_beta(p) ? 4.0 : 3.0;
    return rates->launch + 8.0 * numbers * (double)part->m * (double)part->n / rates->bytes;
}

double td_model_dgemm(const td_model *model, const td_problem *p)
{
    td_part_sizes sizes = td_largest_part(p);
    td_part part = td_before_parts(p, &sizes, 0);
    double seconds = p->unfolded_bytes / model->rates.bytes;
    if ((p->routine != TD_RANK_K && p->routine != TD_RANK_KX) || p->batch != 1) return -1.0;
    sizes.n = td_smaller(sizes.n, td_dgemm_columns(p));
    while (td_next_part(p, &sizes, &part)) {
        const td_part rows = td_dgemm_rows(p, &part);
        const td_problem product = td_dgemm_product(p, &rows);
        seconds += td_model_seconds(model, td_engines[0], (td_parameter){0}, &product) +
                   join_seconds(&model->rates, p, &rows);
    }
    return seconds * td_model_timed(model, TD_TIMED_dgemm_dsyrk, p);
}
