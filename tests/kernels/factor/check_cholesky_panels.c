/* check_cholesky_panels.c - Cholesky factors of one real or complex matrix in several panels:
 * residuals are below those that LAPACK's tests allow, the other triangle stays as it was, the info
 * is that of the first minor in any panel, and bits are the same on any device. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

#include "cholesky_case.h"
#include "tests/kernels/support/device.h"
#include "tests/support/hash.h"

static const td_cholesky_cut usual = {0};

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
    double *a = cholesky_matrix(x);
    factors f = cholesky_run(x, a, engine);
    CHECK(f.info == 0, "%s: info %d", cholesky_text(x), f.info);
    CHECK_AT_MOST(ratio_of(x, a, &f), most, "%s", cholesky_text(x));
    test_drop(f.a, a);
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
        for (int k = 0; k < CHOLESKY_KINDS; k++)
            for (int u = 0; u < 4; u++) {
                if (!cholesky_kinds[k].is_regular || (test_is_brief() && ((int)i + k + u) % 4))
                    continue;
                const matrix x = {orders[i],
                                  orders[i] + k % 2,
                                  u % 2 ? TD_UPPER : TD_LOWER,
                                  cholesky_kinds[k].name,
                                  test_seed(),
                                  u >= 2};
                cholesky_cut = (td_cholesky_cut){64, i % 2 ? 64 : 128, .group = 1 << k % 3};
                const td_engine *engine = engines[((size_t)k + i) % 3];
                double *a = cholesky_matrix(&x);
                factors f = cholesky_run(&x, a, engine);
                CHECK(f.info == 0, "%s: info %d", cholesky_text(&x), f.info);
                CHECK_AT_MOST(ratio_of(&x, a, &f), 30.0, "%s", cholesky_text(&x));
                CHECK(is_untouched(&x, a, &f), "%s: more than a triangle", cholesky_text(&x));
                test_drop(f.a, a);
            }
    cholesky_cut = usual;
}

/* A minor of any panel, after which nothing is written but products. */
TEST(panels_have_the_info_of_all)
{
    for (int i = 0; i < 300; i += test_is_brief() ? 115 : 23) {
        const matrix x = {
            300, 300, i % 2 ? TD_UPPER : TD_LOWER, "indefinite", (uint64_t)(i + 900), i / 2 % 2};
        cholesky_cut = (td_cholesky_cut){64, 64, .group = 1 << i / 4 % 3};
        double *a = cholesky_matrix(&x);
        factors f = cholesky_run(&x, a, &td_engine_fp64);
        CHECK(f.info == i + 1, "%s: info %d, not %d", cholesky_text(&x), f.info, i + 1);
        CHECK(is_untouched(&x, a, &f), "%s: more than a triangle", cholesky_text(&x));
        test_drop(f.a, a);
    }
    cholesky_cut = usual;
}

TEST(residuals_are_small)
{
    const int orders[] = {65, 200, 300, 1100, 2100, 4200, 6100};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (int k = 0; k < CHOLESKY_KINDS; k++) {
            if (!cholesky_kinds[k].is_regular || (device_is_host() && orders[i] > 300)) continue;
            if (test_is_brief() && ((int)i + k) % 3) continue;
            check_residuals(&(matrix){orders[i], orders[i] + k % 2, k % 2 ? TD_UPPER : TD_LOWER,
                                      cholesky_kinds[k].name, test_seed(), (i + (size_t)k) % 2},
                            k % 4 == 3   ? NULL
                            : k % 4 == 1 ? &td_engine_ozaki2
                                         : &td_engine_fp64);
        }
}

/* ---- the same bits everywhere ---- */

static uint64_t hash_of(const factors *f, const matrix *x)
{
    uint64_t hash = HASH_START;
    for (int j = 0; j < x->n; j++)
        for (int i = j; i < x->n; i++)
            hash = hash_numbers(hash, &f->a[place_of(x, i, j)], (size_t)parts_of(x));
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
        double *a = cholesky_matrix(&golden[i].x);
        cholesky_cut = golden[i].cut;
        factors f = cholesky_run(&golden[i].x, a, golden[i].engine);
        const uint64_t hash = hash_of(&f, &golden[i].x);
        CHECK(hash == golden[i].hash, "%s: hash %016llx", cholesky_text(&golden[i].x),
              (unsigned long long)hash);
        test_drop(f.a, a);
    }
}
