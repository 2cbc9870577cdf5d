/* cublas_expect.h - what the tests of the stand-in for cuBLAS share: a handle, matrices in device
 * memory, and a product in plain loops to compare with. */
#ifndef CUBLAS_EXPECT_H
#define CUBLAS_EXPECT_H

#include <float.h>
#include <math.h>

#include <cublas_v2.h>

#include "../support/random.h"
#include "expect.h"

static const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
static cublasHandle_t handle;

static inline int create(void **state)
{
    (void)state;
    return cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS;
}

static inline int destroy(void **state)
{
    (void)state;
    return cublasDestroy(handle) != CUBLAS_STATUS_SUCCESS;
}

#define expect_status(call, status) assert_int_equal((call), (status))
#define expect_ok(call)             expect_status(call, CUBLAS_STATUS_SUCCESS)

/* ---- matrices in device memory, which the test reads and writes directly ---- */

static inline double random_number(void)
{
    static uint64_t state;
    if (!state) state = test_seed();
    return random_signed(&state);
}

static inline void *acquire(size_t bytes)
{
    void *memory = NULL;

    expect_success(cudaMalloc(&memory, bytes));
    return memory;
}

static inline double *random_doubles(int count)
{
    double *x = acquire((size_t)count * sizeof *x);

    for (int i = 0; i < count; i++) x[i] = random_number();
    return x;
}

/* An n-element copy of x in a new place. */
static inline double *copy_of(const double *x, int n)
{
    double *y = acquire((size_t)n * sizeof *y);

    memcpy(y, x, (size_t)n * sizeof *y);
    return y;
}

static inline double element(const double *x, int ld, cublasOperation_t op, int row, int column)
{
    return op == CUBLAS_OP_N ? x[row + column * ld] : x[column + row * ld];
}

/* |x - y| within bound, or both NaN, or the same infinity. */
static inline int agrees(double x, double y, double bound)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    if (isinf(x) || isinf(y)) return x == y;
    return fabs(x - y) <= bound;
}

/* ---- comparison ---- */

typedef struct {
    cublasOperation_t op_a, op_b;
    int m, n, k, lda, ldb, ldc;
    double alpha, beta;
} shape;

/* Compares got with alpha op(A) op(B) + beta old, and its padding with old; unit is the rounding
 * error. */
static inline void compare(const shape *s, const double *a, const double *b, const double *old,
                           const double *got, double unit)
{
    for (int j = 0; j < s->n; j++)
        for (int i = 0; i < s->ldc; i++) {
            const int at = i + j * s->ldc;
            const double kept = s->beta == 0 ? 0 : s->beta * old[at];
            double sum = 0, size = 0, want;

            for (int l = 0; l < s->k && s->alpha != 0 && i < s->m; l++) {
                const double term =
                    element(a, s->lda, s->op_a, i, l) * element(b, s->ldb, s->op_b, l, j);

                sum += term;
                size += fabs(term);
            }
            want = (s->alpha == 0 ? 0 : s->alpha * sum) + kept;
            size = fabs(s->alpha) * size + fabs(kept);
            if (i >= s->m) {
                assert_memory_equal(&got[at], &old[at], sizeof got[at]);
            } else if (!agrees(got[at], want, (s->k + 3) * unit * size)) {
                fail_msg("%d%d %d x %d x %d, alpha %g, beta %g, C(%d,%d) is %a, not %a", s->op_a,
                         s->op_b, s->m, s->n, s->k, s->alpha, s->beta, i, j, got[at], want);
            }
        }
}

#endif
