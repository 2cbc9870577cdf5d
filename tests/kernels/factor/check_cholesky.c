/* check_cholesky.c - Cholesky factors of one real or complex matrix: the bits and the info of what
 * is one panel wide are those of a plain loop of fused multiply-adds on the host, in both
 * triangles; larger matrices have residuals below those that LAPACK's tests allow, and the bits
 * that they have on any other device. The other triangle and memory around the matrix stay as they
 * were. */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cuda/device.h"
#include "lib/engines/factor/cholesky.h"
#include "tests/kernels/support/device.h"
#include "tests/support/bits.h"
#include "tests/support/random.h"

enum { BLOCK = 16 };

typedef struct {
    int n, ld;
    td_triangle triangle;
    const char *data;
    uint64_t seed;
    bool is_complex;
} matrix;

static int parts_of(const matrix *x) { return x->is_complex ? 2 : 1; }
static int tile_of(const matrix *x) { return 64 / parts_of(x); }

/* Real numbers of a matrix. */
static size_t reals_of(const matrix *x)
{
    return (size_t)x->ld * (size_t)x->n * (size_t)parts_of(x);
}

static const char *text_of(const matrix *x)
{
    static char text[160];
    snprintf(text, sizeof text, "%s order %d, ld %d, %s, %s, seed %llu",
             x->is_complex ? "complex" : "real", x->n, x->ld,
             x->triangle == TD_UPPER ? "upper" : "lower", x->data, (unsigned long long)x->seed);
    return text;
}

/* Where the element of L in that row and column is, in real numbers. An upper triangle is the lower
 * one of the conjugate matrix, so that nothing here tells them apart. */
static size_t place_of(const matrix *x, int row, int column)
{
    const size_t place = x->triangle == TD_UPPER ? (size_t)column + (size_t)row * (size_t)x->ld
                                                 : (size_t)row + (size_t)column * (size_t)x->ld;
    return place * (size_t)parts_of(x);
}

/* A number; of a real one `im` is 0. */
typedef struct {
    double re, im;
} number;

static number get(const matrix *x, const double *a, size_t place)
{
    return (number){a[place], x->is_complex ? a[place + 1] : 0.0};
}

static void put(const matrix *x, double *a, size_t place, number value)
{
    a[place] = value.re;
    if (x->is_complex) a[place + 1] = value.im;
}

/* ---- data ---- */

typedef struct {
    uint64_t state;
    const matrix *of;
} source;

static double uniform(source *s) { return random_signed(&s->state); }

static int whole(source *s, int least, int most)
{
    return random_signed_int(&s->state, least, most);
}

/* An element of a row and a column that is not behind it. */
typedef double kind(source *s, int i, int j);

/* Symmetric random numbers below a diagonal that dominates just enough. */
static double random_numbers(source *s, int i, int j)
{
    const double x = uniform(s);
    return i == j ? 2.0 * sqrt(1.0 + s->of->n) + x : x;
}

static double dominant(source *s, int i, int j)
{
    const double x = uniform(s);
    return i == j ? 4.0 * s->of->n : x;
}

/* Rows and columns have scales of their own, over 600 powers of two. */
static double graded(source *s, int i, int j)
{
    return ldexp(random_numbers(s, i, j), 3 * (i % 100) + 3 * (j % 100) - 300);
}

static double tiny(source *s, int i, int j) { return ldexp(random_numbers(s, i, j), -1030); }
static double small(source *s, int i, int j) { return 1e-300 * random_numbers(s, i, j); }
static double huge(source *s, int i, int j) { return 1e300 * random_numbers(s, i, j); }
static double hilbert(source *s, int i, int j) { return (void)s, 1.0 / (1.0 + i + j); }

/* Not positive from the eighth or so column on. */
static double steep_hilbert(source *s, int i, int j)
{
    return hilbert(s, i, j) - (i == j && i > 3 ? 0x1p-30 : 0.0);
}

static double toeplitz(source *s, int i, int j) { return (void)s, 1.0 / (1.0 + abs(i - j)); }
static double least_of(source *s, int i, int j) { return (void)s, 1.0 + (i < j ? i : j); }

