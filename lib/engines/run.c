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

/* True of a product whose blocks of C are products of their own. */
static bool may_be_cut(const td_product *p)
{
    return p->batch == 1 && !p->a.array && !p->b.array && !p->c.array &&
           p->form_a.storage == TD_STORED_FULL && p->form_b.storage == TD_STORED_FULL &&
           !td_product_has_rest(p) && !td_product_has_addend(p) && !p->adds_mirror &&
           !p->c_in_rows && !p->whole && !p->progress;
}

/* Rows i .. and columns j .. of C. One of a triangle is square and on its diagonal, or all of its
 * elements are in the triangle. */
typedef struct {
    int64_t i, j, m, n;
} block;

static bool is_triangle(const td_product *p, const block *b)
{
    return p->region != TD_REGION_ALL && b->i == b->j;
}

static td_product product_of_block(const td_product *p, const block *b)
{
    td_product part = *p;
    part.m = b->m;
    part.n = b->n;
    part.a = p->op_a == TD_OP_N ? td_matrix_moved(&p->a, b->i, 0, p->type)
                                : td_matrix_moved(&p->a, 0, b->i, p->type);
    part.b = p->op_b == TD_OP_N ? td_matrix_moved(&p->b, 0, b->j, p->type)
                                : td_matrix_moved(&p->b, b->j, 0, p->type);
    part.c = td_matrix_moved(&p->c, b->i, b->j, p->type);
    if (is_triangle(p, b)) return part;
    part.region = TD_REGION_ALL;
    part.has_real_diagonal = false;
    return part;
}

/* The blocks that are still to be made, the next one last. Halving one adds at most two. */
enum { MOST_BLOCKS = 2 * 64 + 1 };
typedef struct {
    block at[MOST_BLOCKS];
    int count;
} blocks;

/* Puts the halves of the next block in its place; false if it is one element. */
static bool halve_next(const td_product *p, blocks *left)
{
    const block b = left->at[left->count - 1];
    const int64_t rows = td_ceil_div(b.m, 2), columns = td_ceil_div(b.n, 2), low = b.i + rows,
                  right = b.j + columns;
    if (b.m <= 1 && b.n <= 1) return false;
    left->count--;
    if (is_triangle(p, &b)) {
        left->at[left->count++] = (block){low, right, b.m - rows, b.n - columns};
        left->at[left->count++] = (block){b.i, b.j, rows, columns};
        left->at[left->count++] = p->region == TD_REGION_LOWER
                                      ? (block){low, b.j, b.m - rows, columns}
                                      : (block){b.i, right, rows, b.n - columns};
    } else if (b.m > b.n) {
        left->at[left->count++] = (block){low, b.j, b.m - rows, b.n};
        left->at[left->count++] = (block){b.i, b.j, rows, b.n};
    } else {
        left->at[left->count++] = (block){b.i, right, b.m, b.n - columns};
        left->at[left->count++] = (block){b.i, b.j, b.m, columns};
    }
    return true;
}

static bool lacks_memory(td_run_status status)
{
    return status == TD_RUN_NO_MEMORY || status == TD_RUN_NOT_CAPTURED;
}

td_run_status td_engine_run_fp64(const td_product *p, td_device *device, size_t workspace_limit,
                                 td_counters *counters)
{
    blocks left = {.at = {{0, 0, p->m, p->n}}, .count = 1};
    bool is_begun = false;
    while (left.count > 0) {
        const td_product part = product_of_block(p, &left.at[left.count - 1]);
        const td_run_status status = td_engine_run(&td_engine_fp64, &part, (td_parameter){0},
                                                   device, workspace_limit, counters);
        if (lacks_memory(status) && may_be_cut(p) && halve_next(p, &left)) continue;
        if (status != TD_RUN_DONE) return is_begun ? TD_RUN_BROKEN : status;
        is_begun = true;
        left.count--;
    }
    return TD_RUN_DONE;
}
