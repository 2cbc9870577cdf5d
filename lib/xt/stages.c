/* stages.c - a call of cublasXt in as few stages as there is memory for (tiles.h). A stage behind
 * the first that cannot be run by tiles is cublasXt's. */
#include "executor.h"
#include "pinning.h"
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

/* By the first level that there is memory for. */
static const char *run_levels(const td_xt_call *x, const td_xt_selection *devices,
                              const td_decision *decision, const td_tile *whole,
                              cublasStatus_t *status)
{
    const char *reason = td_reason_memory;
    for (int level = 0; level < td_tile_levels(whole); level++) {
        if (!has_room(x, devices, whole, level)) continue;
        reason = run_stages(x, devices, decision, whole, level, status);
        if (!reason || reason == td_reason_operand) break;
    }
    return reason;
}

const char *td_xt_run(const td_xt_call *x, const td_xt_selection *devices,
                      const td_decision *decision, cublasStatus_t *status)
{
    td_tile whole;
    td_xt_pins pins;
    if (!td_tile_whole(&x->p, &whole)) return td_reason_routine;
    const td_tile_memory memory = td_tile_memory_of(&whole);
    td_xt_pin(x, devices->count, &memory, &pins);
    const char *reason = run_levels(x, devices, decision, &whole, status);
    td_xt_unpin(&pins);
    return reason;
}
