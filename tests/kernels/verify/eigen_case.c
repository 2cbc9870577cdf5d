#include "eigen_case.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(m, i, j) ((m)[(i) + (ptrdiff_t)(j)*n])

/* LAPACK, as OpenBLAS has it. */
void dsyevd_(const char *job, const char *triangle, const int *n, double *a, const int *lda,
             double *w, double *work, const int *work_count, int *iwork, const int *iwork_count,
             int *info);
void dsygvd_(const int *type, const char *job, const char *triangle, const int *n, double *a,
             const int *lda, double *b, const int *ldb, double *w, double *work,
             const int *work_count, int *iwork, const int *iwork_count, int *info);

static void mirror(int n, double *a)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < j; i++) AT(a, i, j) = AT(a, j, i);
}

static void fill_random(int n, test_random *r, double *a)
{
    for (int i = 0; i < n * n; i++) a[i] = random_normal(r);
    mirror(n, a);
}

/* A <- H A H, H a random reflection, in binary64. */
static void reflect(int n, test_random *r, double *a)
{
    double v[EIGEN_MOST], q[EIGEN_MOST], v_v = 0.0, v_q = 0.0;
    for (int i = 0; i < n; i++) {
        v[i] = random_normal(r);
        v_v += v[i] * v[i];
    }
    for (int j = 0; j < n; j++) {
        q[j] = 0.0;
        for (int i = 0; i < n; i++) q[j] += AT(a, i, j) * v[i];
        q[j] *= 2.0 / v_v;
        v_q += v[j] * q[j];
    }
    for (int i = 0; i < n; i++) q[i] -= v_q / v_v * v[i];
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) AT(a, i, j) -= v[i] * q[j] + q[i] * v[j];
    mirror(n, a);
}

/* Eigenvalues in groups whose members are 0 to 1e-9 apart. */
static void fill_clusters(int n, test_random *r, double *a)
{
    const double apart = random_int(r, 0, 3) ? pow(10.0, -random_int(r, 9, 17)) : 0.0;
    const int size = random_int(r, 2, 5);
    for (int i = 0; i < n; i++) AT(a, i, i) = 1.0 + i / size + apart * (i % size);
    for (int i = 0; i < 3; i++) reflect(n, r, a);
}

/* Wilkinson's: the largest eigenvalues come in pairs that are nearly equal. */
static void fill_wilkinson(int n, test_random *r, double *a)
{
    (void)r;
    for (int i = 0; i < n; i++) {
        AT(a, i, i) = fabs(i - (n - 1) / 2.0);
        if (i > 0) AT(a, i, i - 1) = 1.0;
    }
    mirror(n, a);
}

static void fill_hilbert(int n, test_random *r, double *a)
{
    const int shift = random_int(r, 1, 3);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) AT(a, i, j) = 1.0 / (i + j + shift);
}

/* Elements from 1e-300 to 1e300. */
static void fill_graded(int n, test_random *r, double *a)
{
    const bool falls = random_int(r, 0, 1), is_diagonal = random_int(r, 0, 2) == 0;
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            const double at = n > 1 ? (i + j) / (2.0 * (n - 1)) : 0.0; /* 0 .. 1 */
            const double scale = pow(10.0, 600.0 * (falls ? 1.0 - at : at) - 300.0);
            AT(a, i, j) = is_diagonal && i != j ? 0.0 : random_normal(r) * scale;
        }
    mirror(n, a);
}

/* V V' of whole numbers, exactly. */
static void fill_deficient(int n, test_random *r, double *a)
{
    const int rank = random_int(r, 1, n / 2 + 1);
    for (int l = 0; l < rank; l++) {
        double v[EIGEN_MOST];
        for (int i = 0; i < n; i++) v[i] = random_int(r, -9, 9);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) AT(a, i, j) += v[i] * v[j];
    }
}

/* Exactly repeated: blocks that are the same, of small whole numbers, and rows and columns
 * exchanged alike. */
