/* test_df.c - double-float add, multiply, fused multiply-add and join against MPFR, with the bounds of df.h. */
#include "../support/test.h"

#include "../support/bits.h"
#include "cases.h"
#include "exact.h"

enum { SEED = 21, RANDOM_CASES = 200000 };

#define V2 0x1p-48 /* v^2 */

typedef struct {
    operation which;
    mpfr_t x, y, scale, term;
    long checked;
    double worst[2]; /* in units of v^2: relative to sizes of the operands, and of the result */
    operation_in worst_in;
} state;

static void run(operation which, case_visitor check, double worst[2])
{
    state s = {.which = which};
    exact_init(s.x);
    exact_init(s.y);
    exact_init(s.scale);
    exact_init(s.term);
    cases_visit(which, SEED, RANDOM_CASES, check, &s);
    test_note("%s: %ld cases, worst %.3f v^2 at (%a, %a) (%a, %a) (%a, %a)", operation_names[which],
              s.checked, s.worst[0] / V2, s.worst_in.a.hi, s.worst_in.a.lo, s.worst_in.b.hi,
              s.worst_in.b.lo, s.worst_in.c.hi, s.worst_in.c.lo);
    CHECK(s.checked > RANDOM_CASES, "too few cases");
    worst[0] = s.worst[0] / V2;
    worst[1] = s.worst[1] / V2;
    mpfr_clears(s.x, s.y, s.scale, s.term, (mpfr_ptr)0);
}

static tandem_df result(const state *s, const operation_in *in)
{
    const operation_out out = operation_apply(s->which, in);
    return td_df((float)double_of(out.first), (float)double_of(out.second));
}

static void note_worst(state *s, const operation_in *in, double error)
{
    if (error <= s->worst[0]) return;
    s->worst[0] = error;
    s->worst_in = *in;
}

/* The lower part is at most half a unit in the last place of the upper one (which, in a tie, need not be even). */
static int is_normalised(tandem_df a)
{
    return a.hi == 0.0f ? a.lo == 0.0f : fabsf(a.lo) <= ldexpf(0.5f, ilogbf(a.hi) - 23);
}

/* x <- the result, scale <- |scale| + |term|, and the bound on the distance of x from y. */
static void check_sum(const operation_in *in, void *context)
{
    state *s = context;
    const tandem_df r = result(s, in);
    s->checked++;
    exact_set_df(s->y, in->a);
    exact_set_df(s->term, in->b);
    mpfr_abs(s->scale, s->y, MPFR_RNDN);
    exact_add(s->y, s->term);
    const int same_sign = (in->a.hi > 0.0f) == (in->b.hi > 0.0f);
    mpfr_abs(s->term, s->term, MPFR_RNDN);
    exact_add(s->scale, s->term);
    exact_set_df(s->x, r);
    const double error = exact_distance(s->x, s->y, s->scale);
    CHECK_AT_MOST(error, 3.0 * V2, "(%a, %a) + (%a, %a) = (%a, %a)", in->a.hi, in->a.lo, in->b.hi,
                  in->b.lo, r.hi, r.lo);
    CHECK(is_normalised(r), "(%a, %a) + (%a, %a) = (%a, %a) overlaps", in->a.hi, in->a.lo, in->b.hi,
          in->b.lo, r.hi, r.lo);
    if (same_sign && error > s->worst[1]) s->worst[1] = error;
    note_worst(s, in, error);
}

static void sums_keep_their_bound(void **unused)
{
    (void)unused;
    double worst[2];
    run(OPERATION_df_add, check_sum, worst);
    test_note("    same signs: %.3f v^2", worst[1]);
    CHECK(worst[1] > 1.0, "the corner cases reach no error near the bound");
}

