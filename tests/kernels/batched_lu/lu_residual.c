#include "tests/support/test.h"

#include "lu_residual.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "tests/kernels/support/device.h"
#include "lu_batch.h"

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

/* A dense matrix, column-major; real ones have imaginary parts that are 0 and stay so. */
typedef struct {
    int n;
    bool is_complex;
    long double *re, *im;
} dense;

static dense dense_zero(const lu_batch *s)
{
    const size_t count = (size_t)s->rows * (size_t)s->rows;
    dense x = {s->rows, s->type >= TD_LU_C, test_zeros(2 * count, sizeof *x.re), NULL};
    x.im = x.re + count;
    return x;
}

static dense widened(const lu_batch *s)
{
    dense x = dense_zero(s);
    for (int j = 0; j < x.n; j++)
        for (int i = 0; i < x.n; i++) {
            const double complex from = lu_get(s, 0, i, j);
            x.re[i + j * x.n] = creal(from);
            x.im[i + j * x.n] = cimag(from);
        }
    return x;
}

static double one_norm(const dense *x)
{
    double most = 0.0;
    for (int j = 0; j < x->n; j++) {
        double sum = 0.0;
        for (int i = j * x->n; i < (j + 1) * x->n; i++)
            sum += hypot((double)x->re[i], (double)x->im[i]);
        if (!(sum <= most)) most = sum;
    }
    return most;
}

/* Column j of r becomes less by column k of f, from row `from` on, times a number. */
static void subtract_column(dense *r, int j, const dense *f, int k, int from, long double re,
                            long double im)
{
    long double *to = r->re + j * r->n, *to_im = r->im + j * r->n;
    const long double *x = f->re + k * f->n, *x_im = f->im + k * f->n;
    for (int i = from; i < r->n; i++) to[i] -= x[i] * re;
    for (int i = from; r->is_complex && i < r->n; i++) {
        to[i] += x_im[i] * im;
        to_im[i] -= x[i] * im + x_im[i] * re;
    }
}

static void swap(long double *x, long double *y)
{
    const long double z = *x;
    *x = *y;
    *y = z;
}

/* norm(P A - L U) / (n norm(A) epsilon) */
static double factor_residual(const lu_batch *a, const lu_batch *factors, const int *pivots)
{
    const int n = a->rows;
    dense r = widened(a), f = widened(factors);
    const double norm = one_norm(&r);
    for (int k = 0; k < n; k++)
        for (int j = 0, p = pivots[k] - 1; j < n; j++) {
            swap(&r.re[k + j * n], &r.re[p + j * n]);
            swap(&r.im[k + j * n], &r.im[p + j * n]);
        }
    for (int j = 0; j < n; j++)
        for (int k = 0; k <= j; k++) {
            const long double re = f.re[k + j * n], im = f.im[k + j * n];
            r.re[k + j * n] -= re;
            r.im[k + j * n] -= im;
            subtract_column(&r, j, &f, k, k + 1, re, im);
        }
    const double residual = one_norm(&r) / (n * norm * lapack[a->type].epsilon);
    test_drop(r.re, f.re);
    return residual;
}

/* norm(I - A X) / (n norm(A) norm(X) epsilon) */
static double inverse_residual(const lu_batch *a, const lu_batch *inverse)
{
    const int n = a->rows;
    dense m = widened(a), x = widened(inverse), r = dense_zero(a);
    for (int j = 0; j < n; j++) {
        r.re[j + j * n] = 1.0L;
        for (int k = 0; k < n; k++)
            subtract_column(&r, j, &m, k, 0, x.re[k + j * n], x.im[k + j * n]);
    }
    const double residual =
        one_norm(&r) / (n * one_norm(&m) * one_norm(&x) * lapack[a->type].epsilon);
    test_drop(m.re, x.re, r.re);
    return residual;
}

typedef struct {
    double factor, inverse;
} residual;

static residual of_lapack(const lu_batch *a)
{
    int n = a->rows, info = 0, size = 64 * n;
    lu_batch x = lu_batch_copy(a);
    int *pivots = test_memory((size_t)n * sizeof *pivots);
    void *work = test_memory((size_t)size * x.number_bytes);
    residual r = {0, NAN};
    lapack[a->type].getrf(&n, &n, x.host, &x.ld, pivots, &info);
    r.factor = factor_residual(a, &x, pivots);
    if (info == 0) {
        lapack[a->type].getri(&n, x.host, &x.ld, pivots, work, &size, &info);
        r.inverse = inverse_residual(a, &x);
    }
    test_drop(pivots, work);
    lu_batch_free(&x);
    return r;
}

static residual of_kernels(const lu_batch *a)
{
    const int n = a->rows;
    int info = 0, *device = NULL, *pivots = test_memory((size_t)n * sizeof *pivots);
    lu_batch x = lu_batch_copy(a), inverse = lu_batch_make(a->type, n, n, 0, 1);
    residual r = {0, NAN};
    CHECK_CUDA(cudaMalloc((void **)&device, (size_t)(n + 1) * sizeof *device));
    const td_lu_factors factors = {a->type, n, x.pointers, x.ld, device, device + n, 1, -1};
    CHECK_CUDA(td_lu_factor(&factors, NULL));
    lu_batch_download(&x);
    CHECK_CUDA(cudaMemcpy(pivots, device, (size_t)n * sizeof *pivots, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(&info, device + n, sizeof info, cudaMemcpyDeviceToHost));
    r.factor = factor_residual(a, &x, pivots);
    if (info == 0 && n <= TD_LU_MOST) {
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
        lu_batch_download(&inverse);
        r.inverse = inverse_residual(a, &inverse);
    }
    device_free(device);
    free(pivots);
    lu_batch_free(&x);
    lu_batch_free(&inverse);
    return r;
}

/* LAPACK's own tests fail above 30; ours are to be no more than a few times LAPACK's, which may be
 * 0. */
static double allowed(double of_lapack) { return of_lapack > 0.1 ? 4.0 * of_lapack : 0.4; }

static void check_residual(td_lu_type type, int n, lu_kind kind, test_random *random,
                           residual *most)
{
    lu_batch a = lu_batch_make(type, n, n, 0, 1);
    lu_fill(&a, 0, kind, random);
    lu_batch_upload(&a);
    const residual theirs = of_lapack(&a), ours = of_kernels(&a);
    CHECK_AT_MOST(ours.factor, allowed(theirs.factor), "factors of %s, type %c, n = %d",
                  lu_kind_names[kind], "SDCZ"[type], n);
    if (theirs.inverse == theirs.inverse && ours.inverse == ours.inverse)
        CHECK_AT_MOST(ours.inverse, allowed(theirs.inverse), "inverse of %s, type %c, n = %d",
                      lu_kind_names[kind], "SDCZ"[type], n);
    if (ours.factor > most->factor) most->factor = ours.factor;
    if (ours.inverse > most->inverse) most->inverse = ours.inverse;
    lu_batch_free(&a);
}

void check_residuals(int step, int all_types_to)
{
    residual most = {0, 0};
    test_random random = random_start(20261123);
    for (int n = 1; n <= TD_LU_MOST_FACTORED; n += n < 8 ? 1 : n < TD_LU_MOST ? step : 8 * step)
        for (int t = 0; t < TD_LU_TYPES; t++)
            if (n <= all_types_to || t == n / step % TD_LU_TYPES)
                check_residual((td_lu_type)t, n, (lu_kind)((n / step + t) % (LU_KAHAN + 1)),
                               &random, &most);
    test_note("largest residuals in units of n norm epsilon: factors %.3g, inverses %.3g",
              most.factor, most.inverse);
}
