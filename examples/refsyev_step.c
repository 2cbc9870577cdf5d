#include "refsyev_step.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "common.h"

enum { DEVICE_MATRICES = 9, HOST_MATRICES = 3 };

static size_t matrix_bytes(const refsyev *f)
{
    return (size_t)f->n * (size_t)f->n * sizeof(double);
}

static bool copy(const refsyev *f, double *to, const double *from, enum cudaMemcpyKind kind)
{
    CHECK_CUDA(cudaMemcpy(to, from, matrix_bytes(f), kind));
    return true;
out:
    return false;
}

/* A refsyev_multiply. */
static bool multiply_cublas(const refsyev *f, double alpha, cublasOperation_t op_a, const double *a,
                            const double *b, double beta, double *c)
{
    CHECK_CUBLAS(cublasDgemm(f->blas, op_a, CUBLAS_OP_N, f->n, f->n, f->n, &alpha, a, f->n, b, f->n,
                             &beta, c, f->n));
    return true;
out:
    return false;
}

bool refsyev_make(int n, refsyev_kept kept, const double *a, const double *b, const double *x,
                  refsyev *f)
{
    ptrdiff_t count = (ptrdiff_t)n * n;

    *f = (refsyev){.kept = kept, .n = n, .multiply = multiply_cublas};
    CHECK_CUBLAS(cublasCreate(&f->blas));
    f->host = host_matrix(n, HOST_MATRICES * n);
    f->lambda = host_matrix(n, 1);
    f->a = device_matrix(n, (DEVICE_MATRICES + (b != NULL)) * n);
    if (!f->host || !f->lambda || !f->a) goto out;
    double **const rest[] = {&f->x_hi, &f->x_lo, &f->p_hi, &f->p_lo, &f->r, &f->s, &f->e, &f->next};
    for (int i = 0; i < DEVICE_MATRICES - 1; i++) *rest[i] = f->a + (i + 1) * count;
    if (b) f->b = f->a + DEVICE_MATRICES * count;
    if (b && !copy(f, f->b, b, cudaMemcpyHostToDevice)) goto out;
    CHECK_CUDA(cudaMemset(f->x_lo, 0, matrix_bytes(f)));
    return copy(f, f->a, a, cudaMemcpyHostToDevice) && copy(f, f->x_hi, x, cudaMemcpyHostToDevice);
out:
    return false;
}

void refsyev_free(refsyev *f)
{
    cudaFree(f->a);
    free(f->lambda);
    free(f->host);
    if (f->blas) cublasDestroy(f->blas);
}

static bool multiply(const refsyev *f, double alpha, cublasOperation_t op_a, const double *a,
                     const double *b, double beta, double *c)
{
    return f->multiply(f, alpha, op_a, a, b, beta, c);
}

/* hi + lo <- M X, lo being what the rounding of hi took away; lo is left alone where nothing is
 * kept. */
static bool compute_pair(const refsyev *f, const double *m, double *hi, double *lo)
{
    if (!multiply(f, 1.0, CUBLAS_OP_N, m, f->x_hi, 0.0, hi)) return false;
    return f->kept == KEEP_NOTHING || (copy(f, lo, hi, cudaMemcpyDeviceToDevice) &&
                                       multiply(f, 1.0, CUBLAS_OP_N, m, f->x_hi, -1.0, lo));
}

/* R <- R - X'(B X); E and the next X have room for B X, as they are not there yet. */
static bool subtract_b(const refsyev *f)
{
    return compute_pair(f, f->b, f->e, f->next) &&
           multiply(f, -1.0, CUBLAS_OP_T, f->x_hi, f->e, 1.0, f->r) &&
           (f->kept == KEEP_NOTHING || multiply(f, -1.0, CUBLAS_OP_T, f->x_hi, f->next, 1.0, f->r));
}

/* R <- I - X'X, the identity being the first product's C: the elements of R are small, and rounded
 * as such. The square of x_lo is below 2^-106. */
static bool compute_r(const refsyev *f)
{
    double *identity = f->host;

    for (ptrdiff_t i = 0, count = (ptrdiff_t)f->n * f->n; i < count; i++)
        identity[i] = i % (f->n + 1) ? 0.0 : 1.0;
    if (!copy(f, f->r, identity, cudaMemcpyHostToDevice)) return false;
    if (f->b) return subtract_b(f);
    if (!multiply(f, -1.0, CUBLAS_OP_T, f->x_hi, f->x_hi, 1.0, f->r)) return false;
    return f->kept != KEEP_VECTORS ||
           (multiply(f, -1.0, CUBLAS_OP_T, f->x_hi, f->x_lo, 1.0, f->r) &&
            multiply(f, -1.0, CUBLAS_OP_T, f->x_lo, f->x_hi, 1.0, f->r));
}

/* P <- A X. */
static bool compute_p(const refsyev *f)
{
    if (!compute_pair(f, f->a, f->p_hi, f->p_lo)) return false;
    return f->kept != KEEP_VECTORS || multiply(f, 1.0, CUBLAS_OP_N, f->a, f->x_lo, 1.0, f->p_lo);
}

