/* test_eigen.c - the reference's counts of eigenvalues, where these are known. */
#include "../support/test.h"

#include <math.h>

#include "../support/random.h"
#include "ref_eigen.h"

enum { N = 12, BITS = 300 };

static int count(const double *a, const double *b, double x, bool inclusive)
{
    ref_spectrum *s = ref_spectrum_make(N, a, b, BITS);
    const int found = s ? ref_spectrum_count(s, x, inclusive) : -1;
    ref_spectrum_free(s);
    return found;
}

/* Eigenvalues 1, 1, 2, 2, ...: each is below or at a number as it is. */
TEST(diagonal_matrices)
{
    double a[N * N] = {0};
    for (int i = 0; i < N; i++) a[i * (N + 1)] = 1 + (i * 5 % N) / 2;
    for (int k = 0; k <= N / 2; k++) {
        CHECK(count(a, NULL, k, false) == (k ? 2 * (k - 1) : 0), "below %d", k);
        CHECK(count(a, NULL, k, true) == 2 * k, "at %d or below", k);
        CHECK(count(a, NULL, k + 0x1p-40, false) == 2 * k, "just above %d", k);
    }
}

/* All ones: 0, eleven times, but for roundings of 300 bits, and 12. With B = 2 I half as much. */
TEST(one_large_eigenvalue)
{
    double a[N * N], b[N * N] = {0};
    for (int i = 0; i < N * N; i++) a[i] = 1.0;
    for (int i = 0; i < N; i++) b[i * (N + 1)] = 2.0;
    CHECK(count(a, NULL, -0x1p-250, false) == 0, "none is negative");
    CHECK(count(a, NULL, 0x1p-250, false) == N - 1, "eleven are 0");
    CHECK(count(a, NULL, N - 0x1p-40, false) == N - 1, "one is 12");
    CHECK(count(a, NULL, N + 0x1p-40, false) == N, "none is above");
    CHECK(count(a, b, N / 2 - 0x1p-40, false) == N - 1, "one is 6");
    CHECK(count(a, b, N / 2 + 0x1p-40, false) == N, "none is above 6");
    b[N + 1] = 0.0;
    CHECK(count(a, b, 0.0, false) == -1, "B is singular");
}

/* 2 - 2 cos(k pi / 13), of a matrix whose reflections have nothing to do, and of the same one
 * turned by a random reflection, which is rounded to binary64. */
TEST(second_differences)
{
    double a[N * N] = {0}, v[N], turned[N * N], half = 0.0;
    test_random r = random_start(test_seed());
    for (int i = 0; i < N; i++) {
        a[i * (N + 1)] = 2.0;
        if (i > 0) a[i * N + i - 1] = a[(i - 1) * N + i] = -1.0;
        v[i] = random_normal(&r);
        half += v[i] * v[i] / 2.0;
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = a[i + j * N];
            for (int k = 0; k < N; k++)
                sum -= (v[i] * v[k] * a[k + j * N] + a[i + k * N] * v[k] * v[j]) / half;
            for (int k = 0; k < N; k++)
                for (int l = 0; l < N; l++)
                    sum += v[i] * v[k] * a[k + l * N] * v[l] * v[j] / (half * half);
            turned[i + j * N] = sum;
        }
    for (int j = 0; j < N; j++)
        for (int i = 0; i < j; i++) turned[i + j * N] = turned[j + i * N];
    for (int k = 1; k <= N; k++) {
        const double lambda = 2.0 - 2.0 * cos(k * 3.141592653589793 / (N + 1));
        CHECK(count(a, NULL, lambda - 1e-14, false) == k - 1, "%d below %g", k - 1, lambda);
        CHECK(count(a, NULL, lambda + 1e-14, false) == k, "%d to %g", k, lambda);
        CHECK(count(turned, NULL, lambda - 1e-12, true) == k - 1, "turned: %d", k - 1);
        CHECK(count(turned, NULL, lambda + 1e-12, true) == k, "turned: %d", k);
    }
}
