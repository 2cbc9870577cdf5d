/* level3.c - wrappers of level 3 routines with a handle that are products (lib/call/lower.c), or
 * solutions of blocks and products (lib/engines/solve), for real and complex matrices. Each one
 * describes its arguments as a td_problem; the forms with 32-bit and 64-bit sizes differ in a type
 * alone. */
#include "wrap.h"

#define MATRIX(p, ld_)                                                                             \
    {                                                                                              \
        .data = (void *)(uintptr_t)(p), .ld = (ld_)                                                \
    }

/* C <- alpha A B + beta C or alpha B A + beta C, A symmetric or Hermitian. */
#define DEFINE_SYMM(function, size, number, type_, hermitian)                                      \
    TD_EXPORT cublasStatus_t function(cublasHandle_t handle, cublasSideMode_t side,                \
                                      cublasFillMode_t uplo, size m, size n, const number *alpha,  \
                                      const number *A, size lda, const number *B, size ldb,        \
                                      const number *beta, number *C, size ldc)                     \
    {                                                                                              \
        td_problem p = {.kind = TD_SYMMETRIC_PRODUCT,                                              \
                        .type = type_,                                                             \
                        .side = (td_side)side,                                                     \
                        .triangle = (td_triangle)uplo,                                             \
                        .is_hermitian = hermitian,                                                 \
                        .m = m,                                                                    \
                        .n = n,                                                                    \
                        .a = MATRIX(A, lda),                                                       \
                        .b = MATRIX(B, ldb),                                                       \
                        .c = MATRIX(C, ldc),                                                       \
                        .batch = 1};                                                               \
        TD_WRAP(function, handle, alpha, beta, p, side, uplo, m, n, alpha, A, lda, B, ldb, beta,   \
                C, ldc);                                                                           \
    }

/* C <- alpha op(A) op(A)' + beta C, with scalars of the matrices' type, or real ones. */
#define DEFINE_SYRK(function, size, number, scalar, type_, hermitian)                              \
    TD_EXPORT cublasStatus_t function(                                                             \
        cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, size n, size k,     \
        const scalar *alpha, const number *A, size lda, const scalar *beta, number *C, size ldc)   \
    {                                                                                              \
        td_problem p = {.kind = TD_RANK_K,                                                         \
                        .type = type_,                                                             \
                        .op_a = (td_op)trans,                                                      \
                        .triangle = (td_triangle)uplo,                                             \
                        .is_hermitian = hermitian,                                                 \
                        .n = n,                                                                    \
                        .k = k,                                                                    \
                        .a = MATRIX(A, lda),                                                       \
                        .c = MATRIX(C, ldc),                                                       \
                        .batch = 1};                                                               \
        TD_WRAP(function, handle, alpha, beta, p, uplo, trans, n, k, alpha, A, lda, beta, C, ldc); \
    }

/* Updates with two matrices; beta may be real. */
#define DEFINE_SYR2K(function, size, kind_, number, beta_number, type_, hermitian)                 \
    TD_EXPORT cublasStatus_t function(                                                             \
        cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, size n, size k,     \
        const number *alpha, const number *A, size lda, const number *B, size ldb,                 \
        const beta_number *beta, number *C, size ldc)                                              \
    {                                                                                              \
        td_problem p = {.kind = kind_,                                                             \
                        .type = type_,                                                             \
                        .op_a = (td_op)trans,                                                      \
                        .triangle = (td_triangle)uplo,                                             \
                        .is_hermitian = hermitian,                                                 \
                        .n = n,                                                                    \
                        .k = k,                                                                    \
                        .a = MATRIX(A, lda),                                                       \
                        .b = MATRIX(B, ldb),                                                       \
                        .c = MATRIX(C, ldc),                                                       \
                        .batch = 1};                                                               \
        TD_WRAP(function, handle, alpha, beta, p, uplo, trans, n, k, alpha, A, lda, B, ldb, beta,  \
                C, ldc);                                                                           \
    }

