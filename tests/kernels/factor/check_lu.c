/* check_lu.c - LU factors of one matrix: bits, pivots and info of what is one panel wide, or has as
 * few rows, are those of a plain loop of fused multiply-adds on the host; larger matrices have
 * residuals below those that LAPACK's tests allow, and the bits that they have on any other device.
 * Memory around the matrix stays as it was. */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cuda/device.h"
#include "lib/engines/factor/lu.h"
#include "tests/kernels/support/device.h"

enum { PANEL = 64, POISON = 0x7f };

typedef enum { NO_PIVOTS, PIVOTS, WIDE_PIVOTS, PIVOT_KINDS } pivot_kind;

typedef struct {
    int m, n, ld;
    pivot_kind pivots;
    const char *data;
    uint64_t seed;
    int block; /* columns of a block; 0: as many as the sizes have it */
} matrix;

static int least_of(const matrix *x) { return x->m < x->n ? x->m : x->n; }
static size_t elements_of(const matrix *x) { return (size_t)x->ld * (size_t)x->n; }

static const char *text_of(const matrix *x)
{
    static char text[160];
    snprintf(text, sizeof text, "%d x %d, ld %d, pivots %d, %s, seed %llu", x->m, x->n, x->ld,
             (int)x->pivots, x->data, (unsigned long long)x->seed);
    return text;
}

/* ---- data ---- */

typedef struct {
    uint64_t state;
    const matrix *of;
} source;

static double uniform(source *s)
{
    s->state = s->state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(s->state >> 11) * 0x1p-52 - 1.0;
}

static int whole(source *s, int least, int most)
{
    return least + (int)((uniform(s) + 1.0) * 0.5 * (most - least + 1));
}

typedef double kind(source *s, int i, int j);

static double random_numbers(source *s, int i, int j) { return (void)i, (void)j, uniform(s); }

/* Pivots are chosen among equals, and zeros have signs. */
static double small_integers(source *s, int i, int j)
{
    const int x = whole(s, -2, 2);
    return (void)i, (void)j, x == 0 && uniform(s) < 0.0 ? -0.0 : (double)x;
}

static double graded(source *s, int i, int j)
{
    return (void)i, ldexp(uniform(s), 20 * (j % 100) - 1000 + whole(s, -40, 40));
}

static double tiny(source *s, int i, int j) { return (void)i, (void)j, ldexp(uniform(s), -1060); }
static double huge(source *s, int i, int j) { return (void)i, (void)j, ldexp(uniform(s), 1010); }

/* Two columns are alike, one is 0. */
static double singular(source *s, int i, int j)
{
    const double x = uniform(s);
    return j == s->of->n / 2 ? 0.0 : j == s->of->n - 1 ? 1.0 + i : x;
}

/* Wilkinson's growth: U's last column doubles with every row. */
static double wilkinson(source *s, int i, int j)
{
    return j == s->of->n - 1 || i == j ? 1.0 : i > j ? -1.0 : 0.0;
}

static double toeplitz(source *s, int i, int j) { return (void)s, sin(1.0 + 3.0 * (i - j)); }
static double hilbert(source *s, int i, int j) { return (void)s, 1.0 / (1.0 + i + j); }

static double dominant(source *s, int i, int j)
{
    const double x = uniform(s);
    return i == j ? 4.0 * s->of->n : x;
}

/* A triangle whose rows are in another order. */
static double permuted_triangle(source *s, int i, int j)
{
    const int row = (i * 7 + 3) % s->of->m;
    const double x = uniform(s);
    return row > j ? 0.0 : row == j ? 1.0 : x;
}

static double specials(source *s, int i, int j)
{
    const double of[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0.0, -0.0};
    return (void)i, (void)j, whole(s, 0, 60) == 0 ? of[whole(s, 0, 4)] : uniform(s);
}

