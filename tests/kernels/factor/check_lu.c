/* check_lu.c - LU factors of one matrix, real or complex: bits, pivots and info of what is one
 * panel wide, or has as few rows, are those of a plain loop of fused multiply-adds on the host;
 * larger matrices have residuals below those that LAPACK's tests allow, and the bits that they
 * have on any other device. Memory around the matrix stays as it was. */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cuda/device.h"
#include "kinds.h"
#include "lib/engines/factor/lu.h"
#include "tests/kernels/support/device.h"
#include "tests/support/bits.h"
#include "tests/support/hash.h"

enum { POISON = 0x7f };

static td_type type; /* that is tested */

/* Real numbers of an element. */
static int parts(void) { return type == TD_COMPLEX_BINARY64 ? 2 : 1; }

typedef enum { NO_PIVOTS, PIVOTS, WIDE_PIVOTS, PIVOT_KINDS } pivot_kind;

typedef struct {
    int m, n, ld;
    pivot_kind pivots;
    const char *data;
    uint64_t seed;
    int block; /* columns of a block; 0: as many as the sizes have it */
    bool has_pieces;
} matrix;

static int least_of(const matrix *x) { return x->m < x->n ? x->m : x->n; }
static size_t reals_of(const matrix *x) { return (size_t)x->ld * (size_t)x->n * (size_t)parts(); }

static double *at(const matrix *x, double *a, int i, int j)
{
    return a + (i + (int64_t)j * x->ld) * parts();
}

static number get(const matrix *x, const double *a, int i, int j)
{
    const double *const from = a + (i + (int64_t)j * x->ld) * parts();
    return (number){from[0], parts() == 2 ? from[1] : 0.0};
}

static void set(const matrix *x, double *a, int i, int j, number value)
{
    double *const to = at(x, a, i, j);
    to[0] = value.re;
    if (parts() == 2) to[1] = value.im;
}

static void exchange(const matrix *x, double *a, int i, int row, int j)
{
    const number kept = get(x, a, i, j);
    set(x, a, i, j, get(x, a, row, j));
    set(x, a, row, j, kept);
}

static const char *text_of(const matrix *x)
{
    static char text[160];
    snprintf(text, sizeof text, "%s %d x %d, ld %d, pivots %d, %s, seed %llu", td_types[type].name,
             x->m, x->n, x->ld, (int)x->pivots, x->data, (unsigned long long)x->seed);
    return text;
}

/* ---- data ---- */

/* Two columns are alike, one is 0. */
static double singular(source *s, int i, int j)
{
    const double x = uniform(s);
    return j == s->n / 2 ? 0.0 : j == s->n - 1 ? 1.0 + i : x;
}

/* Wilkinson's growth: U's last column doubles with every row. */
static double wilkinson(source *s, int i, int j)
{
    return j == s->n - 1 || i == j ? 1.0 : i > j ? -1.0 : 0.0;
}

static double toeplitz(source *s, int i, int j) { return (void)s, sin(1.0 + 3.0 * (i - j)); }

/* A triangle whose rows are in another order. */
static double permuted_triangle(source *s, int i, int j)
{
    const int row = (i * 7 + 3) % s->m;
    const double x = uniform(s);
    return row > j ? 0.0 : row == j ? 1.0 : x;
}

static double specials(source *s, int i, int j)
{
    return (void)i, (void)j, special_or(s, 60, uniform(s));
}

static const factor_kind kinds[] = {{"random", random_numbers, true},
                                    {"small integers", small_integers, false},
                                    {"graded", graded_columns, true},
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
    double *a = test_memory(reals_of(x) * sizeof *a);
    source s = {x->seed, x->seed, x->m, x->n};
    kind *const next = find_kind(kinds, x->data)->make;
    memset(a, POISON, reals_of(x) * sizeof *a);
    for (int j = 0; j < x->n; j++)
        for (int i = 0; i < x->m; i++)
            for (int part = 0; part < parts(); part++) at(x, a, i, j)[part] = next(&s, i, j);
    return a;
}

/* ---- the reference ---- */

static double size_of(number x)
{
    const double size = fabs(x.re) + fabs(x.im);
    return isnan(size) ? 0.0 : size;
}

