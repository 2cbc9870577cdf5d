/* legacy.c - wrappers of cublas.h, the interface without handles. Its stream cannot be asked for,
 * so calls that set it are watched. */
#include "wrap.h"

#include <stdatomic.h>

/* As cublas.h, which cannot be included together with cublas_api.h, declares them. */
TD_EXPORT void cublasDgemm(char transa, char transb, int m, int n, int k, double alpha,
                           const double *A, int lda, const double *B, int ldb, double beta,
                           double *C, int ldc);
TD_EXPORT void cublasZgemm(char transa, char transb, int m, int n, int k, cuDoubleComplex alpha,
                           const cuDoubleComplex *A, int lda, const cuDoubleComplex *B, int ldb,
                           cuDoubleComplex beta, cuDoubleComplex *C, int ldc);
TD_EXPORT void cublasDsyrk(char uplo, char trans, int n, int k, double alpha, const double *A,
                           int lda, double beta, double *C, int ldc);
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

static td_matrix matrix(const void *data, int ld)
{
    return (td_matrix){.data = (void *)(uintptr_t)data, .ld = ld};
}

#define DEFINE_GEMM(function, number, type_)                                                       \
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
                        .c = matrix(C, ldc),                                                       \
                        .batch = 1,                                                                \
                        .stream = my_stream,                                                       \
                        .caller = __builtin_return_address(0)};                                    \
        td_call call;                                                                              \
        td_library *library = TD_LIBRARY_OF(NULL, function);                                       \
        td_wrap_set_scalars(&p, &alpha, &beta, false);                                             \
        if (!td_wrap_begin_legacy(TD_ENTRY_##function, stream_is_known(), &p, &call)) return;      \
        __typeof__(&(function)) original = TD_ORIGINAL(library, function);                         \
        if (original) original(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);      \
        td_wrap_end(&call, original != NULL);                                                      \
    }

DEFINE_GEMM(cublasDgemm, double, TD_BINARY64)
DEFINE_GEMM(cublasZgemm, cuDoubleComplex, TD_COMPLEX_BINARY64)

void cublasDsyrk(char uplo, char trans, int n, int k, double alpha, const double *A, int lda,
                 double beta, double *C, int ldc)
{
    const td_problem p = {
        .kind = TD_RANK_K,
        .type = TD_BINARY64,
        .op_a = operation(trans),
        .triangle = triangle(uplo),
        .n = n,
        .k = k,
        .alpha.value.binary64 = alpha,
        .beta.value.binary64 = beta,
        .a = matrix(A, lda),
        .c = matrix(C, ldc),
        .batch = 1,
        .stream = my_stream,
        .caller = __builtin_return_address(0),
    };
    td_call call;
    td_library *library = TD_LIBRARY_OF(NULL, cublasDsyrk);
    if (!td_wrap_begin_legacy(TD_ENTRY_cublasDsyrk, stream_is_known(), &p, &call)) return;
    __typeof__(&cublasDsyrk) original = TD_ORIGINAL(library, cublasDsyrk);
    if (original) original(uplo, trans, n, k, alpha, A, lda, beta, C, ldc);
    td_wrap_end(&call, original != NULL);
}
