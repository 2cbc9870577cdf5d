/* check_real_matrices.c - LU, Cholesky and QR factors, and solutions, of matrices that come from
 * applications: Matrix Market files, of a folder that TANDEM_MATRICES names, and families that are
 * published as definitions. Residuals are below those that LAPACK's tests allow, growth is
 * LAPACK's, and both are printed beside LAPACK's own. */
#include "tests/support/test.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/matrix_market.h"
#include "lib/engines/factor/cholesky.h"
#include "lib/engines/factor/lu.h"
#include "lib/engines/factor/qr.h"
#include "lib/engines/factor/solution.h"
#include "lib/routine/cholesky_steps.h"
#include "tests/kernels/support/device.h"

const char program_name[] = "check_real_matrices";

static const td_engine *const engines[] = {&td_engine_fp64, &td_engine_ozaki2, NULL};
enum { ENGINES = sizeof engines / sizeof *engines };

typedef struct {
    char name[64];
    int n;
    double *a; /* n x n, in columns */
    bool is_definite;
} matrix;

static double *copy_of(const double *x, size_t count)
{
    double *made = test_memory(count * sizeof *made);
    memcpy(made, x, count * sizeof *made);
    return made;
}

static size_t elements_of(const matrix *x) { return (size_t)x->n * (size_t)x->n; }

/* ---- families ---- */

/* A square grid of points, numbered row by row. */
typedef double entry(int side, int i, int j);

static bool are_neighbours(int side, int i, int j)
{
    return abs(i / side - j / side) <= 1 && abs(i % side - j % side) <= 1;
}

/* GR_30_30 of the Harwell-Boeing collection: the nine-point star. */
static double nine_points(int side, int i, int j)
{
    return i == j ? 8.0 : are_neighbours(side, i, j) ? -1.0 : 0.0;
}

/* The five-point star of -(u_xx + u_yy). */
static double five_points(int side, int i, int j)
{
    const bool is_beside =
        are_neighbours(side, i, j) && (i / side == j / side) != (i % side == j % side);
    return i == j ? 4.0 : is_beside ? -1.0 : 0.0;
}

/* CDDE of the Matrix Market: -(u_xx + u_yy) + 2 p1 u_x + 2 p2 u_y - p3 u by central differences,
 * p1, p2 and p3 being 1, 2 and 30. */
static double convection(int side, int i, int j)
{
    const double h = 1.0 / (side + 1), along = j % side - i % side, across = j / side - i / side;
    const double x = five_points(side, i, j);
    return i == j ? x - 30.0 * h * h : x == 0.0 ? 0.0 : x + h * (along + 2.0 * across);
}

/* BWM of the Matrix Market, Brusselator's wave in a tube: diffusion of two substances and their
 * reaction, of side * side / 2 points. */
static double wave(int side, int i, int j)
{
    const int half = side * side / 2;
    const double alpha = 2.0, beta = 5.45, length = 0.51302, h = length / (half + 1),
                 diffusion = (i < half ? 0.008 : 0.004) / (h * h);
    if (i >= 2 * half || j >= 2 * half) return i == j;
    if ((i < half) != (j < half))
        return i % half != j % half ? 0.0 : i < half ? alpha * alpha : -beta;
    const int apart = abs(i - j);
    return apart == 1  ? diffusion
           : apart > 1 ? 0.0
                       : -2.0 * diffusion + (i < half ? beta - 1.0 : -alpha * alpha);
}

static const struct {
    const char *name;
    entry *of;
    bool is_definite;
} families[] = {{"nine-point star", nine_points, true},
                {"five-point star", five_points, true},
                {"convection and diffusion", convection, false},
                {"wave in a tube", wave, false}};
enum { FAMILIES = sizeof families / sizeof *families };

static matrix make(int family, int side)
{
    matrix x = {.n = side * side, .is_definite = families[family].is_definite};
    snprintf(x.name, sizeof x.name, "%s, %d x %d", families[family].name, side, side);
    x.a = test_memory(elements_of(&x) * sizeof *x.a);
    for (int j = 0; j < x.n; j++)
        for (int i = 0; i < x.n; i++)
            x.a[(size_t)i + (size_t)j * (size_t)x.n] = families[family].of(side, i, j);
    return x;
}

