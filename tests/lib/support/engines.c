/* engines.c - a registry of the tests' own, for what needs modes but no kernels. */
#include "lib/engines/engine.h"

static const td_engine native = {.name = "native", .summary = "stands for the native product"};
static const td_engine df = {.name = "df", .summary = "stands for an emulated product"};
static const td_engine slices = {
    .name = "slices", .summary = "stands for one with a count", .least = 2, .most = 18};
static const td_engine ways = {.name = "ways",
                               .summary = "stands for one with two ways",
                               .least = 3,
                               .most = 9,
                               .way = "fp64"};

const td_engine td_engine_fp64 = {.name = "fp64",
                                  .summary = "stands for sums in binary64, which are no mode here"};
const td_engine td_engine_dgemm = {.name = "dgemm", .summary = "stands for native products"};
const td_engine td_engine_batched_lu = {.name = "lu",
                                        .summary = "stands for batches of factorisations"};

td_run_status td_batched_lu_run(const td_problem *p, td_device *device)
{
    (void)p, (void)device;
    return TD_RUN_FAILED;
}

const td_engine *const td_engines[] = {&native, &df, &slices, &ways, NULL};
