/* check_special_values.c - NaN and infinities in A, B, C and the scalars, in every emulated mode:
 * the bits of the definition, and the kinds of a plain loop in binary64. */
#include "tests/support/test.h"

#include <math.h>

#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"

/* The mode that the tests are running for. */
static const mode *tested;

/* Sanitizers see some. */
static bool is_left_out(int i) { return test_is_brief() && i % 8 != 0; }

static int is_same_kind(double x, double y)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    return isinf(x) || isinf(y) ? x == y : 1;
}

/* C of a problem whose operands were changed by hand: bits of the definition, the kinds of a plain
 * binary64 loop, and the bound for what is finite. */
static void check_special(const problem *p)
{
    test_matrix c = checked_compute(tested, p), want = matrix_copy(&p->c),
                plain_c = matrix_copy(&p->c), before = p->c;
    const ref_gemm gemm = problem_gemm(p, &want), loop = problem_gemm(p, &plain_c),
                   start = problem_gemm(p, &before);
    ref_account account = mode_product(tested, &gemm);
    account.repaired = 0; /* of elements that turn out finite */
    ref_ieee(&loop);
    checked_compare(tested, p, &c, &want);
    for (int64_t j = 0; j < c.cols; j++)
        for (int64_t i = 0; i < c.rows; i++) {
            const double x = *matrix_at(&c, i, j), y = *matrix_at(&plain_c, i, j);
            CHECK(is_same_kind(x, y), "C(%d, %d) is %g, in binary64 %g: %s", (int)i, (int)j, x, y,
                  product_text(&p->of));
            if (!isfinite(y) || !isfinite(p->of.alpha) || (i + j) % 5 != 0) continue;
            const verdict v = mode_judge(tested, &start, &account, false, i, j, x);
            CHECK_AT_MOST(v.error, v.bound, "C(%d, %d): %s", (int)i, (int)j, product_text(&p->of));
        }
    ref_account_free(&account);
    matrix_free(&c, &want, &plain_c);
}

TEST(special_operands)
{
    static const double values[] = {NAN, INFINITY, -INFINITY};
    for (int round = 0; round < 24; round++) {
        if (is_left_out(round % 7) || !mode_has_turn(tested, round / 2, 2)) continue;
        product of = product_plain(round % 2 ? "zeros" : "both signs", 70, 67, 45);
        product_set_ops(&of, round / 3);
        of.beta = round % 4 == 1 ? 1.5 : 0.0;
        of.seed = (uint64_t)round;
        problem p = problem_make(&of);
        test_random r = random_start((uint64_t)round);
        for (int count = round % 5; count >= 0; count--) {
            test_matrix *x = round % 3 == 0         ? &p.a
                             : round % 3 == 1       ? &p.b
                             : random_int(&r, 0, 1) ? &p.a
                                                    : &p.b;
            *matrix_at(x, random_int(&r, 0, (int)x->rows - 1),
                       random_int(&r, 0, (int)x->cols - 1)) = values[(round / 2 + count) % 3];
        }
        check_special(&p);
        problem_free(&p);
    }
}

/* 0 times infinity, infinity minus infinity, in A, B, C and the scalars. */
TEST(special_everywhere)
{
    static const double scalars[] = {1.0, NAN, INFINITY, -INFINITY, 0.0, 2.0};
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            if (is_left_out(i + j)) continue;
            product of = product_plain("both signs", 20, 10, 18);
            of.alpha = scalars[i];
            of.beta = scalars[j];
            problem p = problem_make(&of);
            if (of.alpha != 0.0) {
                *matrix_at(&p.a, 1, 2) = INFINITY;
                *matrix_at(&p.b, 2, 3) = 0.0;
                *matrix_at(&p.b, 2, 4) = -INFINITY;
                *matrix_at(&p.a, 5, 7) = INFINITY;
                *matrix_at(&p.a, 5, 8) = -INFINITY;
            }
            if (of.beta != 0.0) {
                *matrix_at(&p.c, 0, 0) = NAN;
                *matrix_at(&p.c, 1, 1) = INFINITY;
                *matrix_at(&p.c, 2, 0) = -INFINITY;
            }
            check_special(&p);
            problem_free(&p);
        }
}

/* All of A and B is NaN where alpha is 0. */
TEST(unread_operands_change_nothing)
{
    product of = product_plain("uniform", 7, 6, 5);
    of.alpha = 0.0;
    of.beta = 2.0;
    problem p = problem_make(&of);
    test_matrix c = checked_compute(tested, &p);
    for (int64_t i = 0; i < 7; i++)
        CHECK(*matrix_at(&c, i, 5) == 2.0 * *matrix_at(&p.c, i, 5), "row %d", (int)i);
    matrix_free(&c);
    problem_free(&p);
}

int main(void) { return mode_run_tests(&tested, (test_group){0}); }
