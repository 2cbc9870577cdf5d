/* lu.c - wrappers of the batched LU routines: factors, solutions, inverses, and solutions with
 * triangles. Each one describes its arguments as a td_problem. */
#include "wrap.h"

#define HANDLE cublasHandle_t
#define WRAP   TD_WRAP
#include "by_handle.h"

/* The four types of a routine: its letter, its C type and its td_type. */
#define FOR_TYPES(X)                                                                               \
    X(S, float, TD_BINARY32)                                                                       \
    X(D, double, TD_BINARY64)                                                                      \
    X(C, cuComplex, TD_COMPLEX_BINARY32)                                                           \
    X(Z, cuDoubleComplex, TD_COMPLEX_BINARY64)

#define DEFINE_GETRF(letter, number, type_)                                                        \
    TD_EXPORT cublasStatus_t cublas##letter##getrfBatched(cublasHandle_t handle, int n,            \
                                                          number *const A[], int lda, int *P,      \
                                                          int *info, int batchSize)                \
    {                                                                                              \
        td_problem p = {.kind = TD_LU_FACTOR,                                                      \
                        .type = type_,                                                             \
                        .n = n,                                                                    \
                        .a = MATRICES(A, lda),                                                     \
                        .pivots = P,                                                               \
                        .info = info,                                                              \
                        .batch = batchSize};                                                       \
        TD_WRAP(cublas##letter##getrfBatched, handle, &td_no_scalar, &td_no_scalar, p, n, A, lda,  \
                P, info, batchSize);                                                               \
    }

#define DEFINE_GETRI(letter, number, type_)                                                        \
    TD_EXPORT cublasStatus_t cublas##letter##getriBatched(                                         \
        cublasHandle_t handle, int n, const number *const A[], int lda, const int *P,              \
        number *const C[], int ldc, int *info, int batchSize)                                      \
    {                                                                                              \
        td_problem p = {.kind = TD_LU_INVERT,                                                      \
                        .type = type_,                                                             \
                        .n = n,                                                                    \
                        .a = MATRICES(A, lda),                                                     \
                        .c = MATRICES(C, ldc),                                                     \
                        .pivots = (int *)(uintptr_t)P,                                             \
                        .info = info,                                                              \
                        .batch = batchSize};                                                       \
        TD_WRAP(cublas##letter##getriBatched, handle, &td_no_scalar, &td_no_scalar, p, n, A, lda,  \
                P, C, ldc, info, batchSize);                                                       \
    }

#define DEFINE_MATINV(letter, number, type_)                                                       \
    TD_EXPORT cublasStatus_t cublas##letter##matinvBatched(                                        \
        cublasHandle_t handle, int n, const number *const A[], int lda, number *const Ainv[],      \
        int lda_inv, int *info, int batchSize)                                                     \
    {                                                                                              \
        td_problem p = {.kind = TD_INVERT,                                                         \
                        .type = type_,                                                             \
                        .n = n,                                                                    \
                        .a = MATRICES(A, lda),                                                     \
                        .c = MATRICES(Ainv, lda_inv),                                              \
                        .info = info,                                                              \
                        .batch = batchSize};                                                       \
        TD_WRAP(cublas##letter##matinvBatched, handle, &td_no_scalar, &td_no_scalar, p, n, A, lda, \
                Ainv, lda_inv, info, batchSize);                                                   \
    }

/* info is on the host, and tells of invalid arguments, which the original function has seen
 * then. */
#define DEFINE_GETRS(letter, number, type_)                                                        \
    TD_EXPORT cublasStatus_t cublas##letter##getrsBatched(                                         \
        cublasHandle_t handle, cublasOperation_t trans, int n, int nrhs,                           \
        const number *const Aarray[], int lda, const int *devIpiv, number *const Barray[],         \
        int ldb, int *info, int batchSize)                                                         \
    {                                                                                              \
        td_problem p = {.kind = TD_LU_SOLVE,                                                       \
                        .type = type_,                                                             \
                        .op_a = (td_op)trans,                                                      \
                        .n = n,                                                                    \
                        .k = nrhs,                                                                 \
                        .a = MATRICES(Aarray, lda),                                                \
                        .b = MATRICES(Barray, ldb),                                                \
                        .pivots = (int *)(uintptr_t)devIpiv,                                       \
                        .info = info,                                                              \
                        .batch = batchSize};                                                       \
        if (info) *info = 0;                                                                       \
        TD_WRAP(cublas##letter##getrsBatched, handle, &td_no_scalar, &td_no_scalar, p, trans, n,   \
                nrhs, Aarray, lda, devIpiv, Barray, ldb, info, batchSize);                         \
    }

#define DEFINE_TRSM(function, size, number, type_)                                                 \
    TD_EXPORT cublasStatus_t function(                                                             \
        cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,                       \
        cublasOperation_t trans, cublasDiagType_t diag, size m, size n, const number *alpha,       \
        const number *const A[], size lda, number *const B[], size ldb, size batchCount)           \
    {                                                                                              \
        td_problem p = {.kind = TD_TRIANGULAR_SOLVE,                                               \
                        .type = type_,                                                             \
                        TRIANGULAR_FIELDS,                                                         \
                        .a = MATRICES(A, lda),                                                     \
                        .b = MATRICES(B, ldb),                                                     \
                        .batch = batchCount};                                                      \
        TD_WRAP(function, handle, alpha, &td_no_scalar, p, side, uplo, trans, diag, m, n, alpha,   \
                A, lda, B, ldb, batchCount);                                                       \
    }
#define DEFINE_TRSM_OF_BOTH_SIZES(letter, number, type_)                                           \
    DEFINE_TRSM(cublas##letter##trsmBatched, int, number, type_)                                   \
    DEFINE_TRSM(cublas##letter##trsmBatched_64, int64_t, number, type_)

FOR_TYPES(DEFINE_GETRF)
FOR_TYPES(DEFINE_GETRI)
FOR_TYPES(DEFINE_MATINV)
FOR_TYPES(DEFINE_GETRS)
FOR_TYPES(DEFINE_TRSM_OF_BOTH_SIZES)
