/* check_qr_lapack.c - QR factors of one matrix: R, with its signs, and tau are LAPACK's. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

#include "qr_case.h"
#include "tests/kernels/support/device.h"

void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *lwork, int *info);
void zgeqrf_(const int *m, const int *n, number *a, const int *lda, number *tau, number *work,
             const int *lwork, int *info);

enum { LAPACK_COLUMNS = 64 };

/* Of a real matrix the parts are packed meanwhile. */
static void factor_by_lapack(const matrix *x, number *a, number *tau)
{
    const int count = LAPACK_COLUMNS * LAPACK_COLUMNS;
    static number work[LAPACK_COLUMNS * LAPACK_COLUMNS];
    int info;
    if (x->is_complex) {
        zgeqrf_(&x->m, &x->n, a, &x->ld, tau, work, &count, &info);
        return;
    }
    double *packed = test_memory(elements_of(x) * sizeof *packed), own[LAPACK_COLUMNS];
    for (size_t e = 0; e < elements_of(x); e++) packed[e] = a[e].re;
    dgeqrf_(&x->m, &x->n, packed, &x->ld, own, &work->re, &count, &info);
    for (size_t e = 0; e < elements_of(x); e++) a[e].re = packed[e];
    for (int i = 0; i < least_of(x); i++) tau[i] = (number){own[i], 0.0};
    free(packed);
}

static double size_of(number x) { return hypot(x.re, x.im); }

static bool is_near(number x, number y, double limit)
{
    return hypot(x.re - y.re, x.im - y.im) <= limit;
}

/* Of R's column j, or of a matrix that has R above its diagonal. */
static double largest_of_column(const matrix *x, const number *r, int j)
{
    double largest = 0.0;
    for (int i = 0; i <= j && i < x->m; i++)
        largest = fmax(largest, size_of(r[i + (int64_t)j * x->ld]));
    return largest;
}

/* Of a column that earlier reflections leave little of, tau is as uncertain as that is: by the
 * rounding of the column's largest element. */
static double limit_of_tau(const matrix *x, const number *r, int i)
{
    const double left = size_of(r[i + (int64_t)i * x->ld]);
    return left > 0.0 ? 1e-12 * largest_of_column(x, r, i) / left : 0.0;
}

static void check_lapack(const matrix *x)
{
    number *a = make_matrix(x), *want = make_matrix(x), tau[LAPACK_COLUMNS];
    factor_by_lapack(x, want, tau);
    factors f = run_factors(x, a, &td_engine_fp64, false);
    for (int j = 0; j < x->n; j++)
        for (int i = 0; i <= j && i < x->m; i++) {
            const number own = f.a[i + (int64_t)j * x->ld], lapack = want[i + (int64_t)j * x->ld];
            CHECK(is_near(own, lapack, 1e-9 * largest_of_column(x, want, j)),
                  "%s: R %d, %d is %g %g, LAPACK's %g %g", text_of(x), i, j, own.re, own.im,
                  lapack.re, lapack.im);
        }
    for (int i = 0; i < least_of(x); i++)
        CHECK(is_near(f.tau[i], tau[i], limit_of_tau(x, want, i)),
              "%s: tau %d is %g %g, LAPACK's %g %g", text_of(x), i, f.tau[i].re, f.tau[i].im,
              tau[i].re, tau[i].im);
    free_factors(&f);
    free(want);
    free(a);
}

TEST(signs_and_scales_are_lapacks)
{
    const char *const names[] = {"random", "graded columns", "huge", "triangle", "zeros"};
    const int sizes[][2] = {{1, 1}, {5, 5}, {40, 40}, {70, 50}, {30, 60}, {200, 33}};
    for (size_t k = 0; k < (test_is_brief() ? 1 : sizeof names / sizeof *names); k++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int is_complex = 0; is_complex < 2; is_complex++)
                check_lapack(&(matrix){sizes[i][0], sizes[i][1], sizes[i][0], names[k], test_seed(),
                                       is_complex});
}