/* S <- X'P */
static bool compute_s(const refsyev *f)
{
    return multiply(f, 1.0, CUBLAS_OP_T, f->x_hi, f->p_hi, 0.0, f->s) &&
           (f->kept == KEEP_NOTHING ||
            multiply(f, 1.0, CUBLAS_OP_T, f->x_hi, f->p_lo, 1.0, f->s)) &&
           (f->kept != KEEP_VECTORS || multiply(f, 1.0, CUBLAS_OP_T, f->x_lo, f->p_hi, 1.0, f->s));
}

/* The distance below which eigenvalues count as equal: twice a bound of the error of S and R in
 * them. The Frobenius norm stands for the 2-norm, which it bounds. */
static double least_distance(int n, const double *r, const double *s, const double *lambda)
{
    double r_squares = 0.0, s_squares = 0.0, largest = 0.0;

    for (int j = 0; j < n; j++) {
        largest = fmax(largest, fabs(lambda[j]));
        for (int i = 0; i < n; i++) {
            double off = s[i + (ptrdiff_t)j * n] - (i == j ? lambda[j] : 0.0);
            s_squares += off * off;
            r_squares += r[i + (ptrdiff_t)j * n] * r[i + (ptrdiff_t)j * n];
        }
    }
    return 2.0 * (sqrt(s_squares) + largest * sqrt(r_squares));
}

/* E from R and S, and lambda, on the host. */
static void compute_e(int n, const double *r, const double *s, double *lambda, double *e)
{
    for (int j = 0; j < n; j++) {
        ptrdiff_t jj = j + (ptrdiff_t)j * n;
        lambda[j] = s[jj] / (1.0 - r[jj]);
    }
    double least = least_distance(n, r, s, lambda);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            ptrdiff_t ij = i + (ptrdiff_t)j * n;
            double distance = lambda[j] - lambda[i];
            e[ij] = fabs(distance) > least ? (s[ij] + lambda[j] * r[ij]) / distance : 0.5 * r[ij];
        }
}

/* X <- X + X E, in one product. */
static bool add_correction(refsyev *f)
{
    double *old = f->x_hi;

    if (!copy(f, f->next, f->x_hi, cudaMemcpyDeviceToDevice) ||
        !multiply(f, 1.0, CUBLAS_OP_N, f->x_hi, f->e, 1.0, f->next))
        return false;
    f->x_hi = f->next;
    f->next = old;
    return true;
}

/* (hi, lo) <- hi + lo + d with an error of about 2^-106 |hi|, for |d| < |hi| or not: TwoSum
 * (Knuth). */
static void add_to_pair(double *hi, double *lo, double d)
{
    double sum = *hi + d, part = sum - *hi;
    double error = (*hi - (sum - part)) + (d - part) + *lo;

    *hi = sum + error;
    *lo = error - (*hi - sum);
}

/* Adds the correction to vectors that are pairs of numbers. The sums are the host's: cuBLAS has
 * none that keep what they round off. */
static bool add_correction_to_pairs(const refsyev *f)
{
    ptrdiff_t count = (ptrdiff_t)f->n * f->n;
    double *hi = f->host, *lo = hi + count, *change = lo + count;

    if (!multiply(f, 1.0, CUBLAS_OP_N, f->x_hi, f->e, 0.0, f->next) ||
        !multiply(f, 1.0, CUBLAS_OP_N, f->x_lo, f->e, 1.0, f->next) ||
        !copy(f, change, f->next, cudaMemcpyDeviceToHost) || !refsyev_vectors(f, hi, lo))
        return false;
    for (ptrdiff_t i = 0; i < count; i++) add_to_pair(&hi[i], &lo[i], change[i]);
    return copy(f, f->x_hi, hi, cudaMemcpyHostToDevice) &&
           copy(f, f->x_lo, lo, cudaMemcpyHostToDevice);
}

bool refsyev_step(refsyev *f)
{
    ptrdiff_t count = (ptrdiff_t)f->n * f->n;
    double *r = f->host, *s = r + count, *e = s + count;

    if (!compute_r(f) || !compute_p(f) || !compute_s(f) ||
        !copy(f, r, f->r, cudaMemcpyDeviceToHost) || !copy(f, s, f->s, cudaMemcpyDeviceToHost))
        return false;
    compute_e(f->n, r, s, f->lambda, e);
    if (!copy(f, f->e, e, cudaMemcpyHostToDevice)) return false;
    return f->kept == KEEP_VECTORS ? add_correction_to_pairs(f) : add_correction(f);
}

bool refsyev_vectors(const refsyev *f, double *hi, double *lo)
{
    return copy(f, hi, f->x_hi, cudaMemcpyDeviceToHost) &&
           copy(f, lo, f->x_lo, cudaMemcpyDeviceToHost);
}
