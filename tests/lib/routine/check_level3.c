/* check_level3.c - every routine of level 3 that is a product, real and complex, under every mode:
 * its C has the bits of the product of the matrices written out in full, wherever the scalars are
 * and in little workspace too; what it must not read is poisoned, and what it must not write stays.
 * How good such a product is is tested with plain products (check_unfold.c, check_dgemm.c). */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/routine/lower.h"
#include "tests/support/bits.h"
#include "tests/support/complex_of.h"
#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/routine.h"

static const mode *tested;
static int cases = 80;
static uint64_t first_seed;

static const char *case_text(const routine_case *c)
{
    static char text[300];
    snprintf(text, sizeof text, "%s, %s", tested->name, routine_text(c));
    return text;
}

/* ---- running ---- */

/* C of the problem, whose scalars are set; a, b and c become its matrices. */
static matrix compute(const routine_case *c, td_problem p, const matrix *a, const matrix *b,
                      const matrix *of_c, bool in_little)
{
    void *memory[ROUTINE_MEMORIES];
    td_product product;
    p = routine_call(c, p, a, b, of_c, memory);
    CHECK(td_problem_is_valid(&p) && td_lower(&p, &product), "no product: %s", case_text(c));
    const td_run_status status = checked_run_in(tested, &product, in_little);
    CHECK(status == TD_RUN_DONE, "status %d%s: %s", (int)status, in_little ? " in little" : "",
          case_text(c));
    device_check_clean(case_text(c));
    const matrix result = routine_download(c, of_c, memory[2]);
    for (int i = 0; i < ROUTINE_MEMORIES; i++) CHECK_CUDA(cudaFree(memory[i]));
    return result;
}

/* ---- what C must be ---- */

static number multiply_add(number x, number y, number z)
{
    return complex_of(fma(-cimag(x), cimag(y), fma(creal(x), creal(y), creal(z))),
                      fma(cimag(x), creal(y), fma(creal(x), cimag(y), cimag(z))));
}

/* C before the product. */
static matrix matrix_before(const routine_case *c)
{
    matrix old = matrix_of(c->c.rows, c->c.columns, c->c.ld - c->c.rows);
    for (int64_t j = 0; j < old.columns; j++)
        for (int64_t i = 0; i < old.rows; i++) *element(&old, i, j) = routine_before(c, i, j);
    return old;
}

/* By the product of the factors written out, with the same scalars; of her2k by T, which is the
 * first of its two terms without alpha. */
static matrix expected(const routine_case *c)
{
    const bool adds_mirror = c->p.kind == TD_RANK_2K && c->p.is_hermitian;
    const td_problem p = {.kind = TD_PRODUCT,
                          .type = c->p.type,
                          .m = c->left.rows,
                          .n = c->right.columns,
                          .k = c->left.columns,
                          .alpha = routine_scalar(adds_mirror ? 1.0 : c->alpha, c->p.type),
                          .beta = routine_scalar(adds_mirror ? 0.0 : c->beta, c->p.type),
                          .batch = 1};
    matrix old = matrix_before(c), t = compute(c, p, &c->left, &c->right, &old, false);
    free(old.at);
    if (!adds_mirror) return t;
    matrix sum = matrix_of(t.rows, t.columns, t.ld - t.rows);
    for (int64_t j = 0; j < t.columns; j++)
        for (int64_t i = 0; i < t.rows; i++) {
            number x = 0.0;
            if (c->beta != 0.0) x = multiply_add(c->beta, routine_before(c, i, j), x);
            x = multiply_add(conj(c->alpha), conj(*element(&t, j, i)), x);
            *element(&sum, i, j) = multiply_add(c->alpha, *element(&t, i, j), x);
        }
    free(t.at);
    return sum;
}

/* True if the data may choose something else than for the whole product: what they leave open is
 * counted in the triangle alone, and tiles on the diagonal have fewer elements. */
static bool may_choose(const routine_case *c)
{
    return !routine_has_side(&c->p) && !tested->format && !tested->is_exact &&
           !tested->is_binary64 && tested->ozaki.parameter == 0;
}

/* Both are within the certified bound of the exact element. */
static bool is_near(const routine_case *c, int64_t i, int64_t j, double x, double y)
{
    const int64_t k = c->left.columns;
    double magnitude = 0.0;
    for (int64_t l = 0; l < k; l++)
        magnitude += cabs(*element(&c->left, i, l)) * cabs(*element(&c->right, l, j));
    magnitude = 2.0 * (cabs(c->alpha) * magnitude + cabs(c->beta) * cabs(routine_before(c, i, j)));
    return fabs(x - y) <= 2.0 * (4.0 * sqrt(2.0 * (double)k) + 6.0) * 0x1p-53 * magnitude;
}

