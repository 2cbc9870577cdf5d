/* factors.c - LAPACK's LU, Cholesky and QR factors on cuSOLVER, to be preloaded: matrices are
 * copied to the device, a function of cusolverDn.h is called, and the result is copied back. So
 * netlib's test programs of LAPACK test whatever cuSOLVER does. What cuSOLVER itself calls of
 * LAPACK, as the host device's does, is the library's own. Arguments are not checked: there is no
 * xerbla. */
#include "copies.h"

#include <dlfcn.h>

#include <cusolverDn.h>

static bool is_within; /* a function of cuSOLVER runs; the program has one thread */

static cusolverDnHandle_t handle(void)
{
    static cusolverDnHandle_t own;
    if (!own && cusolverDnCreate(&own)) fail("cusolverDnCreate", 1);
    return own;
}

/* The library's own function, as __typeof__(&name). */
static void *next(const char *name)
{
    void *const found = dlsym(RTLD_NEXT, name);
    if (!found) fail(name, 1);
    return found;
}

#define RETURN_IF_WITHIN(name, ...)                                                                \
    if (is_within) {                                                                               \
        __typeof__(&(name)) own;                                                                   \
        *(void **)&own = next(#name);                                                              \
        own(__VA_ARGS__);                                                                          \
        return;                                                                                    \
    }

/* ---- workspaces ---- */

/* A workspace of so many numbers, and where info goes. */
typedef struct {
    double *work;
    int *info;
} extras;

static extras make_extras(int numbers)
{
    extras x;
    const size_t bytes = (size_t)(numbers > 0 ? numbers : 1) * sizeof *x.work;
    const int status =
        cudaMalloc((void **)&x.work, bytes) || cudaMalloc((void **)&x.info, sizeof(int));
    if (status) fail("cudaMalloc", status);
    return x;
}

/* Returns info. */
static int end_extras(extras x)
{
    int info;
    const int status = cudaMemcpy(&info, x.info, sizeof info, cudaMemcpyDeviceToHost) ||
                       cudaFree(x.work) || cudaFree(x.info);
    if (status) fail("what info is", status);
    return info;
}

static int call(const char *function, cusolverStatus_t status)
{
    if (status) fail(function, (int)status);
    return 0;
}

/* Runs a function of cuSOLVER, whose own calls of LAPACK are not for this library. */
#define CALL(function, ...)                                                                        \
    do {                                                                                           \
        is_within = true;                                                                          \
        call(#function, function(handle(), __VA_ARGS__));                                          \
        is_within = false;                                                                         \
    } while (0)

/* ---- factors ---- */

void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info);
void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info)
{
    RETURN_IF_WITHIN(dgetrf_, m, n, a, lda, pivots, info)
    const int least = *m < *n ? *m : *n;
    int numbers;
    *info = 0;
    if (least == 0) return;
    const matrix da = put(a, *m, *n, *lda, sizeof *a),
                 dp = put(pivots, least, 1, least, sizeof(int));
    CALL(cusolverDnDgetrf_bufferSize, *m, *n, da.device, *lda, &numbers);
    const extras x = make_extras(numbers);
    CALL(cusolverDnDgetrf, *m, *n, da.device, *lda, x.work, dp.device, x.info);
    get(da, "dgetrf", 0);
    get(dp, "dgetrf", 0);
    *info = end_extras(x);
}

static cublasFillMode_t fill(const char *letter)
{
    return is(letter, 'L') ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
}

void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t length);
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t length)
{
    RETURN_IF_WITHIN(dpotrf_, uplo, n, a, lda, info, length)
    int numbers;
    *info = 0;
    if (*n == 0) return;
    const matrix da = put(a, *n, *n, *lda, sizeof *a);
    CALL(cusolverDnDpotrf_bufferSize, fill(uplo), *n, da.device, *lda, &numbers);
    const extras x = make_extras(numbers);
    CALL(cusolverDnDpotrf, fill(uplo), *n, da.device, *lda, x.work, numbers, x.info);
    get(da, "dpotrf", 0);
    *info = end_extras(x);
}

