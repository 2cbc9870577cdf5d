/* xt_stages.c - a call of cublasXt in as few stages as there is memory for (../lib/xt/tiles.h). A
 * stage behind the first that cannot be run by tiles is cublasXt's: it is a plain product, one half
 * of an update, or a smaller solve. */
#include "../lib/xt/tiles.h"
#include "wrap.h"
#include "xt.h"

/* ---- stages that cublasXt runs ---- */

#define DEFINE_GEMM(function, number)                                                              \
    static cublasStatus_t original_##function(const td_xt_call *x, const td_problem *p)            \
    {                                                                                              \
        __typeof__(&(function)) original = TD_ORIGINAL(x->library, function);                      \
        if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;                                       \
        return original(x->handle, (cublasOperation_t)p->op_a, (cublasOperation_t)p->op_b,         \
                        (size_t)p->m, (size_t)p->n, (size_t)p->k, (const number *)&p->alpha.value, \
                        p->a.data, (size_t)p->a.ld, p->b.data, (size_t)p->b.ld,                    \
                        (const number *)&p->beta.value, p->c.data, (size_t)p->c.ld);               \
    }
DEFINE_GEMM(cublasXtDgemm, double)
DEFINE_GEMM(cublasXtZgemm, cuDoubleComplex)

#define DEFINE_TRSM(function, number)                                                              \
    static cublasStatus_t original_##function(const td_xt_call *x, const td_problem *p)            \
    {                                                                                              \
        __typeof__(&(function)) original = TD_ORIGINAL(x->library, function);                      \
        if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;                                       \
        return original(x->handle, (cublasSideMode_t)p->side, (cublasFillMode_t)p->triangle,       \
                        (cublasOperation_t)p->op_a, (cublasDiagType_t)p->diagonal, (size_t)p->m,   \
                        (size_t)p->n, (const number *)&p->alpha.value, p->a.data, (size_t)p->a.ld, \
                        p->b.data, (size_t)p->b.ld);                                               \
    }
DEFINE_TRSM(cublasXtDtrsm, double)
DEFINE_TRSM(cublasXtZtrsm, cuDoubleComplex)

/* alpha op(A) op(B)' in a triangle, with a real beta. */
static cublasStatus_t original_cublasXtZherkx(const td_xt_call *x, const td_problem *p)
{
    __typeof__(&cublasXtZherkx) original = TD_ORIGINAL(x->library, cublasXtZherkx);
    if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;
    return original(x->handle, (cublasFillMode_t)p->triangle, (cublasOperation_t)p->op_a,
                    (size_t)p->n, (size_t)p->k, (const cuDoubleComplex *)&p->alpha.value, p->a.data,
                    (size_t)p->a.ld, p->b.data, (size_t)p->b.ld, &p->beta.value.binary64, p->c.data,
                    (size_t)p->c.ld);
}

static cublasStatus_t run_original(const td_xt_call *x, const td_problem *stage)
{
    const bool is_complex = stage->type == TD_COMPLEX_BINARY64;
    if (stage->region != TD_REGION_ALL) return original_cublasXtZherkx(x, stage);
    if (stage->kind == TD_PRODUCT)
        return (is_complex ? original_cublasXtZgemm : original_cublasXtDgemm)(x, stage);
    return (is_complex ? original_cublasXtZtrsm : original_cublasXtDtrsm)(x, stage);
}

static cublasStatus_t run_native(const td_xt_call *x, const td_problem *stage, const char *reason)
{
    td_call call;
    td_wrap_begin_native(x->entry, stage, reason, &call);
    const cublasStatus_t status = run_original(x, stage);
    td_wrap_end(&call, status == CUBLAS_STATUS_SUCCESS);
    return status;
}

/* ---- stages ---- */

/* True if the devices have room for some tile of every stage. */
static bool has_room(const td_xt_call *x, const td_xt_selection *devices, const td_problem *whole,
                     int level)
{
    for (int64_t i = 0; i < td_tile_stages(whole, level); i++) {
        const td_problem stage = td_tile_stage(whole, level, i);
        if (!td_xt_has_tiles(x, devices, &stage)) return false;
    }
    return true;
}

/* A reason if nothing has been written. */
static const char *run_stages(const td_xt_call *x, const td_xt_selection *devices,
                              const td_decision *decision, const td_problem *whole, int level,
                              cublasStatus_t *status)
{
    *status = CUBLAS_STATUS_SUCCESS;
    for (int64_t i = 0; i < td_tile_stages(whole, level) && !*status; i++) {
        const td_problem stage = td_tile_stage(whole, level, i);
        const char *reason = td_xt_run_tiles(x, devices, decision, &stage, status);
        if (reason && i == 0) return reason;
        if (reason) *status = run_native(x, &stage, reason);
    }
    return NULL;
}

const char *td_xt_run(const td_xt_call *x, const td_xt_selection *devices,
                      const td_decision *decision, cublasStatus_t *status)
{
    const char *reason = td_reason_memory;
    td_problem whole;
    if (!td_tile_whole(&x->p, &whole)) return td_reason_routine;
    for (int level = 0; level < td_tile_levels(&whole); level++) {
        if (!has_room(x, devices, &whole, level)) continue;
        reason = run_stages(x, devices, decision, &whole, level, status);
        if (!reason || reason == td_reason_operand) break;
    }
    return reason;
}
