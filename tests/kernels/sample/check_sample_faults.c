/* check_sample_faults.c - TANDEM_VERIFY of products of which an element is made wrong after the
 * call: it is found, said once and left in a file; what a mode promises below the range of binary64
 * is held, and no more. */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sampled_product.h"
#include "tests/kernels/support/device.h"

enum { BAD_ROW = 3, BAD_COL = 2 };

/* What a test does to an element of the result. */
typedef double changed(double x);

/* Wrong by 2^-30, */
static double a_little(double x) { return x * (1.0 + 0x1p-30); }

/* by one unit in the last place, */
static double by_a_unit(double x) { return nextafter(x, 1e300); }

/* and no number. */
static double no_number(double x)
{
    (void)x;
    return (double)NAN;
}

/* Wrong by so many of 2^-1074, away from what it is: the exact element is within half of one, but
 * for what the mode may lose. */
static int spoilt_units;
static double by_least_units(double x) { return x + 2.0 * spoilt_units * 0x1p-1074; }

static void spoil(const td_problem *p, const void *how)
{
    changed *const *const change = how;
    double *const at = (double *)p->c.data + BAD_ROW + BAD_COL * p->c.ld, x;
    CHECK_CUDA(cudaMemcpy(&x, at, sizeof x, cudaMemcpyDeviceToHost));
    x = (*change)(x);
    device_write(at, &x, sizeof x);
}

/* What is counted of a product of which an element is changed; NULL: none. */
static td_sample_counts multiply(const sampled_product *r, changed *change)
{
    return sampled_run_once(&r->call, &r->gemm, &(meanwhile){change ? spoil : NULL, &change});
}

static void check_spoiled(const char *mode, changed *change, unsigned long long outside)
{
    const product of = {
        .data = "uniform", .op_a = TANDEM_OP_T, .m = 6, .n = 5, .k = 30, .alpha = 1.0, .seed = 9};
    problem p = problem_make(&of);
    sampled_product r = sampled_product_make(mode, &p);
    const td_sample_counts s = multiply(&r, change);
    CHECK(s.elements == 30 && s.outside == outside, "%s: %llu elements, %llu outside, worst %g",
          mode, s.elements, s.outside, s.worst);
    sampled_product_free(&r);
    problem_free(&p);
}

TEST(wrong_elements_are_found_and_said_once)
{
    sampled_options.verify = TD_VERIFY_ALL;
    check_spoiled("faithful", by_a_unit, 1);
    check_spoiled("df", by_a_unit, 0);
    check_spoiled("df", a_little, 1);
    check_spoiled("fp64", no_number, 1);
    check_spoiled("ozaki2:6", a_little, 0); /* which promises nothing */

    char *log = test_read_file(sampled_log), *first = strstr(log, "element (3, 2) of C is off by ");
    CHECK(first, "the log is: %s", log);
    CHECK(strstr(first, "the mode promises 0.00e+00 and 5.00e-01"), "the log is: %s", log);
    CHECK(!strstr(first + 1, "element ("), "said again: %s", log);
}

/* The row and column make the element again, by exact sums of the reference's. */
TEST(the_first_row_and_column_are_kept)
{
    double a[30], b[30], after = 0.0, exact = 0.0;
    const char *text = test_read_file(sampled_file);
    CHECK(strstr(text, "element (3, 2) of C"), "%s", text);
    CHECK(strstr(text, "30 of 30 terms"), "%s", text);
    const char *value = strstr(text, "# C after ");
    CHECK(value && sscanf(value, "# C after %lf", &after) == 1, "%s", text);
    int terms = 0;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (*line && *line != '#' && terms < 30 &&
            sscanf(line, "%lf %lf", &a[terms], &b[terms]) == 2)
            terms++;
    CHECK(terms == 30, "%d terms: %s", terms, text);
    const ref_gemm one = {.m = 1,
                          .n = 1,
                          .k = 30,
                          .alpha = 1.0,
                          .a = a,
                          .b = b,
                          .c = &exact,
                          .lda = 1,
                          .ldb = 30,
                          .ldc = 1};
    ref_faithful_product(&one);
    CHECK(nextafter(exact, 1e300) == after, "the element is %a, the terms make %a", after, exact);
}

/* Elements far below 2^-1022, some of them 0. What the mode promises there holds for them, and what
 * is off by more than that does not. */
static void check_below_range(const mode *m, int k, double scale, double alpha, double beta)
{
    const product of = {.data = "both signs",
                        .m = 5,
                        .n = 4,
                        .k = k,
                        .alpha = alpha,
                        .beta = beta,
                        .seed = (uint64_t)k};
    problem p = problem_make(&of);
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < of.m; i++) *matrix_at(&p.a, i, j) *= scale;
    for (int64_t j = 0; j < of.n; j++)
        for (int64_t i = 0; i < of.m; i++) *matrix_at(&p.c, i, j) *= scale;
    for (int spoils = 0; spoils < 2; spoils++) {
        sampled_product r = sampled_product_make(m->name, &p);
        const td_sample_loss *loss = &r.call.promise.bound.loss;
        spoilt_units = (int)ceil((loss->products * k + loss->sum) * fabs(alpha) / 2.0 +
                                 loss->element / 2.0 + 1.0);
        const bool is_promised = isfinite(r.call.promise.bound.relative);
        const td_sample_counts s = multiply(&r, spoils ? by_least_units : NULL);
        CHECK(s.elements == 20 && s.outside == (spoils && is_promised ? 1 : 0),
              "%s: k %d scale %g alpha %g beta %g, %s: %llu outside, worst %g and %g units",
              m->name, k, scale, alpha, beta, spoils ? "spoilt" : "as it is", s.outside, s.worst,
              s.worst_ulps);
        sampled_product_free(&r);
    }
    problem_free(&p);
}

TEST(what_is_promised_below_the_range_is_held)
{
    sampled_options.verify = TD_VERIFY_ALL;
    for (const mode *m = NULL; (m = mode_after(m));)
        for (int i = 0; i < (test_is_brief() ? 2 : 8); i++)
            check_below_range(m, i % 2 ? 4 : 60, i & 2 ? 0x1p-1070 : 0x1p-1060, i & 4 ? 3.0 : 1.0,
                              i % 3 ? 0.0 : 0.75);
}

int main(void)
{
    device_require();
    return test_run(.set_up = sampled_set_up, .tear_down = sampled_tear_down);
}
