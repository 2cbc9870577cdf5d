/* cublas_legacy.c - the interface of cublas.h: one handle for the process, errors asked for
 * afterwards. */
#include <ctype.h>
#include <pthread.h>

#include <cublas.h>

#include "cublas_internal.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
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
    pthread_mutex_lock(&lock);
    if (!handle) hostgpu_record_legacy(cublasCreate_v2(&handle));
    pthread_mutex_unlock(&lock);
    return handle;
}

cublasStatus cublasInit(void)
{
    return get_handle() ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus cublasShutdown(void)
{
    pthread_mutex_lock(&lock);
    if (handle) cublasDestroy_v2(handle);
    handle = NULL;
    pthread_mutex_unlock(&lock);
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

/* A letter that names no operation becomes a value that cuBLAS refuses. */
static cublasOperation_t operation(char letter)
{
    switch (toupper((unsigned char)letter)) {
    case 'N':
        return CUBLAS_OP_N;
    case 'T':
        return CUBLAS_OP_T;
    case 'C':
        return CUBLAS_OP_C;
    default:
        return CUBLAS_OP_CONJG;
    }
}

void cublasDgemm(char op_a, char op_b, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc)
{
    hostgpu_record_legacy(cublasDgemm_v2(get_handle(), operation(op_a), operation(op_b), m, n, k,
                                         &alpha, a, lda, b, ldb, &beta, c, ldc));
}

static cublasFillMode_t fill(char letter)
{
    switch (toupper((unsigned char)letter)) {
    case 'L':
        return CUBLAS_FILL_MODE_LOWER;
    case 'U':
        return CUBLAS_FILL_MODE_UPPER;
    default:
        return CUBLAS_FILL_MODE_FULL; /* which updates refuse */
    }
}

void cublasDsyrk(char uplo, char op, int n, int k, double alpha, const double *a, int lda,
                 double beta, double *c, int ldc)
{
    hostgpu_record_legacy(cublasDsyrk_v2(get_handle(), fill(uplo), operation(op), n, k, &alpha, a,
                                         lda, &beta, c, ldc));
}

void cublasSgemm(char op_a, char op_b, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc)
{
    hostgpu_record_legacy(cublasSgemm_v2(get_handle(), operation(op_a), operation(op_b), m, n, k,
                                         &alpha, a, lda, b, ldb, &beta, c, ldc));
}

void cublasZgemm(char op_a, char op_b, int m, int n, int k, cuDoubleComplex alpha,
                 const cuDoubleComplex *a, int lda, const cuDoubleComplex *b, int ldb,
                 cuDoubleComplex beta, cuDoubleComplex *c, int ldc)
{
    hostgpu_record_legacy(cublasZgemm_v2(get_handle(), operation(op_a), operation(op_b), m, n, k,
                                         &alpha, a, lda, b, ldb, &beta, c, ldc));
}

void cublasCgemm(char op_a, char op_b, int m, int n, int k, cuComplex alpha, const cuComplex *a,
                 int lda, const cuComplex *b, int ldb, cuComplex beta, cuComplex *c, int ldc)
{
    hostgpu_record_legacy(cublasCgemm_v2(get_handle(), operation(op_a), operation(op_b), m, n, k,
                                         &alpha, a, lda, b, ldb, &beta, c, ldc));
}
