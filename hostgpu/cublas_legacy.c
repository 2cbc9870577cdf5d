/* cublas_legacy.c - the interface of cublas.h: one handle for the process, errors asked for
 * afterwards. */
#include <ctype.h>
#include <pthread.h>
#include <string.h>

#include <cublas.h>

#include "cublas_internal.h"

pthread_mutex_t hostgpu_legacy_lock = PTHREAD_MUTEX_INITIALIZER;
static cublasHandle_t handle;
static __thread cublasStatus last_error;

cublasStatus_t hostgpu_record_legacy(cublasStatus_t status)
{
    if (status) last_error = status;
    return status;
}

/* The process's handle, created on first use; NULL without memory. */
static cublasHandle_t get_handle(void)
{
    pthread_mutex_lock(&hostgpu_legacy_lock);
    if (!handle) hostgpu_record_legacy(cublasCreate_v2(&handle));
    pthread_mutex_unlock(&hostgpu_legacy_lock);
    return handle;
}

cublasStatus cublasInit(void)
{
    return get_handle() ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus cublasShutdown(void)
{
    pthread_mutex_lock(&hostgpu_legacy_lock);
    if (handle) cublasDestroy_v2(handle);
    handle = NULL;
    pthread_mutex_unlock(&hostgpu_legacy_lock);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus cublasGetError(void)
{
    cublasStatus status = last_error;

    last_error = CUBLAS_STATUS_SUCCESS;
    return status;
}

cublasStatus cublasGetVersion(int *version) { return cublasGetVersion_v2(get_handle(), version); }

cublasStatus cublasAlloc(int n, int element_bytes, void **pointer)
{
    if (n <= 0 || element_bytes <= 0 || !pointer)
        return hostgpu_record_legacy(CUBLAS_STATUS_INVALID_VALUE);
    if (cudaMalloc(pointer, (size_t)n * (size_t)element_bytes))
        return hostgpu_record_legacy(CUBLAS_STATUS_ALLOC_FAILED);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus cublasFree(void *pointer)
{
    return hostgpu_record_legacy(cudaFree(pointer) ? CUBLAS_STATUS_INTERNAL_ERROR
                                                   : CUBLAS_STATUS_SUCCESS);
}

cublasStatus cublasSetKernelStream(cudaStream_t stream)
{
    return hostgpu_record_legacy(cublasSetStream_v2(get_handle(), stream));
}

/* The place of a letter, small or capital, among those of an enumeration's values; of others
 * `none`, a value that cuBLAS refuses. */
static int place_of(char letter, const char *letters, int none)
{
    const int capital = toupper((unsigned char)letter);
    const char *found = capital ? strchr(letters, capital) : NULL;

    return found ? (int)(found - letters) : none;
}

#define OPERATION(letter) ((cublasOperation_t)place_of(letter, "NTC", CUBLAS_OP_CONJG))
#define FILL(letter)      ((cublasFillMode_t)place_of(letter, "LU", CUBLAS_FILL_MODE_FULL))
#define SIDE(letter)      ((cublasSideMode_t)place_of(letter, "LR", -1))
#define DIAGONAL(letter)  ((cublasDiagType_t)place_of(letter, "NU", -1))

#define DEFINE_GEMM(function, number)                                                              \
    void function(char op_a, char op_b, int m, int n, int k, number alpha, const number *a,        \
                  int lda, const number *b, int ldb, number beta, number *c, int ldc)              \
    {                                                                                              \
        hostgpu_record_legacy(function##_v2(get_handle(), OPERATION(op_a), OPERATION(op_b), m, n,  \
                                            k, &alpha, a, lda, b, ldb, &beta, c, ldc));            \
    }

#define DEFINE_SYMM(function, number)                                                              \
    void function(char side, char uplo, int m, int n, number alpha, const number *a, int lda,      \
                  const number *b, int ldb, number beta, number *c, int ldc)                       \
    {                                                                                              \
        hostgpu_record_legacy(function##_v2(get_handle(), SIDE(side), FILL(uplo), m, n, &alpha, a, \
                                            lda, b, ldb, &beta, c, ldc));                          \
    }

#define DEFINE_SYRK(function, number, scalar)                                                      \
    void function(char uplo, char op, int n, int k, scalar alpha, const number *a, int lda,        \
                  scalar beta, number *c, int ldc)                                                 \
    {                                                                                              \
        hostgpu_record_legacy(function##_v2(get_handle(), FILL(uplo), OPERATION(op), n, k, &alpha, \
                                            a, lda, &beta, c, ldc));                               \
    }

#define DEFINE_SYR2K(function, number, beta_number)                                                \
    void function(char uplo, char op, int n, int k, number alpha, const number *a, int lda,        \
                  const number *b, int ldb, beta_number beta, number *c, int ldc)                  \
    {                                                                                              \
        hostgpu_record_legacy(function##_v2(get_handle(), FILL(uplo), OPERATION(op), n, k, &alpha, \
                                            a, lda, b, ldb, &beta, c, ldc));                       \
    }

/* `...`: what follows B's place; the product of a triangle has it a second time, for C's. */
#define DEFINE_TRIANGULAR(function, number, ...)                                                   \
    void function(char side, char uplo, char op, char diag, int m, int n, number alpha,            \
                  const number *a, int lda, number *b, int ldb)                                    \
    {                                                                                              \
        hostgpu_record_legacy(function##_v2(get_handle(), SIDE(side), FILL(uplo), OPERATION(op),   \
                                            DIAGONAL(diag), m, n, &alpha, a, lda, b,               \
                                            __VA_ARGS__));                                         \
    }

DEFINE_GEMM(cublasSgemm, float)
DEFINE_GEMM(cublasDgemm, double)
DEFINE_GEMM(cublasCgemm, cuComplex)
DEFINE_GEMM(cublasZgemm, cuDoubleComplex)
DEFINE_SYMM(cublasDsymm, double)
DEFINE_SYMM(cublasZsymm, cuDoubleComplex)
DEFINE_SYMM(cublasZhemm, cuDoubleComplex)
DEFINE_SYRK(cublasDsyrk, double, double)
DEFINE_SYRK(cublasZsyrk, cuDoubleComplex, cuDoubleComplex)
DEFINE_SYRK(cublasZherk, cuDoubleComplex, double)
DEFINE_SYR2K(cublasDsyr2k, double, double)
DEFINE_SYR2K(cublasZsyr2k, cuDoubleComplex, cuDoubleComplex)
DEFINE_SYR2K(cublasZher2k, cuDoubleComplex, double)
DEFINE_TRIANGULAR(cublasDtrmm, double, ldb, b, ldb)
DEFINE_TRIANGULAR(cublasZtrmm, cuDoubleComplex, ldb, b, ldb)
DEFINE_TRIANGULAR(cublasDtrsm, double, ldb)
DEFINE_TRIANGULAR(cublasZtrsm, cuDoubleComplex, ldb)
