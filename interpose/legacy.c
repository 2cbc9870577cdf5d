/* legacy.c - wrappers of cublas.h, the interface without handles. Its stream cannot be asked for,
 * so calls that set it are watched. */
#include "wrap.h"

#include <stdatomic.h>

/* As cublas.h, which cannot be included together with cublas_api.h, declares them all. */
TD_EXPORT cublasStatus_t cublasSetKernelStream(cudaStream_t stream);

static atomic_int setters;                   /* threads that have set a stream */
static _Thread_local bool is_setter;         /* this is one of them */
static _Thread_local cudaStream_t my_stream; /* what this thread set last */

cublasStatus_t cublasSetKernelStream(cudaStream_t stream)
{
    td_library *library = TD_LIBRARY_OF(NULL, cublasSetKernelStream);
    __typeof__(&cublasSetKernelStream) original = TD_ORIGINAL(library, cublasSetKernelStream);
    if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;
    cublasStatus_t status = original(stream);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (!is_setter) atomic_fetch_add(&setters, 1);
    is_setter = true;
    my_stream = stream;
    return status;
}

/* The stream is certain while no other thread has set one. */
static bool stream_is_known(void) { return atomic_load(&setters) == (is_setter ? 1 : 0); }

static td_op operation(char letter)
{
    switch (letter) {
    case 'n':
    case 'N':
        return TD_OP_N;
    case 't':
    case 'T':
        return TD_OP_T;
    case 'c':
    case 'C':
        return TD_OP_C;
    default:
        return (td_op)-1;
    }
}

static td_triangle triangle(char letter)
{
    switch (letter) {
    case 'l':
    case 'L':
        return TD_LOWER;
    case 'u':
    case 'U':
        return TD_UPPER;
    default:
        return (td_triangle)-1;
    }
}

static td_side side_of(char letter)
{
    switch (letter) {
    case 'l':
    case 'L':
        return TD_LEFT;
    case 'r':
    case 'R':
        return TD_RIGHT;
    default:
        return (td_side)-1;
    }
}

static td_diagonal diagonal(char letter)
{
    switch (letter) {
    case 'n':
    case 'N':
        return TD_NON_UNIT_DIAGONAL;
    case 'u':
    case 'U':
        return TD_UNIT_DIAGONAL;
    default:
        return (td_diagonal)-1;
    }
}

static td_matrix matrix(const void *data, int ld)
{
    return (td_matrix){.data = (void *)(uintptr_t)data, .ld = ld};
}

