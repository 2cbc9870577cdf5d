/* level3.c - wrappers of level 3 routines with a handle that are products (lib/call/lower.c). Each
 * one describes its arguments as a td_problem; the forms with 32-bit and 64-bit sizes differ in a
 * type alone. */
#include "wrap.h"

#define DEFINE_DSYRK(function, size)                                                               \
    TD_EXPORT cublasStatus_t function(                                                             \
        cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, size n, size k,     \
        const double *alpha, const double *A, size lda, const double *beta, double *C, size ldc)   \
    {                                                                                              \
        td_problem p = {.kind = TD_RANK_K,                                                         \
                        .type = TD_BINARY64,                                                       \
                        .op_a = (td_op)trans,                                                      \
                        .triangle = (td_triangle)uplo,                                             \
                        .n = n,                                                                    \
                        .k = k,                                                                    \
                        .a = {.data = (void *)(uintptr_t)A, .ld = lda},                            \
                        .c = {.data = C, .ld = ldc},                                               \
                        .batch = 1};                                                               \
        TD_WRAP(function, handle, alpha, beta, p, uplo, trans, n, k, alpha, A, lda, beta, C, ldc); \
    }

DEFINE_DSYRK(cublasDsyrk_v2, int)
DEFINE_DSYRK(cublasDsyrk_v2_64, int64_t)
