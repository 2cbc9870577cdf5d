/* test_float32.c - float32.h against MPFR: sums and products without error, scaling with one rounding. */
#include "../support/test.h"

#include "../support/bits.h"
#include "cases.h"
#include "exact.h"

enum { SEED = 20, RANDOM_CASES = 200000 };

typedef struct {
    operation which;
    mpfr_t x, y;
    long checked, outside; /* cases in and out of the stated domain */
} state;

static void run(operation which, case_visitor check)
{
    state s = {.which = which};
    exact_init(s.x);
    exact_init(s.y);
    cases_visit(which, SEED, RANDOM_CASES, check, &s);
    test_note("%s: %ld cases, %ld outside the domain", operation_names[which], s.checked,
              s.outside);
    CHECK(s.checked > 0, "nothing was checked");
    mpfr_clears(s.x, s.y, (mpfr_ptr)0);
}

static double result(operation_out out) { return double_of(out.first); }

/* TwoSum, Fast2Sum and TwoProd are exact wherever their comments say. */
static int in_domain(operation which, float a, float b, mpfr_t exact)
{
    if (!isfinite(a) || !isfinite(b) || mpfr_cmpabs_ui(exact, 0) == 0) return isfinite(a + b);
    if (mpfr_get_exp(exact) > 128 || !isfinite((float)mpfr_get_d(exact, MPFR_RNDN))) return 0;
    switch (which) {
    case OPERATION_two_sum:
        return fabsf(a) < 0x1.fffffep127f && fabsf(b) < 0x1.fffffep127f;
    case OPERATION_fast_two_sum:
        return a == 0.0f || (b != 0.0f && ilogbf(a) >= ilogbf(b)) || b == 0.0f;
    default:
        return mpfr_get_exp(exact) >= -101;
    }
}

static void check_error_free(const operation_in *in, void *context)
{
    state *s = context;
    const float a = in->a.hi, b = in->b.hi;
    const operation_out out = operation_apply(s->which, in);
    if (isfinite(a) && isfinite(b)) {
        exact_set(s->x, a);
        exact_set(s->y, b);
        (s->which == OPERATION_two_prod ? exact_multiply : exact_add)(s->x, s->y);
    }
    if (!in_domain(s->which, a, b, s->x)) {
        s->outside++;
        return;
    }
    s->checked++;
    exact_set(s->y, result(out));
    CHECK(result(out) == (float)mpfr_get_flt(s->x, MPFR_RNDN), "%s(%a, %a): the sum is not rounded",
          operation_names[s->which], a, b);
    mpfr_add_d(s->y, s->y, double_of(out.second), MPFR_RNDN);
    CHECK(mpfr_equal_p(s->x, s->y), "%s(%a, %a) = %a + %a", operation_names[s->which], a, b,
          result(out), double_of(out.second));
}

static void two_sum_is_exact(void **unused)
{
    (void)unused;
    run(OPERATION_two_sum, check_error_free);
}

static void fast_two_sum_is_exact(void **unused)
{
    (void)unused;
    run(OPERATION_fast_two_sum, check_error_free);
}

static void two_prod_is_exact(void **unused)
{
    (void)unused;
    run(OPERATION_two_prod, check_error_free);
}

static void check_power(const operation_in *in, void *context)
{
    state *s = context;
    s->checked++;
    mpfr_set_ui_2exp(s->x, 1, in->e, MPFR_RNDN);
    exact_set(s->y, result(operation_apply(s->which, in)));
    CHECK(mpfr_equal_p(s->x, s->y), "%s(%d)", operation_names[s->which], (int)in->e);
}

static void powers_are_exact(void **unused)
{
    (void)unused;
    run(OPERATION_exp2, check_power);
    run(OPERATION_exp2_64, check_power);
}

static void check_scale(const operation_in *in, void *context)
{
    state *s = context;
    s->checked++;
    exact_set(s->x, in->x);
    exact_shift(s->x, in->e);
    const double got = result(operation_apply(s->which, in)), want = mpfr_get_d(s->x, MPFR_RNDN);
    CHECK(bits_of(got) == bits_of(want), "td_scale64(%a, %d) is %a, not %a", in->x, (int)in->e, got,
          want);
}

static void scaling_rounds_once(void **unused)
{
    (void)unused;
    run(OPERATION_scale64, check_scale);
}

static void check_exponent(const operation_in *in, void *context)
{
    state *s = context;
    s->checked++;
    exact_set(s->x, in->x);
    const double got = result(operation_apply(s->which, in)),
                 want = (double)(mpfr_get_exp(s->x) - 1);
    CHECK(got == want, "td_exponent64(%a) is %g, not %g", in->x, got, want);
}

static void exponents_are_right(void **unused)
{
    (void)unused;
    run(OPERATION_exponent64, check_exponent);
}

static void finite_is_told_from_special(void **unused)
{
    (void)unused;
    static const double finite[] = {0.0, -0.0, 0x1p-1074, -0x1p-1022, 1.0, 0x1.fffffffffffffp1023};
    for (size_t i = 0; i < sizeof finite / sizeof *finite; i++)
        CHECK(td_is_finite64(bits_of(finite[i])), "%a", finite[i]);
    CHECK(!td_is_finite64(bits_of(INFINITY)) && !td_is_finite64(bits_of(-INFINITY)), "infinity");
    CHECK(!td_is_finite64(bits_of(NAN)) && !td_is_finite64(UINT64_C(0x7ff0000000000001)), "NaN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_sum_is_exact),
        cmocka_unit_test(fast_two_sum_is_exact),
        cmocka_unit_test(two_prod_is_exact),
        cmocka_unit_test(powers_are_exact),
        cmocka_unit_test(scaling_rounds_once),
        cmocka_unit_test(exponents_are_right),
        cmocka_unit_test(finite_is_told_from_special),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
