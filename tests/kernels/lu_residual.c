#include "../support/test.h"

#include "lu_residual.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "lu_stack.h"

/* LAPACK, as Fortran calls it. */
void sgetrf_(const int *m, const int *n, void *a, const int *lda, int *pivots, int *info);
void dgetrf_(const int *m, const int *n, void *a, const int *lda, int *pivots, int *info);
void cgetrf_(const int *m, const int *n, void *a, const int *lda, int *pivots, int *info);
void zgetrf_(const int *m, const int *n, void *a, const int *lda, int *pivots, int *info);
void sgetri_(const int *n, void *a, const int *lda, const int *pivots, void *work, const int *size,
             int *info);
void dgetri_(const int *n, void *a, const int *lda, const int *pivots, void *work, const int *size,
             int *info);
void cgetri_(const int *n, void *a, const int *lda, const int *pivots, void *work, const int *size,
             int *info);
void zgetri_(const int *n, void *a, const int *lda, const int *pivots, void *work, const int *size,
             int *info);

static const struct {
    void (*getrf)(const int *, const int *, void *, const int *, int *, int *);
    void (*getri)(const int *, void *, const int *, const int *, void *, const int *, int *);
    double epsilon;
} lapack[TD_LU_TYPES] = {
    {sgetrf_, sgetri_, FLT_EPSILON},
    {dgetrf_, dgetri_, DBL_EPSILON},
    {cgetrf_, cgetri_, FLT_EPSILON},
    {zgetrf_, zgetri_, DBL_EPSILON},
};

typedef long double complex wide;

/* A dense matrix, column-major. */
static wide *widened(const lu_stack *s, int n)
{
    wide *x = malloc((size_t)(n * n) * sizeof *x);
    CHECK(x, "no memory");
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) x[i + j * n] = lu_get(s, 0, i, j);
    return x;
}

static double one_norm(const wide *x, int n)
{
    double most = 0.0;
    for (int j = 0; j < n; j++) {
        double sum = 0.0;
        for (int i = 0; i < n; i++) sum += (double)cabsl(x[i + j * n]);
        if (!(sum <= most)) most = sum;
    }
    return most;
}

/* norm(P A - L U) / (n norm(A) epsilon) */
static double factor_residual(const lu_stack *a, const lu_stack *factors, const int *pivots)
{
    const int n = a->rows;
    wide *r = widened(a, n), *f = widened(factors, n);
    const double norm = one_norm(r, n);
    for (int k = 0; k < n; k++)
        for (int j = 0, p = pivots[k] - 1; j < n; j++) {
            const wide x = r[k + j * n];
            r[k + j * n] = r[p + j * n];
            r[p + j * n] = x;
        }
    for (int j = 0; j < n; j++)
        for (int k = 0; k <= j; k++) {
            const wide u = f[k + j * n];
            r[k + j * n] -= u;
            for (int i = k + 1; i < n; i++) r[i + j * n] -= f[i + k * n] * u;
        }
    const double residual = one_norm(r, n) / (n * norm * lapack[a->type].epsilon);
    free(r);
    free(f);
    return residual;
}

/* norm(A X - I) / (n norm(A) norm(X) epsilon) */
static double inverse_residual(const lu_stack *a, const lu_stack *inverse)
{
    const int n = a->rows;
    wide *m = widened(a, n), *x = widened(inverse, n), *r = calloc((size_t)(n * n), sizeof *r);
    CHECK(r, "no memory");
    for (int j = 0; j < n; j++) {
        r[j + j * n] = -1.0L;
        for (int k = 0; k < n; k++)
            for (int i = 0; i < n; i++) r[i + j * n] += m[i + k * n] * x[k + j * n];
    }
    const double residual =
        one_norm(r, n) / (n * one_norm(m, n) * one_norm(x, n) * lapack[a->type].epsilon);
    free(m);
    free(x);
    free(r);
    return residual;
}

typedef struct {
    double factor, inverse;
} residual;

