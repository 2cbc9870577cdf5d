#include "found_out.h"

#include "tuning.h"

/* The probe reads lines along all of k; kernels that come after it begin, and end at once. */
double td_model_seconds_to_find_out(const td_real_product *p)
{
    const double micro = 1e-6, thousands = (double)p->k / 1024.0, further = (double)(p->batch - 1);
    return micro * (td_tuned_probe + td_tuned_idle_kernels + td_tuned_idle_member * further +
                    td_tuned_probe_terms * thousands);
}

double td_model_found_out(const td_model *model, const td_real_product *p, double native,
                          bool lacks_branch)
{
    const double binary64 =
        native / td_tuned_binary64_share + p->unfolded_bytes / model->rates.bytes;
    return (lacks_branch ? binary64 : native) + td_model_seconds_to_find_out(p);
}
