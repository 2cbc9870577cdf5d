/* check_eigen.c - eigenvectors of symmetric matrices that begin as those of LAPACK in binary32: A X
 * - X D and X'X - I, in long double, are as small as LAPACK's of binary64, and eigenvalues as near
 * to LAPACK's; the other triangle is not read, padding not written. Where the beginning is bad, or
 * a number is none, A, the values and the info stay as they were. */
#include "tests/support/test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/engines/eigen/eigen.h"
#include "tests/kernels/support/device.h"
#include "tests/support/random.h"

void dsyevd_(const char *job, const char *uplo, const int *n, double *a, const int *lda,
             double *values, double *work, const int *size, int *int_work, const int *int_size,
             int *info, size_t, size_t);
void ssyevd_(const char *job, const char *uplo, const int *n, float *a, const int *lda,
             float *values, float *work, const int *size, int *int_work, const int *int_size,
             int *info, size_t, size_t);

typedef struct {
    int n, ld;
    td_triangle triangle;
    const char *data;
    uint64_t seed;
} matrix;

static const char *text_of(const matrix *x)
{
    static char text[160];
    snprintf(text, sizeof text, "order %d, ld %d, %s, %s, seed %llu", x->n, x->ld,
             x->triangle == TD_UPPER ? "upper" : "lower", x->data, (unsigned long long)x->seed);
    return text;
}

static size_t elements_of(const matrix *x) { return (size_t)x->ld * (size_t)x->n; }

/* ---- data ---- */

/* Sets the whole of a symmetric matrix, n x n. */
typedef void maker(test_random *r, int n, double *a);

/* a <- H a H with a random reflector H, so often that all elements meet. */
static void turn(test_random *r, int n, double *a)
{
    double *const v = test_zeros(1, (size_t)n * sizeof *v), *const w = test_zeros(1, (size_t)n *
                                                                                         sizeof *w);
    for (int times = 0; times < 3; times++) {
        double squares = 0.0, product = 0.0;
        for (int i = 0; i < n; i++) v[i] = random_uniform(r) - 0.5, squares += v[i] * v[i];
        for (int i = 0; i < n; i++) {
            w[i] = 0.0;
            for (int j = 0; j < n; j++) w[i] += a[i + j * n] * v[j] * (2.0 / squares);
            product += v[i] * w[i] / squares;
        }
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
                a[i + j * n] -= v[i] * (w[j] - product * v[j]) + (w[i] - product * v[i]) * v[j];
    }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < j; i++) a[i + j * n] = a[j + i * n];
    test_drop(v, w);
}

/* A matrix with these eigenvalues, n of them. */
static void with_values(test_random *r, int n, double *a, double (*value)(test_random *, int, int))
{
    for (int i = 0; i < n; i++) a[i + i * n] = value(r, i, n);
    turn(r, n, a);
}

static void random_matrix(test_random *r, int n, double *a)
{
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) a[i + j * n] = a[j + i * n] = random_uniform(r) - 0.5;
}