/* The rest of a wrapper, once *p describes the call but for what all have. */
#define WRAP(function, alpha, beta, ...)                                                           \
    td_call call;                                                                                  \
    td_wrap_set_scalars(&p, alpha, beta, false);                                                   \
    p.batch = 1;                                                                                   \
    p.stream = my_stream;                                                                          \
    p.caller = __builtin_return_address(0);                                                        \
    td_library *library = TD_LIBRARY_OF(NULL, function);                                           \
    if (!td_wrap_begin_legacy(TD_ENTRY_##function, stream_is_known(), &p, &call)) return;          \
    __typeof__(&(function)) original = TD_ORIGINAL(library, function);                             \
    if (original) original(__VA_ARGS__);                                                           \
    td_wrap_end(&call, original != NULL)

#define DEFINE_GEMM(function, number, type_)                                                       \
    TD_EXPORT void function(char transa, char transb, int m, int n, int k, number alpha,           \
                            const number *A, int lda, const number *B, int ldb, number beta,       \
                            number *C, int ldc);                                                   \
    void function(char transa, char transb, int m, int n, int k, number alpha, const number *A,    \
                  int lda, const number *B, int ldb, number beta, number *C, int ldc)              \
    {                                                                                              \
        td_problem p = {.kind = TD_PRODUCT,                                                        \
                        .type = type_,                                                             \
                        .op_a = operation(transa),                                                 \
                        .op_b = operation(transb),                                                 \
                        .m = m,                                                                    \
                        .n = n,                                                                    \
                        .k = k,                                                                    \
                        .a = matrix(A, lda),                                                       \
                        .b = matrix(B, ldb),                                                       \
                        .c = matrix(C, ldc)};                                                      \
        WRAP(function, &alpha, &beta, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C,     \
             ldc);                                                                                 \
    }

#define DEFINE_SYMM(function, number, type_, hermitian)                                            \
    TD_EXPORT void function(char side, char uplo, int m, int n, number alpha, const number *A,     \
                            int lda, const number *B, int ldb, number beta, number *C, int ldc);   \
    void function(char side, char uplo, int m, int n, number alpha, const number *A, int lda,      \
                  const number *B, int ldb, number beta, number *C, int ldc)                       \
    {                                                                                              \
        td_problem p = {.kind = TD_SYMMETRIC_PRODUCT,                                              \
                        .type = type_,                                                             \
                        .side = side_of(side),                                                     \
                        .triangle = triangle(uplo),                                                \
                        .is_hermitian = hermitian,                                                 \
                        .m = m,                                                                    \
                        .n = n,                                                                    \
                        .a = matrix(A, lda),                                                       \
                        .b = matrix(B, ldb),                                                       \
                        .c = matrix(C, ldc)};                                                      \
        WRAP(function, &alpha, &beta, side, uplo, m, n, alpha, A, lda, B, ldb, beta, C, ldc);      \
    }

#define DEFINE_SYRK(function, number, scalar, type_, hermitian)                                    \
    TD_EXPORT void function(char uplo, char trans, int n, int k, scalar alpha, const number *A,    \
                            int lda, scalar beta, number *C, int ldc);                             \
    void function(char uplo, char trans, int n, int k, scalar alpha, const number *A, int lda,     \
                  scalar beta, number *C, int ldc)                                                 \
    {                                                                                              \
        td_problem p = {.kind = TD_RANK_K,                                                         \
                        .type = type_,                                                             \
                        .op_a = operation(trans),                                                  \
                        .triangle = triangle(uplo),                                                \
                        .is_hermitian = hermitian,                                                 \
                        .n = n,                                                                    \
                        .k = k,                                                                    \
                        .a = matrix(A, lda),                                                       \
                        .c = matrix(C, ldc)};                                                      \
        WRAP(function, &alpha, &beta, uplo, trans, n, k, alpha, A, lda, beta, C, ldc);             \
    }

#define DEFINE_SYR2K(function, number, beta_number, type_, hermitian)                              \
    TD_EXPORT void function(char uplo, char trans, int n, int k, number alpha, const number *A,    \
                            int lda, const number *B, int ldb, beta_number beta, number *C,        \
                            int ldc);                                                              \
    void function(char uplo, char trans, int n, int k, number alpha, const number *A, int lda,     \
                  const number *B, int ldb, beta_number beta, number *C, int ldc)                  \
    {                                                                                              \
        td_problem p = {.kind = TD_RANK_2K,                                                        \
                        .type = type_,                                                             \
                        .op_a = operation(trans),                                                  \
                        .triangle = triangle(uplo),                                                \
                        .is_hermitian = hermitian,                                                 \
                        .n = n,                                                                    \
                        .k = k,                                                                    \
                        .a = matrix(A, lda),                                                       \
                        .b = matrix(B, ldb),                                                       \
                        .c = matrix(C, ldc)};                                                      \
        WRAP(function, &alpha, &beta, uplo, trans, n, k, alpha, A, lda, B, ldb, beta, C, ldc);     \
    }

/* Products and solutions in place of B. */
#define DEFINE_TRIANGULAR(function, kind_, number, type_)                                          \
    TD_EXPORT void function(char side, char uplo, char transa, char diag, int m, int n,            \
                            number alpha, const number *A, int lda, number *B, int ldb);           \
    void function(char side, char uplo, char transa, char diag, int m, int n, number alpha,        \
                  const number *A, int lda, number *B, int ldb)                                    \
    {                                                                                              \
        td_problem p = {.kind = kind_,                                                             \
                        .type = type_,                                                             \
                        .op_a = operation(transa),                                                 \
                        .side = side_of(side),                                                     \
                        .triangle = triangle(uplo),                                                \
                        .diagonal = diagonal(diag),                                                \
                        .m = m,                                                                    \
                        .n = n,                                                                    \
                        .a = matrix(A, lda),                                                       \
                        .b = matrix(B, ldb),                                                       \
                        .c = matrix(B, ldb)};                                                      \
        WRAP(function, &alpha, &td_no_scalar, side, uplo, transa, diag, m, n, alpha, A, lda, B,    \
             ldb);                                                                                 \
    }

DEFINE_GEMM(cublasDgemm, double, TD_BINARY64)
DEFINE_GEMM(cublasZgemm, cuDoubleComplex, TD_COMPLEX_BINARY64)
DEFINE_SYMM(cublasDsymm, double, TD_BINARY64, false)
DEFINE_SYMM(cublasZsymm, cuDoubleComplex, TD_COMPLEX_BINARY64, false)
DEFINE_SYMM(cublasZhemm, cuDoubleComplex, TD_COMPLEX_BINARY64, true)
DEFINE_SYRK(cublasDsyrk, double, double, TD_BINARY64, false)
DEFINE_SYRK(cublasZsyrk, cuDoubleComplex, cuDoubleComplex, TD_COMPLEX_BINARY64, false)
DEFINE_SYRK(cublasZherk, cuDoubleComplex, double, TD_COMPLEX_BINARY64, true)
DEFINE_SYR2K(cublasDsyr2k, double, double, TD_BINARY64, false)
DEFINE_SYR2K(cublasZsyr2k, cuDoubleComplex, cuDoubleComplex, TD_COMPLEX_BINARY64, false)
DEFINE_SYR2K(cublasZher2k, cuDoubleComplex, double, TD_COMPLEX_BINARY64, true)
DEFINE_TRIANGULAR(cublasDtrmm, TD_TRIANGULAR_PRODUCT, double, TD_BINARY64)
DEFINE_TRIANGULAR(cublasZtrmm, TD_TRIANGULAR_PRODUCT, cuDoubleComplex, TD_COMPLEX_BINARY64)
DEFINE_TRIANGULAR(cublasDtrsm, TD_TRIANGULAR_SOLVE, double, TD_BINARY64)
DEFINE_TRIANGULAR(cublasZtrsm, TD_TRIANGULAR_SOLVE, cuDoubleComplex, TD_COMPLEX_BINARY64)