/* One pivot is 0 or negative. */
static double indefinite(source *s, int i, int j)
{
    const int bad = (int)(s->of->seed % (uint64_t)s->of->n);
    const double x = random_numbers(s, i, j);
    return i == bad && j == bad ? (s->of->seed % 3 ? -1.0 : 0.0) : x;
}

static double zeros(source *s, int i, int j) { return (void)s, (void)i, (void)j, 0.0; }

static double specials(source *s, int i, int j)
{
    const double of[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0.0, -0.0};
    const double x = random_numbers(s, i, j);
    return whole(s, 0, 2 * s->of->n) == 0 ? of[whole(s, 0, 4)] : x;
}

static const struct {
    const char *name;
    kind *make;
    bool is_regular; /* residuals are judged */
} kinds[] = {{"random", random_numbers, true},
             {"dominant", dominant, true},
             {"graded", graded, true},
             {"tiny", tiny, false},
             {"small", small, true},
             {"huge", huge, true},
             {"Hilbert", hilbert, false},
             {"steep Hilbert", steep_hilbert, false},
             {"Toeplitz", toeplitz, true},
             {"least", least_of, true},
             {"indefinite", indefinite, false},
             {"zeros", zeros, false},
             {"special values", specials, false}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* One triangle; all else is poison, which is NaN, as is what a diagonal has beside its real part.
 * Of complex matrices rows and columns are turned, each by an angle of its own. */
static double *make(const matrix *x)
{
    double *a = malloc(reals_of(x) * sizeof *a);
    source s = {x->seed, x};
    int k = 0;
    CHECK(a, "no memory");
    while (strcmp(kinds[k].name, x->data) != 0) k++;
    for (size_t e = 0; e < reals_of(x); e++) a[e] = (double)NAN;
    for (int j = 0; j < x->n; j++)
        for (int i = j; i < x->n; i++) {
            const double size = kinds[k].make(&s, i, j), angle = i == j ? 0.0 : 0.7 * (i - j);
            const number turned = {size * cos(angle), i == j ? (double)NAN : size * sin(angle)};
            put(x, a, place_of(x, i, j), x->is_complex ? turned : (number){size, 0.0});
        }
    return a;
}

/* ---- the reference ---- */

static double quotient(double x, double pivot)
{
    const bool is_mild = isfinite(pivot) && fabs(pivot) >= 0x1p-400 && fabs(pivot) < 0x1p401;
    return is_mild ? x * (1.0 / pivot) : x / pivot;
}

/* c less a times the conjugate of b. */
static number minus(const matrix *x, number c, number a, number b)
{
    const double re = fma(-a.re, b.re, c.re), im = fma(a.re, b.im, c.im);
    return x->is_complex ? (number){fma(-a.im, b.im, re), fma(-a.im, b.re, im)} : (number){re, 0.0};
}

/* What is made of L so far: l[i + j n], and `plain`, which in diagonal blocks are elements before
 * they are multiplied by reciprocals of roots. */
typedef struct {
    number *l, *plain;
} made;

/* Element i, j less its products with earlier columns. */
static number element(const matrix *x, const double *a, const made *m, int i, int j)
{
    const int n = x->n, block = j / BLOCK * BLOCK;
    number sum = get(x, a, place_of(x, i, j));
    for (int k = 0; k < j; k++) {
        const size_t of_i = (size_t)i + (size_t)k * (size_t)n,
                     of_j = (size_t)j + (size_t)k * (size_t)n;
        if (k < block || i >= block + BLOCK) {
            sum = minus(x, sum, m->l[of_i], m->l[of_j]);
        } else {
            const double pivot = m->plain[(size_t)k * (size_t)(n + 1)].re;
            const number y = m->plain[of_i];
            const number factor = {quotient(y.re, pivot), quotient(y.im, pivot)};
            sum = minus(x, sum, factor, m->plain[of_j]);
        }
    }
    return sum;
}

/* Returns the first minor that is not positive; 0: none. */
static int factor(const matrix *x, const double *a, const made *m)
{
    const int n = x->n;
    for (int j = 0; j < n; j++) {
        double root = 0.0;
        for (int i = j; i < n; i++) {
            const number sum = element(x, a, m, i, j);
            const size_t at = (size_t)i + (size_t)j * (size_t)n;
            m->plain[at] = sum;
            if (i == j && !(sum.re > 0.0)) return j + 1;
            if (i == j) root = sqrt(sum.re);
            const double scale = 1.0 / root;
            m->l[at] = i == j ? (number){root, 0.0} : (number){sum.re * scale, sum.im * scale};
        }
    }
    return 0;
}

/* ---- the device ---- */

typedef struct {
    double *a;
    int info;
} factors;

/* How matrices are cut: as their sizes have it, if there are no columns of a panel. */
static td_cholesky_cut cut;
static const td_cholesky_cut usual = {0};

static void enqueue(const matrix *x, void *a, void *info, const td_engine *engine,
                    cudaStream_t stream)
{
    const td_problem p = {.kind = TD_FACTOR_CHOLESKY,
                          .type = x->is_complex ? TD_COMPLEX_BINARY64 : TD_BINARY64,
                          .triangle = x->triangle,
                          .n = x->n,
                          .a = {.data = a, .ld = x->ld},
                          .info = info,
                          .batch = 1,
                          .stream = stream};
    const td_factor_products by = {.engine = engine};
    td_device *device = td_device_current();
    const td_run_status status =
        td_factor_cholesky(&p, &by, cut.panel > 0 ? cut : td_cholesky_cut_of(&p), device,
                           td_device_limit(device, 0), NULL);
    CHECK(status == TD_RUN_DONE, "%s: status %d", text_of(x), (int)status);
}

static factors run(const matrix *x, const double *a, const td_engine *engine)
{
    const size_t bytes = reals_of(x) * sizeof *a;
    factors f = {malloc(bytes), -1};
    CHECK(f.a, "no memory");
    void *device_a = device_copy(a, bytes), *device_info = device_copy(&f.info, sizeof f.info);
    enqueue(x, device_a, device_info, engine, NULL);
    CHECK_CUDA(cudaDeviceSynchronize());
    device_fetch(f.a, device_a, bytes);
    device_fetch(&f.info, device_info, sizeof f.info);
    device_free(device_a);
    device_free(device_info);
    device_check_clean(text_of(x));
    return f;
}

/* ---- bits ---- */

/* True of an element of L that is there although minor `info` is not positive: of columns before
 * its tile, or of that tile and a strip before. */
static bool is_made(const matrix *x, int info, int i, int j)
{
    const int at = info - 1, tile = at / tile_of(x) * tile_of(x);
    return info == 0 || j < tile || (i < tile + tile_of(x) && j < at / BLOCK * BLOCK);
}

/* All that is not made is as it was. */
static void check_bits(const matrix *x)
{
    const size_t all = (size_t)x->n * (size_t)x->n;
    const made m = {malloc(all * sizeof *m.l), malloc(all * sizeof *m.plain)};
    double *a = make(x);
    CHECK(m.l && m.plain, "no memory");
    const int info = factor(x, a, &m);
    factors f = run(x, a, &td_engine_fp64);
    CHECK(f.info == info, "%s: info %d, not %d", text_of(x), f.info, info);
    for (int j = 0; j < x->n; j++)
        for (int i = j; i < x->n; i++)
            if (is_made(x, info, i, j))
                put(x, a, place_of(x, i, j), m.l[(size_t)i + (size_t)j * (size_t)x->n]);
    for (size_t e = 0; e < reals_of(x); e++)
        CHECK(same_bits(f.a[e], a[e]), "%s: number %zu of the matrix is %a, not %a", text_of(x), e,
              f.a[e], a[e]);
    free(f.a);
    free(m.plain);
    free(m.l);
    free(a);
}

static uint64_t fresh_seed(void)
{
    static uint64_t seed = 20261128;
    return seed = seed * 6364136223846793005u + 1;
}

TEST(all_orders_are_plain_chains)
{
    const int step = test_is_brief() ? 7 : 1;
    for (int n = 1; n <= 300; n += n < 34 ? 1 : step)
        for (int c = 0; c < (n < 70 || n % 3 == 0 ? 2 : 1); c++)
            check_bits(
                &(matrix){n, n + n % 3, n % 2 ? TD_UPPER : TD_LOWER, "random", fresh_seed(), c});
}

TEST(all_kinds_are_plain_chains)
{
    const int orders[] = {1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 191, 193, 200, 256, 300};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (int k = 0; k < KINDS; k++)
            for (int u = 0; u < 4; u++)
                if (test_is_brief() ? (i + (size_t)k + (size_t)u) % 12 == 0
                                    : test_takes((int)i + k + u, 2))
                    check_bits(&(matrix){orders[i], orders[i] + k % 2, u % 2 ? TD_UPPER : TD_LOWER,
                                         kinds[k].name, fresh_seed(), u >= 2});
}

/* Each column in turn has the first minor that is not positive. */
TEST(info_is_the_first_minor)
{
    const int n = 150, step = test_is_brief() ? 13 : 1;
    for (int i = 0; i < n; i += step)
        for (int c = 0; c < (i % 3 == 0 ? 2 : 1); c++)
            check_bits(&(matrix){n, n, i % 2 ? TD_UPPER : TD_LOWER, "indefinite",
                                 (uint64_t)(i + 3 * n), c});
}

/* Many tasks at a time. */
TEST(large_panels_are_plain_chains)
{
    const int orders[] = {511, 700, 1000, 1500};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (!device_is_host() || orders[i] <= 511)
            for (int c = 0; c < (orders[i] <= 700 ? 2 : 1); c++)
                check_bits(&(matrix){orders[i], orders[i] + 1, i % 2 ? TD_UPPER : TD_LOWER,
                                     "random", fresh_seed(), c});
}

/* A captured factorisation gives the bits of the plain one, at each launch of the graph. */
TEST(graphs_give_the_same_bits)
{
    const int n = 400;
    const matrix x = {n, n, TD_LOWER, "random", fresh_seed(), false};
    const size_t bytes = reals_of(&x) * sizeof(double);
    double *a = make(&x), *found = malloc(bytes);
    factors f = run(&x, a, &td_engine_fp64);
    void *device_a = device_copy(a, bytes), *info = device_copy(&f.info, sizeof f.info);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(found, "no memory");
    CHECK_CUDA(cudaStreamCreate(&stream));
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    enqueue(&x, device_a, info, &td_engine_fp64, stream);
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    for (int launch = 0; launch < 3; launch++) {
        CHECK_CUDA(cudaMemcpy(device_a, a, bytes, cudaMemcpyHostToDevice));
        CHECK_CUDA(cudaGraphLaunch(executable, stream));
        CHECK_CUDA(cudaStreamSynchronize(stream));
        device_fetch(found, device_a, bytes);
        for (size_t e = 0; e < reals_of(&x); e++)
            CHECK(same_bits(found[e], f.a[e]), "launch %d: element %d is %a, not %a", launch,
                  (int)e, found[e], f.a[e]);
    }
    CHECK_CUDA(cudaGraphExecDestroy(executable));
    CHECK_CUDA(cudaGraphDestroy(graph));
    CHECK_CUDA(cudaStreamDestroy(stream));
    device_free(device_a);
    device_free(info);
    free(found);
    free(f.a);
    free(a);
}

/* ---- residuals ---- */

/* |A - L L'| of some elements over n 2^-53 times the root of the diagonal's elements of both. */
static double ratio_of(const matrix *x, const double *a, const factors *f)
{
    double worst = 0.0;
    for (int i = 0; i < x->n; i += 1 + x->n / 40)
        for (int j = 0; j <= i; j += 1 + x->n / 40) {
            const number whole = get(x, a, place_of(x, i, j));
            long double re = -(long double)whole.re, im = i == j ? 0.0L : -(long double)whole.im;
            for (int k = 0; k <= j; k++) {
                const number y = get(x, f->a, place_of(x, i, k)),
                             z = get(x, f->a, place_of(x, j, k));
                re += (long double)y.re * z.re + (long double)y.im * z.im;
                im += (long double)y.im * z.re - (long double)y.re * z.im;
            }
            const long double size =
                sqrtl((long double)a[place_of(x, i, i)]) * sqrtl((long double)a[place_of(x, j, j)]);
            worst = fmax(worst, (double)hypotl(re / size, im / size));
        }
    return worst / (0x1p-53 * x->n);
}

static void check_residuals(const matrix *x, const td_engine *engine)
{
    const double most = 30.0; /* as LAPACK's tests have it */
    double *a = make(x);
    factors f = run(x, a, engine);
    CHECK(f.info == 0, "%s: info %d", text_of(x), f.info);
    CHECK_AT_MOST(ratio_of(x, a, &f), most, "%s", text_of(x));
    free(f.a);
    free(a);
}

/* But for what a diagonal has beside its real part. */
static bool is_untouched(const matrix *x, const double *a, const factors *f)
{
    for (size_t e = 0; e < reals_of(x); e++) {
        const bool is_beside = x->is_complex && e % 2 == 1 && e / 2 % (size_t)(x->ld + 1) == 0;
        if (!is_beside && isnan(a[e]) != isnan(f->a[e])) return false;
    }
    return true;
}

/* Products between panels, by every way to make them. */
TEST(panels_have_small_residuals)
{
    static const td_engine *const engines[] = {NULL, &td_engine_fp64, &td_engine_ozaki2};
    const int orders[] = {129, 193, 300};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (int k = 0; k < KINDS; k++)
            for (int u = 0; u < 4; u++) {
                if (!kinds[k].is_regular || (test_is_brief() && ((int)i + k + u) % 4)) continue;
                const matrix x = {orders[i],     orders[i] + k % 2, u % 2 ? TD_UPPER : TD_LOWER,
                                  kinds[k].name, fresh_seed(),      u >= 2};
                cut = (td_cholesky_cut){64, i % 2 ? 64 : 128, .group = 1 << k % 3};
                const td_engine *engine = engines[((size_t)k + i) % 3];
                double *a = make(&x);
                factors f = run(&x, a, engine);
                CHECK(f.info == 0, "%s: info %d", text_of(&x), f.info);
                CHECK_AT_MOST(ratio_of(&x, a, &f), 30.0, "%s", text_of(&x));
                CHECK(is_untouched(&x, a, &f), "%s: more than a triangle", text_of(&x));
                free(f.a);
                free(a);
            }
    cut = usual;
}

/* A minor of any panel, after which nothing is written but products. */
TEST(panels_have_the_info_of_all)
{
    for (int i = 0; i < 300; i += test_is_brief() ? 115 : 23) {
        const matrix x = {
            300, 300, i % 2 ? TD_UPPER : TD_LOWER, "indefinite", (uint64_t)(i + 900), i / 2 % 2};
        cut = (td_cholesky_cut){64, 64, .group = 1 << i / 4 % 3};
        double *a = make(&x);
        factors f = run(&x, a, &td_engine_fp64);
        CHECK(f.info == i + 1, "%s: info %d, not %d", text_of(&x), f.info, i + 1);
        CHECK(is_untouched(&x, a, &f), "%s: more than a triangle", text_of(&x));
        free(f.a);
        free(a);
    }
    cut = usual;
}

/* Blocks meet by counters in memory: each call may find another order of them. */
TEST(repeated_calls_have_the_same_bits)
{
    const int orders[] = {65, 200, 257, 700}, calls = device_is_host() ? 2 : 200;
    for (size_t i = 0; i < 2 * sizeof orders / sizeof *orders; i++) {
        const int n = orders[i / 2];
        if (device_is_host() && n > 300) continue;
        const matrix x = {n, n, i / 4 % 2 ? TD_UPPER : TD_LOWER, "random", 950 + i, i % 2};
        double *a = make(&x);
        factors first = run(&x, a, &td_engine_fp64);
        for (int call = 1; call < calls; call++) {
            factors f = run(&x, a, &td_engine_fp64);
            CHECK(f.info == 0, "%s, call %d: info %d", text_of(&x), call, f.info);
            CHECK(memcmp(f.a, first.a, reals_of(&x) * sizeof *a) == 0, "%s, call %d: other bits",
                  text_of(&x), call);
            free(f.a);
        }
        free(first.a);
        free(a);
    }
}

TEST(residuals_are_small)
{
    const int orders[] = {65, 200, 300, 1100, 2100, 4200, 6100};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (int k = 0; k < KINDS; k++) {
            if (!kinds[k].is_regular || (device_is_host() && orders[i] > 300)) continue;
            if (test_is_brief() && ((int)i + k) % 3) continue;
            check_residuals(&(matrix){orders[i], orders[i] + k % 2, k % 2 ? TD_UPPER : TD_LOWER,
                                      kinds[k].name, fresh_seed(), (i + (size_t)k) % 2},
                            k % 4 == 3   ? NULL
                            : k % 4 == 1 ? &td_engine_ozaki2
                                         : &td_engine_fp64);
        }
}

/* ---- the same bits everywhere ---- */

static uint64_t hash_of(const factors *f, const matrix *x)
{
    uint64_t hash = 14695981039346656037u, bits;
    for (int j = 0; j < x->n; j++)
        for (int i = j; i < x->n; i++) {
            for (int part = 0; part < parts_of(x); part++) {
                memcpy(&bits, &f->a[place_of(x, i, j) + (size_t)part], sizeof bits);
                hash = (hash ^ bits) * 1099511628211u;
            }
        }
    return hash;
}

/* Hashes of factors. */
static const struct {
    matrix x;
    td_cholesky_cut cut;
    const td_engine *engine;
    uint64_t hash;
} golden[] = {
    {{300, 300, TD_LOWER, "random", 1, false}, {64, 300, 1}, &td_engine_fp64, 0x44bbd99a59a531eb},
    {{300, 301, TD_UPPER, "random", 1, false}, {64, 300, 1}, &td_engine_fp64, 0x44bbd99a59a531eb},
    {{300, 300, TD_LOWER, "random", 1, false}, {64, 128, 1}, &td_engine_fp64, 0xead3ae66e8629a6c},
    {{300, 301, TD_UPPER, "random", 1, false}, {64, 128, 1}, &td_engine_fp64, 0xead3ae66e8629a6c},
    {{300, 300, TD_LOWER, "random", 1, false}, {64, 128, 1}, &td_engine_ozaki2, 0xca2c76d2083b63dc},
    {{300, 300, TD_LOWER, "random", 1, true}, {64, 300, 1}, &td_engine_fp64, 0x86a022bd0a292c1c},
    {{300, 301, TD_UPPER, "random", 1, true}, {64, 300, 1}, &td_engine_fp64, 0x86a022bd0a292c1c},
    {{300, 300, TD_LOWER, "random", 1, true}, {64, 128, 1}, &td_engine_fp64, 0x762bc85156b6e35f},
    {{300, 301, TD_UPPER, "random", 1, true}, {64, 128, 1}, &td_engine_fp64, 0xf15e177a569a5d7a},
    {{300, 300, TD_LOWER, "random", 1, true}, {64, 128, 1}, &td_engine_ozaki2, 0xb2dad6476c5ddd8f},
    {{300, 300, TD_LOWER, "random", 1, false}, {64, 64, 2}, &td_engine_fp64, 0xc80c090ea866e072},
    {{300, 301, TD_UPPER, "random", 1, false}, {64, 64, 2}, &td_engine_fp64, 0xc80c090ea866e072},
    {{300, 300, TD_LOWER, "random", 1, false}, {64, 64, 2}, &td_engine_ozaki2, 0xdd6024c61b2561e8},
    {{300, 300, TD_LOWER, "random", 1, true}, {64, 64, 2}, &td_engine_ozaki2, 0x8fd17a14f5d6dede},
    {{300, 300, TD_LOWER, "random", 1, false}, {64, 64, 4}, &td_engine_fp64, 0x3fb0badec4ad3d7c},
    {{300, 301, TD_UPPER, "random", 1, true}, {64, 64, 4}, &td_engine_ozaki2, 0x5a058a23f8d1694e}};

TEST(bits_are_the_same_everywhere)
{
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i += test_is_brief() ? 3 : 1) {
        double *a = make(&golden[i].x);
        cut = golden[i].cut;
        factors f = run(&golden[i].x, a, golden[i].engine);
        const uint64_t hash = hash_of(&f, &golden[i].x);
        CHECK(hash == golden[i].hash, "%s: hash %016llx", text_of(&golden[i].x),
              (unsigned long long)hash);
        free(f.a);
        free(a);
    }
}

int main(void)
{
    device_require();
    return test_run();
}
