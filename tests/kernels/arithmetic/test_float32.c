/* test_float32.c - operations on single numbers, of float32.h and of dd.h, against MPFR: sums and
 * products without error, scaling with one rounding, exponents and significands. */
#include "tests/support/test.h"

#include <math.h>

#include "tests/support/bits.h"
#include "cases.h"
#include "exact.h"

enum { RANDOM_CASES = 200000, BITS = 2200 /* of any sum of two binary64 numbers */ };

typedef struct {
    operation which;
    mpfr_t x, y;
    long checked, outside; /* cases in and out of the stated domain */
} state;

static void run(operation which, case_visitor check)
{
    state s = {.which = which};
    mpfr_inits2(BITS, s.x, s.y, (mpfr_ptr)0);
    cases_visit(which, test_seed(), test_cases(RANDOM_CASES), check, &s);
    test_note("%s: %ld cases, %ld outside the domain", operation_names[which], s.checked,
              s.outside);
    CHECK(s.checked > 250, "too few cases");
    mpfr_clears(s.x, s.y, (mpfr_ptr)0);
}

static double part(operation_out out, int i) { return double_of(out.part[i]); }

/* A number rounded to nearest, to the format of the function. */
static double nearest(const state *s, const mpfr_t x)
{
    return operation_formats[s->which] == SINGLE ? mpfr_get_flt(x, MPFR_RNDN)
                                                 : mpfr_get_d(x, MPFR_RNDN);
}

/* TwoSum, Fast2Sum and TwoProd are exact wherever their comments say. */
static int in_domain(const state *s, double a, double b)
{
    const int is_single = operation_formats[s->which] == SINGLE;
    const double largest = is_single ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
    if (!isfinite(a) || !isfinite(b) || !isfinite(nearest(s, s->x))) return 0;
    switch (s->which) {
    case OPERATION_td_two_sum:
    case OPERATION_td_two_sum64:
        return fabs(a) < largest && fabs(b) < largest;
    case OPERATION_td_fast_two_sum:
    case OPERATION_td_fast_two_sum64:
        return a == 0.0 || b == 0.0 || ilogb(a) >= ilogb(b);
    default:
        return mpfr_zero_p(s->x) || mpfr_get_exp(s->x) > (is_single ? -102 : -968);
    }
}

static void check_error_free(const operation_in *in, void *context)
{
    state *s = context;
    const double a = in->a[0], b = in->b[0];
    const operation_out out = operation_apply(s->which, in);
    if (isfinite(a) && isfinite(b)) {
        const int is_product =
            s->which == OPERATION_td_two_prod || s->which == OPERATION_td_two_prod64;
        mpfr_set_d(s->x, a, MPFR_RNDN);
        mpfr_set_d(s->y, b, MPFR_RNDN);
        (is_product ? mpfr_mul : mpfr_add)(s->x, s->x, s->y, MPFR_RNDN);
    }
    if (!in_domain(s, a, b)) {
        s->outside++;
        return;
    }
    s->checked++;
    CHECK(part(out, 0) == nearest(s, s->x), "%s(%a, %a): %a is not rounded",
          operation_names[s->which], a, b, part(out, 0));
    exact_set(s->y, part(out, 0));
    mpfr_sub(s->x, s->x, s->y, MPFR_RNDN); /* exact: the bits below those of the first part */
    CHECK(mpfr_cmp_d(s->x, part(out, 1)) == 0, "%s(%a, %a) = %a + %a", operation_names[s->which], a,
          b, part(out, 0), part(out, 1));
}

TEST(sums_and_products_are_exact)
{
    static const operation all[] = {OPERATION_td_two_sum,    OPERATION_td_fast_two_sum,
                                    OPERATION_td_two_prod,   OPERATION_td_two_sum64,
                                    OPERATION_td_two_prod64, OPERATION_td_fast_two_sum64};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) run(all[i], check_error_free);
}