#define WITH_VALUES(name, expression)                                                              \
    static double value_##name(test_random *r, int i, int n)                                       \
    {                                                                                              \
        (void)r, (void)i, (void)n;                                                                 \
        return expression;                                                                         \
    }                                                                                              \
    static void name(test_random *r, int n, double *a) { with_values(r, n, a, value_##name); }
WITH_VALUES(graded, pow(10.0, -16.0 * i / n))
WITH_VALUES(near_4, i % 2 ? random_uniform(r) * 3.0 : 1.0 + 1e-4 * random_uniform(r))
WITH_VALUES(near_8, i % 2 ? random_uniform(r) * 3.0 : 1.0 + 1e-8 * random_uniform(r))
WITH_VALUES(near_12, i % 2 ? random_uniform(r) * 3.0 : 1.0 + 1e-12 * random_uniform(r))
WITH_VALUES(fives, 1.0 + i / 5)
WITH_VALUES(half_equal, i < n / 2 ? 1.0 : random_uniform(r) - 0.5)
WITH_VALUES(projection, i % 2)
WITH_VALUES(all_near, 1.0 + 1e-7 * random_uniform(r))
WITH_VALUES(both_signs, (i % 2 ? 1.0 : -1.0) * (1.0 + i / 4))

static void identity(test_random *r, int n, double *a)
{
    (void)r;
    for (int i = 0; i < n; i++) a[i + i * n] = 1.0;
}

static void zero(test_random *r, int n, double *a) { (void)r, (void)n, (void)a; }

static void diagonal(test_random *r, int n, double *a)
{
    for (int i = 0; i < n; i++) a[i + i * n] = random_uniform(r) - 0.5;
}

/* Wilkinson's W+, whose largest eigenvalues come in pairs that are nearly equal. */
static void wilkinson(test_random *r, int n, double *a)
{
    (void)r;
    for (int i = 0; i < n; i++) a[i + i * n] = fabs(i - 0.5 * (n - 1));
    for (int i = 0; i + 1 < n; i++) a[i + 1 + i * n] = a[i + (i + 1) * n] = 1.0;
}

/* Copies of W21+, glued by small elements. */
static void glued(test_random *r, int n, double *a)
{
    (void)r;
    for (int i = 0; i < n; i++) a[i + i * n] = abs(i % 21 - 10);
    for (int i = 0; i + 1 < n; i++)
        a[i + 1 + i * n] = a[i + (i + 1) * n] = i % 21 == 20 ? 1e-8 : 1.0;
}

static void kernel_matrix(test_random *r, int n, double *a)
{
    (void)r;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            a[i + j * n] = exp(-0.5 * (i - j) * (i - j) * 9.0 / ((double)n * n));
}

/* Rows and columns have scales of their own. */
static void scaled_rows(test_random *r, int n, double *a)
{
    random_matrix(r, n, a);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) a[i + j * n] *= ldexp(1.0, -(i + j) * 30 / n);
}

static void multiply_all(int n, double *a, double by)
{
    for (int i = 0; i < n * n; i++) a[i] *= by;
}

static void small(test_random *r, int n, double *a)
{
    random_matrix(r, n, a);
    multiply_all(n, a, 1e-300);
}

static void huge(test_random *r, int n, double *a)
{
    near_8(r, n, a);
    multiply_all(n, a, 1e300);
}

static void subnormal(test_random *r, int n, double *a)
{
    random_matrix(r, n, a);
    multiply_all(n, a, 0x1p-1024);
}

static const struct {
    const char *name;
    maker *make;
} kinds[] = {{"random", random_matrix},
             {"graded", graded},
             {"near 1e-4", near_4},
             {"near 1e-8", near_8},
             {"near 1e-12", near_12},
             {"fives", fives},
             {"half equal", half_equal},
             {"projection", projection},
             {"all near", all_near},
             {"both signs", both_signs},
             {"identity", identity},
             {"zero", zero},
             {"diagonal", diagonal},
             {"Wilkinson", wilkinson},
             {"glued", glued},
             {"kernel", kernel_matrix},
             {"scaled rows", scaled_rows},
             {"small", small},
             {"huge", huge},
             {"subnormal", subnormal}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The whole matrix, n x n. */
static double *make(const matrix *x)
{
    double *a = test_zeros(1, (size_t)x->n * (size_t)x->n * sizeof *a);
    test_random r = random_start(x->seed);
    int k = 0;
    while (strcmp(kinds[k].name, x->data) != 0) k++;
    kinds[k].make(&r, x->n, a);
    return a;
}

/* Its triangle; all else is NaN. */
static double *store(const matrix *x, const double *a)
{
    double *stored = test_zeros(1, elements_of(x) * sizeof *stored);
    for (int j = 0; j < x->n; j++)
        for (int i = 0; i < x->ld; i++) {
            const bool is_there = i < x->n && (x->triangle == TD_UPPER ? i <= j : i >= j);
            stored[i + j * x->ld] = is_there ? a[i + j * x->n] : (double)NAN;
        }
    return stored;
}

/* ---- binary32, by LAPACK ---- */

/* What the solver does in place of what it should. */
typedef enum { GOOD, REFUSES, FAILS, ZEROS, NOT_NUMBERS, NEAR, BADLY_OFF } fault;
static fault planted;
static int runs;

static int elements_for(const void *call, int n, float *a, float *values)
{
    (void)call, (void)a, (void)values;
    return planted == REFUSES ? -1 : 1 + n;
}

static float element_of(float x, test_random *r)
{
    switch (planted) {
    case ZEROS:
        return 0.0f;
    case NOT_NUMBERS:
        return NAN;
    case NEAR:
        return runs ? x : x + 1e-4f * (float)(random_uniform(r) - 0.5); /* the first time */
    case BADLY_OFF:
        return (float)(random_uniform(r) - 0.5);
    default:
        return x;
    }
}

static bool solve(const void *call, int n, float *a, float *values, float *work, int elements,
                  int *info)
{
    const int reals = 1 + 6 * n + 2 * n * n, ints = 3 + 5 * n;
    const size_t bytes = (size_t)n * (size_t)n * sizeof *a;
    int found = 0;
    float *host = test_zeros(1, bytes), *host_values = test_zeros(1, (size_t)n * sizeof *values),
          *reals_work = test_zeros(1, (size_t)reals * sizeof *reals_work);
    int *ints_work = test_zeros(1, (size_t)ints * sizeof *ints_work);
    test_random r = random_start(7);
    (void)call, (void)work, (void)elements, (void)values;
    CHECK_CUDA(cudaDeviceSynchronize());
    device_fetch(host, a, bytes);
    ssyevd_("V", "L", &n, host, &n, host_values, reals_work, &reals, ints_work, &ints, &found, 1,
            1);
    for (int e = 0; e < n * n; e++) host[e] = element_of(host[e], &r);
    if (planted == FAILS) found = 1;
    device_write(a, host, bytes);
    device_write(info, &found, sizeof found);
    test_drop(host, host_values, reals_work, ints_work);
    runs++;
    return true;
}

/* ---- the device ---- */

typedef struct {
    td_run_status status;
    double *x, *values;
    int info;
} result;

enum { UNKNOWN = -99 };

/* How a call is made; all 0: in the default stream, with as much memory as there is. */
typedef struct {
    cudaStream_t stream;
    size_t limit; /* of its memory, in bytes */
} circumstances;
static circumstances made;

static td_run_status enqueue(const matrix *x, void *a, void *values, void *info,
                             const td_engine *engine)
{
    static const td_eigen_solver solver = {elements_for, solve, NULL};
    const td_problem p = {.kind = TD_EIGEN,
                          .type = TD_BINARY64,
                          .triangle = x->triangle,
                          .n = x->n,
                          .a = {.data = a, .ld = x->ld},
                          .values = values,
                          .info = info,
                          .solver = &solver,
                          .batch = 1,
                          .stream = made.stream};
    td_device *device = td_device_current();
    return td_eigen(&p, engine, (td_parameter){0}, device, td_device_limit(device, made.limit),
                    NULL);
}

static result run(const matrix *x, const double *stored, const td_engine *engine)
{
    const size_t bytes = elements_of(x) * sizeof *stored, of_values = (size_t)x->n * sizeof(double);
    result f = {.x = test_zeros(1, bytes), .values = test_zeros(1, of_values), .info = UNKNOWN};
    void *a = device_copy(stored, bytes), *values = device_copy(f.values, of_values),
         *info = device_copy(&f.info, sizeof f.info);
    f.status = enqueue(x, a, values, info, engine);
    CHECK_CUDA(cudaDeviceSynchronize());
    device_fetch(f.x, a, bytes);
    device_fetch(f.values, values, of_values);
    device_fetch(&f.info, info, sizeof f.info);
    device_free(a, values, info);
    device_check_clean(text_of(x));
    return f;
}

static void free_result(result *f) { test_drop(f->x, f->values); }

/* ---- what is off ---- */

/* The largest norms of columns of A X - X D, over that of D, and of X'X - I, over sqrt(n) 2^-53. */
typedef struct {
    double residual, departure, norm;
} quality;

static double larger(double x, long double y) { return !(y <= x) ? (double)y : x; }

static quality quality_of(int n, const double *a, const double *x, int ld, const double *values)
{
    const double unit = sqrt(n) * 0x1p-53;
    quality q = {0};
    for (int i = 0; i < n; i++) q.norm = larger(q.norm, fabs(values[i]));
    for (int j = 0; j < n; j++) {
        long double residual = 0.0L, departure = 0.0L;
        for (int i = 0; i < n; i++) {
            long double row = -(long double)values[j] * x[i + j * ld], dot = i == j ? -1.0L : 0.0L;
            for (int k = 0; k < n; k++) {
                row += (long double)a[i + k * n] * x[k + j * ld];
                dot += (long double)x[k + i * ld] * x[k + j * ld];
            }
            residual += row * row;
            departure += dot * dot;
        }
        q.residual = larger(q.residual, q.norm > 0.0 ? sqrtl(residual) / (q.norm * unit) : 0.0);
        q.departure = larger(q.departure, sqrtl(departure) / unit);
    }
    return q;
}

/* LAPACK's vectors in place of a, and values. */
static double *solve_by_lapack(int n, double *a)
{
    const int reals = 1 + 6 * n + 2 * n * n, ints = 3 + 5 * n;
    double *values = test_zeros(1, (size_t)n * sizeof *values),
           *work = test_zeros(1, (size_t)reals * sizeof *work);
    int *ints_work = test_zeros(1, (size_t)ints * sizeof *ints_work), info;
    dsyevd_("V", "L", &n, a, &n, values, work, &reals, ints_work, &ints, &info, 1, 1);
    CHECK(info == 0, "LAPACK's info is %d", info);
    test_drop(work, ints_work);
    return values;
}

static struct {
    quality own, lapack;
    double value;
} worst;

static void note(quality *all, const quality *one)
{
    all->residual = fmax(all->residual, one->residual);
    all->departure = fmax(all->departure, one->departure);
}

/* What the engine measures has errors of its own: half of the level, for products that are off by
 * 2^-53. */
static void check_quality(const matrix *x, const double *a, const result *f)
{
    const size_t bytes = (size_t)x->n * (size_t)x->n * sizeof *a;
    double *v = memcpy(test_zeros(1, bytes), a, bytes), *values = solve_by_lapack(x->n, v);
    const quality own = quality_of(x->n, a, f->x, x->ld, f->values),
                  lapack = quality_of(x->n, a, v, x->n, values);
    const double level = 1.5 * TD_EIGEN_LEVEL, ulp = DBL_TRUE_MIN;
    CHECK_AT_MOST(own.departure, level, "%s", text_of(x));
    if (own.norm > DBL_MIN / DBL_EPSILON) CHECK_AT_MOST(own.residual, level, "%s", text_of(x));
    for (int i = 0; i < x->n; i++) {
        const double off = fabs(f->values[i] - values[i]),
                     bound = 2.0 * level * sqrt(x->n) * 0x1p-53 * own.norm + 2.0 * ulp;
        CHECK(i == 0 || f->values[i - 1] <= f->values[i], "%s: value %d descends", text_of(x), i);
        CHECK_AT_MOST(off, bound, "%s: value %d", text_of(x), i);
        if (bound > 0.0) worst.value = fmax(worst.value, off / bound);
    }
    if (own.norm > DBL_MIN / DBL_EPSILON) note(&worst.own, &own), note(&worst.lapack, &lapack);
    test_drop(v, values);
}

static void check(const matrix *x, const td_engine *engine)
{
    double *a = make(x), *stored = store(x, a);
    runs = 0;
    result f = run(x, stored, engine);
    CHECK(f.status == TD_RUN_DONE, "%s: status %d", text_of(x), (int)f.status);
    CHECK(f.info == 0, "%s: info %d", text_of(x), f.info);
    check_quality(x, a, &f);
    for (size_t e = 0; e < elements_of(x); e++)
        CHECK(isnan(f.x[e]) == (e % (size_t)x->ld >= (size_t)x->n), "%s: element %d is %g",
              text_of(x), (int)e, f.x[e]);
    free_result(&f);
    test_drop(stored, a);
}

static const td_engine *engine_of(int i)
{
    static const td_engine *const engines[] = {&td_engine_ozaki2, &td_engine_fp64,
                                               &td_engine_faithful};
    return engines[i % 3];
}

/* ---- tests ---- */

TEST(all_orders)
{
    const int step = test_is_brief() ? 9 : 1;
    for (int n = 1; n <= 70; n += step)
        check(&(matrix){n, n + n % 3, n % 2 ? TD_UPPER : TD_LOWER, kinds[n % KINDS].name,
                        test_seed()},
              engine_of(n));
}

TEST(all_kinds)
{
    const int orders[] = {2, 3, 21, 31, 32, 33, 63, 64, 65, 128, 129, 200};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (int k = 0; k < KINDS; k++)
            if (test_takes((int)i + k, orders[i] > 100 ? 4 : 2) &&
                (!test_is_brief() || (orders[i] < 65 && ((int)i + k) % 5 == 0)))
                check(&(matrix){orders[i], orders[i] + k % 2, k % 3 ? TD_UPPER : TD_LOWER,
                                kinds[k].name, test_seed()},
                      engine_of((int)i + k));
}

TEST(large_orders)
{
    const int orders[] = {255, 257, 300, 511, 700};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (int k = 0; k < KINDS; k++)
            if ((!device_is_host() ||
                 (orders[i] < 300 && k % 5 == (int)i && test_takes(k / 5 + 1, 2))) &&
                !test_is_brief())
                check(&(matrix){orders[i], orders[i], TD_LOWER, kinds[k].name, test_seed()},
                      engine_of((int)i + 2 * k));
}

/* Vectors that are off by more than binary32's are refined, too. */
TEST(a_worse_beginning)
{
    planted = NEAR;
    for (int k = 0; k < KINDS; k += test_is_brief() ? 4 : 1)
        if (strcmp(kinds[k].name, "zero") != 0)
            check(&(matrix){60, 61, TD_LOWER, kinds[k].name, test_seed()}, engine_of(k));
    planted = GOOD;
}

/* Nothing of what the program has is written. */
static void expect_untouched(const matrix *x, const double *stored, td_run_status status,
                             const char *what)
{
    result f = run(x, stored, &td_engine_ozaki2);
    CHECK(f.status == status, "%s: %s: status %d", text_of(x), what, (int)f.status);
    CHECK(f.info == UNKNOWN, "%s: %s: info %d", text_of(x), what, f.info);
    CHECK(memcmp(f.x, stored, elements_of(x) * sizeof *stored) == 0, "%s: %s: A is written",
          text_of(x), what);
    for (int i = 0; i < x->n; i++)
        CHECK(f.values[i] == 0.0, "%s: %s: values are written", text_of(x), what);
    free_result(&f);
}

TEST(what_is_not_refined_stays)
{
    static const struct {
        fault planted;
        td_run_status status;
        const char *what;
    } faults[] = {{REFUSES, TD_RUN_TOO_LARGE, "refuses"},
                  {FAILS, TD_RUN_NOT_REFINED, "fails"},
                  {ZEROS, TD_RUN_NOT_REFINED, "zeros"},
                  {NOT_NUMBERS, TD_RUN_NOT_REFINED, "not numbers"},
                  {BADLY_OFF, TD_RUN_NOT_REFINED, "badly off"}};
    const matrix x = {50, 52, TD_UPPER, "random", test_seed()};
    double *a = make(&x), *stored = store(&x, a);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        planted = faults[i].planted;
        expect_untouched(&x, stored, faults[i].status, faults[i].what);
    }
    planted = GOOD;
    test_drop(stored, a);
}

/* Nobody begins with what is no number. */
TEST(not_finite)
{
    const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (int i = 0; i < 3; i++)
        for (int u = 0; u < 2; u++) {
            const matrix x = {40, 41, u ? TD_UPPER : TD_LOWER, "random", test_seed()};
            double *a = make(&x), *stored = store(&x, a);
            stored[u ? 3 + 20 * 41 : 20 + 3 * 41] = bad[i];
            runs = 0;
            expect_untouched(&x, stored, TD_RUN_NOT_REFINED, "not finite");
            assert_int_equal(runs, 0);
            test_drop(stored, a);
        }
}

/* Who allows less memory than it takes has cuSOLVER's. */
TEST(workspace_is_limited)
{
    const matrix x = {64, 64, TD_LOWER, "random", test_seed()};
    double *a = make(&x), *stored = store(&x, a);
    made.limit = 100000;
    expect_untouched(&x, stored, TD_RUN_NO_MEMORY, "little memory");
    made.limit = 0;
    free(stored);
    free(a);
}

/* Returns the bytes that a call has taken, all of which were allowed, but for what the pool rounds
 * up; 0: it wants more. */
static uint64_t take_within(const matrix *x, const double *stored, size_t limit)
{
    enum { ROUNDED = 4096 };
    const td_device *device = td_device_current();
    uint64_t used = 0;
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK_CUDA(cudaMemPoolSetAttribute(device->pool, cudaMemPoolAttrUsedMemHigh, &used));
    made.limit = limit;
    result f = run(x, stored, &td_engine_ozaki2);
    made.limit = 0;
    CHECK_CUDA(cudaMemPoolGetAttribute(device->pool, cudaMemPoolAttrUsedMemHigh, &used));
    CHECK(f.status == TD_RUN_DONE || f.status == TD_RUN_NO_MEMORY, "status %d", (int)f.status);
    CHECK(used <= limit + ROUNDED, "%s: %llu bytes used, allowed %zu", text_of(x),
          (unsigned long long)used, limit);
    const bool is_done = f.status == TD_RUN_DONE;
    free_result(&f);
    return is_done ? used : 0;
}

/* Products have what the call itself leaves of the limit. */
TEST(products_are_within_the_limit)
{
    const matrix x = {96, 96, TD_LOWER, "random", test_seed()};
    double *a = make(&x), *stored = store(&x, a);
    size_t limit = 4 << 20;
    uint64_t used;
    int runs_within = 0;
    while ((used = take_within(&x, stored, limit))) {
        limit = (size_t)used * 7 / 8;
        runs_within++;
    }
    test_note("%d runs, each with less memory than the one before", runs_within);
    CHECK(runs_within > 1, "products are not cut");
    free(stored);
    free(a);
}

/* The host would wait for what is not run yet. */
TEST(captures_are_native)
{
    const matrix x = {40, 40, TD_LOWER, "random", test_seed()};
    double *a = make(&x), *stored = store(&x, a);
    void *on_device = device_copy(stored, elements_of(&x) * sizeof *stored);
    cudaGraph_t graph;
    CHECK_CUDA(cudaStreamCreateWithFlags(&made.stream, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamBeginCapture(made.stream, cudaStreamCaptureModeRelaxed));
    const td_run_status status = enqueue(&x, on_device, on_device, on_device, &td_engine_ozaki2);
    CHECK_CUDA(cudaStreamEndCapture(made.stream, &graph));
    assert_int_equal(status, TD_RUN_WAITS);
    CHECK_CUDA(cudaGraphDestroy(graph));
    CHECK_CUDA(cudaStreamDestroy(made.stream));
    made.stream = NULL;
    device_free(on_device);
    free(stored);
    free(a);
}

/* What is accepted is at the level of LAPACK's own, which is printed beside it. */
TEST(level_is_lapacks)
{
    printf("largest norms of columns over sqrt(n) 2^-53: A X - X D %.2f (LAPACK %.2f), X'X - I "
           "%.2f (LAPACK %.2f); values %.2f of what is allowed\n",
           worst.own.residual, worst.lapack.residual, worst.own.departure, worst.lapack.departure,
           worst.value);
    CHECK_AT_MOST(worst.own.departure, 2.0 * worst.lapack.departure, "more than LAPACK's");
}
