#include "engine.h"
#include "ozaki/route.h"
#include "real.h"
#include "unfold.h"

td_run_status td_engine_run(const td_engine *engine, const td_problem *p, td_parameter parameter,
                            td_device *device, size_t workspace_limit, td_counters *counters)
{
    if (engine->prepare && !td_device_load(device, engine->prepare, parameter.is_other_way))
        return TD_RUN_FAILED;
    const td_memory memory = td_problem_memory(p);
    const cudaError_t error = td_memory_check(&memory, p->stream);
    if (!td_cuda_ok(error))
        return error == cudaErrorIllegalAddress ? TD_RUN_UNREACHABLE : TD_RUN_NO_STREAM;
    td_problem real;
    td_real_product(p, &real);
    td_route_log(engine, &real, parameter);
    if (td_is_folded(p))
        return td_unfold_and_run(engine, p, parameter, device, workspace_limit, counters);
    return engine->run(p, parameter, device, workspace_limit, counters);
}
