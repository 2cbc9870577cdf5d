/* refsyev's own parts: the matrices it makes, its start vectors, and its judgement of planted
 * errors. */
#include <math.h>
#include <stdlib.h>

#include "../support/test.h"
#include "refsyev_check.h"
#include "refsyev_matrix.h"

const char program_name[] = "unit_refsyev";

enum { N = 3 };

#define assert_near(value, expected, relative)                                                     \
    do {                                                                                           \
        double v_ = (value), e_ = (expected);                                                      \
        if (!(fabs(v_ - e_) <= (relative)*e_)) fail_msg(#value " is %.17g, not %.17g", v_, e_);    \
    } while (0)

/* A diagonal matrix, and the identity as its vectors but for an error at (0, 1), planted in hi or
 * lo. */
static eigen_quality check_diagonal(const double diagonal[N], double hi_error, double lo_error)
{
    double a[N * N] = {0}, hi[N * N] = {0}, lo[N * N] = {0};
    eigen_quality q;

    for (int i = 0; i < N; i++) {
        a[i + i * N] = diagonal[i];
        hi[i + i * N] = 1.0;
    }
    hi[N] = hi_error;
    lo[N] = lo_error;
    assert_true(eigen_check(N, a, hi, lo, &q));
    return q;
}

/* x_2 = e_2 + delta e_1: X'X has delta twice off its diagonal, X'A X delta a_11, and the intervals
 * are |delta (a_11 - a_22)| wide at least. */
TEST(planted_errors_are_measured)
{
    const double deltas[] = {1e-3, 1e-10, 1e-16, 1e-25}, scales[] = {1.0, 1e-300, 1e300, 1.0};

    for (size_t i = 0; i < sizeof deltas / sizeof *deltas; i++) {
        double delta = deltas[i], scale = scales[i];
        eigen_quality q = check_diagonal((const double[]){scale, 2.0 * scale, -4.0 * scale},
                                         i % 2 ? delta : 0.0, i % 2 ? 0.0 : delta);
        assert_near(q.orthogonality, sqrt(2.0) * delta, delta + 1e-9);
        assert_near(q.off_diagonal, sqrt(2.0) * delta / 4.0, delta + 1e-9);
        assert_true(q.radius >= delta / 4.0);
        assert_true(q.radius <= 4.0 * delta / 4.0);
        assert_int_equal(q.isolated, N);
    }
}

TEST(equal_eigenvalues_are_not_told_apart)
{
    assert_int_equal(check_diagonal((const double[]){1.0, 1.0, 2.0}, 0.0, 0.0).isolated, 1);
    assert_int_equal(check_diagonal((const double[]){1.0, 1.0, 1.0}, 0.0, 0.0).isolated, 0);
    assert_int_equal(check_diagonal((const double[]){1.0, 1.0 + 0x1p-52, 2.0}, 0.0, 0.0).isolated,
                     N);
    /* The error mixes the first two, whose intervals get as wide: the first then holds the
     * third. */
    assert_int_equal(check_diagonal((const double[]){2.0, -2.0, 2.0 + 1e-9}, 1e-3, 0.0).isolated,
                     1);
}

TEST(poor_vectors_prove_nothing)
{
    eigen_quality q = check_diagonal((const double[]){1.0, 2.0, 3.0}, 0.6, 0.0);

    assert_true(isinf(q.radius));
    assert_int_equal(q.isolated, 0);
    q = check_diagonal((const double[]){1.0, 2.0, 3.0}, NAN, 0.0);
    assert_true(isnan(q.orthogonality) && isinf(q.radius));
    assert_int_equal(q.isolated, 0);
}

/* The matrix is symmetric, and its vectors show eigenvalues 1, s, s^2, ... , each `multiple`
 * times. */
static void expect_matrix(int n, double spread, int multiple)
{
    random_stream random = {5};
    size_t count = (size_t)n * (size_t)n;
    double *a = host_matrix(n, n), *x = host_matrix(n, n), *zero = host_matrix(n, n), trace = 0.0;
    eigen_quality q;

    assert_true(a && x && zero);
    assert_true(symmetric_make(n, spread, multiple, n, &random, a));
    for (size_t i = 0; i < count; i++)
        assert_true(a[i] == a[i % (size_t)n * (size_t)n + i / (size_t)n]);
    for (int i = 0; i < n; i++) {
        int last = (n - 1) / multiple, number = i / multiple;
        trace += last ? pow(spread, -(double)number / last) : 1.0;
    }
    for (int i = 0; i < n; i++) trace -= a[i + (ptrdiff_t)i * n];
    assert_true(fabs(trace) <= n * 0x1p-52);
    assert_true(eigenvectors_jacobi(n, a, x));
    assert_true(eigen_check(n, a, x, zero, &q));
    assert_true(q.orthogonality <= n * 0x1p-48);
    assert_true(q.off_diagonal <= n * 0x1p-48);
    assert_int_equal(q.isolated, multiple == 1 ? n : 0);
    test_drop(a, x, zero);
}

TEST(matrices_have_their_eigenvalues)
{
    expect_matrix(1, 100.0, 1);
    expect_matrix(2, 1e3, 1);
    expect_matrix(20, 1e2, 1);
    expect_matrix(20, 1e6, 1);
    expect_matrix(20, 1e2, 4);
    expect_matrix(6, 1e2, 6);
}
