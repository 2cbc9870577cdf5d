/* factors.c - LAPACK's LU, Cholesky and QR factors, and what is made of them, on cuSOLVER, to be
 * preloaded: matrices are
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

/* A workspace of so many numbers, real or complex, and where info goes. */
typedef struct {
    void *work;
    int *info;
} extras;

static extras make_extras(int numbers)
{
    extras x;
    const size_t bytes = (size_t)(numbers > 0 ? numbers : 1) * sizeof(cuDoubleComplex);
    const int status = cudaMalloc(&x.work, bytes) || cudaMalloc((void **)&x.info, sizeof(int));
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

/* ---- linear equations ---- */

#define DEFINE_LU(name, LETTER, number)                                                            \
    void name##getrf_(const int *m, const int *n, number *a, const int *lda, int *pivots,          \
                      int *info);                                                                  \
    void name##getrf_(const int *m, const int *n, number *a, const int *lda, int *pivots,          \
                      int *info)                                                                   \
    {                                                                                              \
        RETURN_IF_WITHIN(name##getrf_, m, n, a, lda, pivots, info)                                 \
        const int least = *m < *n ? *m : *n;                                                       \
        int numbers;                                                                               \
        *info = 0;                                                                                 \
        if (least == 0) return;                                                                    \
        const matrix da = put(a, *m, *n, *lda, sizeof *a),                                         \
                     dp = put(pivots, least, 1, least, sizeof(int));                               \
        CALL(cusolverDn##LETTER##getrf_bufferSize, *m, *n, da.device, *lda, &numbers);             \
        const extras x = make_extras(numbers);                                                     \
        CALL(cusolverDn##LETTER##getrf, *m, *n, da.device, *lda, x.work, dp.device, x.info);       \
        get(da, #name "getrf", 0);                                                                 \
        get(dp, #name "getrf", 0);                                                                 \
        *info = end_extras(x);                                                                     \
    }                                                                                              \
    void name##getrs_(const char *trans, const int *n, const int *nrhs, number *a, const int *lda, \
                      int *pivots, number *b, const int *ldb, int *info, size_t length);           \
    void name##getrs_(const char *trans, const int *n, const int *nrhs, number *a, const int *lda, \
                      int *pivots, number *b, const int *ldb, int *info, size_t length)            \
    {                                                                                              \
        RETURN_IF_WITHIN(name##getrs_, trans, n, nrhs, a, lda, pivots, b, ldb, info, length)       \
        *info = 0;                                                                                 \
        if (*n == 0 || *nrhs == 0) return;                                                         \
        const matrix da = put(a, *n, *n, *lda, sizeof *a),                                         \
                     dp = put(pivots, *n, 1, *n, sizeof(int)),                                     \
                     db = put(b, *n, *nrhs, *ldb, sizeof *b);                                      \
        const extras x = make_extras(0);                                                           \
        CALL(cusolverDn##LETTER##getrs, operation_of(trans), *n, *nrhs, da.device, *lda,           \
             dp.device, db.device, *ldb, x.info);                                                  \
        get(db, #name "getrs", 0);                                                                 \
        drop(da);                                                                                  \
        drop(dp);                                                                                  \
        *info = end_extras(x);                                                                     \
    }
DEFINE_LU(d, D, double)
DEFINE_LU(z, Z, cuDoubleComplex)

/* A function that works in place in one triangle. */
#define DEFINE_IN_TRIANGLE(name, LETTER, number, routine)                                          \
    void name##routine##_(const char *uplo, const int *n, number *a, const int *lda, int *info,    \
                          size_t length);                                                          \
    void name##routine##_(const char *uplo, const int *n, number *a, const int *lda, int *info,    \
                          size_t length)                                                           \
    {                                                                                              \
        RETURN_IF_WITHIN(name##routine##_, uplo, n, a, lda, info, length)                          \
        int numbers;                                                                               \
        *info = 0;                                                                                 \
        if (*n == 0) return;                                                                       \
        const matrix da = put(a, *n, *n, *lda, sizeof *a);                                         \
        CALL(cusolverDn##LETTER##routine##_bufferSize, fill_of(uplo), *n, da.device, *lda,         \
             &numbers);                                                                            \
        const extras x = make_extras(numbers);                                                     \
        CALL(cusolverDn##LETTER##routine, fill_of(uplo), *n, da.device, *lda, x.work, numbers,     \
             x.info);                                                                              \
        get(da, #name #routine, 0);                                                                \
        *info = end_extras(x);                                                                     \
    }

#define DEFINE_CHOLESKY(name, LETTER, number)                                                      \
    DEFINE_IN_TRIANGLE(name, LETTER, number, potrf)                                                \
    DEFINE_IN_TRIANGLE(name, LETTER, number, potri)                                                \
    void name##potrs_(const char *uplo, const int *n, const int *nrhs, number *a, const int *lda,  \
                      number *b, const int *ldb, int *info, size_t length);                        \
    void name##potrs_(const char *uplo, const int *n, const int *nrhs, number *a, const int *lda,  \
                      number *b, const int *ldb, int *info, size_t length)                         \
    {                                                                                              \
        RETURN_IF_WITHIN(name##potrs_, uplo, n, nrhs, a, lda, b, ldb, info, length)                \
        *info = 0;                                                                                 \
        if (*n == 0 || *nrhs == 0) return;                                                         \
        const matrix da = put(a, *n, *n, *lda, sizeof *a),                                         \
                     db = put(b, *n, *nrhs, *ldb, sizeof *b);                                      \
        const extras x = make_extras(0);                                                           \
        CALL(cusolverDn##LETTER##potrs, fill_of(uplo), *n, *nrhs, da.device, *lda, db.device,      \
             *ldb, x.info);                                                                        \
        get(db, #name "potrs", 0);                                                                 \
        drop(da);                                                                                  \
        *info = end_extras(x);                                                                     \
    }
DEFINE_CHOLESKY(d, D, double)
DEFINE_CHOLESKY(z, Z, cuDoubleComplex)

/* ---- QR ---- */

/* True if the program asks for the size of a workspace alone: the real part of its first number. */
static bool is_question(const int *lwork, void *work, int needed, int *info)
{
    *info = 0;
    if (*lwork == -1) *(double *)work = needed > 1 ? needed : 1;
    return *lwork == -1;
}

/* Two routines have names by type. */
#define DEFINE_QR(name, LETTER, number, form, apply)                                               \
    void name##geqrf_(const int *m, const int *n, number *a, const int *lda, number *tau,          \
                      number *work, const int *lwork, int *info);                                  \
    void name##geqrf_(const int *m, const int *n, number *a, const int *lda, number *tau,          \
                      number *work, const int *lwork, int *info)                                   \
    {                                                                                              \
        RETURN_IF_WITHIN(name##geqrf_, m, n, a, lda, tau, work, lwork, info)                       \
        const int least = *m < *n ? *m : *n;                                                       \
        int numbers;                                                                               \
        if (is_question(lwork, work, *n, info) || least == 0) return;                              \
        const matrix da = put(a, *m, *n, *lda, sizeof *a),                                         \
                     dt = put(tau, least, 1, least, sizeof *tau);                                  \
        CALL(cusolverDn##LETTER##geqrf_bufferSize, *m, *n, da.device, *lda, &numbers);             \
        const extras x = make_extras(numbers);                                                     \
        CALL(cusolverDn##LETTER##geqrf, *m, *n, da.device, *lda, dt.device, x.work, numbers,       \
             x.info);                                                                              \
        get(da, #name "geqrf", 0);                                                                 \
        get(dt, #name "geqrf", 0);                                                                 \
        *info = end_extras(x);                                                                     \
    }                                                                                              \
    void name##form##_(const int *m, const int *n, const int *k, number *a, const int *lda,        \
                       const number *tau, number *work, const int *lwork, int *info);              \
    void name##form##_(const int *m, const int *n, const int *k, number *a, const int *lda,        \
                       const number *tau, number *work, const int *lwork, int *info)               \
    {                                                                                              \
        RETURN_IF_WITHIN(name##form##_, m, n, k, a, lda, tau, work, lwork, info)                   \
        int numbers;                                                                               \
        if (is_question(lwork, work, *n, info) || *n == 0) return;                                 \
        const matrix da = put(a, *m, *n, *lda, sizeof *a), dt = put(tau, *k, 1, *k, sizeof *tau);  \
        CALL(cusolverDn##LETTER##form##_bufferSize, *m, *n, *k, da.device, *lda, dt.device,        \
             &numbers);                                                                            \
        const extras x = make_extras(numbers);                                                     \
        CALL(cusolverDn##LETTER##form, *m, *n, *k, da.device, *lda, dt.device, x.work, numbers,    \
             x.info);                                                                              \
        get(da, #name #form, 0);                                                                   \
        drop(dt);                                                                                  \
        *info = end_extras(x);                                                                     \
    }                                                                                              \
    void name##apply##_(const char *side, const char *trans, const int *m, const int *n,           \
                        const int *k, const number *a, const int *lda, const number *tau,          \
                        number *c, const int *ldc, number *work, const int *lwork, int *info,      \
                        size_t side_length, size_t trans_length);                                  \
    void name##apply##_(const char *side, const char *trans, const int *m, const int *n,           \
                        const int *k, const number *a, const int *lda, const number *tau,          \
                        number *c, const int *ldc, number *work, const int *lwork, int *info,      \
                        size_t side_length, size_t trans_length)                                   \
    {                                                                                              \
        RETURN_IF_WITHIN(name##apply##_, side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork,   \
                         info, side_length, trans_length)                                          \
        const bool is_left = is(side, 'L');                                                        \
        const cublasSideMode_t at = is_left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;                \
        const cublasOperation_t op = operation_of(trans);                                          \
        int numbers;                                                                               \
        if (is_question(lwork, work, is_left ? *n : *m, info) || *m == 0 || *n == 0 || *k == 0)    \
            return;                                                                                \
        const matrix da = put(a, is_left ? *m : *n, *k, *lda, sizeof *a),                          \
                     dt = put(tau, *k, 1, *k, sizeof *tau), dc = put(c, *m, *n, *ldc, sizeof *c);  \
        CALL(cusolverDn##LETTER##apply##_bufferSize, at, op, *m, *n, *k, da.device, *lda,          \
             dt.device, dc.device, *ldc, &numbers);                                                \
        const extras x = make_extras(numbers);                                                     \
        CALL(cusolverDn##LETTER##apply, at, op, *m, *n, *k, da.device, *lda, dt.device, dc.device, \
             *ldc, x.work, numbers, x.info);                                                       \
        get(dc, #name #apply, 0);                                                                  \
        drop(da);                                                                                  \
        drop(dt);                                                                                  \
        *info = end_extras(x);                                                                     \
    }
DEFINE_QR(d, D, double, orgqr, ormqr)
DEFINE_QR(z, Z, cuDoubleComplex, ungqr, unmqr)
