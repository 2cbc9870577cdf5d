#include "probe.h"

#include <string.h>

#include "../../../kernels/select/probe.h"
#include "../../options/log.h"
#include "../../model/cost.h"
#include "../native_knows.h"
#include "../../routine/real.h"
#include "../../cuda/workspace.h"
#include "../tiler.h"
#include "branch.h"
#include "scheme.h"

typedef struct {
    bool is_captured;
    size_t verdict, looseness, work, cublas, bytes;
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

TD_LOADER(prepare, td_probe_prepare)

/* A td_planner. */
static size_t plan(void *of, size_t limit)
{
    probing *x = of;
    x->bytes = 0;
    x->verdict = td_reserve(&x->bytes, sizeof(int32_t));
    x->looseness = td_reserve(&x->bytes, 2 * sizeof(int32_t));
    x->work = td_reserve(&x->bytes, (int64_t)td_probe_bytes());
    x->cublas_bytes = x->native ? td_smaller(TD_CUBLAS_WORKSPACE, (int64_t)(limit / 4)) : 0;
    x->cublas = td_reserve(&x->bytes, x->cublas_bytes);
    return x->bytes <= limit / 2 ? x->bytes : 0;
}

static td_probe probe_of(const probing *x, const td_product *p, td_parameter parameter,
                         td_verdict otherwise)
{
    const td_real_product real = td_real_product_of(p);
    td_probe probe = {.lines = {p->m, p->n},
                      .k = td_product_has_rest(p) ? p->k / 2 : p->k,
                      .batch = p->batch,
                      .alpha = p->alpha,
                      .alpha_is_real = p->alpha_is_real,
                      .work = x->memory + x->work,
                      .otherwise = otherwise,
                      .verdict = (int32_t *)(x->memory + x->verdict),
                      .looseness = (int32_t *)(x->memory + x->looseness)};
    for (int i = 0; i < 2; i++) probe.factor[i] = td_folded_of(p, i, 0);
    const td_scheme_case c = {&td_scheme_residues, td_moduli_of(&real, false, parameter), real.k,
                              real.m, real.n};
    td_scheme_residues.choose(&c, &probe.rule);
    return probe;
}

/* ---- the device goes one way ---- */

/* A product, and how its mode is run. */
typedef struct {
    probing *x;
    const td_engine *engine;
    const td_product *p;
    td_parameter parameter;
    size_t limit;
    td_counters *counters;
    __typeof__(td_engine_run) *run;
    bool is_awaited; /* the stream has no work before the call */
} product;

/* True if the mode's kernels can stand in a body of the condition. Those of long products have a
 * condition of their own (stages.c), and take a small share of the time where they end at once. */
static bool fits_body(const product *r)
{
    return r->p->batch > 1 || !r->parameter.prices.has_late_branch;
}

/* The condition of a verdict; where it holds, all of C is counted as made in binary64. */
static td_condition condition_of(const product *r)
{
    const td_real_product real = td_real_product_of(r->p);
    const td_region region = td_real_region(&real);
    const int64_t tiles = td_region_blocks(&region, real.m, real.n, TD_TILE, TD_TILE),
                  elements = td_region_blocks(&region, real.m, real.n, 1, 1);
    return (td_condition){.verdict = (const int32_t *)(r->x->memory + r->x->verdict),
                          .wanted = TD_C_IS_MADE,
                          .counters = r->counters,
                          .elements = (unsigned long long)(elements * real.batch),
                          .tiles = (unsigned long long)(tiles * real.batch)};
}

/* The mode in the body for residues: a td_branch_body. */
static bool enqueue_mode(void *of, td_stream captured)
{
    const product *r = of;
    td_product own = *r->p;
    td_parameter parameter = r->parameter;
    own.stream = captured;
    own.progress = NULL;         /* no event of a graph */
    parameter.prices.native = 0; /* whatever is left late costs as much as sums in binary64 */
    parameter.is_in_body = true;
    parameter.prices.is_probed = 1;
    parameter.looseness = (const int32_t *)(r->x->memory + r->x->looseness);
    return r->run(r->engine, &own, parameter, r->x->device, r->limit, r->counters) == TD_RUN_DONE;
}

/* All that both bodies depend on: addresses and numbers, and no matrix. */
enum { ENQUEUED_BY_BYTES = 128 };
typedef struct {
    td_product p;
    td_problem native;
    unsigned char enqueued_by[ENQUEUED_BY_BYTES];
    td_parameter parameter;
    const td_engine *engine;
    char *memory;
    size_t limit;
    td_counters *counters;
} call_key;
_Static_assert(sizeof(call_key) <= TD_BRANCH_KEY_BYTES, "a key has room");

/* False if nobody knows what cuBLAS's routine depends on, or the mode depends on a whole product
 * that the key does not hold. */
static bool make_key(const product *r, call_key *key)
{
    const td_problem *native = r->x->native;
    if (r->p->whole) return false;
    if (native->enqueue && (!native->enqueued_by || native->asks_emulation ||
                            native->enqueued_by_bytes > sizeof key->enqueued_by))
        return false;
    memset(key, 0, sizeof *key);
    if (native->enqueue) memcpy(key->enqueued_by, native->enqueued_by, native->enqueued_by_bytes);
    memcpy(&key->p, r->p, sizeof key->p);
    memcpy(&key->native, native, sizeof key->native);
    memcpy(&key->parameter, &r->parameter, sizeof key->parameter);
    key->native.caller = key->native.enqueued = key->native.enqueued_by = NULL;
    key->parameter.native = NULL;
    key->engine = r->engine;
    key->memory = r->x->memory;
    key->limit = r->limit;
    key->counters = r->counters;
    return true;
}

/* cuBLAS's routine or the mode, as the verdict says. False: nothing is enqueued. */
static bool run_either(product *r)
{
    call_key key;
    const td_condition asked = condition_of(r);
    td_branch_call call = {.p = r->x->native,
                           .condition = &asked,
                           .workspace = r->x->memory + r->x->cublas,
                           .workspace_bytes = (size_t)r->x->cublas_bytes,
                           .otherwise = enqueue_mode,
                           .of = r,
                           .is_awaited = r->is_awaited};
    if (make_key(r, &key)) {
        call.key = &key;
        call.key_bytes = sizeof key;
    }
    return td_branch_run_either(r->x->device, &call);
}

/* ---- the mode's kernels end at once ---- */

/* Enqueues cuBLAS's routine for one of the verdicts. */
static bool run_native(const probing *x, td_verdict wanted)
{
    const td_condition asked = {.verdict = (const int32_t *)(x->memory + x->verdict),
                                .wanted = wanted};
    return td_branch_run(x->device, x->native, &asked, x->memory + x->cublas,
                         (size_t)x->cublas_bytes);
}

static td_run_status run_mode(const product *r)
{
    return r->run(r->engine, r->p, r->parameter, r->x->device, r->limit, r->counters);
}

/* The product, if C may be there already. What fails before C is touched leaves it to cuBLAS's
 * routine, whatever the verdict. */
static td_run_status run_beside(const product *r)
{
    const td_run_status status = run_mode(r);
    if (status == TD_RUN_DONE || status == TD_RUN_BROKEN) return status;
    TD_LOG_ONCE(TD_LOG_INFO, "a product that was probed could not run; cuBLAS makes it");
    return run_native(r->x, TD_RESIDUES) ? TD_RUN_DONE : TD_RUN_BROKEN;
}

/* ---- the probe ---- */

static bool has_native(const product *r)
{
    const probing *x = r->x;
    return x->native && td_native_knows(x->native) && r->parameter.prices.native > 0 &&
           td_branch_ready(x->device);
}

/* Has the mode keep to what a probe says. */
static void hear(product *r, const td_probe *probe)
{
    r->parameter.verdict = probe->verdict;
    r->parameter.looseness = probe->looseness;
    r->parameter.prices.is_probed = 1;
}

/* After the probe, which may leave C to cuBLAS's routine. */
static td_run_status run_by_verdict(product *r, const td_probe *probe)
{
    if (!r->x->is_captured && fits_body(r) && run_either(r)) return TD_RUN_DONE;
    if (!run_native(r->x, TD_C_IS_MADE)) return run_mode(r);
    hear(r, probe);
    return run_beside(r);
}

static td_run_status run_probed(product *r)
{
    const bool may_be_native = has_native(r);
    const td_probe probe =
        probe_of(r->x, r->p, r->parameter, may_be_native ? TD_C_IS_MADE : TD_BINARY64_IS_BETTER);
    if (!td_cuda_ok(td_probe_run(&probe, r->p->stream))) return run_mode(r);
    if (may_be_native) return run_by_verdict(r, &probe);
    hear(r, &probe);
    return run_mode(r);
}

/* An error that the program has not asked for yet stays as it is: then nobody knows. Captures of
 * other streams forbid to ask. */
static bool has_no_work(cudaStream_t stream)
{
    if (cudaPeekAtLastError() != cudaSuccess) return false;
    const td_capture_mode mode = td_capture_allow();
    const bool has_none = td_cuda_ok(cudaStreamQuery(stream));
    td_capture_restore(mode);
    return has_none;
}

td_run_status td_probe_and_run(const td_engine *engine, const td_product *p, td_parameter parameter,
                               td_device *device, size_t workspace_limit, td_counters *counters,
                               __typeof__(td_engine_run) *run)
{
    probing x = {.device = device, .native = parameter.native};
    td_workspace workspace;
    x.is_captured = td_stream_is_capturing(p->stream);
    const bool is_awaited = !x.is_captured && has_no_work(p->stream);
    if (x.is_captured && !parameter.branches_in_graph) {
        parameter.prices.native = 0;
        x.native = NULL;
    }
    if (!td_device_load(device, prepare, 0)) return TD_RUN_FAILED;
    /* The engine may work in what is lent meanwhile. */
    td_run_status status =
        td_workspace_acquire(&workspace, device, p->stream, NULL, workspace_limit, plan, &x);
    if (status != TD_RUN_DONE) return status;
    x.memory = workspace.memory;
    product r = {&x, engine, p, parameter, workspace_limit - x.bytes, counters, run, is_awaited};
    status = run_probed(&r);
    td_workspace_release(&workspace, p->stream);
    return status;
}