static void compare(const routine_case *c, const matrix *got, const matrix *want)
{
    const bool is_update = !routine_has_side(&c->p),
               has_real_diagonal = is_update && c->p.is_hermitian;
    const matrix *const before = c->is_in_place ? &c->b : &c->c;
    for (int64_t j = 0; j < got->columns; j++)
        for (int64_t i = 0; i < got->ld; i++) {
            const number x = *element(got, i, j), y = *element(want, i, j),
                         old = *element(before, i, j);
            if (i >= got->rows || (is_update && !routine_is_inside(c->p.triangle, i, j))) {
                CHECK(bits_of(creal(x)) == bits_of(creal(old)) &&
                          bits_of(cimag(x)) == bits_of(cimag(old)),
                      "touched (%d, %d): %s", (int)i, (int)j, case_text(c));
                continue;
            }
            const bool is_real = has_real_diagonal && i == j;
            const double im = is_real ? 0.0 : cimag(y);
            const bool is_equal = same_bits(creal(x), creal(y)) && same_bits(cimag(x), im);
            CHECK(is_equal || (may_choose(c) && is_near(c, i, j, creal(x), creal(y)) &&
                               is_near(c, i, j, cimag(x), im)),
                  "(%d, %d) is %a%+ai for %a%+ai: %s", (int)i, (int)j, creal(x), cimag(x), creal(y),
                  im, case_text(c));
        }
}

static void check(routine_case *c)
{
    const td_problem p = routine_problem(c);
    matrix got = compute(c, p, &c->a, &c->b, &c->c, false);
    c->has_device_scalars = !c->has_device_scalars;
    matrix again = compute(c, p, &c->a, &c->b, &c->c, true);
    CHECK(memcmp(got.at, again.at, matrix_count(&got) * sizeof(number)) == 0,
          "other bits with scalars elsewhere, or in little workspace: %s", case_text(c));
    matrix want = expected(c);
    compare(c, &got, &want);
    test_drop(got.at, again.at, want.at);
}

TEST(routines_are_products)
{
    for (int i = 0; i < test_cases(tested->is_variant ? cases / 4 : cases); i++) {
        routine_case c = routine_make(first_seed + (uint64_t)i);
        check(&c);
        routine_free(&c);
    }
}

/* C as ozaki2 makes it by prices, in little workspace or not, beside mode fp64's. */
static void compute_priced(const routine_case *c, td_prices prices, bool in_little, matrix *got,
                           matrix *want)
{
    const mode *const fp64 = tested;
    mode priced = mode_of_family("ozaki2");
    const td_problem p = routine_problem(c);
    priced.prices = prices;
    *want = compute(c, p, &c->a, &c->b, &c->c, false);
    tested = &priced;
    *got = compute(c, p, &c->a, &c->b, &c->c, in_little);
    tested = fp64;
}

/* As mode auto may have ozaki2: a probe leaves all to binary64, which then makes what mode fp64
 * does, and knows nothing of lines that nobody has measured. */
TEST(what_a_probe_leaves_is_as_in_fp64)
{
    for (int i = 0; tested->is_binary64 && i < test_cases(cases); i++) {
        routine_case c = routine_make(first_seed + (uint64_t)i);
        matrix got, want;
        compute_priced(&c, probed_binary64, i % 2 != 0, &got, &want);
        CHECK(memcmp(got.at, want.at, matrix_count(&got) * sizeof(number)) == 0,
              "other bits than in mode fp64: %s", case_text(&c));
        free(got.at);
        free(want.at);
        routine_free(&c);
    }
}

/* Whatever the prices make the data choose, C is as good. */
TEST(any_prices_will_do)
{
    for (int i = 0; tested->is_binary64 && i < test_cases(cases); i++) {
        routine_case c = routine_make(first_seed + (uint64_t)i);
        test_random r = random_start(first_seed + (uint64_t)i);
        matrix got, want;
        compute_priced(&c, any_prices(&r), false, &got, &want);
        for (int64_t j = 0; j < got.columns; j++)
            for (int64_t e = 0; e < got.rows; e++) {
                const number x = *element(&got, e, j), y = *element(&want, e, j);
                CHECK((same_bits(creal(x), creal(y)) || is_near(&c, e, j, creal(x), creal(y))) &&
                          (same_bits(cimag(x), cimag(y)) || is_near(&c, e, j, cimag(x), cimag(y))),
                      "(%d, %d) is %a%+ai for %a%+ai: %s", (int)e, (int)j, creal(x), cimag(x),
                      creal(y), cimag(y), case_text(&c));
            }
        free(got.at);
        free(want.at);
        routine_free(&c);
    }
}

int main(int argc, char **argv)
{
    test_take_cases(argc, argv, &cases, &first_seed);
    return mode_run_tests(&tested, (test_group){0});
}
