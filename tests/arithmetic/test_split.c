/* test_split.c - binary64 to double-float, against MPFR: values, rounding, both ends of the range, special values. */
#include "../support/test.h"

#include "../support/bits.h"
#include "cases.h"
#include "exact.h"

enum { SEED = 22, RANDOM_CASES = 300000 };

/* |result - x 2^-e| in the three ranges of df.h. */
#define RELATIVE 0x1p-49
#define ABSOLUTE 0x1p-149
#define LARGEST  (0x1p128 * (1.0 - 0x1p-25))
enum { SMALLEST_EXPONENT = -100 };

typedef struct {
    mpfr_t x, y, one;
    long relative, absolute, infinite, special;
    double worst_relative, worst_absolute;
} state;

static tandem_df split(const operation_in *in)
{
    const operation_out out = operation_apply(OPERATION_df_split, in);
    return td_df((float)double_of(out.first), (float)double_of(out.second));
}

static void check_special(state *s, const operation_in *in, tandem_df r)
{
    s->special++;
    CHECK(r.lo == 0.0f, "the lower part of %g is %a", in->x, r.lo);
    CHECK(in->x == in->x ? (double)r.hi == in->x : r.hi != r.hi, "%g became %g", in->x, r.hi);
}

static void check_finite(state *s, const operation_in *in, tandem_df r)
{
    exact_set(s->x, in->x);
    exact_shift(s->x, -in->e);
    if (mpfr_cmpabs(s->x, s->y) >= 0) {
        s->infinite++;
        CHECK(r.hi == (in->x > 0.0 ? INFINITY : -INFINITY) && r.lo == 0.0f,
              "%a 2^-%d is (%a, %a), not infinite", in->x, (int)in->e, r.hi, r.lo);
        return;
    }
    mpfr_t got;
    exact_init(got);
    exact_set_df(got, r);
    const int is_large = mpfr_zero_p(s->x) || mpfr_get_exp(s->x) > SMALLEST_EXPONENT;
    const double error = exact_distance(got, s->x, is_large ? s->x : s->one);
    mpfr_clear(got);
    CHECK_AT_MOST(error, is_large ? RELATIVE : ABSOLUTE, "%a 2^-%d is (%a, %a)", in->x, (int)in->e,
                  r.hi, r.lo);
    CHECK(r.lo == 0.0f || fabsf(r.lo) <= ldexpf(0.5f, ilogbf(r.hi) - 23),
          "%a 2^-%d: (%a, %a) overlaps", in->x, (int)in->e, r.hi, r.lo);
    double *worst = is_large ? &s->worst_relative : &s->worst_absolute;
    if (error > *worst) *worst = error;
    *(is_large ? &s->relative : &s->absolute) += 1;
}

static void check_split(const operation_in *in, void *context)
{
    const tandem_df r = split(in);
    if (isfinite(in->x))
        check_finite(context, in, r);
    else
        check_special(context, in, r);
}

static void splits_keep_their_bounds(void **unused)
{
    (void)unused;
    state s = {0};
    exact_init(s.x);
    exact_init(s.y);
    exact_init(s.one);
    mpfr_set_ui(s.one, 1, MPFR_RNDN);
    exact_set(s.y, LARGEST);
    cases_visit(OPERATION_df_split, SEED, RANDOM_CASES, check_split, &s);
    test_note("td_df_split: %ld cases, worst %s relative; %ld below 2^-100, worst %s absolute; %ld "
              "overflow, %ld special",
              s.relative, test_power(s.worst_relative), s.absolute, test_power(s.worst_absolute),
              s.infinite, s.special);
    CHECK(s.relative > 10000 && s.absolute > 10000 && s.infinite > 1000 && s.special > 10,
          "too few cases");
    mpfr_clears(s.x, s.y, s.one, (mpfr_ptr)0);
}

/* A split number comes back unchanged as far as 49 bits go: join (split x) is within 2^-49 of x. */
static void a_round_trip_keeps_49_bits(void **unused)
{
    (void)unused;
    operation_in in = {0};
    for (int bit = 4; bit < 52; bit++) {
        in.x = double_of(bits_of(1.0) | UINT64_C(1) << bit);
        in.a = split(&in);
        const double back = double_of(operation_apply(OPERATION_df_join, &in).first);
        CHECK(back == in.x, "%a came back as %a", in.x, back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_keep_their_bounds),
        cmocka_unit_test(a_round_trip_keeps_49_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