static const struct {
    const char *name;
    kind *make;
    bool is_regular; /* residuals are judged */
} kinds[] = {{"random", random_numbers, true},
             {"small integers", small_integers, false},
             {"graded", graded, true},
             {"tiny", tiny, false},
             {"huge", huge, true},
             {"singular", singular, false},
             {"Wilkinson", wilkinson, true},
             {"Toeplitz", toeplitz, true},
             {"Hilbert", hilbert, true},
             {"dominant", dominant, true},
             {"permuted", permuted_triangle, true},
             {"special values", specials, false}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static double *make(const matrix *x)
{
    double *a = malloc(elements_of(x) * sizeof *a);
    source s = {x->seed, x};
    int k = 0;
    CHECK(a, "no memory");
    while (strcmp(kinds[k].name, x->data) != 0) k++;
    memset(a, POISON, elements_of(x) * sizeof *a);
    for (int j = 0; j < x->n; j++)
        for (int i = 0; i < x->m; i++) a[i + (int64_t)j * x->ld] = kinds[k].make(&s, i, j);
    return a;
}

/* ---- the reference ---- */

static double size_of(double x) { return isnan(x) ? 0.0 : fabs(x); }

/* The divisor's reciprocal where its exponent is mild, else a division. */
static double quotient(double x, double pivot)
{
    const bool is_mild = isfinite(pivot) && fabs(pivot) >= 0x1p-400 && fabs(pivot) < 0x1p401;
    return is_mild ? x * (1.0 / pivot) : x / pivot;
}

/* One column after the other; returns info. A pivot of 0 divides nothing. */
static int factor(const matrix *x, double *a, int64_t *pivots)
{
    const int64_t ld = x->ld;
    int info = 0;
    for (int j = 0; j < least_of(x); j++) {
        double *const column = a + (int64_t)j * ld;
        int row = j;
        for (int i = j + 1; i < x->m && x->pivots != NO_PIVOTS; i++)
            if (size_of(column[i]) > size_of(column[row])) row = i;
        pivots[j] = row + 1;
        for (int c = 0; c < x->n; c++) {
            const double kept = a[j + (int64_t)c * ld];
            a[j + (int64_t)c * ld] = a[row + (int64_t)c * ld];
            a[row + (int64_t)c * ld] = kept;
        }
        const double pivot = column[j];
        if (pivot == 0.0 && info == 0) info = j + 1;
        for (int i = j + 1; i < x->m && pivot != 0.0; i++) column[i] = quotient(column[i], pivot);
        for (int c = j + 1; c < x->n; c++) {
            double *const other = a + (int64_t)c * ld;
            for (int i = j + 1; i < x->m; i++) other[i] = fma(-column[i], other[j], other[i]);
        }
    }
    return info;
}

/* ---- the device ---- */

typedef struct {
    double *a;
    int64_t *pivots; /* NULL: none */
    int info;
} factors;

/* Small matrices are cut into blocks, too. */
static td_lu_cut cut_of(const td_problem *p, int block)
{
    const td_lu_cut cut = td_lu_cut_of(p);
    return block ? (td_lu_cut){block, cut.panel} : cut;
}

static factors run(const matrix *x, const double *a, const td_engine *engine)
{
    const size_t bytes = elements_of(x) * sizeof *a, count = (size_t)least_of(x);
    const size_t pivot_bytes = x->pivots == WIDE_PIVOTS ? sizeof(int64_t) : sizeof(int);
    factors f = {malloc(bytes), x->pivots == NO_PIVOTS ? NULL : malloc(count * sizeof(int64_t)),
                 -1};
    int64_t *raw = malloc(count * sizeof *raw);
    CHECK(f.a && raw, "no memory");
    void *device_a = device_copy(a, bytes), *device_info = device_copy(&f.info, sizeof f.info),
         *device_pivots = f.pivots ? device_copy(raw, count * pivot_bytes) : NULL;
    const td_problem p = {.kind = TD_FACTOR_LU,
                          .type = TD_BINARY64,
                          .m = x->m,
                          .n = x->n,
                          .a = {.data = device_a, .ld = x->ld},
                          .pivots = device_pivots,
                          .has_wide_pivots = x->pivots == WIDE_PIVOTS,
                          .info = device_info,
                          .batch = 1};
    const td_factor_products by = {
        .engine = engine, .cut = {td_solve_most_rows(p.type), 0}, .panels = cut_of(&p, x->block)};
    td_device *device = td_device_current();
    const td_run_status status = td_factor_lu(&p, &by, device, td_device_limit(device, 0), NULL);
    CHECK(status == TD_RUN_DONE, "%s: status %d", text_of(x), (int)status);
    CHECK_CUDA(cudaDeviceSynchronize());
    device_fetch(f.a, device_a, bytes);
    device_fetch(&f.info, device_info, sizeof f.info);
    if (f.pivots) device_fetch(raw, device_pivots, count * pivot_bytes);
    for (size_t i = 0; f.pivots && i < count; i++)
        f.pivots[i] = x->pivots == WIDE_PIVOTS ? raw[i] : ((const int *)raw)[i];
    device_free(device_a);
    device_free(device_info);
    if (device_pivots) device_free(device_pivots);
    device_check_clean(text_of(x));
    free(raw);
    return f;
}

static void free_factors(factors *f)
{
    free(f->a);
    free(f->pivots);
}

/* ---- bits ---- */

static bool is_same(double x, double y)
{
    return (isnan(x) && isnan(y)) || memcmp(&x, &y, sizeof x) == 0;
}

static void check_bits(const matrix *x)
{
    double *a = make(x), *want = make(x);
    int64_t *pivots = malloc((size_t)least_of(x) * sizeof *pivots);
    const int info = factor(x, want, pivots);
    factors f = run(x, a, &td_engine_fp64);
    CHECK(f.info == info, "%s: info %d, not %d", text_of(x), f.info, info);
    for (int i = 0; f.pivots && i < least_of(x); i++)
        CHECK(f.pivots[i] == pivots[i], "%s: pivot %d is %d, not %d", text_of(x), i,
              (int)f.pivots[i], (int)pivots[i]);
    for (size_t e = 0; e < elements_of(x); e++)
        CHECK(is_same(f.a[e], want[e]), "%s: element %d, %d is %a, not %a", text_of(x),
              (int)(e % (size_t)x->ld), (int)(e / (size_t)x->ld), f.a[e], want[e]);
    free_factors(&f);
    free(pivots);
    free(want);
    free(a);
}

static uint64_t fresh_seed(void)
{
    static uint64_t seed = 20261128;
    return seed = seed * 6364136223846793005u + 1;
}

TEST(panels_are_plain_chains)
{
    const int rows[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257, 700};
    const int columns[] = {1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 48, 49, 63, 64};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            for (int k = 0; k < (test_is_brief() ? 2 : KINDS); k++)
                for (int p = 0; p < PIVOT_KINDS; p++)
                    check_bits(&(matrix){rows[r], columns[c], rows[r] + (int)(c % 3), (pivot_kind)p,
                                         kinds[(r + c + (size_t)k) % KINDS].name, fresh_seed(), 0});
}

/* Columns that no panel has are U's. */
TEST(wide_matrices_are_plain_chains)
{
    const int rows[] = {1, 5, 16, 31, 48, 64}, columns[] = {65, 66, 129, 300};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            for (int k = 0; k < KINDS; k++)
                if (kinds[k].is_regular)
                    check_bits(&(matrix){rows[r], columns[c], rows[r] + 1, PIVOTS, kinds[k].name,
                                         fresh_seed(), 0});
}

/* More rows than blocks of small clusters have. */
TEST(tall_panels_are_plain_chains)
{
    const int rows[] = {1000, 2048, 2049, 4096, 4097, 8192, 8193, 12000, 16384};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int k = 0; k < KINDS; k += device_is_host() ? 4 : 1)
            if (!device_is_host() || rows[r] <= 4097)
                check_bits(&(matrix){rows[r], k % 2 ? 64 : 51, rows[r] + k % 2, PIVOTS,
                                     kinds[k].name, fresh_seed(), 0});
}