static void check_product(const operation_in *in, void *context)
{
    state *s = context;
    const tandem_df r = result(s, in);
    s->checked++;
    exact_set_df(s->y, in->a);
    exact_set_df(s->term, in->b);
    exact_multiply(s->y, s->term);
    exact_set_df(s->x, r);
    const double error = exact_distance(s->x, s->y, s->y);
    CHECK_AT_MOST(error, 9.0 * V2, "(%a, %a) (%a, %a) = (%a, %a)", in->a.hi, in->a.lo, in->b.hi,
                  in->b.lo, r.hi, r.lo);
    CHECK(is_normalised(r), "(%a, %a) (%a, %a) = (%a, %a) overlaps", in->a.hi, in->a.lo, in->b.hi,
          in->b.lo, r.hi, r.lo);
    note_worst(s, in, error);
}

static void products_keep_their_bound(void **unused)
{
    (void)unused;
    double worst[2];
    run(OPERATION_df_mul, check_product, worst);
    CHECK(worst[0] > 2.0, "the cases reach no error near what is known to occur");
}

static void check_fma(const operation_in *in, void *context)
{
    state *s = context;
    const tandem_df r = result(s, in);
    s->checked++;
    exact_set_df(s->y, in->a);
    exact_set_df(s->term, in->b);
    exact_multiply(s->y, s->term);
    mpfr_abs(s->scale, s->y, MPFR_RNDN);
    mpfr_mul_ui(s->scale, s->scale, 12, MPFR_RNDN);
    exact_set_df(s->term, in->c);
    exact_add(s->y, s->term);
    mpfr_abs(s->term, s->term, MPFR_RNDN);
    mpfr_mul_ui(s->term, s->term, 3, MPFR_RNDN);
    exact_add(s->scale, s->term); /* 9 |a b| + 3 (|a b| + |c|) */
    exact_set_df(s->x, r);
    const double error = exact_distance(s->x, s->y, s->scale);
    CHECK_AT_MOST(error, V2, "(%a, %a) (%a, %a) + (%a, %a) = (%a, %a)", in->a.hi, in->a.lo,
                  in->b.hi, in->b.lo, in->c.hi, in->c.lo, r.hi, r.lo);
    note_worst(s, in, error);
}

static void fused_products_keep_their_bound(void **unused)
{
    (void)unused;
    double worst[2];
    run(OPERATION_df_fma, check_fma, worst);
}

static void check_join(const operation_in *in, void *context)
{
    state *s = context;
    const double got = double_of(operation_apply(s->which, in).first);
    double want = in->a.hi;
    s->checked++;
    if (isfinite(in->a.hi) && isfinite(in->a.lo)) {
        exact_set_df(s->x, in->a);
        want = mpfr_get_d(s->x, MPFR_RNDN);
    } else if (isfinite(in->a.hi)) {
        return; /* no double-float */
    }
    CHECK(got == want || (got != got && want != want), "join (%a, %a) is %a, not %a", in->a.hi,
          in->a.lo, got, want);
}

static void joins_round_once(void **unused)
{
    (void)unused;
    double worst[2];
    run(OPERATION_df_join, check_join, worst);
}

/* The comparison that all of the above rests on sees one unit in the last place of the lower part. */
static void a_planted_fault_is_seen(void **unused)
{
    (void)unused;
    mpfr_t x, y;
    exact_init(x);
    exact_init(y);
    const tandem_df a = td_df(0x1.555556p0f, 0x1p-24f);
    exact_set_df(x, a);
    exact_set_df(y, td_df(a.hi, nextafterf(a.lo, 1.0f)));
    CHECK(exact_distance(x, x, x) == 0.0, "equal numbers are apart");
    CHECK(exact_distance(x, y, x) > 0.0, "unequal numbers are not");
    exact_set_df(y, td_df(a.hi, a.lo + 0x1p-44f)); /* 12 v^2 */
    CHECK(exact_distance(x, y, x) > 9.0 * V2, "an error above all bounds is not");
    mpfr_clears(x, y, (mpfr_ptr)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_keep_their_bound),
        cmocka_unit_test(products_keep_their_bound),
        cmocka_unit_test(fused_products_keep_their_bound),
        cmocka_unit_test(joins_round_once),
        cmocka_unit_test(a_planted_fault_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
