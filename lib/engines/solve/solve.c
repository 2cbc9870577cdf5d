#include "solve.h"

#include <stdatomic.h>

#include "../../options/log.h"

/* Where the steps of one call run. */
typedef struct {
    const td_problem *problem;
    const td_solve_products *products;
    td_device *device;
    size_t workspace_limit;
    td_counters *counters;
} run;

TD_LOADER(load, td_solve_prepare)

static td_run_status zero(const td_problem *p)
{
    const size_t element = (size_t)td_types[p->type].size;
    return td_cuda_ok(cudaMemset2DAsync(p->b.data, (size_t)p->b.ld * element, 0,
                                        (size_t)p->m * element, (size_t)p->n, p->stream))
               ? TD_RUN_DONE
               : TD_RUN_FAILED;
}

static td_run_status multiply_by_fp64(const run *r, const td_product *update)
{
    return td_engine_run_fp64(update, r->device, r->workspace_limit, r->counters);
}

/* B has been written, so that a mode that cannot make the product has another one in its place. */
static td_run_status multiply_in_binary64(const run *r, const td_product *update)
{
    static atomic_uint said;
    td_log_capped(&said, 1, TD_LOG_WARN,
                  "a product of a triangular solve could not run in its mode; it runs in mode fp64 "
                  "(said once)");
    return multiply_by_fp64(r, update);
}

static td_run_status update(const run *r, int64_t known)
{
    const td_solve_products *by = r->products;
    const td_product product = td_solve_update(r->problem, by->cut.block_rows, known);
    if (product.k < by->cut.least_terms) return multiply_by_fp64(r, &product);
    const td_run_status status = td_engine_run(by->engine, &product, by->parameter, r->device,
                                               r->workspace_limit, r->counters);
    if (status == TD_RUN_DONE || status == TD_RUN_BROKEN) return status;
    return multiply_in_binary64(r, &product);
}

static td_run_status solve_block(const run *r, int64_t block)
{
    const td_solve_block b = td_solve_block_of(r->problem, r->products->cut.block_rows, block);
    return td_done_if(td_solve_block_run(&b, r->problem->stream));
}

td_run_status td_solve_run(const td_problem *p, const td_solve_products *products,
                           td_device *device, size_t workspace_limit, td_counters *counters)
{
    const run r = {p, products, device, workspace_limit, counters};
    const int64_t blocks = td_solve_blocks(p, products->cut.block_rows);
    td_run_status status = td_engine_check(p);
    if (status != TD_RUN_DONE) return status;
    if (td_problem_only_scales(p)) return zero(p);
    if (!td_device_load(device, load, 0)) return TD_RUN_FAILED;
    status = solve_block(&r, 0);
    if (status != TD_RUN_DONE) return status;
    for (int64_t known = 1; known < blocks && status == TD_RUN_DONE; known++) {
        status = update(&r, known);
        if (status == TD_RUN_DONE) status = solve_block(&r, known);
    }
    return status == TD_RUN_DONE ? TD_RUN_DONE : TD_RUN_BROKEN;
}