/* ---- residuals ---- */

/* |P A - L U| of some rows over n 2^-53 times the largest element of U, L's being at most 1. */
static double ratio_of(const matrix *x, double *a, const factors *f)
{
    const int64_t ld = x->ld;
    double worst = 0.0, largest = 0.0;
    for (int i = 0; i < least_of(x); i++)
        for (int j = 0; j < x->n; j++) {
            const double kept = a[i + (int64_t)j * ld], top = f->a[i + (int64_t)j * ld];
            const int64_t row = f->pivots[i] - 1;
            a[i + (int64_t)j * ld] = a[row + (int64_t)j * ld];
            a[row + (int64_t)j * ld] = kept;
            if (j >= i) largest = fmax(largest, fabs(top));
        }
    for (int i = 0; i < x->m; i += 1 + x->m / 40)
        for (int j = 0; j < x->n; j += 1 + x->n / 40) {
            long double sum = -(long double)a[i + (int64_t)j * ld];
            for (int l = 0; l <= i && l <= j && l < least_of(x); l++) {
                const double factor = l == i ? 1.0 : f->a[i + (int64_t)l * ld];
                CHECK(l == i || fabs(factor) <= 1.0 + 0x1p-50, "%s: L has %g", text_of(x), factor);
                sum += (long double)factor * (long double)f->a[l + (int64_t)j * ld];
            }
            worst = fmax(worst, (double)fabsl(sum / largest));
        }
    return worst / (0x1p-53 * least_of(x));
}