/* ---- LAPACK ---- */

void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info);
void dgetrs_(const char *op, const int *n, const int *columns, const double *a, const int *lda,
             const int *pivots, double *b, const int *ldb, int *info);
void dpotrf_(const char *triangle, const int *n, double *a, const int *lda, int *info);
void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *lwork, int *info);
void dormqr_(const char *side, const char *op, const int *m, const int *n, const int *k,
             const double *a, const int *lda, const double *tau, double *c, const int *ldc,
             double *work, const int *lwork, int *info);

/* ---- factors ---- */

typedef struct {
    double *a, *tau, *x; /* x: the solution */
    int *pivots, info;
} factors;

static factors begin(const matrix *x)
{
    const size_t n = (size_t)x->n;
    const factors f = {copy_of(x->a, n * n), test_zeros(n, sizeof *f.tau),
                       test_zeros(n, sizeof *f.x), test_zeros(n, sizeof *f.pivots), 0};
    return f;
}

static void end(factors *f) { test_drop(f->a, f->tau, f->x, f->pivots); }

static double right_side(int i) { return 1.0 + i % 7; }

typedef void factoring(const matrix *x, factors *f, const td_engine *engine);

/* The device's memory of one call. */
typedef struct {
    void *a, *tau, *x, *pivots, *info;
    td_problem of;
} call;

static call enter(const matrix *x, const factors *f, td_kind kind)
{
    const size_t n = (size_t)x->n;
    call c = {
        device_copy(f->a, n * n * sizeof *f->a), device_copy(f->tau, n * sizeof *f->tau),
        device_copy(f->x, n * sizeof *f->x),     device_copy(f->pivots, n * sizeof *f->pivots),
        device_copy(&f->info, sizeof f->info),   {0}};
    c.of = (td_problem){.kind = kind,
                        .type = TD_BINARY64,
                        .triangle = TD_LOWER,
                        .m = x->n,
                        .n = x->n,
                        .a = {.data = c.a, .ld = x->n},
                        .tau = c.tau,
                        .pivots = c.pivots,
                        .info = c.info,
                        .batch = 1};
    return c;
}

static void leave(const matrix *x, factors *f, const call *c, td_run_status status)
{
    const size_t n = (size_t)x->n;
    CHECK(status == TD_RUN_DONE, "%s: status %d", x->name, (int)status);
    CHECK_CUDA(cudaDeviceSynchronize());
    device_fetch(f->a, c->a, n * n * sizeof *f->a);
    device_fetch(f->tau, c->tau, n * sizeof *f->tau);
    device_fetch(f->x, c->x, n * sizeof *f->x);
    device_fetch(f->pivots, c->pivots, n * sizeof *f->pivots);
    device_fetch(&f->info, c->info, sizeof f->info);
    void *const all[] = {c->a, c->tau, c->x, c->pivots, c->info};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) device_free(all[i]);
    device_check_clean(x->name);
    CHECK(f->info == 0, "%s: info %d", x->name, f->info);
}

/* The factors, and the solution of one right-hand side. */
static void lu(const matrix *x, factors *f, const td_engine *engine)
{
    call c = enter(x, f, TD_FACTOR_LU);
    td_device *device = td_device_current();
    const size_t limit = td_device_limit(device, 0);
    const td_solve_cut cut = {td_solve_most_rows(TD_BINARY64), 0};
    const td_factor_products by = {.engine = engine, .cut = cut, .panels = td_lu_cut_of(&c.of)};
    leave(x, f, &c, td_factor_lu(&c.of, &by, device, limit, NULL));
    for (int i = 0; i < x->n; i++) f->x[i] = right_side(i);
    c = enter(x, f, TD_LU_SOLVE);
    c.of.k = 1;
    c.of.b = (td_matrix){.data = c.x, .ld = x->n};
    const td_solve_products solve = {engine ? engine : &td_engine_fp64, {0}, cut};
    leave(x, f, &c, td_factor_solution(&c.of, &solve, device, limit, NULL));
}

