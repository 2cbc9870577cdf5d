/* engine.c - mode fp64: sums in binary64 in the one order of ../../../kernels/repair/binary64.h,
 * which is the same on every device, for every layout, batch form and stream. Takes no device
 * memory. */
#include "../model/cost.h"
#include "../proven.h"
#include "../tiler.h"

static cudaError_t fp64_prepare(int is_other_way)
{
    (void)is_other_way;
    return td_repair_prepare(); /* with the kernel that scales C where alpha or k is 0 */
}

/* Rows i .., columns j .. and batch members z .., as many as one launch can number. */
static cudaError_t run_part(const td_problem *p, int64_t i, int64_t j, int64_t z)
{
    const int m = (int)td_smaller(p->m - i, TD_MAX_PART_LINES),
              n = (int)td_smaller(p->n - j, TD_MAX_PART_LINES),
              batch = (int)td_smaller(p->batch - z, TD_MAX_PART_MEMBERS);
    const td_repair all = {.operand = {td_view_of(p, 0, i, m), td_view_of(p, 1, j, n)},
                           .target = td_target_of(p, i, j, z, m, n, NULL),
                           .kind = TD_REPAIR_BINARY64,
                           .makes_all = true};
    return td_binary64_run(&all, batch, p->stream);
}

static td_run_status fp64_run(const td_problem *p, td_parameter parameter, td_device *device,
                              size_t workspace_limit, td_counters *counters)
{
    (void)parameter, (void)device, (void)workspace_limit, (void)counters;
    bool touched = false;
    if (td_problem_only_scales(p)) return td_scale_parts(p);
    for (int64_t z = 0; z < p->batch; z += TD_MAX_PART_MEMBERS)
        for (int64_t j = 0; j < p->n; j += TD_MAX_PART_LINES)
            for (int64_t i = 0; i < p->m; i += TD_MAX_PART_LINES) {
                if (!td_part_exists(p, i, j, TD_MAX_PART_LINES, TD_MAX_PART_LINES)) continue;
                if (!td_cuda_ok(run_part(p, i, j, z)))
                    return touched ? TD_RUN_BROKEN : TD_RUN_FAILED;
                touched = true;
            }
    return TD_RUN_DONE;
}

const td_engine td_engine_fp64 = {
    .name = "fp64",
    .summary = "binary64 sums in one fixed order, the same bits on every device",
    .bound = "4 sqrt(k) 2^-53 |alpha||A||B| + one rounding, where nothing over- or underflows",
    .cost = td_cost_fp64,
    .bits = td_bits_fp64,
    .proven = td_proven_fp64,
    .is_never_faster = true,
    .prepare = fp64_prepare,
    .run = fp64_run,
};