/* True if the program asks for the size of a workspace alone. */
static bool is_question(const int *lwork, double *work, int needed, int *info)
{
    *info = 0;
    if (*lwork == -1) work[0] = needed > 1 ? needed : 1;
    return *lwork == -1;
}

void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *lwork, int *info);
void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *lwork, int *info)
{
    RETURN_IF_WITHIN(dgeqrf_, m, n, a, lda, tau, work, lwork, info)
    const int least = *m < *n ? *m : *n;
    int numbers;
    if (is_question(lwork, work, *n, info) || least == 0) return;
    const matrix da = put(a, *m, *n, *lda, sizeof *a), dt = put(tau, least, 1, least, sizeof *tau);
    CALL(cusolverDnDgeqrf_bufferSize, *m, *n, da.device, *lda, &numbers);
    const extras x = make_extras(numbers);
    CALL(cusolverDnDgeqrf, *m, *n, da.device, *lda, dt.device, x.work, numbers, x.info);
    get(da, "dgeqrf", 0);
    get(dt, "dgeqrf", 0);
    *info = end_extras(x);
}

void dorgqr_(const int *m, const int *n, const int *k, double *a, const int *lda, const double *tau,
             double *work, const int *lwork, int *info);
void dorgqr_(const int *m, const int *n, const int *k, double *a, const int *lda, const double *tau,
             double *work, const int *lwork, int *info)
{
    RETURN_IF_WITHIN(dorgqr_, m, n, k, a, lda, tau, work, lwork, info)
    int numbers;
    if (is_question(lwork, work, *n, info) || *n == 0) return;
    const matrix da = put(a, *m, *n, *lda, sizeof *a), dt = put(tau, *k, 1, *k, sizeof *tau);
    CALL(cusolverDnDorgqr_bufferSize, *m, *n, *k, da.device, *lda, dt.device, &numbers);
    const extras x = make_extras(numbers);
    CALL(cusolverDnDorgqr, *m, *n, *k, da.device, *lda, dt.device, x.work, numbers, x.info);
    get(da, "dorgqr", 0);
    drop(dt);
    *info = end_extras(x);
}

void dormqr_(const char *side, const char *trans, const int *m, const int *n, const int *k,
             const double *a, const int *lda, const double *tau, double *c, const int *ldc,
             double *work, const int *lwork, int *info, size_t side_length, size_t trans_length);
void dormqr_(const char *side, const char *trans, const int *m, const int *n, const int *k,
             const double *a, const int *lda, const double *tau, double *c, const int *ldc,
             double *work, const int *lwork, int *info, size_t side_length, size_t trans_length)
{
    RETURN_IF_WITHIN(dormqr_, side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork, info,
                     side_length, trans_length)
    const bool is_left = is(side, 'L');
    const cublasSideMode_t at = is_left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
    const cublasOperation_t op = is(trans, 'N') ? CUBLAS_OP_N : CUBLAS_OP_T;
    int numbers;
    if (is_question(lwork, work, is_left ? *n : *m, info) || *m == 0 || *n == 0 || *k == 0) return;
    const matrix da = put(a, is_left ? *m : *n, *k, *lda, sizeof *a),
                 dt = put(tau, *k, 1, *k, sizeof *tau), dc = put(c, *m, *n, *ldc, sizeof *c);
    CALL(cusolverDnDormqr_bufferSize, at, op, *m, *n, *k, da.device, *lda, dt.device, dc.device,
         *ldc, &numbers);
    const extras x = make_extras(numbers);
    CALL(cusolverDnDormqr, at, op, *m, *n, *k, da.device, *lda, dt.device, dc.device, *ldc, x.work,
         numbers, x.info);
    get(dc, "dormqr", 0);
    drop(da);
    drop(dt);
    *info = end_extras(x);
}
