/* check_eigen_kernels.c - what lies between the products of refined eigenvectors, held against
 * plain loops on the host: bit by bit, but for sums, whose order is the kernels' own, and for the
 * vectors of small clusters, which have to be such vectors. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/eigen/eigen.h"
#include "tests/kernels/support/device.h"
#include "tests/support/random.h"

enum { MOST = 100 };

static uint64_t seed; /* that was drawn last */
static test_random start(void) { return random_start(seed = test_seed()); }

/* n x n numbers between -1/2 and 1/2, in columns of ld. */
static void fill(test_random *r, double *a, int rows, int columns, int ld)
{
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < ld; i++)
            a[i + j * ld] = i < rows ? random_uniform(r) - 0.5 : (double)NAN;
}

static void expect_same(const double *found, const double *wanted, int count, const char *what)
{
    for (int e = 0; e < count; e++)
        CHECK(memcmp(&found[e], &wanted[e], sizeof *found) == 0,
              "%s: element %d is %a, not %a, seed %llu", what, e, found[e], wanted[e],
              (unsigned long long)seed);
}

static const int orders[] = {1, 2, 31, 32, 33, 64, 65, 100};
enum { ORDERS = sizeof orders / sizeof *orders };

/* ---- A comes in ---- */

static double largest_in(const double *a, int n, int ld, bool is_upper)
{
    double largest = 0.0;
    for (int j = 0; j < n; j++)
        for (int i = is_upper ? 0 : j; i < (is_upper ? j + 1 : n); i++)
            largest = fmax(largest, fabs(a[i + j * ld]));
    return largest;
}

static void check_taking(int n, bool is_upper)
{
    static double a[MOST * MOST + MOST], whole[MOST * MOST];
    static float narrow[MOST * MOST];
    const int ld = n + 1;
    test_random r = start();
    unsigned long long bits = 77;
    fill(&r, a, n, n, ld);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            if (i != j && (i < j) != is_upper) a[i + j * ld] = (double)NAN;
    void *on[] = {device_copy(a, sizeof a), device_copy(whole, sizeof whole),
                  device_copy(narrow, sizeof narrow), device_copy(&bits, sizeof bits)};
    const td_eigen_source source = {on[0], ld, n, is_upper};
    CHECK_CUDA(td_eigen_largest_run(&source, on[3], NULL));
    CHECK_CUDA(td_eigen_take_run(&source, 3, on[1], on[2], NULL));
    CHECK_CUDA(cudaDeviceSynchronize());
    device_fetch(whole, on[1], sizeof whole);
    device_fetch(narrow, on[2], sizeof narrow);
    device_fetch(&bits, on[3], sizeof bits);
    const double largest = largest_in(a, n, ld, is_upper);
    CHECK(memcmp(&bits, &largest, sizeof bits) == 0, "order %d: largest %llx", n, bits);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            const double x = 0.125 * ((i < j) == is_upper ? a[i + j * ld] : a[j + i * ld]);
            CHECK(whole[i + j * n] == x, "order %d: element %d, %d", n, i, j);
            CHECK(narrow[i + j * n] == (float)x, "order %d: element %d, %d", n, i, j);
        }
    for (int i = 0; i < 4; i++) device_free(on[i]);
}

TEST(both_triangles_are_taken)
{
    for (int i = 0; i < ORDERS; i++)
        for (int u = 0; u < 2; u++) check_taking(orders[i], u);
}

/* Infinity and NaN are above all numbers. */
TEST(not_finite_is_largest)
{
    const double bad[] = {(double)INFINITY, -(double)INFINITY, (double)NAN, -(double)NAN};
    for (int i = 0; i < 4; i++) {
        double a[9] = {1.0, 2.0, bad[i], 0.0, 1e308, 3.0, 0.0, 0.0, 1.0};
        unsigned long long bits = 0;
        void *on = device_copy(a, sizeof a), *found = device_copy(&bits, sizeof bits);
        const td_eigen_source source = {on, 3, 3, false};
        CHECK_CUDA(td_eigen_largest_run(&source, found, NULL));
        device_fetch(&bits, found, sizeof bits);
        CHECK(bits >= 0x7ff0000000000000u, "%g: %llx", bad[i], bits);
        device_free(on, found);
    }
}

