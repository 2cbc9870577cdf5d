#include "found_out.h"

#include "tuning.h"

static const double micro = 1e-6;

/* The probe reads lines along all of k, of several members of a batch. */
static double seconds_of_probe(const td_real_product *p)
{
    const double thousands = (double)p->k / 1024.0, members = p->batch > 1 ? 1.0 : 0.0;
    return micro *
           (td_tuned_probe + td_tuned_probe_terms * thousands + td_tuned_probe_members * members);
}

/* A mode's kernels begin, and end at once. */
static double seconds_of_idle_kernels(const td_real_product *p)
{
    const double further = (double)(p->batch - 1);
    return micro * (td_tuned_idle_kernels + td_tuned_idle_member * further);
}

double td_model_seconds_to_find_out(const td_real_product *p)
{
    return seconds_of_probe(p) + seconds_of_idle_kernels(p);
}

/* Whether the mode's kernels stand in a body of the condition that cuBLAS's routine is in the other
 * body of (../engines/ozaki/probe.c): then none of them begins. */
static bool has_two_bodies(const td_real_product *p, double native, td_branch_form branch)
{
    return branch == TD_BRANCH_OF_TWO && (p->batch > 1 || native < td_tuned_late_branch_seconds);
}

double td_model_found_out(const td_model *model, const td_real_product *p, double native,
                          td_branch_form branch)
{
    const double binary64 =
        native / td_tuned_binary64_share + p->unfolded_bytes / model->rates.bytes;
    if (branch == TD_BRANCH_NONE) return binary64 + td_model_seconds_to_find_out(p);
    const double more =
        has_two_bodies(p, native, branch) ? seconds_of_probe(p) : td_model_seconds_to_find_out(p);
    return native + more / td_tuned_native_of_wide_data;
}

double td_model_found_late(const td_model *model, const td_real_product *p, double native)
{
    const double rows = p->is_paired ? 0.5 * (double)p->m : (double)p->m,
                 bytes = (rows + (double)p->n) * (double)p->k * (double)sizeof(double),
                 moved = td_tuned_late_readings * bytes + p->unfolded_bytes;
    if (p->batch > 1) return 0.0;
    return native + seconds_of_probe(p) + micro * td_tuned_late_kernels +
           moved / model->rates.bytes;
}
