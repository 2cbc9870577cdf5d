/* blas.c - the Fortran BLAS of level 3 on cuBLAS, as libblas.so.3: matrices are copied to the
 * device, a function of cublas_v2.h is called, and the result is copied back. So netlib's test
 * programs test whatever cuBLAS does. Arguments are cuBLAS's to check: there is no xerbla. */
#include "copies.h"

#include <cublas_v2.h>

static cublasHandle_t handle(void)
{
    static cublasHandle_t own;
    if (!own && cublasCreate(&own)) fail("cublasCreate", 1);
    return own;
}

/* ---- options ---- */

static cublasSideMode_t side(const char *letter)
{
    return is(letter, 'L') ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
}

static cublasDiagType_t diag(const char *letter)
{
    return is(letter, 'U') ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
}

/* ---- functions ---- */

/* A rows x columns matrix, or its transpose if the letter says so. */
#define PUT_OP(letter, x, rows, columns, ld, number)                                               \
    (is(letter, 'N') ? put(x, rows, columns, ld, sizeof(number))                                   \
                     : put(x, columns, rows, ld, sizeof(number)))

#define DEFINE_GEMM(name, function, number)                                                        \
    void name(const char *op_a, const char *op_b, const int *m, const int *n, const int *k,        \
              const number *alpha, const number *a, const int *lda, const number *b,               \
              const int *ldb, const number *beta, number *c, const int *ldc);                      \
    void name(const char *op_a, const char *op_b, const int *m, const int *n, const int *k,        \
              const number *alpha, const number *a, const int *lda, const number *b,               \
              const int *ldb, const number *beta, number *c, const int *ldc)                       \
    {                                                                                              \
        const matrix da = PUT_OP(op_a, a, *m, *k, *lda, number),                                   \
                     db = PUT_OP(op_b, b, *k, *n, *ldb, number),                                   \
                     dc = put(c, *m, *n, *ldc, sizeof *c);                                         \
        get(dc, #function,                                                                         \
            function(handle(), operation_of(op_a), operation_of(op_b), *m, *n, *k, alpha,          \
                     da.device, *lda, db.device, *ldb, beta, dc.device, *ldc));                    \
        drop(da);                                                                                  \
        drop(db);                                                                                  \
    }

#define DEFINE_SYMM(name, function, number)                                                        \
    void name(const char *a_side, const char *uplo, const int *m, const int *n,                    \
              const number *alpha, const number *a, const int *lda, const number *b,               \
              const int *ldb, const number *beta, number *c, const int *ldc);                      \
    void name(const char *a_side, const char *uplo, const int *m, const int *n,                    \
              const number *alpha, const number *a, const int *lda, const number *b,               \
              const int *ldb, const number *beta, number *c, const int *ldc)                       \
    {                                                                                              \
        const int order = is(a_side, 'L') ? *m : *n;                                               \
        const matrix da = put(a, order, order, *lda, sizeof *a),                                   \
                     db = put(b, *m, *n, *ldb, sizeof *b), dc = put(c, *m, *n, *ldc, sizeof *c);   \
        get(dc, #function,                                                                         \
            function(handle(), side(a_side), fill_of(uplo), *m, *n, alpha, da.device, *lda,        \
                     db.device, *ldb, beta, dc.device, *ldc));                                     \
        drop(da);                                                                                  \
        drop(db);                                                                                  \
    }

#define DEFINE_SYRK(name, function, number, scalar)                                                \
    void name(const char *uplo, const char *trans, const int *n, const int *k,                     \
              const scalar *alpha, const number *a, const int *lda, const scalar *beta, number *c, \
              const int *ldc);                                                                     \
    void name(const char *uplo, const char *trans, const int *n, const int *k,                     \
              const scalar *alpha, const number *a, const int *lda, const scalar *beta, number *c, \
              const int *ldc)                                                                      \
    {                                                                                              \
        const matrix da = PUT_OP(trans, a, *n, *k, *lda, number),                                  \
                     dc = put(c, *n, *n, *ldc, sizeof *c);                                         \
        get(dc, #function,                                                                         \
            function(handle(), fill_of(uplo), operation_of(trans), *n, *k, alpha, da.device, *lda, \
                     beta, dc.device, *ldc));                                                      \
        drop(da);                                                                                  \
    }

