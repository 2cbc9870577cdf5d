/* test_axpby.c - td_df_axpby and td_dd_axpby against MPFR: every combination of special scalars,
 * the ends of the range, cancellation. */
#include "tests/support/test.h"

#include <math.h>

#include "tests/support/bits.h"
#include "cases.h"
#include "exact.h"

enum { RANDOM_CASES = 1000000, SUM_BITS = 2300, RESULT_BITS = 300 };

typedef struct {
    operation which;
    double error; /* at most, relative to |alpha sum 2^e| + |beta c|, before the last roundings */
    mpfr_t p, q, exact, bound, end, rounded;
    long checked, special, subnormal, cancelled, not_nearest;

    /* Cases of td_df_axpby where only the result can be subnormal: bits are those of an FMA. */
    long plain;
} state;

/* What binary64 arithmetic makes of the upper part, or of both parts of double-float. *is_cut: it
 * may have rounded something to a multiple of 2^-1074 before the end. */
static double native(state *s, const operation_in *in, bool *is_cut)
{
    const double alpha = in->b[0], beta = in->b[1], q = beta == 0.0 ? 0.0 : beta * in->c[0];
    mpfr_set_d(s->p, s->which == OPERATION_td_df_axpby ? in->a[0] + in->a[1] : in->a[0], MPFR_RNDN);
    mpfr_mul_2si(s->p, s->p, in->e, MPFR_RNDN);
    const double product = mpfr_get_d(s->p, MPFR_RNDN);
    *is_cut = (in->a[0] != 0.0 && fabs(product) < 0x1p-1022) ||
              (beta != 0.0 && in->c[0] != 0.0 && fabs(q) < 0x1p-1022);
    return beta == 0.0 ? alpha * product : fma(alpha, product, q);
}

/* p, q, their sum and the bound on the error before the last rounding. */
static void set_exact(state *s, const operation_in *in)
{
    mpfr_set_d(s->p, in->a[0], MPFR_RNDN);
    mpfr_add_d(s->p, s->p, in->a[1], MPFR_RNDN);
    mpfr_mul_2si(s->p, s->p, in->e, MPFR_RNDN);
    mpfr_mul_d(s->p, s->p, in->b[0], MPFR_RNDN);
    mpfr_set_d(s->q, in->b[1], MPFR_RNDN);
    mpfr_mul_d(s->q, s->q, in->b[1] == 0.0 ? 0.0 : in->c[0], MPFR_RNDN);
    mpfr_add(s->exact, s->p, s->q, MPFR_RNDN);
    mpfr_abs(s->p, s->p, MPFR_RNDN);
    mpfr_abs(s->q, s->q, MPFR_RNDN);
    mpfr_add(s->bound, s->p, s->q, MPFR_RNDN);
    mpfr_mul_d(s->bound, s->bound, s->error, MPFR_RNDN);
}

/* exact + side * bound in binary64, rounded to 53 bits first: below 2^-1022 that makes two
 * roundings. */
static double rounded(state *s, int side)
{
    if (side > 0) mpfr_add(s->end, s->exact, s->bound, MPFR_RNDN);
    if (side < 0) mpfr_sub(s->end, s->exact, s->bound, MPFR_RNDN);
    mpfr_set(s->rounded, side ? s->end : s->exact, MPFR_RNDN);
    return mpfr_get_d(s->rounded, MPFR_RNDN);
}

static void check_case(const operation_in *in, void *context)
{
    state *s = context;
    const double got = double_of(operation_apply(s->which, in).part[0]);
    bool is_cut;
    if (isfinite(in->a[0]) && !is_normalised(operation_formats[s->which], in->a)) return;
    const double plain = native(s, in, &is_cut);
    const bool is_plain = s->which == OPERATION_td_df_axpby && !is_cut;
    s->checked++;
    s->plain += is_plain;
    s->special += !isfinite(plain);
    if (is_plain || !isfinite(plain))
        CHECK(same_bits(got, plain), "%a (%a, %a) 2^%d + %a %a is %a, natively %a", in->b[0],
              in->a[0], in->a[1], (int)in->e, in->b[1], in->c[0], got, plain);
    if (!isfinite(plain)) return;
    set_exact(s, in);
    const double low = rounded(s, -1), high = rounded(s, 1), nearest = rounded(s, 0);
    CHECK(low <= got && got <= high, "%a (%a, %a) 2^%d + %a %a is %a, not %a to %a", in->b[0],
          in->a[0], in->a[1], (int)in->e, in->b[1], in->c[0], got, low, high);
    s->subnormal += got != 0.0 && fabs(got) < 0x1p-1022;
    s->cancelled +=
        mpfr_cmpabs(s->exact, s->q) < 0 && fabs(got) < 0x1p-40 * mpfr_get_d(s->q, MPFR_RNDN);
    s->not_nearest += got != nearest;
}

static void check_operation(operation which, double error)
{
    state s = {.which = which, .error = error};
    mpfr_inits2(SUM_BITS, s.p, s.q, (mpfr_ptr)0);
    mpfr_inits2(RESULT_BITS, s.exact, s.bound, s.end, (mpfr_ptr)0);
    mpfr_init2(s.rounded, 53);
    cases_visit(which, test_seed(), test_cases(RANDOM_CASES), check_case, &s);
    test_note("%s: %ld cases, %ld special, %ld subnormal, %ld cancel by 2^40, %ld not the nearest, "
              "%ld in binary64",
              operation_names[which], s.checked, s.special, s.subnormal, s.cancelled, s.not_nearest,
              s.plain);
    CHECK(s.special > 10000 && s.subnormal > 1000 && s.cancelled > 1000, "too few cases");
    mpfr_clears(s.p, s.q, s.exact, s.bound, s.end, s.rounded, (mpfr_ptr)0);
}

TEST(results_round_once)
{
    check_operation(OPERATION_td_df_axpby, 0x1p-51);
    check_operation(OPERATION_td_dd_axpby, 0x1p-100);
}

/* What binary64 arithmetic rounds twice, or cancels, comes out right. */
TEST(small_parts_count)
{
    static const struct {
        double alpha, hi, lo;
        int e;
        double beta, c, want;
    } cases[] = {
        {3.0, 1.0, 0x1p-54, 0, -3.0, 1.0, 0x1.8p-53},              /* cancels to 3 lo */
        {1.0, 1.0, 0x1p-60, 0, 1.0, 0x1p-53, 0x1.0000000000001p0}, /* lo breaks a tie */
        {1.0, 1.0, -0x1p-60, 0, 1.0, 0x1p-53, 1.0},
        {1.0, 1.0, 0x1p-60, 100, 0.0, NAN, 0x1p100}, /* c is not read */
        {0x1p-600, 1.0, 0.0, -2046, 0.0, 1.0, 0.0},  /* far below everything */
        {-0x1p-600, 1.0, 0.0, -2046, 0x1p-600, 0x1p-600, 0.0},
        {0x1p1023, 1.0, 0.0, -1023, 1.0, 1.0, 2.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double got = td_dd_axpby(cases[i].alpha, td_dd(cases[i].hi, cases[i].lo), cases[i].e,
                                       cases[i].beta, cases[i].c);
        CHECK(got == cases[i].want, "case %zu is %a, not %a", i, got, cases[i].want);
    }
}
