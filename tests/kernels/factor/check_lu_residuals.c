/* check_lu_residuals.c - LU factors of one matrix, real or complex, of all sizes, by every cut and
 * engine: what they leave of P A is below what LAPACK's tests allow. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

#include "lu_case.h"
#include "tests/kernels/support/device.h"

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

/* Sizes that are cut so by themselves. */
TEST(large_matrices_have_small_residuals)
{
    const int sizes[][2] = {{9300, 9300}, {12000, 9300}, {9300, 12000}, {18000, 4300}};
    for (size_t i = 0; !device_is_host() && i < sizeof sizes / sizeof *sizes; i++)
        check_residuals(&(matrix){sizes[i][0], sizes[i][1], sizes[i][0], PIVOTS, "random",
                                  test_seed(), 0, false},
                        i == 1 ? NULL : &td_engine_ozaki2);
}
