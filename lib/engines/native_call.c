#include "native_call.h"

#include "../routine/routines.h"

static cublasOperation_t op_of(td_op op)
{
    return op == TD_OP_N ? CUBLAS_OP_N : op == TD_OP_T ? CUBLAS_OP_T : CUBLAS_OP_C;
}

static const void *address_of(const td_scalar *s) { return s->device ? s->device : &s->value; }

/* The library's function, called with the handle and these arguments. */
#define CALL(function, ...) TD_ORIGINAL(library, function)(handle, __VA_ARGS__)

static cublasStatus_t multiply(td_library *library, cublasHandle_t handle, const td_problem *p)
{
    const cudaDataType_t type = p->type == TD_COMPLEX_BINARY64 ? CUDA_C_64F : CUDA_R_64F;
    const cublasOperation_t a = op_of(p->op_a), b = op_of(p->op_b);
    const void *alpha = address_of(&p->alpha), *beta = address_of(&p->beta);
    const int m = (int)p->m, n = (int)p->n, k = (int)p->k, batch = (int)p->batch,
              lda = (int)p->a.ld, ldb = (int)p->b.ld, ldc = (int)p->c.ld;
    if (p->c.array)
        return CALL(cublasGemmBatchedEx, a, b, m, n, k, alpha, (const void *const *)p->a.array,
                    type, lda, (const void *const *)p->b.array, type, ldb, beta,
                    (void *const *)p->c.array, type, ldc, batch, CUBLAS_COMPUTE_64F,
                    CUBLAS_GEMM_DEFAULT);
    return CALL(cublasGemmStridedBatchedEx, a, b, m, n, k, alpha, p->a.data, type, lda, p->a.stride,
                p->b.data, type, ldb, p->b.stride, beta, p->c.data, type, ldc, p->c.stride, batch,
                CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT);
}

static cublasSideMode_t side_of(const td_problem *p)
{
    return p->side == TD_RIGHT ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
}

static cublasFillMode_t triangle_of(const td_problem *p)
{
    return p->triangle == TD_UPPER ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
}

static cublasDiagType_t diagonal_of(const td_problem *p)
{
    return p->diagonal == TD_UNIT_DIAGONAL ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
}

/* ---- level 3 ---- */

/* What a function with parameters of that shape is called with, but for the handle. */
#define GEMM_CALL  op_of(p->op_a), op_of(p->op_b), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc
#define SYMM_CALL  side_of(p), triangle_of(p), m, n, alpha, a, lda, b, ldb, beta, c, ldc
#define SYRK_CALL  triangle_of(p), op_of(p->op_a), n, k, alpha, a, lda, beta, c, ldc
#define SYR2K_CALL triangle_of(p), op_of(p->op_a), n, k, alpha, a, lda, b, ldb, beta, c, ldc
#define TRSM_CALL                                                                                  \
    side_of(p), triangle_of(p), op_of(p->op_a), diagonal_of(p), m, n, alpha, a, lda, b, ldb
#define TRMM_CALL TRSM_CALL, c, ldc

/* The types of elements, alpha and beta. */
#define REAL         double, double, double
#define COMPLEX      cuDoubleComplex, cuDoubleComplex, cuDoubleComplex
#define HERMITIAN    COMPLEX
#define HERMITIAN_K  cuDoubleComplex, double, double
#define HERMITIAN_2K cuDoubleComplex, cuDoubleComplex, double

/* The form of the function that takes a handle, and sizes of 32 bits. */
#define FORM_blas(name)  cublas##name##_v2
#define FORM_sized(name) cublas##name

#define DEFINE_CALL(name, ...) DEFINE_CALL_OF_TYPES(name, __VA_ARGS__)
#define DEFINE_CALL_OF_TYPES(name, function, shape, number, alpha_type, beta_type)                 \
    static cublasStatus_t name(td_library *library, cublasHandle_t handle, const td_problem *p)    \
    {                                                                                              \
        const alpha_type *alpha = address_of(&p->alpha);                                           \
        const beta_type *beta = address_of(&p->beta);                                              \
        const int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)p->a.ld,                 \
                  ldb = (int)p->b.ld, ldc = (int)p->c.ld;                                          \
        number *a = p->a.data, *b = p->b.data, *c = p->c.data;                                     \
        (void)m, (void)k, (void)ldb, (void)ldc, (void)b, (void)c, (void)beta;                      \
        return CALL(function, shape##_CALL);                                                       \
    }
#define LEVEL3(name, forms, shape, kind, types, family)                                            \
    DEFINE_CALL(call_##name, FORM_##forms(name), shape, types)
#include "../routine/routines.def"

typedef cublasStatus_t call(td_library *library, cublasHandle_t handle, const td_problem *p);
#define LEVEL3(name, ...) [TD_ROUTINE_##name] = call_##name,
static call *const calls[TD_ROUTINE_COUNT] = {
#include "../routine/routines.def"
};

static call *call_of(const td_problem *p)
{
    for (int i = 0; i < TD_ROUTINE_COUNT; i++)
        if (calls[i] && td_routines[i].kind == p->kind && td_routines[i].type == p->type &&
            td_routines[i].is_hermitian == (p->is_hermitian && p->type == TD_COMPLEX_BINARY64))
            return calls[i];
    return NULL;
}

static cublasStatus_t run(td_library *library, cublasHandle_t handle, const td_problem *p)
{
    if (p->kind == TD_PRODUCT) return multiply(library, handle, p);
    call *const known = call_of(p);
    return known ? known(library, handle, p) : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t td_native_call(td_library *library, cublasHandle_t handle, const td_problem *p)
{
    if (!p->alpha.device) return run(library, handle, p);
    cublasStatus_t status = CALL(cublasSetPointerMode_v2, CUBLAS_POINTER_MODE_DEVICE);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    status = run(library, handle, p);
    const cublasStatus_t back = CALL(cublasSetPointerMode_v2, CUBLAS_POINTER_MODE_HOST);
    return status == CUBLAS_STATUS_SUCCESS ? back : status;
}
