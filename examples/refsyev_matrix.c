#include "refsyev_matrix.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SWEEPS = 50 };

static void fill_diagonal(int n, double spread, int multiple, long double *a)
{
    int last = (n - 1) / multiple; /* number of the last different eigenvalue, from 0 */

    memset(a, 0, (size_t)n * (size_t)n * sizeof *a);
    for (int i = 0; i < n; i++) {
        int number = i / multiple;
        a[i + (ptrdiff_t)i * n] =
            last ? powl((long double)spread, -(long double)number / last) : 1.0L;
    }
}

/* A <- H A H with the reflection H = I - 2 v v' / (v'v), v random. w: room for 2 n numbers. */
static void reflect(int n, random_stream *random, long double *a, long double *w)
{
    long double *v = w, *q = w + n, v_v = 0.0L, v_q = 0.0L;

    for (int i = 0; i < n; i++) {
        v[i] = (long double)random_normal(random);
        v_v += v[i] * v[i];
    }
    for (int j = 0; j < n; j++) {
        const long double *column = a + (ptrdiff_t)j * n;
        q[j] = 0.0L;
        for (int i = 0; i < n; i++) q[j] += column[i] * v[i];
        q[j] *= 2.0L / v_v;
        v_q += v[j] * q[j];
    }
    for (int i = 0; i < n; i++) q[i] -= v_q / v_v * v[i];
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) a[i + (ptrdiff_t)j * n] -= v[i] * q[j] + q[i] * v[j];
}

bool symmetric_make(int n, double spread, int multiple, int reflections, random_stream *random,
                    double *a)
{
    long double *exact = calloc((size_t)n * (size_t)(n + 2), sizeof *exact);

    if (!exact) {
        complain("no memory for a %d x %d matrix on the host", n, n);
        return false;
    }
    fill_diagonal(n, spread, multiple, exact);
    for (int i = 0; i < reflections; i++) reflect(n, random, exact, exact + (ptrdiff_t)n * n);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
            a[i + (ptrdiff_t)j * n] = a[j + (ptrdiff_t)i * n] = (double)exact[i + (ptrdiff_t)j * n];
    free(exact);
    return true;
}

/* (x, y) <- (c x - s y, s x + c y) for `count` pairs `stride` apart. */
static void rotate(int count, double c, double s, double *x, double *y, int stride)
{
    for (ptrdiff_t i = 0, end = (ptrdiff_t)count * stride; i < end; i += stride) {
        double old = x[i];
        x[i] = c * old - s * y[i];
        y[i] = s * old + c * y[i];
    }
}

/* Makes b_pq vanish by a rotation of rows and columns p and q, which X's columns follow. */
static void annihilate(int n, int p, int q, double *b, double *x)
{
    double *column_p = b + (ptrdiff_t)p * n, *column_q = b + (ptrdiff_t)q * n;

    if (column_q[p] == 0.0) return;
    double theta = (column_q[q] - column_p[p]) / (2.0 * column_q[p]);
    double t = copysign(1.0 / (fabs(theta) + hypot(theta, 1.0)), theta);
    double c = 1.0 / hypot(t, 1.0), s = t * c;
    rotate(n, c, s, column_p, column_q, 1);
    rotate(n, c, s, b + p, b + q, n);
    rotate(n, c, s, x + (ptrdiff_t)p * n, x + (ptrdiff_t)q * n, 1);
}

/* The sums of the squares off the diagonal, and on it. */
static void sum_squares(int n, const double *b, double *off, double *on)
{
    *off = *on = 0.0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            double value = b[i + (ptrdiff_t)j * n];
            *(i == j ? on : off) += value * value;
        }
}

bool eigenvectors_jacobi(int n, const double *a, double *x)
{
    double *b = host_matrix(n, n), off = 0.0, on = 0.0;

    if (!b) return false;
    memcpy(b, a, (size_t)n * (size_t)n * sizeof *b);
    memset(x, 0, (size_t)n * (size_t)n * sizeof *x);
    for (int i = 0; i < n; i++) x[i + (ptrdiff_t)i * n] = 1.0;
    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        sum_squares(n, b, &off, &on);
        if (off <= 0x1p-106 * on) break;
        for (int p = 0; p < n - 1; p++)
            for (int q = p + 1; q < n; q++) annihilate(n, p, q, b, x);
    }
    free(b);
    if (off <= 0x1p-100 * on) return true; /* false for NaN */
    complain("Jacobi's method does not find the eigenvectors: is the matrix near overflow?");
    return false;
}