static void check_residuals(const matrix *x, const td_engine *engine)
{
    const double most = 30.0; /* as LAPACK's tests have it */
    double *a = make(x);
    factors f = run(x, a, engine);
    CHECK_AT_MOST(ratio_of(x, a, &f), most, "%s", text_of(x));
    free_factors(&f);
    free(a);
}

TEST(residuals_are_small)
{
    const int orders[] = {65, 128, 129, 200, 300, 1100, 2100, 4200};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (int k = 0; k < KINDS; k++) {
            const int n = orders[i], m = k % 3 == 1 ? n + 70 : k % 3 == 2 ? n - 40 : n;
            if (!kinds[k].is_regular || (device_is_host() && n > 300)) continue;
            check_residuals(&(matrix){m, n, m + k % 2, k % 2 ? PIVOTS : WIDE_PIVOTS, kinds[k].name,
                                      fresh_seed(), 0},
                            k % 4 == 3 ? NULL : &td_engine_fp64);
        }
}

/* Blocks of columns with a solve and a product behind each, which large matrices have. */
TEST(blocks_have_small_residuals)
{
    const int orders[] = {65, 129, 192, 300}, blocks[] = {64, 128, 192};
    const td_engine *const engines[] = {&td_engine_fp64, NULL, &td_engine_ozaki2};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (int k = 0; k < KINDS; k++) {
            const int n = orders[i], m = k % 3 == 1 ? n + 70 : k % 3 == 2 ? n - 40 : n;
            if (!kinds[k].is_regular) continue;
            check_residuals(&(matrix){m, n, m + k % 2, k % 2 ? PIVOTS : WIDE_PIVOTS, kinds[k].name,
                                      fresh_seed(), blocks[(i + (size_t)k) % 3]},
                            engines[k % 3]);
        }
}

/* Sizes that are cut so by themselves. */
TEST(large_matrices_have_small_residuals)
{
    const int sizes[][2] = {{9300, 9300}, {12000, 9300}, {9300, 12000}};
    for (size_t i = 0; !device_is_host() && i < sizeof sizes / sizeof *sizes; i++)
        check_residuals(
            &(matrix){sizes[i][0], sizes[i][1], sizes[i][0], PIVOTS, "random", fresh_seed(), 0},
            i == 1 ? NULL : &td_engine_ozaki2);
}

/* ---- the same bits everywhere ---- */

static uint64_t hash_of(const factors *f, size_t count)
{
    uint64_t hash = 14695981039346656037u, bits;
    for (size_t i = 0; i < count; i++) {
        memcpy(&bits, &f->a[i], sizeof bits);
        hash = (hash ^ bits) * 1099511628211u;
    }
    return hash;
}

TEST(bits_are_the_same_everywhere)
{
    static const struct {
        int m, n;
        const td_engine *engine;
        uint64_t hash;
        int block;
    } golden[] = {{300, 300, &td_engine_fp64, 0x712334ef053750d7, 0},
                  {500, 260, &td_engine_fp64, 0xc2e676a5e061e15e, 0},
                  {130, 400, &td_engine_fp64, 0xc18bc5734acea12b, 0},
                  {300, 300, &td_engine_ozaki2, 0x6b8dbb52958cd96d, 0},
                  {500, 420, &td_engine_fp64, 0x08ff42bd381a22b0, 128},
                  {420, 500, &td_engine_ozaki2, 0xe90d7d1e1d1c0752, 192}};
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        const matrix x = {golden[i].m, golden[i].n, golden[i].m,    PIVOTS,
                          "random",    1 + i,       golden[i].block};
        double *a = make(&x);
        factors f = run(&x, a, golden[i].engine);
        const uint64_t hash = hash_of(&f, elements_of(&x));
        CHECK(hash == golden[i].hash, "%s: hash %016llx", text_of(&x), (unsigned long long)hash);
        free_factors(&f);
        free(a);
    }
}

int main(void)
{
    device_require();
    return test_run();
}
