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
