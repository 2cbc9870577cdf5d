#include "products.h"

#include <limits.h>
#include <stdatomic.h>

#include "../../options/log.h"
#include "../../routine/decision.h"
#include "../ozaki/cublas.h"

static td_run_status multiply(const td_factor_place *place, const td_product *product)
{
    const td_factor_products *by = place->by;
    if (by->engine && product->k >= by->cut.least_terms)
        return td_engine_run(by->engine, product, by->parameter, place->device,
                             place->workspace_limit, place->counters);
    const td_problem call = td_call_of_product(product);
    return td_cublas_run(place->device, &call, product->lent.memory, product->lent.bytes)
               ? TD_RUN_DONE
               : TD_RUN_FAILED;
}

td_run_status td_factor_multiply(const td_factor_place *place, const td_product *product)
{
    static atomic_uint said;
    const td_run_status status = multiply(place, product);
    if (status == TD_RUN_DONE || status == TD_RUN_BROKEN) return status;
    td_log_capped(&said, 1, TD_LOG_WARN,
                  "a product of a factorisation could not run in its mode; it runs in mode fp64 "
                  "(said once)");
    return td_engine_run_fp64(product, place->device, place->workspace_limit, place->counters);
}

td_run_status td_factor_ready(const td_problem *p, const td_factor_place *place, td_loader *load)
{
    const td_run_status status = td_engine_check(p);
    if (status != TD_RUN_DONE) return status;
    if (!place->by->engine && !td_cublas_ready(place->device)) return TD_RUN_NO_CUBLAS;
    return td_device_load(place->device, load, 0) ? TD_RUN_DONE : TD_RUN_FAILED;
}

td_run_status td_factor_blocks(const td_problem *p, int64_t blocks,
                               td_run_status (*step)(const void *run, int64_t i), const void *run)
{
    if (!td_cuda_ok(cudaMemsetAsync(p->info, 0, sizeof *p->info, p->stream))) return TD_RUN_FAILED;
    for (int64_t i = 0; i < blocks; i++) {
        const td_run_status status = step(run, i);
        if (status == TD_RUN_FAILED && i == 0) return status;
        if (status != TD_RUN_DONE) return TD_RUN_BROKEN;
    }
    return TD_RUN_DONE;
}

const char *td_factor_size_refusal(const td_problem *p)
{
    return p->m <= INT_MAX && p->n <= INT_MAX ? NULL : td_reason_large;
}