static void lapack_lu(const matrix *x, factors *f, const td_engine *engine)
{
    const int one = 1;
    (void)engine;
    dgetrf_(&x->n, &x->n, f->a, &x->n, f->pivots, &f->info);
    for (int i = 0; i < x->n; i++) f->x[i] = right_side(i);
    dgetrs_("N", &x->n, &one, f->a, &x->n, f->pivots, f->x, &x->n, &f->info);
}

static void cholesky(const matrix *x, factors *f, const td_engine *engine)
{
    const call c = enter(x, f, TD_FACTOR_CHOLESKY);
    const td_factor_products by = {.engine = engine};
    td_device *device = td_device_current();
    leave(x, f, &c,
          td_factor_cholesky(&c.of, &by, td_cholesky_cut_of(&c.of), device,
                             td_device_limit(device, 0), NULL));
}

static void lapack_cholesky(const matrix *x, factors *f, const td_engine *engine)
{
    (void)engine;
    dpotrf_("L", &x->n, f->a, &x->n, &f->info);
}

static void qr(const matrix *x, factors *f, const td_engine *engine)
{
    const call c = enter(x, f, TD_FACTOR_QR);
    const td_factor_products by = {.engine = engine};
    const td_qr_cut cut = {.panel = 64, .block = 128, .last = 128};
    td_device *device = td_device_current();
    leave(x, f, &c, td_factor_qr(&c.of, &by, cut, device, td_device_limit(device, 0), NULL));
}

enum { WORK_COLUMNS = 64 };

static double *work_of(const matrix *x, int *count)
{
    *count = WORK_COLUMNS * x->n;
    return test_memory((size_t)*count * sizeof(double));
}

static void lapack_qr(const matrix *x, factors *f, const td_engine *engine)
{
    int count;
    double *work = work_of(x, &count);
    (void)engine;
    dgeqrf_(&x->n, &x->n, f->a, &x->n, f->tau, work, &count, &f->info);
    free(work);
}

/* ---- residuals ---- */

typedef struct {
    double residual, growth, solution;
} quality;

static long double norm(const double *x, size_t count)
{
    long double sum = 0.0L;
    for (size_t i = 0; i < count; i++) sum += (long double)x[i] * x[i];
    return sqrtl(sum);
}

static double largest(const double *x, size_t count)
{
    double most = 0.0;
    for (size_t i = 0; i < count; i++) most = fmax(most, fabs(x[i]));
    return most;
}

/* Over n 2^-53 |A|. */
static double ratio(const matrix *x, long double off)
{
    return (double)(off / (norm(x->a, elements_of(x)) * x->n * 0x1p-53L));
}

/* |B - L U|, or |B - L L'|, in the norm of Frobenius; of a definite matrix the lower triangle. */
static long double off_product(const matrix *x, const double *b, const double *f, bool is_lu)
{
    const size_t n = (size_t)x->n;
    long double sum = 0.0L;
    long double *column = test_memory(n * sizeof *column);
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < n; i++) column[i] = -(long double)b[i + j * n];
        for (size_t k = 0; k <= j; k++) {
            const long double right = is_lu ? f[k + j * n] : f[j + k * n];
            if (right == 0.0L) continue;
            if (is_lu) column[k] += right;
            for (size_t i = is_lu ? k + 1 : j; i < n; i++) column[i] += right * f[i + k * n];
        }
        for (size_t i = is_lu ? 0 : j; i < n; i++) sum += column[i] * column[i];
    }
    free(column);
    return sqrtl(sum);
}

/* |b - A x| over n 2^-53 |A| |x|. */
static double off_solution(const matrix *x, const double *solution)
{
    const size_t n = (size_t)x->n;
    long double sum = 0.0L;
    for (size_t i = 0; i < n; i++) {
        long double off = right_side((int)i);
        for (size_t j = 0; j < n; j++) off -= (long double)x->a[i + j * n] * solution[j];
        sum += off * off;
    }
    return ratio(x, sqrtl(sum) / norm(solution, n));
}

static quality quality_of_lu(const matrix *x, const factors *f)
{
    const size_t n = (size_t)x->n;
    double *b = copy_of(x->a, n * n), most = 0.0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0, p = (size_t)f->pivots[i] - 1; j < n; j++) {
            const double kept = b[i + j * n];
            b[i + j * n] = b[p + j * n];
            b[p + j * n] = kept;
        }
    for (size_t j = 0; j < n; j++) most = fmax(most, largest(f->a + j * n, j + 1));
    const quality q = {ratio(x, off_product(x, b, f->a, true)), most / largest(x->a, n * n),
                       off_solution(x, f->x)};
    free(b);
    return q;
}