static residual of_lapack(const lu_stack *a)
{
    int n = a->rows, info = 0, size = 64 * n;
    lu_stack x = lu_stack_copy(a);
    int *pivots = malloc((size_t)n * sizeof *pivots);
    void *work = malloc((size_t)size * x.number_bytes);
    residual r = {0, NAN};
    CHECK(pivots && work, "no memory");
    lapack[a->type].getrf(&n, &n, x.host, &x.ld, pivots, &info);
    r.factor = factor_residual(a, &x, pivots);
    if (info == 0) {
        lapack[a->type].getri(&n, x.host, &x.ld, pivots, work, &size, &info);
        r.inverse = inverse_residual(a, &x);
    }
    free(pivots);
    free(work);
    lu_stack_free(&x);
    return r;
}

static residual of_kernels(const lu_stack *a)
{
    const int n = a->rows;
    int info = 0, *device = NULL, *pivots = malloc((size_t)n * sizeof *pivots);
    lu_stack x = lu_stack_copy(a), inverse = lu_stack_make(a->type, n, n, 0, 1);
    residual r = {0, NAN};
    CHECK(pivots, "no memory");
    CHECK_CUDA(cudaMalloc((void **)&device, (size_t)(n + 1) * sizeof *device));
    const td_lu_factors factors = {a->type, n, x.pointers, x.ld, device, device + n, 1, -1};
    CHECK_CUDA(td_lu_factor(&factors, NULL));
    lu_stack_download(&x);
    CHECK_CUDA(cudaMemcpy(pivots, device, (size_t)n * sizeof *pivots, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(&info, device + n, sizeof info, cudaMemcpyDeviceToHost));
    r.factor = factor_residual(a, &x, pivots);
    if (info == 0) {
        const td_lu_vectors p = {.type = a->type,
                                 .n = n,
                                 .vectors = n,
                                 .a = (const void *const *)x.pointers,
                                 .lda = x.ld,
                                 .b = inverse.pointers,
                                 .ldb = inverse.ld,
                                 .batch = 1,
                                 .what = TD_VECTORS_INVERSE,
                                 .pivots = device};
        CHECK_CUDA(td_lu_solve(&p, NULL));
        lu_stack_download(&inverse);
        r.inverse = inverse_residual(a, &inverse);
    }
    device_free(device);
    free(pivots);
    lu_stack_free(&x);
    lu_stack_free(&inverse);
    return r;
}

/* LAPACK's own tests fail above 30; ours are to be no more than a few times LAPACK's, which may be 0. */
static double allowed(double of_lapack) { return of_lapack > 0.1 ? 4.0 * of_lapack : 0.4; }

void check_residuals(int step)
{
    residual most = {0, 0};
    test_random random = random_start(20261123);
    for (int n = 1, run = 0; n <= TD_LU_MOST; n += n < 8 ? 1 : step, run++) {
        const td_lu_type type = (td_lu_type)(run % TD_LU_TYPES);
        const lu_kind kind = (lu_kind)(run / TD_LU_TYPES % (LU_KAHAN + 1));
        lu_stack a = lu_stack_make(type, n, n, 0, 1);
        lu_fill(&a, 0, kind, &random);
        lu_stack_upload(&a);
        const residual theirs = of_lapack(&a), ours = of_kernels(&a);
        CHECK_AT_MOST(ours.factor, allowed(theirs.factor), "factors of %s, type %c, n = %d",
                      lu_kind_names[kind], "SDCZ"[type], n);
        if (theirs.inverse == theirs.inverse && ours.inverse == ours.inverse)
            CHECK_AT_MOST(ours.inverse, allowed(theirs.inverse), "inverse of %s, type %c, n = %d",
                          lu_kind_names[kind], "SDCZ"[type], n);
        if (ours.factor > most.factor) most.factor = ours.factor;
        if (ours.inverse > most.inverse) most.inverse = ours.inverse;
        lu_stack_free(&a);
    }
    test_note("largest residuals in units of n norm epsilon: factors %.3g, inverses %.3g",
              most.factor, most.inverse);
}