static void fill_repeated(int n, test_random *r, double *a)
{
    const int size = random_int(r, 1, 4);
    double block[16];
    for (int i = 0; i < 16; i++) block[i] = random_int(r, -3, 3);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
            AT(a, i, j) = i / size == j / size ? block[i % size * size + j % size] : 0.0;
    mirror(n, a);
    for (int step = 0; step < n; step++) {
        const int p = random_int(r, 0, n - 1), q = random_int(r, 0, n - 1);
        for (int i = 0; i < n; i++) {
            const double x = AT(a, i, p);
            AT(a, i, p) = AT(a, i, q);
            AT(a, i, q) = x;
        }
        for (int i = 0; i < n; i++) {
            const double x = AT(a, p, i);
            AT(a, p, i) = AT(a, q, i);
            AT(a, q, i) = x;
        }
    }
}

/* [0 C; C' 0]: eigenvalues in pairs of both signs, and zeros. */
static void fill_indefinite(int n, test_random *r, double *a)
{
    for (int j = 0; j < n / 2; j++)
        for (int i = n / 2; i < n; i++) AT(a, i, j) = random_normal(r);
    mirror(n, a);
}

/* Graphs: many eigenvalues are equal. */
static void fill_graph(int n, test_random *r, double *a)
{
    const int share = random_int(r, 1, 10);
    for (int j = 0; j < n; j++)
        for (int i = j + 1; i < n; i++) AT(a, i, j) = random_int(r, 0, 9) < share;
    mirror(n, a);
}

/* Scaled to where products of elements underflow or overflow, or elements are subnormal. */
static void fill_extreme(int n, test_random *r, double *a)
{
    static const int exponents[] = {-1070, -1030, -540, 500, 1015};
    const int e = exponents[random_int(r, 0, 4)];
    fill_random(n, r, a);
    for (int i = 0; i < n * n; i++) a[i] = ldexp(a[i], e);
}

static const struct {
    const char *name;
    void (*fill)(int n, test_random *r, double *a);
    int bits;
    bool is_tame, is_apart;
} kinds[] = {
    {"random", fill_random, 300, true, true},
    {"clusters", fill_clusters, 300, true, false},
    {"Wilkinson", fill_wilkinson, 300, true, false},
    {"Hilbert", fill_hilbert, 300, true, false},
    {"graded", fill_graded, 2600, false, false},
    {"deficient", fill_deficient, 300, true, false},
    {"repeated", fill_repeated, 300, true, false},
    {"indefinite", fill_indefinite, 300, true, true},
    {"graph", fill_graph, 300, true, false},
    {"extreme", fill_extreme, 300, false, false},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- B ---- */

/* M M' / n + I. */
static void fill_definite(int n, test_random *r, double *b)
{
    double m[EIGEN_MOST * EIGEN_MOST];
    for (int i = 0; i < n * n; i++) m[i] = random_normal(r);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            AT(b, i, j) = i == j;
            for (int l = 0; l < n; l++) AT(b, i, j) += AT(m, i, l) * AT(m, j, l) / n;
        }
    mirror(n, b);
}

/* A positive diagonal over 12 orders of magnitude, and little beside it. */
static void fill_scaled(int n, test_random *r, double *b)
{
    double scale[EIGEN_MOST];
    for (int i = 0; i < n; i++) scale[i] = pow(10.0, 6.0 * (2.0 * random_uniform(r) - 1.0));
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
            AT(b, i, j) = scale[i] * scale[j] * (i == j ? 1.0 : 0.3 / n * random_normal(r));
    mirror(n, b);
}

static const struct {
    const char *name;
    void (*fill)(int n, test_random *r, double *b);
    bool is_tame;
} metrics[] = {
    {"definite", fill_definite, true},      {"scaled", fill_scaled, false},
    {"Hilbert", fill_hilbert, false},       {"deficient", fill_deficient, false},
    {"indefinite", fill_indefinite, false}, {"definite", fill_definite, true},
};
enum { METRICS = sizeof metrics / sizeof *metrics };