static quality quality_of_cholesky(const matrix *x, const factors *f)
{
    return (quality){ratio(x, off_product(x, x->a, f->a, false)), 1.0, 0.0};
}

/* Q R, whose errors of its own are as those of LAPACK's tests. */
static quality quality_of_qr(const matrix *x, const factors *f)
{
    const size_t n = (size_t)x->n;
    double *product = copy_of(f->a, n * n);
    int count, info;
    double *work = work_of(x, &count);
    for (size_t j = 0; j < n; j++)
        for (size_t i = j + 1; i < n; i++) product[i + j * n] = 0.0;
    dormqr_("L", "N", &x->n, &x->n, &x->n, f->a, &x->n, f->tau, product, &x->n, work, &count,
            &info);
    for (size_t e = 0; e < n * n; e++) product[e] -= x->a[e];
    const quality q = {ratio(x, norm(product, n * n)), 1.0, 0.0};
    test_drop(work, product);
    return q;
}

/* ---- tests ---- */

typedef struct {
    const char *name;
    factoring *own, *lapack;
    quality (*quality_of)(const matrix *x, const factors *f);
} routine;

static void check(const matrix *x, const routine *r)
{
    const double most = 30.0, beside = 8.0, least = 0.01; /* LAPACK's; of its own results */
    factors f = begin(x);
    r->lapack(x, &f, NULL);
    const quality lapack = r->quality_of(x, &f);
    end(&f);
    for (int i = 0; i < ENGINES; i++) {
        f = begin(x);
        r->own(x, &f, engines[i]);
        const quality own = r->quality_of(x, &f);
        end(&f);
        printf("%-9s %-36s %-7s residual %.4f (LAPACK's %.4f) growth %.3g (%.3g) solution %.4f "
               "(%.4f)\n",
               r->name, x->name, engines[i] ? engines[i]->name : "cuBLAS", own.residual,
               lapack.residual, own.growth, lapack.growth, own.solution, lapack.solution);
        CHECK_AT_MOST(own.residual, fmin(most, beside * fmax(least, lapack.residual)), "%s of %s",
                      r->name, x->name);
        CHECK_AT_MOST(own.solution, fmin(most, beside * fmax(least, lapack.solution)), "%s of %s",
                      r->name, x->name);
        CHECK_AT_MOST(own.growth, 2.0 * lapack.growth, "%s of %s", r->name, x->name);
    }
}

static void check_all(const matrix *x)
{
    static const routine routines[] = {
        {"LU", lu, lapack_lu, quality_of_lu},
        {"QR", qr, lapack_qr, quality_of_qr},
        {"Cholesky", cholesky, lapack_cholesky, quality_of_cholesky}};
    for (size_t i = 0; i < sizeof routines / sizeof *routines; i++)
        if (x->is_definite || routines[i].own != cholesky) check(x, &routines[i]);
}

TEST(published_families)
{
    for (int family = 0; family < FAMILIES; family++) {
        matrix x = make(family, device_is_host() ? 14 : 30);
        check_all(&x);
        free(x.a);
    }
}

/* The square ones of the folder. Only their numbers are others than those of families, so that
 * sanitizers have nothing to see here. */
TEST(matrix_market_files)
{
    if (test_is_brief()) return;
    const char *const folder = getenv("TANDEM_MATRICES");
    DIR *const all = folder ? opendir(folder) : NULL;
    int count = 0;
    for (struct dirent *file; all && (file = readdir(all));) {
        char path[4096];
        dense_matrix read;
        const char *const end = strrchr(file->d_name, '.');
        if (!end || strcmp(end, ".mtx") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
        CHECK(matrix_market_read(path, &read), "%s", path);
        matrix x = {.n = read.rows, .a = read.entries};
        snprintf(x.name, sizeof x.name, "%.60s", file->d_name);
        if (read.rows == read.columns) check_all(&x), count++;
        free(read.entries);
    }
    if (all) closedir(all);
    if (count == 0) skip();
}
