#include "repeat.h"

#include <string.h>

#include "../../cuda/workspace.h"
#include "../../model/tuning.h"
#include "../../routine/real.h"
#include "branch.h"

bool td_repeat_wants(const td_engine *engine, const td_product *p, td_parameter parameter)
{
    if (!engine->route || parameter.is_other_way || p->whole || p->progress ||
        td_product_only_scales(p))
        return false;
    const td_real_product real = td_real_product_of(p);
    return (double)real.m * (double)real.n * (double)real.k * (double)real.batch <=
               td_tuned_repeated_products &&
           !td_stream_is_capturing(p->stream);
}

/* All that the kernels depend on, but for where their workspace is: addresses and numbers. */
typedef struct {
    td_product p;
    td_parameter parameter;
    const td_engine *engine;
    size_t limit;
    td_counters *counters;
} call_key;
_Static_assert(sizeof(call_key) <= TD_BRANCH_KEY_BYTES, "a key has room");

typedef struct {
    const call_key *key;
    td_device *device;
    __typeof__(td_engine_run) *run;
} call;

static void make_key(call_key *key, const td_engine *engine, const td_product *p,
                     const td_parameter *parameter)
{
    memset(key, 0, sizeof *key);
    memcpy(&key->p, p, sizeof key->p);
    memcpy(&key->parameter, parameter, sizeof key->parameter);
    key->parameter.native = NULL; /* no product of cuBLAS's is asked for */
    key->engine = engine;
}

/* A td_branch_body. */
static bool enqueue(void *of, td_stream captured)
{
    const call *c = of;
    const call_key *key = c->key;
    td_product own = key->p;
    own.stream = captured;
    return c->run(key->engine, &own, key->parameter, c->device, key->limit, key->counters) ==
           TD_RUN_DONE;
}

td_run_status td_repeat_and_run(const td_engine *engine, const td_product *p,
                                td_parameter parameter, td_device *device, size_t workspace_limit,
                                td_counters *counters, __typeof__(td_engine_run) *run)
{
    const td_problem in_stream = {.stream = p->stream};
    call_key key;
    make_key(&key, engine, p, &parameter);
    key.limit = workspace_limit;
    key.counters = counters;
    call c = {&key, device, run};
    const td_branch_call branch = {
        .p = &in_stream, .otherwise = enqueue, .of = &c, .key = &key, .key_bytes = sizeof key};
    if (td_branch_run_either(device, &branch)) return TD_RUN_DONE;
    return run(engine, p, parameter, device, workspace_limit, counters);
}