/* ---- eigenpairs ---- */

/* Approximate eigenpairs of the case's matrices; false if LAPACK finds none. */
static bool solve(eigen_case *c)
{
    enum { WORK = 1 + 6 * EIGEN_MOST + 2 * EIGEN_MOST * EIGEN_MOST, IWORK = 3 + 5 * EIGEN_MOST };
    static double work[WORK], factor[EIGEN_MOST * EIGEN_MOST];
    static int iwork[IWORK];
    const int work_count = WORK, iwork_count = IWORK, type = 1;
    const size_t bytes = (size_t)c->n * (size_t)c->n * sizeof(double);
    int info = 0;
    memcpy(c->x, c->a, bytes);
    memcpy(factor, c->b, bytes);
    if (c->has_b)
        dsygvd_(&type, "V", "L", &c->n, c->x, &c->n, factor, &c->n, c->d, work, &work_count, iwork,
                &iwork_count, &info);
    else
        dsyevd_("V", "L", &c->n, c->x, &c->n, c->d, work, &work_count, iwork, &iwork_count, &info);
    return info == 0;
}

/* Whether or not there are eigenpairs, finite numbers. */
static void replace_nonfinite(eigen_case *c, test_random *r)
{
    for (int i = 0; i < c->n * c->n; i++)
        if (!isfinite(c->x[i])) c->x[i] = random_normal(r);
    for (int i = 0; i < c->n; i++)
        if (!isfinite(c->d[i])) c->d[i] = random_normal(r);
}

/* Errors of vectors and values that no solver makes, for some cases; orders of columns, for all. */
static const char *spoil(eigen_case *c, test_random *r)
{
    const int n = c->n, way = random_int(r, 0, 9), p = random_int(r, 0, n - 1),
              q = random_int(r, 0, n - 1);
    const double size = pow(10.0, -random_int(r, 0, 16));
    double swap = c->d[p];
    c->d[p] = c->d[q];
    c->d[q] = swap;
    for (int i = 0; i < n; i++) {
        swap = AT(c->x, i, p);
        AT(c->x, i, p) = AT(c->x, i, q);
        AT(c->x, i, q) = swap;
    }
    switch (way) {
    case 0:
        for (int i = 0; i < n * n; i++) c->x[i] *= 1.0 + size * random_normal(r);
        break;
    case 1:
        for (int i = 0; i < n; i++) c->d[i] *= 1.0 + size * random_normal(r);
        break;
    case 2: /* two columns alike */
        for (int i = 0; i < n; i++) AT(c->x, i, p) = AT(c->x, i, q);
        c->d[p] = c->d[q];
        break;
    default:
        return "";
    }
    c->is_tame = false;
    return way == 0 ? ", spoilt vectors" : way == 1 ? ", spoilt values" : ", columns alike";
}

void eigen_case_make(uint64_t seed, eigen_case *c)
{
    test_random r = random_start(seed);
    const int kind = random_int(&r, 0, KINDS - 1), metric = random_int(&r, 0, METRICS - 1);
    memset(c, 0, sizeof *c);
    c->n = random_int(&r, EIGEN_LEAST, EIGEN_MOST);
    c->has_b = random_int(&r, 0, 2) == 0;
    c->is_tame = kinds[kind].is_tame && (!c->has_b || metrics[metric].is_tame);
    c->bits = kinds[kind].bits;
    kinds[kind].fill(c->n, &r, c->a);
    if (c->has_b) metrics[metric].fill(c->n, &r, c->b);
    const bool is_solved = solve(c);
    replace_nonfinite(c, &r);
    const char *spoilt = spoil(c, &r);
    c->is_tame = c->is_tame && is_solved;
    c->is_apart = c->is_tame && kinds[kind].is_apart;
    snprintf(c->name, sizeof c->name, "seed %llu: %s%s%s, n = %d%s", (unsigned long long)seed,
             kinds[kind].name, c->has_b ? " with B " : "", c->has_b ? metrics[metric].name : "",
             c->n, spoilt);
}