/* ---- what is off ---- */

static void expect_near(double x, long double y, const char *what, int column)
{
    CHECK_AT_MOST(fabs(x - (double)y), 200.0 * 0x1p-53 * (1.0 + fabs(x)),
                  "%s of column %d, seed %llu", what, column, (unsigned long long)seed);
}

static void check_measuring(int n)
{
    static double x[MOST * MOST], ax[MOST * MOST], r[MOST * MOST], found[3 * MOST];
    test_random random = start();
    fill(&random, x, n, n, n);
    fill(&random, ax, n, n, n);
    fill(&random, r, n, n, n);
    void *on[] = {device_copy(x, sizeof x), device_copy(ax, sizeof ax), device_copy(r, sizeof r),
                  device_copy(found, sizeof found)};
    double *to = on[3];
    CHECK_CUDA(td_eigen_measure_run(n, on[0], on[1], on[2],
                                    (td_eigen_measured){to, to + n, to + 2 * n}, NULL));
    device_fetch(found, on[3], sizeof found);
    for (int j = 0; j < n; j++) {
        long double dot = 0.0L, residual = 0.0L, departure = 0.0L;
        for (int i = 0; i < n; i++) dot += (long double)x[i + j * n] * ax[i + j * n];
        const long double value = dot / (1.0L - r[j + j * n]);
        for (int i = 0; i < n; i++) {
            const long double off = ax[i + j * n] - (long double)found[j] * x[i + j * n],
                              d = i >= j ? r[i + j * n] : r[j + i * n];
            residual += off * off;
            departure += d * d;
        }
        expect_near(found[j], value, "value", j);
        expect_near(found[n + j], sqrtl(residual), "residual", j);
        expect_near(found[2 * n + j], sqrtl(departure), "departure", j);
    }
    for (int i = 0; i < 4; i++) device_free(on[i]);
}

TEST(columns_are_measured)
{
    for (int i = 0; i < ORDERS; i++) check_measuring(orders[i]);
}

/* ---- pairs ---- */

static double s[MOST * MOST], r[MOST * MOST], values[MOST];
static const double noise = 0x1p-40;

/* Values of which some are equal or nearly so, and pairs around every limit; the upper triangles
 * are NaN. */
static void make_pairs(int n)
{
    test_random random = start();
    for (int i = 0; i < n; i++)
        values[i] =
            (i ? values[i - 1] : 1.0) + (i % 3 ? ldexp(1.0, -random_int(&random, 1, 60)) : 0.0);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            r[i + j * n] = i < j ? (double)NAN : ldexp(random_uniform(&random) - 0.5, -30);
            s[i + j * n] = i < j ? (double)NAN
                           : i == j
                               ? values[i]
                               : -r[i + j * n] * values[j] + random_scaled(&random, -60, -3) *
                                                                 (random_int(&random, 0, 9) > 0);
        }
}

/* What eigen.h says of a pair: 0 settled, 1 apart, 2 coupled. */
static int kind_of(int n, int i, int j, double *turn)
{
    const double middle = 0.5 * (values[i] + values[j]), gap = values[j] - values[i],
                 off = fma(r[i + j * n], middle, s[i + j * n]);
    *turn = 0.0;
    if (off == 0.0 || (fabs(off) <= noise && fabs(off) > 0x1p-32 * fabs(gap))) return 0;
    if (!(fabs(off) <= 0x1p-10 * fabs(gap))) return 2;
    *turn = off / gap;
    return 1;
}

static void check_reach(int n, const td_eigen_pairs *p, int counts[3])
{
    int found[MOST] = {0};
    void *reach = device_copy(found, sizeof found);
    CHECK_CUDA(td_eigen_reach_run(p, reach, NULL));
    device_fetch(found, reach, sizeof found);
    for (int j = 0; j < n; j++) {
        int last = j;
        double turn;
        for (int i = j + 1; i < n; i++) {
            const int kind = kind_of(n, i, j, &turn);
            counts[kind]++;
            if (kind == 2) last = i;
        }
        CHECK(found[j] == last, "order %d: column %d reaches %d, not %d", n, j, found[j], last);
    }
    device_free(reach);
}

