/* solve.c - wrappers of solutions with a triangular matrix and a handle, which are blocks and
 * products (lib/engines/solve). */
#include "wrap.h"

#define DEFINE_TRSM(function, size, number, type_)                                                 \
    TD_EXPORT cublasStatus_t function(cublasHandle_t handle, cublasSideMode_t side,                \
                                      cublasFillMode_t uplo, cublasOperation_t trans,              \
                                      cublasDiagType_t diag, size m, size n, const number *alpha,  \
                                      const number *A, size lda, number *B, size ldb)              \
    {                                                                                              \
        td_problem p = {.kind = TD_TRIANGULAR_SOLVE,                                               \
                        .type = type_,                                                             \
                        .op_a = (td_op)trans,                                                      \
                        .side = (td_side)side,                                                     \
                        .triangle = (td_triangle)uplo,                                             \
                        .diagonal = (td_diagonal)diag,                                             \
                        .m = m,                                                                    \
                        .n = n,                                                                    \
                        .a = {.data = (void *)(uintptr_t)A, .ld = lda},                            \
                        .b = {.data = B, .ld = ldb},                                               \
                        .batch = 1};                                                               \
        TD_WRAP(function, handle, alpha, &td_no_scalar, p, side, uplo, trans, diag, m, n, alpha,   \
                A, lda, B, ldb);                                                                   \
    }

DEFINE_TRSM(cublasDtrsm_v2, int, double, TD_BINARY64)
DEFINE_TRSM(cublasDtrsm_v2_64, int64_t, double, TD_BINARY64)
DEFINE_TRSM(cublasZtrsm_v2, int, cuDoubleComplex, TD_COMPLEX_BINARY64)
DEFINE_TRSM(cublasZtrsm_v2_64, int64_t, cuDoubleComplex, TD_COMPLEX_BINARY64)
