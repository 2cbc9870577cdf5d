/* xt_originals.c - stages of a call that cublasXt runs: a plain product, one half of an update, or
 * a smaller solve. */
#include "wrap.h"
#include "xt.h"

#define DEFINE_GEMM(function, number)                                                              \
    static cublasStatus_t original_##function(const td_xt_call *x, const td_product *p)            \
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
static cublasStatus_t original_cublasXtZherkx(const td_xt_call *x, const td_product *p)
{
    const cublasFillMode_t triangle =
        p->region == TD_REGION_LOWER ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    __typeof__(&cublasXtZherkx) original = TD_ORIGINAL(x->library, cublasXtZherkx);
    if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;
    return original(x->handle, triangle, (cublasOperation_t)p->op_a, (size_t)p->n, (size_t)p->k,
                    (const cuDoubleComplex *)&p->alpha.value, p->a.data, (size_t)p->a.ld, p->b.data,
                    (size_t)p->b.ld, &p->beta.value.binary64, p->c.data, (size_t)p->c.ld);
}

static cublasStatus_t run(const td_xt_call *x, const td_tile *stage)
{
    const bool is_complex = x->p.type == TD_COMPLEX_BINARY64;
    if (stage->is_solve)
        return (is_complex ? original_cublasXtZtrsm : original_cublasXtDtrsm)(x, &stage->solve);
    if (stage->product.region != TD_REGION_ALL) return original_cublasXtZherkx(x, &stage->product);
    return (is_complex ? original_cublasXtZgemm : original_cublasXtDgemm)(x, &stage->product);
}

cublasStatus_t td_xt_run_original(const td_xt_call *x, const td_tile *stage, const char *reason)
{
    td_call call;
    td_problem part;
    td_question q;
    td_xt_ask(x, stage, &part, &q);
    part.a.data = part.b.data = part.c.data = NULL; /* they need not be on a device */
    td_wrap_begin_part(&q, reason, &call);
    const cublasStatus_t status = run(x, stage);
    td_wrap_end(&call, status == CUBLAS_STATUS_SUCCESS);
    return status;
}
