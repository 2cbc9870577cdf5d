/* engine.c - mode fp64: sums in binary64 in the one order of ../../../kernels/repair/binary64.h,
 * which is the same on every device, for every layout, batch form and stream. Takes no device
 * memory. */
#include "../../model/cost.h"
#include "../../model/route.h"
#include "../proven.h"
#include "../tiler.h"

TD_LOADER(fp64_prepare, td_repair_prepare) /* with the kernel that scales C where alpha or k is 0 */

typedef struct {
    const td_real_product *p;
    td_route_terms terms;
} fp64_product;

static cudaError_t run_part(const void *of, const td_part *part, bool *touched)
{
    const fp64_product *product = of;
    const td_real_product *p = product->p;
    const td_repair all = {
        .operand = {td_view_of(p, 0, part->i, part->m), td_view_of(p, 1, part->j, part->n)},
        .target = td_target_of(p, part, NULL),
        .kind = TD_REPAIR_BINARY64,
        .binary64 = td_route_binary64(part->m, part->n, p->k, part->batch, &product->terms),
        .makes_all = true};
    (void)touched;
    return td_binary64_run(&all, part->batch, p->stream);
}

/* Parts are as large as one launch can number. */
static td_run_status fp64_run(const td_real_product *p, td_parameter parameter, td_device *device,
                              size_t workspace_limit, td_counters *counters)
{
    const td_part_sizes sizes = td_largest_part(p);
    const td_traits traits = td_traits_current();
    const fp64_product product = {p, td_route_terms_of(p, parameter, &traits)};
    (void)device, (void)workspace_limit, (void)counters;
    if (td_real_only_scales(p)) return td_scale_parts(p);
    return td_run_parts(p, &sizes, &(td_part_steps){.product = &product, .part = run_part});
}

const td_engine td_engine_fp64 = {
    .name = "fp64",
    .summary = "binary64 sums in one fixed order, the same bits on every device",
    .bound = &td_bound_binary64,
    .cost = td_cost_fp64,
    .is_never_faster = true,
    .prepare = fp64_prepare,
    .run = fp64_run,
};
