/* check_qr_residuals.c - QR factors of matrices of all sizes, by every cut and engine: what they
 * and their reflectors leave of A, and of Q'Q, is below what LAPACK's tests allow. Memory around
 * the matrix stays as it was. */
#include "tests/support/test.h"

#include <stdlib.h>

#include "qr_case.h"
#include "tests/kernels/support/device.h"

/* |A e - Q R e| over m 2^-53 |A e| for a column of A. */
static double ratio_of_column(const matrix *x, const number *a, const factors *f, int j,
                              quantity *qr, quantity *column)
{
    for (int i = 0; i < x->m; i++) {
        qr[i] = quantity_of(i <= j ? f->a[i + (int64_t)j * x->ld] : (number){0.0, 0.0});
        column[i] = quantity_of(a[i + (int64_t)j * x->ld]);
    }
    const long double norm = norm_of(column, x->m);
    apply_reflectors(x, f, least_of(x), false, qr);
    for (int i = 0; i < x->m; i++) qr[i] = quantity_minus(qr[i], column[i]);
    return norm == 0.0L ? (double)norm_of(qr, x->m)
                        : (double)(norm_of(qr, x->m) / (norm * x->m * 0x1p-53L));
}

/* |Q'Q e - e| over m 2^-53. */
static double ratio_of_q(const matrix *x, const factors *f, int j, quantity *q)
{
    for (int i = 0; i < x->m; i++) q[i] = quantity_of((number){i == j, 0.0});
    apply_reflectors(x, f, least_of(x), false, q);
    apply_reflectors(x, f, least_of(x), true, q);
    q[j].re -= 1.0L;
    return (double)(norm_of(q, x->m) / (x->m * 0x1p-53L));
}

static void check_residuals(const matrix *x, const td_engine *engine)
{
    const double most = 30.0; /* as LAPACK's tests have it */
    number *a = make_matrix(x);
    factors f = run_factors(x, a, engine, false);
    quantity *one = test_memory((size_t)x->m * sizeof *one),
             *other = test_memory((size_t)x->m * sizeof *one);
    const int step = x->m > 1000 ? x->n - 1 : 1 + x->n / 12;
    for (int j = 0; j < x->n; j += step) {
        CHECK_AT_MOST(ratio_of_column(x, a, &f, j, one, other), most, "%s", text_of(x));
        if (j < x->m) CHECK_AT_MOST(ratio_of_q(x, &f, j, one), most, "%s", text_of(x));
    }
    for (int j = 0; j < least_of(x); j++)
        CHECK(f.a[j + (int64_t)j * x->ld].im == 0.0, "%s: R %d is not real", text_of(x), j);
    check_padding(x, a, &f);
    test_drop(other, one);
    free_factors(&f);
    free(a);
}

TEST(residuals_are_small)
{
    const int orders[] = {33, 65, 96, 97, 128, 129, 160, 200, 300, 1100, 2100, 4200};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (int k = 0; k < 2 * QR_KINDS; k++) {
            const int kind = k / 2, n = orders[i],
                      m = kind % 3 == 1   ? n + 70
                          : kind % 3 == 2 ? n - 20
                                          : n;
            if (!qr_kinds[kind].is_regular || (device_is_host() && n > (k % 2 ? 200 : 300)) ||
                (n > 1000 && kind > 2) || (device_is_host() && !test_takes((int)i + kind + k, 2)) ||
                (test_is_brief() && ((int)i + k) % 8))
                continue;
            check_residuals(&(matrix){m, n, m + kind % 2, qr_kinds[kind].name, test_seed(), k % 2},
                            kind % 4 == 3 ? NULL : &td_engine_fp64);
        }
    for (int is_complex = 0; is_complex < 2 && !device_is_host(); is_complex++)
        check_residuals(&(matrix){10000, 500, 10001, "random", test_seed(), is_complex},
                        &td_engine_fp64);
}

/* Every size of at most two panels, and every third of the others, in one kind of matrix after the
 * other. */
TEST(all_small_sizes)
{
    for (int n = 1; n <= 300; n += test_is_brief() ? 37 : 1) {
        const int k = n % QR_KINDS, m = n % 5 < 2 ? n : n % 5 < 4 ? n + n % 7 : n / 2 + 1;
        if (qr_kinds[k].is_regular && (n <= 130 || test_takes(n, 3)))
            check_residuals(
                &(matrix){m, n, m + n % 2, qr_kinds[k].name, test_seed(), n / QR_KINDS % 2},
                n % 2 ? NULL : &td_engine_fp64);
    }
}

/* Cuts whose blocks are of one panel, of several and of many; the last one has more columns than a
 * block, or fewer than a panel; and triangles are one square, or several. */
TEST(blocks_leave_small_residuals)
{
    const td_qr_cut cuts[] = {
        {64, 64, 64, 0}, {64, 128, 130, 64}, {32, 128, 200, 32}, {32, 256, 256, 64}};
    const int sizes[][2] = {{300, 300}, {400, 261}, {270, 400}, {129, 129}, {331, 330}};
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
        use_cut(&cuts[c]);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int k = 0; k < QR_KINDS; k++) {
                const size_t number = c + i + (size_t)k;
                const td_engine *const engines[] = {&td_engine_fp64, &td_engine_ozaki2, NULL};
                if (qr_kinds[k].is_regular &&
                    (test_is_brief() ? i == c && (size_t)k == 5 * (c % 3)
                                     : !device_is_host() || number % 11 == 0))
                    check_residuals(&(matrix){sizes[i][0], sizes[i][1], sizes[i][0] + k % 3,
                                              qr_kinds[k].name, test_seed(),
                                              (c + i + (size_t)k / 2) % 2},
                                    engines[(number + i) % 3]);
            }
    }
    use_cut(NULL);
}
