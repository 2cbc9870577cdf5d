/* batched_lu.c - wrappers of the batched LU routines: factors, solutions, inverses, and solutions
 * with triangles. Each one describes its arguments as a td_problem. */
#include "wrap.h"

#define HANDLE cublasHandle_t
#define WRAP   TD_WRAP
#include "by_handle.h"

#define DEFINE_GETRF(function, number, alpha_type, beta_type, type_, hermitian)                    \
    TD_EXPORT cublasStatus_t function(cublasHandle_t handle, int n, number *const A[], int lda,    \
                                      int *P, int *info, int batchSize)                            \
    {                                                                                              \
        td_problem p = {.kind = TD_LU_FACTOR,                                                      \
                        .type = type_,                                                             \
                        .n = n,                                                                    \
                        .a = MATRICES(A, lda),                                                     \
                        .pivots = P,                                                               \
                        .info = info,                                                              \
                        .batch = batchSize};                                                       \
        TD_WRAP(function, handle, &td_no_scalar, &td_no_scalar, p, n, A, lda, P, info, batchSize); \
    }

#define DEFINE_GETRI(function, number, alpha_type, beta_type, type_, hermitian)                    \
    TD_EXPORT cublasStatus_t function(cublasHandle_t handle, int n, const number *const A[],       \
                                      int lda, const int *P, number *const C[], int ldc,           \
                                      int *info, int batchSize)                                    \
    {                                                                                              \
        td_problem p = {.kind = TD_LU_INVERT,                                                      \
                        .type = type_,                                                             \
                        .n = n,                                                                    \
                        .a = MATRICES(A, lda),                                                     \
                        .c = MATRICES(C, ldc),                                                     \
                        .pivots = (int *)(uintptr_t)P,                                             \
                        .info = info,                                                              \
                        .batch = batchSize};                                                       \
        TD_WRAP(function, handle, &td_no_scalar, &td_no_scalar, p, n, A, lda, P, C, ldc, info,     \
                batchSize);                                                                        \
    }

#define DEFINE_MATINV(function, number, alpha_type, beta_type, type_, hermitian)                   \
    TD_EXPORT cublasStatus_t function(cublasHandle_t handle, int n, const number *const A[],       \
                                      int lda, number *const Ainv[], int lda_inv, int *info,       \
                                      int batchSize)                                               \
    {                                                                                              \
        td_problem p = {.kind = TD_INVERT,                                                         \
                        .type = type_,                                                             \
                        .n = n,                                                                    \
                        .a = MATRICES(A, lda),                                                     \
                        .c = MATRICES(Ainv, lda_inv),                                              \
                        .info = info,                                                              \
                        .batch = batchSize};                                                       \
        TD_WRAP(function, handle, &td_no_scalar, &td_no_scalar, p, n, A, lda, Ainv, lda_inv, info, \
                batchSize);                                                                        \
    }

/* info is on the host. */
#define DEFINE_GETRS(function, number, alpha_type, beta_type, type_, hermitian)                    \
    TD_EXPORT cublasStatus_t function(cublasHandle_t handle, cublasOperation_t trans, int n,       \
                                      int nrhs, const number *const Aarray[], int lda,             \
                                      const int *devIpiv, number *const Barray[], int ldb,         \
                                      int *info, int batchSize)                                    \
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
        TD_WRAP(function, handle, &td_no_scalar, &td_no_scalar, p, trans, n, nrhs, Aarray, lda,    \
                devIpiv, Barray, ldb, info, batchSize);                                            \
    }

#define DEFINE_TRSM_BATCHED(function, size, number, alpha_type, beta_type, type_, hermitian)       \
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

#define LU_OF_TYPES(shape, ...)        DEFINE_##shape(__VA_ARGS__)
#define LU_alone(shape, function, ...) LU_OF_TYPES(shape, function, __VA_ARGS__)
#define LU_sized(shape, function, ...)                                                             \
    LU_OF_TYPES(shape, function, int, __VA_ARGS__)                                                 \
    LU_OF_TYPES(shape, function##_64, int64_t, __VA_ARGS__)
#define BATCHED_LU(name, forms, shape, kind, types, family) LU_##forms(shape, cublas##name, types)
#include "../lib/routine/routines.def"
