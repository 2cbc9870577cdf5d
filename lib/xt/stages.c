/* stages.c - a call of cublasXt in as few stages as there is memory for (tiles.h). A stage behind
 * the first that cannot be run by tiles is cublasXt's. */
#include "executor.h"
#include "tiles.h"

/* True if the devices have room for some tile of every stage. */
static bool has_room(const td_xt_call *x, const td_xt_selection *devices, const td_tile *whole,
                     int level)
{
    for (int64_t i = 0; i < td_tile_stages(whole, level); i++) {
        const td_tile stage = td_tile_stage(whole, level, i);
        if (!td_xt_has_tiles(x, devices, &stage)) return false;
    }
    return true;
}

/* A reason if nothing has been written. */
static const char *run_stages(const td_xt_call *x, const td_xt_selection *devices,
                              const td_decision *decision, const td_tile *whole, int level,
                              cublasStatus_t *status)
{
    *status = CUBLAS_STATUS_SUCCESS;
    for (int64_t i = 0; i < td_tile_stages(whole, level) && !*status; i++) {
        const td_tile stage = td_tile_stage(whole, level, i);
        const char *reason = td_xt_run_tiles(x, devices, decision, &stage, status);
        if (reason && i == 0) return reason;
        if (reason) *status = x->run_original(x, &stage, reason);
    }
    return NULL;
}

static bool is_on_device(const td_tile_part *part)
{
    struct cudaPointerAttributes of;
    return td_cuda_ok(cudaPointerGetAttributes(&of, part->extent.matrix.data)) &&
           of.type == cudaMemoryTypeDevice;
}

/* Of a triangle half. */
static double bytes_of(const td_tile_part *part, int64_t element_bytes)
{
    const double elements = (double)part->extent.rows * (double)part->extent.columns,
                 share = part->region == TD_REGION_ALL ? 1.0 : 0.5;
    return elements == 0.0 || is_on_device(part) ? 0.0 : share * elements * (double)element_bytes;
}

double td_xt_copied_bytes(const td_problem *p)
{
    td_tile whole;
    if (!td_problem_is_valid(p) || !td_tile_whole(p, &whole)) return 0.0;
    const td_tile_memory memory = td_tile_memory_of(&whole);
    double bytes =
        bytes_of(&memory.written, memory.element_bytes) * (memory.is_updated ? 2.0 : 1.0);
    for (int i = 0; i < TD_TILE_FACTORS; i++)
        bytes += bytes_of(&memory.read[i], memory.element_bytes);
    return bytes;
}

const char *td_xt_run(const td_xt_call *x, const td_xt_selection *devices,
                      const td_decision *decision, cublasStatus_t *status)
{
    const char *reason = td_reason_memory;
    td_tile whole;
    if (!td_tile_whole(&x->p, &whole)) return td_reason_routine;
    for (int level = 0; level < td_tile_levels(&whole); level++) {
        if (!has_room(x, devices, &whole, level)) continue;
        reason = run_stages(x, devices, decision, &whole, level, status);
        if (!reason || reason == td_reason_operand) break;
    }
    return reason;
}