/* C <- alpha op(A) B or alpha B op(A), A triangular; B may be C. */
#define DEFINE_TRMM(function, size, number, type_)                                                 \
    TD_EXPORT cublasStatus_t function(                                                             \
        cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,                       \
        cublasOperation_t trans, cublasDiagType_t diag, size m, size n, const number *alpha,       \
        const number *A, size lda, const number *B, size ldb, number *C, size ldc)                 \
    {                                                                                              \
        td_problem p = {.kind = TD_TRIANGULAR_PRODUCT,                                             \
                        .type = type_,                                                             \
                        .op_a = (td_op)trans,                                                      \
                        .side = (td_side)side,                                                     \
                        .triangle = (td_triangle)uplo,                                             \
                        .diagonal = (td_diagonal)diag,                                             \
                        .m = m,                                                                    \
                        .n = n,                                                                    \
                        .a = MATRIX(A, lda),                                                       \
                        .b = MATRIX(B, ldb),                                                       \
                        .c = MATRIX(C, ldc),                                                       \
                        .batch = 1};                                                               \
        TD_WRAP(function, handle, alpha, &td_no_scalar, p, side, uplo, trans, diag, m, n, alpha,   \
                A, lda, B, ldb, C, ldc);                                                           \
    }

/* B <- alpha op(A)^-1 B or alpha B op(A)^-1, A triangular. */
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
                        .a = MATRIX(A, lda),                                                       \
                        .b = MATRIX(B, ldb),                                                       \
                        .batch = 1};                                                               \
        TD_WRAP(function, handle, alpha, &td_no_scalar, p, side, uplo, trans, diag, m, n, alpha,   \
                A, lda, B, ldb);                                                                   \
    }

#define OF_BOTH_SIZES(DEFINE, function, ...)                                                       \
    DEFINE(function, int, __VA_ARGS__)                                                             \
    DEFINE(function##_64, int64_t, __VA_ARGS__)

OF_BOTH_SIZES(DEFINE_SYMM, cublasDsymm_v2, double, TD_BINARY64, false)
OF_BOTH_SIZES(DEFINE_SYMM, cublasZsymm_v2, cuDoubleComplex, TD_COMPLEX_BINARY64, false)
OF_BOTH_SIZES(DEFINE_SYMM, cublasZhemm_v2, cuDoubleComplex, TD_COMPLEX_BINARY64, true)

OF_BOTH_SIZES(DEFINE_SYRK, cublasDsyrk_v2, double, double, TD_BINARY64, false)
OF_BOTH_SIZES(DEFINE_SYRK, cublasZsyrk_v2, cuDoubleComplex, cuDoubleComplex, TD_COMPLEX_BINARY64,
              false)
OF_BOTH_SIZES(DEFINE_SYRK, cublasZherk_v2, cuDoubleComplex, double, TD_COMPLEX_BINARY64, true)

OF_BOTH_SIZES(DEFINE_SYR2K, cublasDsyrkx, TD_RANK_KX, double, double, TD_BINARY64, false)
OF_BOTH_SIZES(DEFINE_SYR2K, cublasZsyrkx, TD_RANK_KX, cuDoubleComplex, cuDoubleComplex,
              TD_COMPLEX_BINARY64, false)
OF_BOTH_SIZES(DEFINE_SYR2K, cublasZherkx, TD_RANK_KX, cuDoubleComplex, double, TD_COMPLEX_BINARY64,
              true)

OF_BOTH_SIZES(DEFINE_SYR2K, cublasDsyr2k_v2, TD_RANK_2K, double, double, TD_BINARY64, false)
OF_BOTH_SIZES(DEFINE_SYR2K, cublasZsyr2k_v2, TD_RANK_2K, cuDoubleComplex, cuDoubleComplex,
              TD_COMPLEX_BINARY64, false)
OF_BOTH_SIZES(DEFINE_SYR2K, cublasZher2k_v2, TD_RANK_2K, cuDoubleComplex, double,
              TD_COMPLEX_BINARY64, true)

OF_BOTH_SIZES(DEFINE_TRMM, cublasDtrmm_v2, double, TD_BINARY64)
OF_BOTH_SIZES(DEFINE_TRMM, cublasZtrmm_v2, cuDoubleComplex, TD_COMPLEX_BINARY64)

OF_BOTH_SIZES(DEFINE_TRSM, cublasDtrsm_v2, double, TD_BINARY64)
OF_BOTH_SIZES(DEFINE_TRSM, cublasZtrsm_v2, cuDoubleComplex, TD_COMPLEX_BINARY64)
