#include "engine.h"
#include "ozaki/probe.h"
#include "ozaki/repeat.h"
#include "../model/route.h"
#include "../routine/real.h"
#include "result.h"
#include "unfold.h"

static td_memory memory_of_call(const void *call) { return td_problem_memory(call); }

static td_memory memory_of_product(const void *product) { return td_product_memory(product); }

static td_run_status check(td_memory (*describe)(const void *), const void *of, td_stream stream)
{
    const cudaError_t error = td_memory_check(describe, of, stream);
    if (td_cuda_ok(error)) return TD_RUN_DONE;
    return error == cudaErrorIllegalAddress ? TD_RUN_UNREACHABLE : TD_RUN_NO_STREAM;
}

static bool is_aligned(const void *address, int64_t bytes)
{
    return (uintptr_t)address % (uintptr_t)bytes == 0;
}

/* Complex numbers of the host may lie at any multiple of 8 bytes, as C and Fortran align them. */
static bool are_numbers_aligned(const td_memory *memory)
{
    bool are = is_aligned(memory->written.matrix.data, memory->element_bytes) &&
               is_aligned(memory->alpha, memory->alpha_bytes);
    for (size_t i = 0; i < sizeof memory->read / sizeof *memory->read; i++)
        are = are && is_aligned(memory->read[i].matrix.data, memory->element_bytes);
    return are;
}

td_run_status td_engine_check(const td_problem *p)
{
    const td_memory memory = td_problem_memory(p);
    if (!are_numbers_aligned(&memory)) return TD_RUN_UNALIGNED;
    return check(memory_of_call, p, p->stream);
}

td_run_status td_engine_check_product(const td_product *p)
{
    return check(memory_of_product, p, p->stream);
}

static td_run_status run(const td_engine *engine, const td_product *p, td_parameter parameter,
                         td_device *device, size_t workspace_limit, td_counters *counters)
{
    td_real_product real;
    td_product whole;
    if (p->whole && engine->sees_all_lines) {
        whole = td_product_in_whole(p);
        p = &whole;
    }
    if (engine->takes && engine->takes(p)) return engine->run_folded(p, device, workspace_limit);
    if (td_is_folded(p))
        return td_unfold_and_run(engine, p, parameter, device, workspace_limit, counters);
    td_to_real(p, &real);
    return engine->run(&real, parameter, device, workspace_limit, counters);
}

/* A product of which somebody is told (td_progress) is made in this stream, and in no body of a
 * graph's condition: nobody looks at some of its lines first. */
td_run_status td_engine_run_in_place(const td_engine *engine, const td_product *p,
                                     td_parameter parameter, td_device *device,
                                     size_t workspace_limit, td_counters *counters)
{
    if (!p->progress && td_probe_wants(engine, parameter) && !td_product_only_scales(p))
        return td_probe_and_run(engine, p, parameter, device, workspace_limit, counters, run);
    if (td_repeat_wants(engine, p, parameter))
        return td_repeat_and_run(engine, p, parameter, device, workspace_limit, counters, run);
    return run(engine, p, parameter, device, workspace_limit, counters);
}

td_run_status td_engine_run(const td_engine *engine, const td_product *p, td_parameter parameter,
                            td_device *device, size_t workspace_limit, td_counters *counters)
{
    if (engine->prepare && !td_device_load(device, engine->prepare, parameter.is_other_way))
        return TD_RUN_FAILED;
    const td_run_status status = td_engine_check_product(p);
    if (status != TD_RUN_DONE) return status;
    td_route_log(engine, p, parameter);
    return (td_moves_result(p) ? td_move_and_run : td_engine_run_in_place)(
        engine, p, parameter, device, workspace_limit, counters);
}
