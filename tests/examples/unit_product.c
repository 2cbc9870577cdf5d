/* gemm_time's judgement: exact products pass it, planted faults of a known size are measured as
 * such. */
#include <math.h>
#include <stdlib.h>

#include "../support/test.h"
#include "common.h"
#include "product.h"

const char program_name[] = "unit_product";

/* Element (i, j) of op(X), X stored with `rows` rows. */
static double element(const double *x, char trans, int rows, int i, int j)
{
    return trans == 'N' ? x[i + (ptrdiff_t)j * rows] : x[j + (ptrdiff_t)i * rows];
}

/* The product in long double, rounded once: its error is far below binary64's. */
static double *multiply(const product *p, const operands *o)
{
    double *c = host_matrix(p->m, p->n);

    assert_non_null(c);
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            long double sum = 0;
            for (int l = 0; l < p->k; l++)
                sum += (long double)element(o->a, p->trans_a, product_rows_a(p), i, l) *
                       element(o->b, p->trans_b, product_rows_b(p), l, j);
            sum *= p->alpha;
            if (p->beta != 0.0) sum += (long double)p->beta * o->c[i + (ptrdiff_t)j * p->m];
            c[i + (ptrdiff_t)j * p->m] = (double)sum;
        }
    return c;
}

/* |alpha| |A| |B| + |beta| |C0| at (i, j) */
static double scale(const product *p, const operands *o, int i, int j)
{
    double sum = 0.0;

    for (int l = 0; l < p->k; l++)
        sum += fabs(element(o->a, p->trans_a, product_rows_a(p), i, l) *
                    element(o->b, p->trans_b, product_rows_b(p), l, j));
    sum *= fabs(p->alpha);
    return p->beta == 0.0 ? sum : sum + fabs(p->beta * o->c[i + (ptrdiff_t)j * p->m]);
}

static void check(const product *p)
{
    operands o = {0};

    assert_true(operands_make(p, 1.0, 7, &o));
    double *c = multiply(p, &o);
    double error = product_error(p, &o, c);
    if (!(error <= 0x1p-53)) fail_msg("%dx%dx%d: error %g", p->m, p->n, p->k, error);

    ptrdiff_t last = (ptrdiff_t)p->m * p->n - 1;
    c[last] += 0x1p-20 * scale(p, &o, p->m - 1, p->n - 1);
    error = product_error(p, &o, c);
    if (!(fabs(error - 0x1p-20) <= 0x1p-40))
        fail_msg("%dx%dx%d: planted %g, measured %g", p->m, p->n, p->k, 0x1p-20, error);
    c[last] = NAN;
    assert_true(isnan(product_error(p, &o, c)));
    c[last] = INFINITY;
    assert_true(isinf(product_error(p, &o, c)));
    free(c);
    operands_free(&o);
}

TEST(errors_are_measured)
{
    static const char letters[] = "NTC";

    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            check(&(product){1, 1, 1, letters[a], letters[b], 1.0, 0.0});
            check(&(product){7, 30, 11, letters[a], letters[b], -3.0, 0.5});
            check(&(product){65, 24, 40, letters[a], letters[b], 1.0, 0.0});
            check(&(product){30, 40, 50, letters[a], letters[b], 0x1p480, -0x1p480});
        }
}

TEST(c_is_poisoned_if_beta_is_0)
{
    const product p = {3, 2, 4, 'N', 'N', 1.0, 0.0};
    operands o = {0};

    assert_true(operands_make(&p, 0.5, 1, &o));
    for (int i = 0; i < 6; i++) assert_true(isnan(o.c[i]));
    operands_free(&o);
}

/* A seed's data is the same for ever: SplitMix64's first output from state 0 is published. */
TEST(the_generator_is_splitmix64)
{
    random_stream random = {0};

    assert_true(random_uniform(&random) == (double)(0xe220a8397b1dcdafU >> 11) * 0x1p-53);
}

TEST(normal_numbers_have_their_moments)
{
    enum { COUNT = 100000 };
    random_stream random = {1};
    double sum = 0.0, squares = 0.0;

    for (int i = 0; i < COUNT; i++) {
        double x = random_normal(&random);
        sum += x;
        squares += x * x;
    }
    /* five standard deviations: of the mean 1/sqrt(COUNT), of the mean square sqrt(2/COUNT) */
    assert_true(fabs(sum / COUNT) <= 5.0 / sqrt(COUNT));
    assert_true(fabs(squares / COUNT - 1.0) <= 5.0 * sqrt(2.0 / COUNT));
}