static void check_power(const operation_in *in, void *context)
{
    state *s = context;
    s->checked++;
    mpfr_set_ui_2exp(s->x, 1, in->e, MPFR_RNDN);
    exact_set(s->y, part(operation_apply(s->which, in), 0));
    CHECK(mpfr_equal_p(s->x, s->y), "%s(%d)", operation_names[s->which], (int)in->e);
}

TEST(powers_are_exact)
{
    run(OPERATION_td_exp2, check_power);
    run(OPERATION_td_exp2_64, check_power);
}

static void check_scale(const operation_in *in, void *context)
{
    state *s = context;
    s->checked++;
    exact_set(s->x,
              round_part(operation_formats[s->which], 0, in->a[0])); /* td_scale32: (float)x */
    exact_shift(s->x, in->e);
    const double got = part(operation_apply(s->which, in), 0), want = nearest(s, s->x);
    CHECK(bits_of(got) == bits_of(want), "%s(%a, %d) is %a, not %a", operation_names[s->which],
          in->a[0], (int)in->e, got, want);
}

TEST(scaling_rounds_once)
{
    run(OPERATION_td_scale32, check_scale);
    run(OPERATION_td_scale64, check_scale);
    run(OPERATION_td_scale_down64, check_scale);
}

/* Each of them says the same about a finite number that is not 0: its exponent, and its bits as m
 * 2^q. */
static void check_exponent(const operation_in *in, void *context)
{
    state *s = context;
    const double x = in->a[0];
    if (!isfinite(x) || x == 0.0) {
        s->outside++;
        return;
    }
    s->checked++;
    exact_set(s->x, x);
    const int e = (int)mpfr_get_exp(s->x) - 1;
    const operation_out out = operation_apply(s->which, in);
    double want[2] = {e, 0.0};
    exact_shift(s->x, -e);
    if (s->which == OPERATION_td_normalise64) {
        want[0] = mpfr_get_d(s->x, MPFR_RNDN);
        want[1] = e;
    } else if (s->which == OPERATION_td_significand64) {
        want[0] = fabs(ldexp(mpfr_get_d(s->x, MPFR_RNDN), 52));
        want[1] = e - 52;
    }
    CHECK(part(out, 0) == want[0] && part(out, 1) == want[1], "%s(%a) is (%a, %g)",
          operation_names[s->which], x, part(out, 0), part(out, 1));
}

TEST(exponents_are_right)
{
    run(OPERATION_td_exponent64, check_exponent);
    run(OPERATION_td_significand64, check_exponent);
    run(OPERATION_td_normalise64, check_exponent);
    const uint64_t zeros[] = {0, UINT64_C(1) << 63};
    for (int i = 0; i < 2; i++) {
        int q, e;
        CHECK(td_significand64(zeros[i], &q) == 0 && q > -2000, "zero: q is %d", q);
        CHECK(td_normalise64(double_of(zeros[i]), &e) == 0.0 && e == -10000, "zero: e is %d", e);
    }
}

static void check_finite(const operation_in *in, void *context)
{
    state *s = context;
    const double x = in->a[0], got = part(operation_apply(s->which, in), 0);
    s->checked++;
    CHECK(got == (isfinite(x) ? 1.0 : 0.0), "%s(%g)", operation_names[s->which], x);
}

TEST(finite_is_told_from_special)
{
    run(OPERATION_td_is_finite32, check_finite);
    run(OPERATION_td_is_finite64, check_finite);
}

TEST(special_values_are_kept)
{
    static const double all[] = {INFINITY, -INFINITY, NAN, -NAN};
    for (int i = 0; i < 4; i++) {
        const float got = td_special32(bits_of(all[i]));
        CHECK(got == all[i] || (got != got && all[i] != all[i]), "%g became %g", all[i], got);
    }
    CHECK(isnan(td_special32(UINT64_C(0x7ff0000000000001))), "a signalling NaN");
}