static double top_of(number x) { return fmax(fabs(x.re), fabs(x.im)); }
static bool is_zero(number x) { return x.re == 0.0 && x.im == 0.0; }

/* c - a b, the product with a's real part first. */
static number minus(number c, number a, number b)
{
    const number first = {fma(-a.re, b.re, c.re), fma(-a.re, b.im, c.im)};
    if (parts() == 1) return first;
    return (number){fma(a.im, b.im, first.re), fma(-a.im, b.re, first.im)};
}

/* By the reciprocal of t scaled by a power of two. */
static number mild_quotient(number x, number t)
{
    const double scale = ldexp(1.0, -ilogb(top_of(t))), re = t.re * scale, im = t.im * scale,
                 over = 1.0 / fma(re, re, im * im) * scale;
    const number inverse = {re * over, -im * over};
    return (number){fma(-x.im, inverse.im, x.re * inverse.re),
                    fma(x.im, inverse.re, x.re * inverse.im)};
}

/* The power of two that is taken out of a number, if there is one. */
static int power_of(number x)
{
    return top_of(x) > 0.0 && isfinite(top_of(x)) ? ilogb(top_of(x)) : 0;
}

static number times_power(number x, int power)
{
    return (number){ldexp(x.re, power), ldexp(x.im, power)};
}

/* Smith's, of numbers whose powers of two are taken out. */
static number extreme_quotient(number x, number t)
{
    const number a = times_power(x, -power_of(x)), b = times_power(t, -power_of(t));
    const bool swaps = fabs(b.re) < fabs(b.im);
    const double large = swaps ? b.im : b.re, small = swaps ? b.re : b.im, ratio = small / large,
                 norm = fma(small, ratio, large);
    const number q = swaps
                         ? (number){fma(a.re, ratio, a.im) / norm, fma(a.im, ratio, -a.re) / norm}
                         : (number){fma(a.im, ratio, a.re) / norm, fma(-a.re, ratio, a.im) / norm};
    return times_power(q, power_of(x) - power_of(t));
}

/* By the divisor's reciprocal where its exponent is mild, else a division. */
static number quotient(number x, number t)
{
    const bool is_mild =
        isfinite(t.re) && isfinite(t.im) && top_of(t) >= 0x1p-400 && top_of(t) < 0x1p401;
    if (parts() == 1) return (number){is_mild ? x.re * (1.0 / t.re) : x.re / t.re, 0.0};
    return is_mild ? mild_quotient(x, t) : extreme_quotient(x, t);
}

static int pivot_of(const matrix *x, const double *a, int j)
{
    int row = j;
    for (int i = j + 1; i < x->m && x->pivots != NO_PIVOTS; i++)
        if (size_of(get(x, a, i, j)) > size_of(get(x, a, row, j))) row = i;
    return row;
}

