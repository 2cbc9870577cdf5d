#include "engine.h"
#include "ozaki/probe.h"
#include "ozaki/repeat.h"
#include "../model/route.h"
#include "../routine/parts.h"
#include "../routine/real.h"
#include "../routine/sizes.h"
#include "result.h"
#include "unfold.h"

td_run_status td_done_if(cudaError_t error)
{
    return td_cuda_ok(error) ? TD_RUN_DONE : TD_RUN_FAILED;
}

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
    td_product whole;
    if (p->whole && engine->sees_all_lines) {
        whole = td_product_in_whole(p);
        p = &whole;
    }
    if (engine->takes && engine->takes(p)) return engine->run_folded(p, device, workspace_limit);
    if (td_is_folded(p))
        return td_unfold_and_run(engine, p, parameter, device, workspace_limit, counters);
    const td_real_product real = td_real_product_of(p);
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

/* ---- mode fp64 for what has been begun ---- */

/* True of a product whose rows and columns of C are products of their own. */
static bool may_be_cut(const td_product *p)
{
    return p->batch == 1 && !p->a.array && !p->b.array && !p->c.array &&
           p->form_a.storage == TD_STORED_FULL && p->form_b.storage == TD_STORED_FULL &&
           p->region == TD_REGION_ALL && !td_product_has_rest(p) && !td_product_has_addend(p) &&
           !p->adds_mirror && !p->has_real_diagonal && !p->c_in_rows && !p->whole && !p->progress;
}

/* `count` rows of C from row `first` on. */
static td_product rows_of(const td_product *p, int64_t first, int64_t count)
{
    td_product part = *p;
    part.m = count;
    part.a = p->op_a == TD_OP_N ? td_matrix_moved(&p->a, first, 0, p->type)
                                : td_matrix_moved(&p->a, 0, first, p->type);
    part.c = td_matrix_moved(&p->c, first, 0, p->type);
    return part;
}

/* `count` columns of C from column `first` on. */
static td_product columns_of(const td_product *p, int64_t first, int64_t count)
{
    td_product part = *p;
    part.n = count;
    part.b = p->op_b == TD_OP_N ? td_matrix_moved(&p->b, 0, first, p->type)
                                : td_matrix_moved(&p->b, first, 0, p->type);
    part.c = td_matrix_moved(&p->c, 0, first, p->type);
    return part;
}

/* Parts of so many rows and columns of C, one after the other. */
static td_run_status run_cut(const td_product *p, int64_t rows, int64_t columns, td_device *device,
                             size_t workspace_limit, td_counters *counters)
{
    td_run_status status = TD_RUN_DONE;
    bool is_begun = false;
    for (int64_t j = 0; j < p->n && status == TD_RUN_DONE; j += columns)
        for (int64_t i = 0; i < p->m && status == TD_RUN_DONE; i += rows) {
            const td_product in_rows = rows_of(p, i, td_smaller(rows, p->m - i)),
                             part = columns_of(&in_rows, j, td_smaller(columns, p->n - j));
            status = td_engine_run(&td_engine_fp64, &part, (td_parameter){0}, device,
                                   workspace_limit, counters);
            if (status == TD_RUN_DONE) is_begun = true;
        }
    return status != TD_RUN_DONE && is_begun ? TD_RUN_BROKEN : status;
}

static bool lacks_memory(td_run_status status)
{
    return status == TD_RUN_NO_MEMORY || status == TD_RUN_NOT_CAPTURED;
}

td_run_status td_engine_run_fp64(const td_product *p, td_device *device, size_t workspace_limit,
                                 td_counters *counters)
{
    int64_t rows = p->m, columns = p->n;
    td_run_status status =
        td_engine_run(&td_engine_fp64, p, (td_parameter){0}, device, workspace_limit, counters);
    while (lacks_memory(status) && may_be_cut(p) && td_halve(rows > columns ? &rows : &columns, 1))
        status = run_cut(p, rows, columns, device, workspace_limit, counters);
    return status;
}
