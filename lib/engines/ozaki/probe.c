#include "probe.h"

#include "../../../kernels/select/probe.h"
#include "../../options/log.h"
#include "../../model/cost.h"
#include "../native_knows.h"
#include "../../routine/real.h"
#include "../tiler.h"
#include "branch.h"
#include "cublas.h"
#include "scheme.h"

typedef struct {
    bool is_captured;
    size_t verdict, work, cublas, bytes;
    int64_t cublas_bytes;
    td_device *device;
    const td_problem *native;
    char *memory;
} probing;

bool td_probe_wants(const td_engine *engine, td_parameter parameter)
{
    return engine->takes_prices && parameter.prices.binary64 > 0 &&
           (parameter.prices.native > 0 || parameter.prices.measure > 0);
}

static cudaError_t prepare(int unused)
{
    (void)unused;
    return td_probe_prepare();
}

/* A td_planner. */
static size_t plan(void *of, size_t limit)
{
    probing *x = of;
    x->bytes = 0;
    x->verdict = td_reserve(&x->bytes, sizeof(int32_t));
    x->work = td_reserve(&x->bytes, (int64_t)td_probe_bytes());
    x->cublas_bytes = x->is_captured ? 0 : td_smaller(TD_CUBLAS_WORKSPACE, (int64_t)(limit / 4));
    x->cublas = td_reserve(&x->bytes, x->cublas_bytes);
    return x->bytes <= limit / 2 ? x->bytes : 0;
}

static td_probe probe_of(const probing *x, const td_product *p, td_parameter parameter,
                         td_verdict otherwise)
{
    td_real_product real;
    td_to_real(p, &real);
    td_probe probe = {.lines = {p->m, p->n},
                      .k = td_product_has_rest(p) ? p->k / 2 : p->k,
                      .batch = p->batch,
                      .alpha = p->alpha,
                      .alpha_is_real = p->alpha_is_real,
                      .work = x->memory + x->work,
                      .otherwise = otherwise,
                      .verdict = (int32_t *)(x->memory + x->verdict)};
    for (int i = 0; i < 2; i++) probe.factor[i] = td_folded_of(p, i, 0);
    const td_scheme_case c = {&td_scheme_residues, td_moduli_of(&real, false, parameter), real.k};
    td_scheme_residues.choose(&c, &probe.rule);
    return probe;
}

/* Enqueues cuBLAS's routine for one of the verdicts. */
static bool run_native(const probing *x, td_verdict wanted)
{
    const td_condition asked = {.verdict = (const int32_t *)(x->memory + x->verdict),
                                .wanted = wanted};
    return td_branch_run(x->device, x->native, &asked, x->memory + x->cublas,
                         (size_t)x->cublas_bytes);
}

/* The product, if C may be there already. What fails before C is touched leaves it to cuBLAS's
 * routine, whatever the verdict. */
static td_run_status run_beside(const probing *x, const td_engine *engine, const td_product *p,
                                td_parameter parameter, size_t limit, td_counters *counters,
                                __typeof__(td_engine_run) *run)
{
    const td_run_status status = run(engine, p, parameter, x->device, limit, counters);
    if (status == TD_RUN_DONE || status == TD_RUN_BROKEN) return status;
    TD_LOG_ONCE(TD_LOG_INFO, "a product that was probed could not run; cuBLAS makes it");
    return run_native(x, TD_RESIDUES) ? TD_RUN_DONE : TD_RUN_BROKEN;
}

td_run_status td_probe_and_run(const td_engine *engine, const td_product *p, td_parameter parameter,
                               td_device *device, size_t workspace_limit, td_counters *counters,
                               __typeof__(td_engine_run) *run)
{
    probing x = {.device = device, .native = parameter.native};
    td_workspace workspace;
    x.is_captured = td_stream_is_capturing(p->stream);
    bool has_native = !x.is_captured && x.native && td_native_knows(x.native) &&
                      parameter.prices.native > 0 && td_branch_ready(device);
    if (x.is_captured) parameter.prices.native = 0;
    if (!td_device_load(device, prepare, 0)) return TD_RUN_FAILED;
    /* The engine may work in what is lent meanwhile. */
    const td_run_status status =
        td_workspace_acquire(&workspace, device, p->stream, NULL, workspace_limit, plan, &x);
    if (status != TD_RUN_DONE) return status;
    x.memory = workspace.memory;
    const td_probe probe =
        probe_of(&x, p, parameter, has_native ? TD_C_IS_MADE : TD_BINARY64_IS_BETTER);
    if (td_cuda_ok(td_probe_run(&probe, p->stream))) parameter.verdict = probe.verdict;
    has_native = has_native && parameter.verdict && run_native(&x, TD_C_IS_MADE);
    if (probe.otherwise == TD_C_IS_MADE && !has_native) parameter.verdict = NULL;
    const size_t limit = workspace_limit - x.bytes;
    const td_run_status done = has_native
                                   ? run_beside(&x, engine, p, parameter, limit, counters, run)
                                   : run(engine, p, parameter, device, limit, counters);
    td_workspace_release(&workspace, p->stream);
    return done;
}
