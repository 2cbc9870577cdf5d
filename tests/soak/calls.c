#include "calls.h"

#include <cuComplex.h>

/* A form's wrapper; number: the type of its elements and scalars. Conversions of pointers through
 * the wrapper's own variables. */
#define OPERANDS(number)                                                                           \
    const number *const alpha = x->alpha, *const beta = x->beta;                                   \
    const number *const a = x->a, *const b = x->b;                                                 \
    number *const c = x->c;                                                                        \
    (void)alpha, (void)beta, (void)a, (void)b, (void)c

#define WRAP(function, number, ...)                                                                \
    static cublasStatus_t call_##function(const arguments *x)                                      \
    {                                                                                              \
        OPERANDS(number);                                                                          \
        return function(x->handle, __VA_ARGS__);                                                   \
    }

#define GEMM_STRIDED(function, number)                                                             \
    WRAP(function, number, x->op_a, x->op_b, x->m, x->n, x->k, alpha, a, x->ld, x->stride, b,      \
         x->ld, x->stride, beta, c, x->ld, x->stride, x->batch)
#define GEMM_BATCHED(function, number)                                                             \
    WRAP(function, number, x->op_a, x->op_b, x->m, x->n, x->k, alpha,                              \
         (const number *const *)x->a_array, x->ld, (const number *const *)x->b_array, x->ld, beta, \
         (number *const *)x->c_array, x->ld, x->batch)
/* Functions that are told the type of the elements. */
#define TYPED(name, function, number, type, ...)                                                   \
    static cublasStatus_t call_##name(const arguments *x)                                          \
    {                                                                                              \
        OPERANDS(number);                                                                          \
        return function(x->handle, x->op_a, x->op_b, x->m, x->n, x->k, alpha, __VA_ARGS__,         \
                        CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT);                                  \
    }
#define EX(name, number, type)                                                                     \
    TYPED(name, cublasGemmEx, number, type, a, type, x->ld, b, type, x->ld, beta, c, type, x->ld)
#define STRIDED_EX(name, number, type)                                                             \
    TYPED(name, cublasGemmStridedBatchedEx, number, type, a, type, x->ld, x->stride, b, type,      \
          x->ld, x->stride, beta, c, type, x->ld, x->stride, x->batch)
#define BATCHED_EX(name, number, type)                                                             \
    TYPED(name, cublasGemmBatchedEx, number, type, x->a_array, type, x->ld, x->b_array, type,      \
          x->ld, beta, x->c_array, type, x->ld, x->batch)

WRAP(cublasZgemm3m, cuDoubleComplex, x->op_a, x->op_b, x->m, x->n, x->k, alpha, a, x->ld, b, x->ld,
     beta, c, x->ld)
GEMM_STRIDED(cublasDgemmStridedBatched, double)
GEMM_STRIDED(cublasZgemmStridedBatched, cuDoubleComplex)
GEMM_BATCHED(cublasDgemmBatched, double)
GEMM_BATCHED(cublasZgemmBatched, cuDoubleComplex)
EX(DGemmEx, double, CUDA_R_64F)
EX(ZGemmEx, cuDoubleComplex, CUDA_C_64F)
STRIDED_EX(DGemmStridedBatchedEx, double, CUDA_R_64F)
STRIDED_EX(ZGemmStridedBatchedEx, cuDoubleComplex, CUDA_C_64F)
BATCHED_EX(DGemmBatchedEx, double, CUDA_R_64F)
BATCHED_EX(ZGemmBatchedEx, cuDoubleComplex, CUDA_C_64F)

#define FORM(name_, function, is_complex_, shape_)                                                 \
    {                                                                                              \
        .name = #name_, .form = call_##function, .is_complex = (is_complex_), .shape = (shape_)    \
    }
static const routine forms[] = {
    FORM(Zgemm3m, cublasZgemm3m, true, PLAIN),
    FORM(DgemmStridedBatched, cublasDgemmStridedBatched, false, BATCHED),
    FORM(ZgemmStridedBatched, cublasZgemmStridedBatched, true, BATCHED),
    FORM(DgemmBatched, cublasDgemmBatched, false, BATCHED),
    FORM(ZgemmBatched, cublasZgemmBatched, true, BATCHED),
    FORM(GemmEx, DGemmEx, false, PLAIN),
    FORM(GemmEx, ZGemmEx, true, PLAIN),
    FORM(GemmStridedBatchedEx, DGemmStridedBatchedEx, false, BATCHED),
    FORM(GemmStridedBatchedEx, ZGemmStridedBatchedEx, true, BATCHED),
    FORM(GemmBatchedEx, DGemmBatchedEx, false, BATCHED),
    FORM(GemmBatchedEx, ZGemmBatchedEx, true, BATCHED),
};
_Static_assert(ROUTINES == LEVEL3_ROUTINES + sizeof forms / sizeof *forms, "all of them");

static shape shape_of(const level3_routine *r)
{
    if (r->kind == GEMM) return PLAIN;
    return r->kind == TRSM ? SOLVED : level3_has_side(r) ? ONE_SIDE : RANK_K;
}

routine routine_at(int i)
{
    if (i >= LEVEL3_ROUTINES) return forms[i - LEVEL3_ROUTINES];
    const level3_routine *const r = &level3_routines[i];
    return (routine){.name = r->name,
                     .is_complex = r->is_complex,
                     .shape = shape_of(r),
                     .transpose = r->is_hermitian ? CUBLAS_OP_C : CUBLAS_OP_T,
                     .level3 = r};
}

cublasStatus_t call_routine(const routine *r, const arguments *x)
{
    if (!r->level3) return r->form(x);
    const level3_arguments with = {.side = x->side,
                                   .uplo = x->fill,
                                   .op = x->op_a,
                                   .op_b = x->op_b,
                                   .diag = x->diag,
                                   .m = x->m,
                                   .n = x->n,
                                   .k = x->k,
                                   .lda = x->ld,
                                   .ldb = x->ld,
                                   .ldc = x->ld,
                                   .alpha = x->alpha,
                                   .a = x->a,
                                   .b = x->b,
                                   .beta = x->beta,
                                   .c = x->c};
    return level3_call(r->level3, r->level3->plain, x->handle, &with);
}
