/* client_blas.c - a program that calls the BLAS of the CPU, as Fortran does: one product of n x n
 * matrices, of which it prints the largest error against sums in long double. */
#include <math.h>
#include <stdio.h>

void dgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc);

enum { N = 200 };
static double a[N * N], b[N * N], c[N * N];

int main(void)
{
    const int n = N;
    const double one = 1.0, zero = 0.0;
    long double worst = 0.0L;
    for (int i = 0; i < N * N; i++) {
        a[i] = 1.0 / (i + 3);
        b[i] = 1.0 / (2 * i + 7);
        c[i] = NAN;
    }
    dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
    for (int j = 0; j < N; j++) {
        for (int i = 0; i < N; i++) {
            long double sum = 0.0L;
            for (int k = 0; k < N; k++) sum += (long double)a[i + k * N] * b[k + j * N];
            const long double error = fabsl(c[i + j * N] / sum - 1.0L);
            if (!(error <= worst)) worst = error;
        }
    }
    printf("%.3Lg\n", worst);
    return 0;
}