/* Clusters are of three columns here, whichever pairs are coupled. */
static void check_update(int n, td_eigen_pairs *p)
{
    static double e[MOST * MOST], blocks[MOST * MOST], wanted_e[MOST * MOST], wanted[MOST * MOST];
    int cluster_of[MOST] = {0};
    double shift[MOST] = {0}, turn;
    for (int i = 0; i < n; i++) cluster_of[i] = i / 3 * 3, shift[i] = values[i / 3 * 3] - 1.0;
    memcpy(wanted, r, sizeof r);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            const bool is_within = cluster_of[i] == cluster_of[j];
            (void)kind_of(n, i, j, &turn);
            if (is_within) turn = 0.0;
            wanted_e[i + j * n] = 0.5 * r[i + j * n] + turn;
            wanted_e[j + i * n] = 0.5 * r[i + j * n] - turn;
            if (is_within)
                wanted[i + j * n] = wanted[j + i * n] =
                    fma(-shift[cluster_of[j]], (i == j ? 1.0 : 0.0) - r[i + j * n], s[i + j * n]);
        }
    void *clusters = device_copy(cluster_of, sizeof cluster_of),
         *shifts = device_copy(shift, sizeof shift);
    CHECK_CUDA(td_eigen_update_run(p, clusters, shifts, NULL));
    device_fetch(e, p->s, sizeof e);
    device_fetch(blocks, p->r, sizeof blocks);
    expect_same(e, wanted_e, n * n, "update");
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            if (cluster_of[i] == cluster_of[j])
                expect_same(&blocks[i + j * n], &wanted[i + j * n], 1, "cluster");
    device_free(clusters, shifts);
}

TEST(pairs_are_told_apart)
{
    int counts[3] = {0};
    for (int i = 0; i < ORDERS; i++) {
        const int n = orders[i];
        make_pairs(n);
        void *on[] = {device_copy(s, sizeof s), device_copy(r, sizeof r),
                      device_copy(values, sizeof values)};
        td_eigen_pairs p = {n, on[0], on[1], on[2], noise};
        check_reach(n, &p, counts);
        check_update(n, &p);
        for (int k = 0; k < 3; k++) device_free(on[k]);
    }
    for (int k = 0; k < 3; k++) CHECK(counts[k] > 100, "%d pairs are of kind %d", counts[k], k);
}

/* ---- small clusters ---- */

/* A column meets so many rotations in ten sweeps, and each rounds once or so. */
enum { ROTATIONS = 10 * (TD_EIGEN_SMALL - 1) };

/* C V = V D and V'V = I to what Jacobi's method leaves, and D ascending. */
static void check_vectors(int n, const double *c, const double *v, td_eigen_cluster at)
{
    const int m = at.count, first = at.first * (n + 1);
    double norm = 0.0, before = -(double)INFINITY;
    for (int j = 0; j < m; j++)
        for (int i = 0; i < m; i++) norm = fmax(norm, fabs(c[first + i + j * n]));
    for (int j = 0; j < m; j++) {
        long double cv[TD_EIGEN_SMALL], value = 0.0L;
        for (int i = 0; i < m; i++) {
            cv[i] = 0.0L;
            for (int k = 0; k < m; k++)
                cv[i] += (long double)c[first + i + k * n] * v[first + k + j * n];
            value += cv[i] * v[first + i + j * n];
        }
        for (int i = 0; i < m; i++) {
            long double dot = i == j ? -1.0L : 0.0L;
            for (int k = 0; k < m; k++)
                dot += (long double)v[first + k + i * n] * v[first + k + j * n];
            CHECK_AT_MOST((double)fabsl(dot), ROTATIONS * 0x1p-53, "cluster of %d, seed %llu", m,
                          (unsigned long long)seed);
            CHECK_AT_MOST((double)fabsl(cv[i] - value * v[first + i + j * n]),
                          ROTATIONS * 0x1p-53 * norm, "cluster of %d, seed %llu", m,
                          (unsigned long long)seed);
        }
        CHECK_AT_MOST(before, (double)value + ROTATIONS * 0x1p-53 * norm, "cluster of %d", m);
        before = (double)value;
    }
}