/* One column after the other; returns info. A pivot of 0 divides nothing. */
static int factor(const matrix *x, double *a, int64_t *pivots)
{
    int info = 0;
    for (int j = 0; j < least_of(x); j++) {
        const int row = pivot_of(x, a, j);
        pivots[j] = row + 1;
        for (int c = 0; c < x->n; c++) exchange(x, a, j, row, c);
        const number pivot = get(x, a, j, j);
        if (is_zero(pivot) && info == 0) info = j + 1;
        for (int i = j + 1; i < x->m && !is_zero(pivot); i++)
            set(x, a, i, j, quotient(get(x, a, i, j), pivot));
        for (int c = j + 1; c < x->n; c++) {
            const number other = get(x, a, j, c);
            for (int i = j + 1; i < x->m; i++)
                set(x, a, i, c, minus(get(x, a, i, c), get(x, a, i, j), other));
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

/* Small matrices are cut into blocks, and their panels into pieces, too. */
static td_lu_cut cut_of(const td_problem *p, const matrix *x)
{
    const int64_t block = x->block ? x->block : 1 << 20;
    if (x->has_pieces)
        return (td_lu_cut){.block = block,
                           .few = 100,
                           .many = 200,
                           .of_many = {128, 32},
                           .of_some = {96, 48},
                           .of_few = {64, 64},
                           .is_late = true};
    td_lu_cut cut = td_lu_cut_of(p);
    if (x->block) cut.block = block;
    return cut;
}

static factors run(const matrix *x, const double *a, const td_engine *engine)
{
    const size_t bytes = reals_of(x) * sizeof *a, count = (size_t)least_of(x);
    const size_t pivot_bytes = x->pivots == WIDE_PIVOTS ? sizeof(int64_t) : sizeof(int);
    factors f = {test_memory(bytes),
                 x->pivots == NO_PIVOTS ? NULL : test_memory(count * sizeof(int64_t)), -1};
    int64_t *raw = test_memory(count * sizeof *raw);
    void *device_a = device_copy(a, bytes), *device_info = device_copy(&f.info, sizeof f.info),
         *device_pivots = f.pivots ? device_copy(raw, count * pivot_bytes) : NULL;
    const td_problem p = {.kind = TD_FACTOR_LU,
                          .type = type,
                          .m = x->m,
                          .n = x->n,
                          .a = {.data = device_a, .ld = x->ld},
                          .pivots = device_pivots,
                          .has_wide_pivots = x->pivots == WIDE_PIVOTS,
                          .info = device_info,
                          .batch = 1};
    const td_factor_products by = {
        .engine = engine, .cut = {td_solve_most_rows(p.type), 0}, .panels = cut_of(&p, x)};
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

static void check_bits(const matrix *x)
{
    double *a = make(x), *want = make(x);
    int64_t *pivots = test_memory((size_t)least_of(x) * sizeof *pivots);
    const int info = factor(x, want, pivots);
    factors f = run(x, a, &td_engine_fp64);
    CHECK(f.info == info, "%s: info %d, not %d", text_of(x), f.info, info);
    for (int i = 0; f.pivots && i < least_of(x); i++)
        CHECK(f.pivots[i] == pivots[i], "%s: pivot %d is %d, not %d", text_of(x), i,
              (int)f.pivots[i], (int)pivots[i]);
    for (size_t i = 0; i < reals_of(x); i++) {
        const int e = (int)(i / (size_t)parts());
        CHECK(same_bits(f.a[i], want[i]), "%s: element %d, %d is %a, not %a", text_of(x), e % x->ld,
              e / x->ld, f.a[i], want[i]);
    }
    free_factors(&f);
    free(pivots);
    free(want);
    free(a);
}

TEST(panels_are_plain_chains)
{
    const int rows[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257, 700};
    const int columns[] = {1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 48, 49, 63, 64};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            for (int k = 0; k < (test_is_brief() ? 2 : KINDS); k++)
                for (int p = 0; p < PIVOT_KINDS; p++)
                    if (test_is_brief() ? ((int)(r + c) + k + p) % 4 == 0
                                        : test_takes((int)r / 2 + k + p, PIVOT_KINDS))
                        check_bits(&(matrix){rows[r], columns[c], rows[r] + (int)(c % 3),
                                             (pivot_kind)p, kinds[(r + c + (size_t)k) % KINDS].name,
                                             test_seed(), 0, false});
}

/* Columns that no panel has are U's. */
TEST(wide_matrices_are_plain_chains)
{
    const int rows[] = {1, 5, 16, 31, 48, 64}, columns[] = {65, 66, 129, 300};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            for (int k = 0; k < KINDS; k++)
                if (kinds[k].is_regular && (!test_is_brief() || (r + c + (size_t)k) % 6 == 0))
                    check_bits(&(matrix){rows[r], columns[c], rows[r] + 1, PIVOTS, kinds[k].name,
                                         test_seed(), 0, false});
}

/* More rows than blocks of small clusters have. */
TEST(tall_panels_are_plain_chains)
{
    const int rows[] = {1000, 2048, 2049, 4096, 4097, 8192, 8193, 12000, 16384};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int k = 0; k < (test_is_brief() ? 1 : KINDS); k += device_is_host() ? 4 : 1)
            if (!device_is_host() || rows[r] <= 4097)
                check_bits(&(matrix){rows[r], k % 2 ? 64 : 51, rows[r] + k % 2, PIVOTS,
                                     kinds[k].name, test_seed(), 0, false});
}

/* Leaves of eight real columns, or of four, which are half as wide as products' tiles; the host
 * device takes its time for each row. Pivots are of all kinds by turns. */
TEST(taller_panels_are_plain_chains)
{
    const int rows[] = {16385, 20000, 32768, 32769, 49999, 65536};
    for (int r = 0; r < (device_is_host() ? 1 : (int)(sizeof rows / sizeof *rows)); r++)
        for (int k = r % 2; k < KINDS; k += device_is_host() || test_is_brief() ? 6 : 3)
            check_bits(&(matrix){rows[r], r < 3 ? 40 : 23, rows[r] + k % 2,
                                 (pivot_kind)((r + k) % PIVOT_KINDS), kinds[k].name, test_seed(), 0,
                                 false});
}

/* ---- residuals ---- */

/* A row's product with a column of L U, less what it is to be. */
static double off_at(const matrix *x, const double *a, const double *lu, int i, int j)
{
    const number want = get(x, a, i, j);
    long double re = -(long double)want.re, im = -(long double)want.im;
    for (int l = 0; l <= i && l <= j && l < least_of(x); l++) {
        const number left = l == i ? (number){1.0, 0.0} : get(x, lu, i, l), up = get(x, lu, l, j);
        const double most = parts() == 2 ? sqrt(2.0) : 1.0;
        CHECK(hypot(left.re, left.im) <= most * (1.0 + 0x1p-50), "%s: L has %g, %g", text_of(x),
              left.re, left.im);
        re += (long double)left.re * up.re - (long double)left.im * up.im;
        im += (long double)left.re * up.im + (long double)left.im * up.re;
    }
    return (double)hypotl(re, im);
}

/* |P A - L U| of some rows over n 2^-53 times the largest element of U, L's being at most 1, or,
 * of complex matrices, the root of 2. */
static double ratio_of(const matrix *x, double *a, const factors *f)
{
    double worst = 0.0, largest = 0.0;
    for (int i = 0; i < least_of(x); i++)
        for (int j = 0; j < x->n; j++) {
            const number top = get(x, f->a, i, j);
            exchange(x, a, i, (int)f->pivots[i] - 1, j);
            if (j >= i) largest = fmax(largest, hypot(top.re, top.im));
        }
    for (int i = 0; i < x->m; i += 1 + x->m / 40)
        for (int j = 0; j < x->n; j += 1 + x->n / 40)
            worst = fmax(worst, off_at(x, a, f->a, i, j) / largest);
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
            if (test_is_brief() && ((int)i + k) % 3) continue;
            check_residuals(&(matrix){m, n, m + k % 2, k % 2 ? PIVOTS : WIDE_PIVOTS, kinds[k].name,
                                      test_seed(), 0, false},
                            k % 4 == 3 ? NULL : &td_engine_fp64);
        }
}

/* Kinds of matrices of an order by turns of blocks and engines; of these one in `brief` in a brief
 * test. */
static void check_cuts(int n, int turn, const int blocks[3], bool has_pieces, int brief)
{
    const td_engine *const engines[] = {&td_engine_fp64, NULL, &td_engine_ozaki2};
    for (int k = 0; k < KINDS; k++) {
        const int m = k % 3 == 1 ? n + 70 : k % 3 == 2 ? n - 40 : n;
        if (!kinds[k].is_regular || (test_is_brief() && (turn + k) % brief)) continue;
        check_residuals(&(matrix){m, n, m + k % 2, k % 2 ? PIVOTS : WIDE_PIVOTS, kinds[k].name,
                                  test_seed(), blocks[(turn + k) % 3], has_pieces},
                        engines[k % 3]);
    }
}

/* Blocks of columns with a solve and a product behind each, which large matrices have. */
TEST(blocks_have_small_residuals)
{
    const int orders[] = {65, 129, 192, 300}, blocks[] = {64, 128, 192};
    for (int i = 0; i < (int)(sizeof orders / sizeof *orders); i++)
        check_cuts(orders[i], i, blocks, false, 3);
}

/* Panels of several pieces, which tall matrices have. */
TEST(pieces_have_small_residuals)
{
    const int orders[] = {65, 129, 200, 300, 385}, blocks[] = {128, 0, 256};
    for (int i = 0; i < (int)(sizeof orders / sizeof *orders); i++)
        check_cuts(orders[i], i, blocks, true, 4);
}

/* Blocks with several panels that are noted down apart: their rows are raised by turns. */
TEST(late_rows_have_small_residuals)
{
    check_residuals(
        &(matrix){480, 470, 481, PIVOTS, "random", test_seed(), .block = 384, .has_pieces = true},
        NULL);
}

/* Pivots are those of a plain loop wherever these do not hang on a rounding, and info is. */
TEST(pieces_have_the_same_pivots)
{
    for (int k = 0; k < PIVOT_KINDS; k++) {
        const matrix x = {300, 290, 301, (pivot_kind)k, "permuted", test_seed(), 0, true};
        double *a = make(&x), *want = make(&x);
        int64_t *pivots = test_memory((size_t)least_of(&x) * sizeof *pivots);
        const int info = factor(&x, want, pivots);
        factors f = run(&x, a, &td_engine_fp64);
        CHECK(f.info == info, "%s: info %d, not %d", text_of(&x), f.info, info);
        for (int i = 0; f.pivots && i < least_of(&x); i++)
            CHECK(f.pivots[i] == pivots[i], "%s: pivot %d", text_of(&x), i);
        free_factors(&f);
        free(pivots);
        free(want);
        free(a);
    }
}

/* Sizes that are cut so by themselves. */
TEST(large_matrices_have_small_residuals)
{
    const int sizes[][2] = {{9300, 9300}, {12000, 9300}, {9300, 12000}, {18000, 4300}};
    for (size_t i = 0; !device_is_host() && i < sizeof sizes / sizeof *sizes; i++)
        check_residuals(&(matrix){sizes[i][0], sizes[i][1], sizes[i][0], PIVOTS, "random",
                                  test_seed(), 0, false},
                        i == 1 ? NULL : &td_engine_ozaki2);
}

/* ---- the same bits everywhere ---- */

TEST(bits_are_the_same_everywhere)
{
    static const struct {
        int m, n;
        const td_engine *engine;
        uint64_t hash, complex_hash;
        int block;
        bool has_pieces;
    } golden[] = {{300, 300, &td_engine_fp64, 0x712334ef053750d7, 0x26cc346bcec00189, 0, false},
                  {500, 260, &td_engine_fp64, 0xc2e676a5e061e15e, 0x3bbfe3628f86195e, 0, false},
                  {130, 400, &td_engine_fp64, 0xc18bc5734acea12b, 0xb1b5bfd4f028b3a1, 0, false},
                  {300, 300, &td_engine_ozaki2, 0x6b8dbb52958cd96d, 0x37ca60e1738adb8e, 0, false},
                  {500, 420, &td_engine_fp64, 0x08ff42bd381a22b0, 0xbdb674d75b68c24a, 128, false},
                  {420, 500, &td_engine_ozaki2, 0xe90d7d1e1d1c0752, 0x34bc25c63fc38f76, 192, false},
                  {430, 410, &td_engine_fp64, 0xc85fad651c8fd9a4, 0xf2b9b0626df01dcf, 0, true},
                  {410, 430, &td_engine_ozaki2, 0x091911baf8a4235c, 0x24bc33ddb72557aa, 256, true}};
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i += test_is_brief() ? 3 : 1) {
        const matrix x = {golden[i].m, golden[i].n, golden[i].m,     PIVOTS,
                          "random",    1 + i,       golden[i].block, golden[i].has_pieces};
        double *a = make(&x);
        factors f = run(&x, a, golden[i].engine);
        const uint64_t hash = hash_numbers(HASH_START, f.a, reals_of(&x));
        CHECK(hash == (parts() == 2 ? golden[i].complex_hash : golden[i].hash), "%s: hash %016llx",
              text_of(&x), (unsigned long long)hash);
        free_factors(&f);
        free(a);
    }
}

int main(void)
{
    const td_type types[] = {TD_BINARY64, TD_COMPLEX_BINARY64};
    int failed = 0;
    device_require();
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        type = types[i];
        failed += test_run(.name = td_types[type].name);
    }
    return failed;
}
