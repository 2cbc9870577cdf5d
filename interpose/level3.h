/* level3.h - definitions of the wrappers of level 3 routines, of cuBLAS and of cublasXt, which
 * differ in what the including file defines before:
 *   HANDLE   the type of the interface's handles
 *   WRAP     the rest of a wrapper, with the arguments of TD_WRAP (wrap.h) */
#ifndef TD_LEVEL3_H
#define TD_LEVEL3_H

#define MATRIX(p, ld_)                                                                             \
    {                                                                                              \
        .data = (void *)(uintptr_t)(p), .ld = (int64_t)(ld_)                                       \
    }

/* C <- alpha op(A) op(B) + beta C. */
#define DEFINE_GEMM(function, size, number, type_)                                                 \
    TD_EXPORT cublasStatus_t function(                                                             \
        HANDLE handle, cublasOperation_t transa, cublasOperation_t transb, size m, size n, size k, \
        const number *alpha, const number *A, size lda, const number *B, size ldb,                 \
        const number *beta, number *C, size ldc)                                                   \
    {                                                                                              \
        td_problem p = {.kind = TD_PRODUCT,                                                        \
                        .type = type_,                                                             \
                        .op_a = (td_op)transa,                                                     \
                        .op_b = (td_op)transb,                                                     \
                        .m = (int64_t)m,                                                           \
                        .n = (int64_t)n,                                                           \
                        .k = (int64_t)k,                                                           \
                        .a = MATRIX(A, lda),                                                       \
                        .b = MATRIX(B, ldb),                                                       \
                        .c = MATRIX(C, ldc),                                                       \
                        .batch = 1};                                                               \
        WRAP(function, handle, alpha, beta, p, transa, transb, m, n, k, alpha, A, lda, B, ldb,     \
             beta, C, ldc);                                                                        \
    }

/* C <- alpha A B + beta C or alpha B A + beta C, A symmetric or Hermitian. */
#define DEFINE_SYMM(function, size, number, type_, hermitian)                                      \
    TD_EXPORT cublasStatus_t function(HANDLE handle, cublasSideMode_t side, cublasFillMode_t uplo, \
                                      size m, size n, const number *alpha, const number *A,        \
                                      size lda, const number *B, size ldb, const number *beta,     \
                                      number *C, size ldc)                                         \
    {                                                                                              \
        td_problem p = {.kind = TD_SYMMETRIC_PRODUCT,                                              \
                        .type = type_,                                                             \
                        .side = (td_side)side,                                                     \
                        .triangle = (td_triangle)uplo,                                             \
                        .is_hermitian = hermitian,                                                 \
                        .m = (int64_t)m,                                                           \
                        .n = (int64_t)n,                                                           \
                        .a = MATRIX(A, lda),                                                       \
                        .b = MATRIX(B, ldb),                                                       \
                        .c = MATRIX(C, ldc),                                                       \
                        .batch = 1};                                                               \
        WRAP(function, handle, alpha, beta, p, side, uplo, m, n, alpha, A, lda, B, ldb, beta, C,   \
             ldc);                                                                                 \
    }

/* C <- alpha op(A) op(A)' + beta C, with scalars of the matrices' type, or real ones. */
#define DEFINE_SYRK(function, size, number, scalar, type_, hermitian)                              \
    TD_EXPORT cublasStatus_t function(                                                             \
        HANDLE handle, cublasFillMode_t uplo, cublasOperation_t trans, size n, size k,             \
        const scalar *alpha, const number *A, size lda, const scalar *beta, number *C, size ldc)   \
    {                                                                                              \
        td_problem p = {.kind = TD_RANK_K,                                                         \
                        .type = type_,                                                             \
                        .op_a = (td_op)trans,                                                      \
                        .triangle = (td_triangle)uplo,                                             \
                        .is_hermitian = hermitian,                                                 \
                        .n = (int64_t)n,                                                           \
                        .k = (int64_t)k,                                                           \
                        .a = MATRIX(A, lda),                                                       \
                        .c = MATRIX(C, ldc),                                                       \
                        .batch = 1};                                                               \
        WRAP(function, handle, alpha, beta, p, uplo, trans, n, k, alpha, A, lda, beta, C, ldc);    \
    }

