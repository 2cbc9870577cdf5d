/* cholesky.c - a panel of columns is factored by one kernel, then the triangle behind it is
 * updated by one product, and so on. A matrix that is one panel wide has no products, and so the
 * same bits in every mode. The cut depends on sizes alone (../../routine/cholesky_steps.h). */
#include "cholesky.h"

#include <limits.h>

#include "../../../kernels/factor/cholesky.h"
#include "../../cuda/workspace.h"
#include "../../routine/cholesky_steps.h"
#include "../../routine/decision.h"
#include "../ozaki/cublas.h"

/* Where the steps of one call run. */
typedef struct {
    const td_problem *problem;
    td_cholesky_cut cut;
    td_factor_place place;
    td_workspace notes; /* of panels */
} run;

static bool is_complex(const td_problem *p) { return p->type == TD_COMPLEX_BINARY64; }

static cudaError_t load(int of_complex)
{
    return of_complex ? td_cholesky_complex_prepare() : td_cholesky_prepare();
}

const char *td_factor_cholesky_refusal(const td_problem *p)
{
    return p->type != TD_BINARY64 && !is_complex(p) ? td_reason_panels
           : p->n > INT_MAX / 2                     ? td_reason_large
                                                    : NULL;
}

static td_run_status factor(const run *r, int64_t first)
{
    const td_problem *p = r->problem;
    const td_cholesky_panel panel = {.a = td_cholesky_part(p, first, first).data,
                                     .ld = p->a.ld,
                                     .rows = p->n - first,
                                     .columns = td_cholesky_columns(r->cut, p->n, first),
                                     .before = first,
                                     .is_upper = p->triangle == TD_UPPER,
                                     .info = p->info,
                                     .notes = r->notes.memory};
    const cudaError_t error = is_complex(p) ? td_cholesky_complex_run(&panel, p->stream)
                                            : td_cholesky_run(&panel, p->stream);
    return td_done_if(error);
}

/* Of cuBLAS's products, engine `dgemm` makes those of one triangle alone. */
static td_run_status multiply(const run *r, const td_product *product)
{
    td_factor_products by = *r->place.by;
    td_factor_place place = r->place;
    if (!by.engine && product->region != TD_REGION_ALL) by.engine = &td_engine_dgemm;
    place.by = &by;
    return td_factor_multiply(&place, product);
}

/* All that is due behind a panel. */
static td_run_status update(const run *r, int64_t panel)
{
    const td_problem *p = r->problem;
    const int64_t first = td_cholesky_first_product(r->cut, panel);
    const int count = td_cholesky_products_behind(r->cut, p->n, panel);
    td_run_status status = TD_RUN_DONE;
    for (int i = 0; i < count && status == TD_RUN_DONE; i++) {
        const td_product product = td_cholesky_product(r->cut, p, first + i);
        status = multiply(r, &product);
    }
    return status;
}

static td_run_status run_steps(const run *r)
{
    const td_problem *p = r->problem;
    const int64_t panels = td_cholesky_panels(r->cut, p->n);
    td_run_status status = td_cuda_ok(cudaMemsetAsync(p->info, 0, sizeof *p->info, p->stream))
                               ? factor(r, 0)
                               : TD_RUN_FAILED;
    if (status != TD_RUN_DONE) return status;
    for (int64_t panel = 0; panel < panels && status == TD_RUN_DONE; panel++) {
        status = update(r, panel);
        if (status == TD_RUN_DONE) status = factor(r, (panel + 1) * r->cut.panel);
    }
    return status == TD_RUN_DONE ? TD_RUN_DONE : TD_RUN_BROKEN;
}

td_run_status td_factor_cholesky(const td_problem *p, const td_factor_products *products,
                                 td_cholesky_cut cut, td_device *device, size_t workspace_limit,
                                 td_counters *counters)
{
    run r = {p, cut, {products, device, workspace_limit, counters}, .notes = {0}};
    size_t bytes = is_complex(p) ? td_cholesky_complex_bytes(p->n) : td_cholesky_bytes(p->n);
    td_run_status status = td_engine_check(p);
    if (status != TD_RUN_DONE) return status;
    if (!td_cholesky_fits()) return TD_RUN_NO_PANELS;
    const bool needs_cublas = !products->engine && td_cholesky_products(cut, p->n) > 0;
    if (needs_cublas && !td_cublas_ready(device)) return TD_RUN_NO_CUBLAS;
    if (!td_device_load(device, load, is_complex(p))) return TD_RUN_FAILED;
    status =
        td_workspace_acquire_beside(&r.notes, device, p->stream, bytes, &r.place.workspace_limit);
    if (status != TD_RUN_DONE) return status;
    status = run_steps(&r);
    td_workspace_release(&r.notes, p->stream);
    return status;
}
