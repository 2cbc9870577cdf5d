/* check_qr_lapack.c - QR factors of one matrix: R, with its signs, and tau are LAPACK's. */
#include "tests/support/test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "qr_case.h"
#include "tests/kernels/support/device.h"
#include "tests/support/complex_of.h"

void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *lwork, int *info);
void zgeqrf_(const int *m, const int *n, number *a, const int *lda, number *tau, number *work,
             const int *lwork, int *info);

enum { LAPACK_COLUMNS = 64, ROUNDINGS = 16 /* of m each, before they grow */ };

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

/* R's first columns, each divided by its largest element; beside them, the inverse. */
typedef double _Complex square[LAPACK_COLUMNS][LAPACK_COLUMNS];

/* Column j of the inverse of R, whose columns before are inverted; the sum of its squares. */
static double invert_column(square inverse, const square r, int j)
{
    double squares = 0.0;
    for (int i = 0; i <= j; i++) {
        double _Complex sum = i == j ? 1.0 : 0.0;
        for (int k = i; k < j; k++) sum -= inverse[i][k] * r[k][j];
        inverse[i][j] = sum / r[j][j];
        squares += creal(inverse[i][j] * conj(inverse[i][j]));
    }
    return squares;
}

/* growth[j]: what roundings of columns 0 to j are times larger in R's column j, which is the norm
 * of these columns' inverse if each has elements of size 1 (Sun, "Perturbation bounds for the
 * Cholesky and QR factorizations", 1991). A column of zeros has no part in it. */
static void find_growth(const matrix *x, const number *r, double *growth)
{
    square scaled = {{0}}, inverse = {{0}};
    double squares = 0.0;
    for (int j = 0; j < least_of(x); j++) {
        const double largest = largest_of_column(x, r, j);
        for (int i = 0; i <= j; i++) {
            const number e = r[i + (int64_t)j * x->ld];
            scaled[i][j] = largest > 0.0 ? complex_of(e.re / largest, e.im / largest) : i == j;
        }
        squares += invert_column(inverse, scaled, j);
        growth[j] = sqrt(squares);
    }
}

/* Of an element of R in a column whose largest is that; it may be below the normal numbers. */
static double limit_of_r(const matrix *x, double growth, double largest)
{
    return ROUNDINGS * x->m * (DBL_EPSILON * growth * largest + DBL_TRUE_MIN);
}

/* tau is as uncertain as what earlier reflections leave of its column. */
static double limit_of_tau(const matrix *x, const number *r, const double *growth, int i)
{
    const double left = size_of(r[i + (int64_t)i * x->ld]), largest = largest_of_column(x, r, i);
    return left > 0.0 ? limit_of_r(x, i > 0 ? growth[i - 1] : 1.0, largest) / left : 0.0;
}

static void check_r(const matrix *x, const number *own, const number *lapack, const double *growth)
{
    const int last = least_of(x) - 1;
    for (int j = 0; j < x->n; j++) {
        const double limit =
            limit_of_r(x, growth[j < last ? j : last], largest_of_column(x, lapack, j));
        for (int i = 0; i <= j && i < x->m; i++) {
            const number r = own[i + (int64_t)j * x->ld], want = lapack[i + (int64_t)j * x->ld];
            CHECK(is_near(r, want, limit), "%s: R %d, %d is %g %g, LAPACK's %g %g, limit %g",
                  text_of(x), i, j, r.re, r.im, want.re, want.im, limit);
        }
    }
}

static void check_lapack(const matrix *x)
{
    number *a = make_matrix(x), *want = make_matrix(x), tau[LAPACK_COLUMNS];
    double growth[LAPACK_COLUMNS];
    factor_by_lapack(x, want, tau);
    find_growth(x, want, growth);
    factors f = run_factors(x, a, &td_engine_fp64, false);
    check_r(x, f.a, want, growth);
    for (int i = 0; i < least_of(x); i++) {
        const double limit = limit_of_tau(x, want, growth, i);
        CHECK(is_near(f.tau[i], tau[i], limit), "%s: tau %d is %g %g, LAPACK's %g %g, limit %g",
              text_of(x), i, f.tau[i].re, f.tau[i].im, tau[i].re, tau[i].im, limit);
    }
    free_factors(&f);
    test_drop(want, a);
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