/* Updates with two matrices; beta may be real. */
#define DEFINE_SYR2K(function, size, kind_, number, beta_number, type_, hermitian)                 \
    TD_EXPORT cublasStatus_t function(                                                             \
        HANDLE handle, cublasFillMode_t uplo, cublasOperation_t trans, size n, size k,             \
        const number *alpha, const number *A, size lda, const number *B, size ldb,                 \
        const beta_number *beta, number *C, size ldc)                                              \
    {                                                                                              \
        td_problem p = {.kind = kind_,                                                             \
                        .type = type_,                                                             \
                        .op_a = (td_op)trans,                                                      \
                        .triangle = (td_triangle)uplo,                                             \
                        .is_hermitian = hermitian,                                                 \
                        .n = (int64_t)n,                                                           \
                        .k = (int64_t)k,                                                           \
                        .a = MATRIX(A, lda),                                                       \
                        .b = MATRIX(B, ldb),                                                       \
                        .c = MATRIX(C, ldc),                                                       \
                        .batch = 1};                                                               \
        WRAP(function, handle, alpha, beta, p, uplo, trans, n, k, alpha, A, lda, B, ldb, beta, C,  \
             ldc);                                                                                 \
    }

/* C <- alpha op(A) B or alpha B op(A), A triangular; B may be C. */
#define DEFINE_TRMM(function, size, number, type_)                                                 \
    TD_EXPORT cublasStatus_t function(HANDLE handle, cublasSideMode_t side, cublasFillMode_t uplo, \
                                      cublasOperation_t trans, cublasDiagType_t diag, size m,      \
                                      size n, const number *alpha, const number *A, size lda,      \
                                      const number *B, size ldb, number *C, size ldc)              \
    {                                                                                              \
        td_problem p = {.kind = TD_TRIANGULAR_PRODUCT,                                             \
                        .type = type_,                                                             \
                        .op_a = (td_op)trans,                                                      \
                        .side = (td_side)side,                                                     \
                        .triangle = (td_triangle)uplo,                                             \
                        .diagonal = (td_diagonal)diag,                                             \
                        .m = (int64_t)m,                                                           \
                        .n = (int64_t)n,                                                           \
                        .a = MATRIX(A, lda),                                                       \
                        .b = MATRIX(B, ldb),                                                       \
                        .c = MATRIX(C, ldc),                                                       \
                        .batch = 1};                                                               \
        WRAP(function, handle, alpha, &td_no_scalar, p, side, uplo, trans, diag, m, n, alpha, A,   \
             lda, B, ldb, C, ldc);                                                                 \
    }

/* B <- alpha op(A)^-1 B or alpha B op(A)^-1, A triangular. */
#define DEFINE_TRSM(function, size, number, type_)                                                 \
    TD_EXPORT cublasStatus_t function(HANDLE handle, cublasSideMode_t side, cublasFillMode_t uplo, \
                                      cublasOperation_t trans, cublasDiagType_t diag, size m,      \
                                      size n, const number *alpha, const number *A, size lda,      \
                                      number *B, size ldb)                                         \
    {                                                                                              \
        td_problem p = {.kind = TD_TRIANGULAR_SOLVE,                                               \
                        .type = type_,                                                             \
                        .op_a = (td_op)trans,                                                      \
                        .side = (td_side)side,                                                     \
                        .triangle = (td_triangle)uplo,                                             \
                        .diagonal = (td_diagonal)diag,                                             \
                        .m = (int64_t)m,                                                           \
                        .n = (int64_t)n,                                                           \
                        .a = MATRIX(A, lda),                                                       \
                        .b = MATRIX(B, ldb),                                                       \
                        .batch = 1};                                                               \
        WRAP(function, handle, alpha, &td_no_scalar, p, side, uplo, trans, diag, m, n, alpha, A,   \
             lda, B, ldb);                                                                         \
    }

#endif
