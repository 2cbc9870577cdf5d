/* cusolver_expect.h - what the tests of the stand-in for cuSOLVER share: a handle, the functions of
 * the four types under one form, matrices in device memory, and products in long double to compare
 * with. */
#ifndef CUSOLVER_EXPECT_H
#define CUSOLVER_EXPECT_H

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include <cusolverDn.h>

#include "../support/random.h"
#include "expect.h"

#define expect_status(call, status) assert_int_equal((call), (status))
#define expect_ok(call)             expect_status(call, CUSOLVER_STATUS_SUCCESS)

static cusolverDnHandle_t solver;

static inline int create(void **state)
{
    (void)state;
    return cusolverDnCreate(&solver) != CUSOLVER_STATUS_SUCCESS;
}

static inline int destroy(void **state)
{
    (void)state;
    return cusolverDnDestroy(solver) != CUSOLVER_STATUS_SUCCESS;
}

/* ---- the functions of one type ---- */

/* THE table: X(type's letter, name, parameters, cuSOLVER's name behind cusolverDn, and its
 * arguments), for a type's letter, and what its orthogonal and symmetric routines begin with. */
#define FUNCTIONS(X, x, o, s)                                                                      \
    X(x, getrf_size, (int m, int n, void *a, int lda, int *size),                                  \
      x##getrf_bufferSize(solver, m, n, a, lda, size))                                             \
    X(x, getrf, (int m, int n, void *a, int lda, void *work, int *pivots, int *info),              \
      x##getrf(solver, m, n, a, lda, work, pivots, info))                                          \
    X(x, getrs,                                                                                    \
      (cublasOperation_t op, int n, int nrhs, const void *a, int lda, const int *pivots, void *b,  \
       int ldb, int *info),                                                                        \
      x##getrs(solver, op, n, nrhs, a, lda, pivots, b, ldb, info))                                 \
    X(x, potrf_size, (cublasFillMode_t uplo, int n, void *a, int lda, int *size),                  \
      x##potrf_bufferSize(solver, uplo, n, a, lda, size))                                          \
    X(x, potrf, (cublasFillMode_t uplo, int n, void *a, int lda, void *work, int size, int *info), \
      x##potrf(solver, uplo, n, a, lda, work, size, info))                                         \
    X(x, potrs,                                                                                    \
      (cublasFillMode_t uplo, int n, int nrhs, const void *a, int lda, void *b, int ldb,           \
       int *info),                                                                                 \
      x##potrs(solver, uplo, n, nrhs, a, lda, b, ldb, info))                                       \
    X(x, potri_size, (cublasFillMode_t uplo, int n, void *a, int lda, int *size),                  \
      x##potri_bufferSize(solver, uplo, n, a, lda, size))                                          \
    X(x, potri, (cublasFillMode_t uplo, int n, void *a, int lda, void *work, int size, int *info), \
      x##potri(solver, uplo, n, a, lda, work, size, info))                                         \
    X(x, geqrf_size, (int m, int n, void *a, int lda, int *size),                                  \
      x##geqrf_bufferSize(solver, m, n, a, lda, size))                                             \
    X(x, geqrf, (int m, int n, void *a, int lda, void *tau, void *work, int size, int *info),      \
      x##geqrf(solver, m, n, a, lda, tau, work, size, info))                                       \
    X(x, mqr_size,                                                                                 \
      (cublasSideMode_t side, cublasOperation_t op, int m, int n, int k, const void *a, int lda,   \
       const void *tau, const void *c, int ldc, int *size),                                        \
      x##o##mqr_bufferSize(solver, side, op, m, n, k, a, lda, tau, c, ldc, size))                  \
    X(x, mqr,                                                                                      \
      (cublasSideMode_t side, cublasOperation_t op, int m, int n, int k, const void *a, int lda,   \
       const void *tau, void *c, int ldc, void *work, int size, int *info),                        \
      x##o##mqr(solver, side, op, m, n, k, a, lda, tau, c, ldc, work, size, info))                 \
    X(x, gqr_size, (int m, int n, int k, const void *a, int lda, const void *tau, int *size),      \
      x##o##gqr_bufferSize(solver, m, n, k, a, lda, tau, size))                                    \
    X(x, gqr,                                                                                      \
      (int m, int n, int k, void *a, int lda, const void *tau, void *work, int size, int *info),   \
      x##o##gqr(solver, m, n, k, a, lda, tau, work, size, info))                                   \
    X(x, evd_size,                                                                                 \
      (cusolverEigMode_t job, cublasFillMode_t uplo, int n, const void *a, int lda,                \
       const void *values, int *size),                                                             \
      x##s##evd_bufferSize(solver, job, uplo, n, a, lda, values, size))                            \
    X(x, evd,                                                                                      \
      (cusolverEigMode_t job, cublasFillMode_t uplo, int n, void *a, int lda, void *values,        \
       void *work, int size, int *info),                                                           \
      x##s##evd(solver, job, uplo, n, a, lda, values, work, size, info))                           \
    X(x, svd_size, (int m, int n, int *size), x##gesvd_bufferSize(solver, m, n, size))             \
    X(x, svd,                                                                                      \
      (char job_u, char job_vt, int m, int n, void *a, int lda, void *values, void *u, int ldu,    \
       void *vt, int ldvt, void *work, int size, int *info),                                       \
      x##gesvd(solver, (signed char)job_u, (signed char)job_vt, m, n, a, lda, values, u, ldu, vt,  \
               ldvt, work, size, NULL, info))

typedef cusolverStatus_t status;
#define MEMBER(x, name, parameters, ...) status(*name) parameters;
typedef struct {
    char letter;
    cudaDataType data, real_data;
    bool is_complex, is_double;
    size_t bytes;
    double unit; /* its rounding error */
    FUNCTIONS(MEMBER, S, or, sy)
} solver_type;

#define DEFINE(letter, name, parameters, ...)                                                      \
    static inline status letter##_##name parameters { return cusolverDn##__VA_ARGS__; }
FUNCTIONS(DEFINE, S, or, sy)
FUNCTIONS(DEFINE, D, or, sy)
FUNCTIONS(DEFINE, C, un, he)
FUNCTIONS(DEFINE, Z, un, he)

#define SET(letter, name, ...) .name = letter##_##name,
#define TYPE(x, o, s, text, type, real_type, complex_type, double_type, element, unit_)            \
    {                                                                                              \
        .letter = text, .data = type, .real_data = real_type, .is_complex = complex_type,          \
        .is_double = double_type, .bytes = sizeof(element), .unit = unit_, FUNCTIONS(SET, x, o, s) \
    }
static const solver_type types[] = {
    TYPE(S, or, sy, 'S', CUDA_R_32F, CUDA_R_32F, false, false, float, FLT_EPSILON / 2),
    TYPE(D, or, sy, 'D', CUDA_R_64F, CUDA_R_64F, false, true, double, DBL_EPSILON / 2),
    TYPE(C, un, he, 'C', CUDA_C_32F, CUDA_R_32F, true, false, float complex, FLT_EPSILON / 2),
    TYPE(Z, un, he, 'Z', CUDA_C_64F, CUDA_R_64F, true, true, double complex, DBL_EPSILON / 2),
};
enum { TYPES = sizeof types / sizeof *types };

/* ---- memory of the device, which the test reads and writes directly ---- */

static inline void *acquire(size_t bytes)
{
    void *memory = NULL;
    expect_success(cudaMalloc(&memory, bytes ? bytes : 1));
    return memory;
}

static inline int *acquire_info(void)
{
    int *info = acquire(sizeof *info);
    *info = -12345;
    return info;
}

/* Frees it, and gives what it held. */
static inline int take_info(int *info)
{
    const int value = *info;
    expect_success(cudaFree(info));
    return value;
}

static inline void *workspace(const solver_type *t, int size)
{
    assert_true(size >= 1);
    return acquire((size_t)size * t->bytes);
}

/* ---- matrices, in long double, without padding ---- */

typedef long double complex number;
typedef struct {
    int rows, columns;
    number *x;
} matrix;

static inline matrix make(int rows, int columns)
{
    const size_t count = (size_t)rows * (size_t)columns;
    matrix a = {rows, columns, calloc(count ? count : 1, sizeof(number))};
    assert_non_null(a.x);
    return a;
}

static inline number *at(const matrix *a, int i, int j)
{
    return &a->x[(size_t)i + (size_t)j * (size_t)a->rows];
}

/* Short enough for binary32. */
static inline long double random_number(void)
{
    static test_random state;
    if (!state.state) state = random_start(test_seed());
    return (long double)(random_bits(&state) >> 44) * 0x1p-19L - 1;
}

static inline number number_of(long double re, long double im)
{
    union {
        long double parts[2];
        number z;
    } x = {{re, im}};
    return x.z;
}

static inline matrix random_matrix(const solver_type *t, int rows, int columns)
{
    matrix a = make(rows, columns);
    for (int i = 0; i < rows * columns; i++) {
        const long double re = random_number();
        a.x[i] = number_of(re, t->is_complex ? random_number() : 0);
    }
    return a;
}

/* Hermitian; all eigenvalues are positive if the shift is large. */
static inline matrix hermitian_matrix(const solver_type *t, int n, long double shift)
{
    matrix a = random_matrix(t, n, n);
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < j; i++) *at(&a, j, i) = conjl(*at(&a, i, j));
        *at(&a, j, j) = creall(*at(&a, j, j)) + shift;
    }
    return a;
}

static inline matrix unit_matrix(int n)
{
    matrix a = make(n, n);
    for (int i = 0; i < n; i++) *at(&a, i, i) = 1;
    return a;
}

static inline matrix adjoint(const matrix *a)
{
    matrix b = make(a->columns, a->rows);
    for (int j = 0; j < a->columns; j++)
        for (int i = 0; i < a->rows; i++) *at(&b, j, i) = conjl(*at(a, i, j));
    return b;
}

static inline matrix transpose(const matrix *a)
{
    matrix b = make(a->columns, a->rows);
    for (int j = 0; j < a->columns; j++)
        for (int i = 0; i < a->rows; i++) *at(&b, j, i) = *at(a, i, j);
    return b;
}

/* Adds `times` the m complex numbers of a column to another one. In real arithmetic: C's complex
 * products look for NaN, which takes most of the time. */
TEST_UNWATCHED static inline void add_column(long double *to, const long double *from, int m,
                                             long double re, long double im)
{
    for (int i = 0; i < 2 * m; i += 2) {
        to[i] += from[i] * re - from[i + 1] * im;
        to[i + 1] += from[i] * im + from[i + 1] * re;
    }
}

static inline matrix product(const matrix *a, const matrix *b)
{
    matrix c = make(a->rows, b->columns);
    assert_int_equal(a->columns, b->rows);
    for (int j = 0; j < b->columns; j++)
        for (int l = 0; l < b->rows; l++) {
            const long double re = creall(*at(b, l, j)), im = cimagl(*at(b, l, j));
            if (re != 0 || im != 0)
                add_column((long double *)at(&c, 0, j), (const long double *)at(a, 0, l), a->rows,
                           re, im);
        }
    return c;
}

static inline long double norm(const matrix *a)
{
    long double sum = 0;
    for (int i = 0; i < a->rows * a->columns; i++)
        sum += creall(a->x[i]) * creall(a->x[i]) + cimagl(a->x[i]) * cimagl(a->x[i]);
    return sqrtl(sum);
}

/* Frobenius's norm of A - B. */
static inline long double distance(const matrix *a, const matrix *b)
{
    matrix c = make(a->rows, a->columns);
    assert_true(a->rows == b->rows && a->columns == b->columns);
    for (int i = 0; i < a->rows * a->columns; i++) c.x[i] = a->x[i] - b->x[i];
    const long double length = norm(&c);
    free(c.x);
    return length;
}

/* Fails for NaN, too. */
#define expect_within(value, bound)                                                                \
    do {                                                                                           \
        const long double found_ = (value), bound_ = (bound);                                      \
        if (!(found_ <= bound_)) fail_msg("%s is %Lg, above %Lg", #value, found_, bound_);         \
    } while (0)

/* ---- matrices of a type, in device memory, with padding that must stay ---- */

typedef struct {
    const solver_type *type;
    int rows, columns, ld;
    unsigned char *bytes;
} stored;

enum { POISON = 0xa7 };

static inline number load(const stored *s, int i, int j)
{
    const void *from = s->bytes + ((size_t)i + (size_t)j * (size_t)s->ld) * s->type->bytes;
    if (s->type->is_double)
        return number_of(((const double *)from)[0],
                         s->type->is_complex ? ((const double *)from)[1] : 0);
    return number_of(((const float *)from)[0], s->type->is_complex ? ((const float *)from)[1] : 0);
}

static inline void put(const stored *s, int i, int j, number value)
{
    void *to = s->bytes + ((size_t)i + (size_t)j * (size_t)s->ld) * s->type->bytes;
    const long double parts[] = {creall(value), cimagl(value)};
    for (int part = 0; part <= s->type->is_complex; part++)
        if (s->type->is_double)
            ((double *)to)[part] = (double)parts[part];
        else
            ((float *)to)[part] = (float)parts[part];
}

/* Ends with the last element of the last column: what is beyond is no device memory. */
static inline stored store(const solver_type *t, const matrix *a, int padding)
{
    const int ld = a->rows + padding > 1 ? a->rows + padding : 1;
    const size_t count =
        a->columns && a->rows ? (size_t)(a->columns - 1) * (size_t)ld + (size_t)a->rows : 0;
    stored s = {t, a->rows, a->columns, ld, acquire(count * t->bytes)};
    memset(s.bytes, POISON, count * t->bytes);
    for (int j = 0; j < a->columns; j++)
        for (int i = 0; i < a->rows; i++) put(&s, i, j, *at(a, i, j));
    return s;
}

static inline void expect_padding(const stored *s)
{
    for (int j = 0; j + 1 < s->columns && s->rows; j++) {
        const size_t from = (size_t)(s->rows + j * s->ld) * s->type->bytes;
        const size_t end = (size_t)((j + 1) * s->ld) * s->type->bytes;
        for (size_t i = from; i < end; i++) assert_int_equal(s->bytes[i], POISON);
    }
}

static inline matrix loaded(const stored *s)
{
    matrix a = make(s->rows, s->columns);
    for (int j = 0; j < s->columns; j++)
        for (int i = 0; i < s->rows; i++) *at(&a, i, j) = load(s, i, j);
    return a;
}

/* Checks the padding, and frees it. */
static inline matrix take(stored *s)
{
    matrix a = loaded(s);
    expect_padding(s);
    expect_success(cudaFree(s->bytes));
    return a;
}

/* ---- parts of matrices, and errors ---- */

/* A complex operation rounds up to sqrt(8) times as much as a real one. */
static inline long double gamma_of(const solver_type *t, int n) { return 4.0L * (n + 3) * t->unit; }

/* Fills the part above or below the diagonal. */
static inline void fill_triangle(matrix *a, bool above, number value)
{
    for (int j = 0; j < a->columns; j++)
        for (int i = 0; i < a->rows; i++)
            if (above ? i < j : i > j) *at(a, i, j) = value;
}

/* The leading rows x columns part. */
static inline matrix part(const matrix *a, int rows, int columns)
{
    matrix b = make(rows, columns);
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) *at(&b, i, j) = *at(a, i, j);
    return b;
}

static const cublasFillMode_t fills[] = {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER};

/* The triangle that is not named holds NaN, and keeps it. */
static inline stored store_triangle(const solver_type *t, const matrix *a, cublasFillMode_t uplo,
                                    int padding)
{
    matrix half = part(a, a->rows, a->columns);
    fill_triangle(&half, uplo == CUBLAS_FILL_MODE_LOWER, NAN);
    stored s = store(t, &half, padding);
    free(half.x);
    return s;
}

static inline void expect_unitary(const solver_type *t, const matrix *q)
{
    matrix qt = adjoint(q), one = unit_matrix(q->columns), qtq = product(&qt, q);
    expect_within(distance(&qtq, &one), 3 * gamma_of(t, q->rows) * sqrtl(q->columns));
    free(qt.x);
    free(one.x);
    free(qtq.x);
}

#endif