#define DEFINE_SYR2K(name, function, number, beta_number)                                          \
    void name(const char *uplo, const char *trans, const int *n, const int *k,                     \
              const number *alpha, const number *a, const int *lda, const number *b,               \
              const int *ldb, const beta_number *beta, number *c, const int *ldc);                 \
    void name(const char *uplo, const char *trans, const int *n, const int *k,                     \
              const number *alpha, const number *a, const int *lda, const number *b,               \
              const int *ldb, const beta_number *beta, number *c, const int *ldc)                  \
    {                                                                                              \
        const matrix da = PUT_OP(trans, a, *n, *k, *lda, number),                                  \
                     db = PUT_OP(trans, b, *n, *k, *ldb, number),                                  \
                     dc = put(c, *n, *n, *ldc, sizeof *c);                                         \
        get(dc, #function,                                                                         \
            function(handle(), fill_of(uplo), operation_of(trans), *n, *k, alpha, da.device, *lda, \
                     db.device, *ldb, beta, dc.device, *ldc));                                     \
        drop(da);                                                                                  \
        drop(db);                                                                                  \
    }

/* In place, as BLAS has it; cuBLAS's product takes the result's place besides. */
#define DEFINE_TRIANGULAR(name, function, number, ...)                                             \
    void name(const char *a_side, const char *uplo, const char *trans, const char *unit,           \
              const int *m, const int *n, const number *alpha, const number *a, const int *lda,    \
              number *b, const int *ldb);                                                          \
    void name(const char *a_side, const char *uplo, const char *trans, const char *unit,           \
              const int *m, const int *n, const number *alpha, const number *a, const int *lda,    \
              number *b, const int *ldb)                                                           \
    {                                                                                              \
        const int order = is(a_side, 'L') ? *m : *n;                                               \
        const matrix da = put(a, order, order, *lda, sizeof *a),                                   \
                     db = put(b, *m, *n, *ldb, sizeof *b);                                         \
        get(db, #function,                                                                         \
            function(handle(), side(a_side), fill_of(uplo), operation_of(trans), diag(unit), *m,   \
                     *n, alpha, da.device, *lda, db.device, *ldb __VA_ARGS__));                    \
        drop(da);                                                                                  \
    }
#define AND_IN_PLACE , db.device, *ldb

#define DEFINE_ALL(letter, LETTER, number)                                                         \
    DEFINE_GEMM(letter##gemm_, cublas##LETTER##gemm_v2, number)                                    \
    DEFINE_SYMM(letter##symm_, cublas##LETTER##symm_v2, number)                                    \
    DEFINE_SYRK(letter##syrk_, cublas##LETTER##syrk_v2, number, number)                            \
    DEFINE_SYR2K(letter##syr2k_, cublas##LETTER##syr2k_v2, number, number)                         \
    DEFINE_TRIANGULAR(letter##trmm_, cublas##LETTER##trmm_v2, number, AND_IN_PLACE)                \
    DEFINE_TRIANGULAR(letter##trsm_, cublas##LETTER##trsm_v2, number, )

DEFINE_ALL(d, D, double)
DEFINE_ALL(z, Z, cuDoubleComplex)
DEFINE_SYMM(zhemm_, cublasZhemm_v2, cuDoubleComplex)
DEFINE_SYRK(zherk_, cublasZherk_v2, cuDoubleComplex, double)
DEFINE_SYR2K(zher2k_, cublasZher2k_v2, cuDoubleComplex, double)