/* Symmetric blocks of the clusters: random ones, and with equal or tiny elements. */
static void make_block(test_random *random, double *c, int n, td_eigen_cluster at, int kind)
{
    for (int j = 0; j < at.count; j++)
        for (int i = j; i < at.count; i++) {
            const double x = random_uniform(random) - 0.5,
                         of[] = {x, 1e-12 * x, i == j ? 1.0 : 0.0, 0.0, i == j ? 1.0 : 1e-9 * x};
            c[(at.first + i) + (at.first + j) * n] = c[(at.first + j) + (at.first + i) * n] =
                of[kind];
        }
}

static void check_clusters(int kind)
{
    enum { N = 100, CLUSTERS = 6 };
    static const td_eigen_cluster clusters[CLUSTERS] = {{0, 2},   {3, 3},  {7, 31},
                                                        {38, 32}, {75, 9}, {98, 2}};
    static double c[N * N], v[N * N], x[N * N], turned[N * N];
    test_random random = start();
    fill(&random, c, N, N, N);
    fill(&random, x, N, N, N);
    for (int k = 0; k < CLUSTERS; k++) make_block(&random, c, N, clusters[k], kind);
    void *on[] = {device_copy(c, sizeof c), device_copy(x, sizeof x),
                  device_copy(clusters, sizeof clusters)};
    CHECK_CUDA(td_eigen_solve_run(on[0], N, on[2], CLUSTERS, NULL));
    CHECK_CUDA(td_eigen_turn_run(on[1], on[0], N, on[2], CLUSTERS, NULL));
    device_fetch(v, on[0], sizeof v);
    device_fetch(turned, on[1], sizeof turned);
    for (int k = 0; k < CLUSTERS; k++) {
        const td_eigen_cluster at = clusters[k];
        check_vectors(N, c, v, at);
        for (int j = 0; j < at.count; j++)
            for (int i = 0; i < N; i++) {
                double sum = 0.0;
                for (int l = 0; l < at.count; l++)
                    sum = fma(x[i + (at.first + l) * N], v[at.first * (N + 1) + l + j * N], sum);
                expect_same(&turned[i + (at.first + j) * N], &sum, 1, "turned column");
            }
    }
    const int between[] = {2, 6, 70, 74, 84, 97};
    for (int k = 0; k < 6; k++)
        expect_same(&turned[between[k] * N], &x[between[k] * N], N, "column of no cluster");
    for (int i = 0; i < 3; i++) device_free(on[i]);
}

TEST(small_clusters_have_vectors)
{
    for (int kind = 0; kind < 5; kind++) check_clusters(kind);
}

/* ---- results go out ---- */

TEST(columns_change_places)
{
    enum { N = 37, LD = 40 };
    static double x[N * N], a[LD * N], w[N], found[N], v[N];
    int from[N], info = -9;
    test_random random = start();
    fill(&random, x, N, N, N);
    fill(&random, v, N, 1, N);
    for (int e = 0; e < LD * N; e++) a[e] = 7.0;
    for (int i = 0; i < N; i++) from[i] = (i * 5 + 3) % N;
    void *on[] = {device_copy(x, sizeof x), device_copy(v, sizeof v),
                  device_copy(a, sizeof a), device_copy(from, sizeof from),
                  device_copy(w, sizeof w), device_copy(&info, sizeof info)};
    const td_eigen_result result = {.n = N,
                                    .ld = LD,
                                    .x = on[0],
                                    .values = on[1],
                                    .from = on[3],
                                    .exponent = -1000,
                                    .a = on[2],
                                    .w = on[4],
                                    .info = on[5]};
    CHECK_CUDA(td_eigen_put_run(&result, NULL));
    device_fetch(a, on[2], sizeof a);
    device_fetch(found, on[4], sizeof found);
    device_fetch(&info, on[5], sizeof info);
    assert_int_equal(info, 0);
    for (int j = 0; j < N; j++) {
        expect_same(&a[j * LD], &x[from[j] * N], N, "column");
        for (int i = N; i < LD; i++) assert_true(a[i + j * LD] == 7.0);
        assert_true(found[j] == ldexp(v[from[j]], -1000));
    }
    for (int i = 0; i < 6; i++) device_free(on[i]);
}

int main(void)
{
    device_require();
    CHECK_CUDA(td_eigen_prepare(0));
    return test_run();
}
