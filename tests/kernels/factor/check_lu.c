/* check_lu.c - LU factors of one matrix, real or complex: bits, pivots and info of what is one
 * panel wide, or has as few rows, are those of a plain loop of fused multiply-adds on the host;
 * larger matrices have the bits that they have on any other device. Memory around the matrix stays
 * as it was. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

#include "lu_case.h"
#include "tests/kernels/support/device.h"
#include "tests/support/bits.h"
#include "tests/support/hash.h"

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
    test_drop(pivots, want, a);
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
        test_drop(pivots, want, a);
    }
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
