/* test_split.c - binary64 to the longer and shorter formats and back, against MPFR: values,
 * rounding, both ends of the range, special values; and double+single to and from double-double. */
#include "tests/support/test.h"

#include <math.h>

#include "tests/support/bits.h"
#include "cases.h"
#include "exact.h"

enum { RANDOM_CASES = 300000 };

/* |result - x 2^-e| <= relative |x 2^-e| from 2^smallest on, absolute 2^last below; infinite from
 * largest on. */
typedef struct {
    operation which;
    double relative, absolute;
    int smallest, last;
    double largest;
} promise;

#define LARGEST32 (0x1p128 * (1.0 - 0x1p-25))
static const promise promises[] = {
    {OPERATION_td_df_split, 0x1p-49, 1.0, -100, -149, LARGEST32},
    {OPERATION_td_ts_split, 0.0, 1.0, -97, -149, LARGEST32},
    {OPERATION_td_dd_split, 0.0, 0.5, -1022, -1074, INFINITY},
};

typedef struct {
    const promise *promise;
    mpfr_t x, last, got;
    long relative, absolute, infinite, special;
    double worst_relative, worst_absolute;
} state;

static void apply(operation which, const operation_in *in, double *r)
{
    const operation_out out = operation_apply(which, in);
    for (int i = 0; i < MAX_PARTS; i++) r[i] = double_of(out.part[i]);
}

static void check_special(state *s, double x, const double *r)
{
    s->special++;
    CHECK(r[1] == 0.0 && r[2] == 0.0, "the lower parts of %g are %a %a", x, r[1], r[2]);
    CHECK(x == x ? r[0] == x : r[0] != r[0], "%g became %g", x, r[0]);
}

static void check_finite(state *s, const operation_in *in, const double *r)
{
    const promise *p = s->promise;
    exact_set(s->x, in->a[0]);
    exact_shift(s->x, -in->e);
    if (mpfr_cmpabs_ui(s->x, 0) && fabs(mpfr_get_d(s->x, MPFR_RNDZ)) >= p->largest) {
        check_special(s, in->a[0] > 0.0 ? INFINITY : -INFINITY, r);
        s->special--;
        s->infinite++;
        return;
    }
    if (mpfr_get_exp(s->x) > 1023 && !mpfr_zero_p(s->x))
        return; /* outside the domain of td_dd_split */
    exact_set_parts(s->got, r);
    const int is_large = mpfr_zero_p(s->x) || mpfr_get_exp(s->x) > p->smallest;
    const double error = exact_distance(s->got, s->x, is_large ? s->x : s->last);
    CHECK_AT_MOST(error, is_large ? p->relative : p->absolute, "%s: %a 2^-%d is (%a, %a, %a)",
                  operation_names[p->which], in->a[0], (int)in->e, r[0], r[1], r[2]);
    CHECK(is_normalised(operation_formats[p->which], r), "%s: %a 2^-%d: (%a, %a, %a) overlaps",
          operation_names[p->which], in->a[0], (int)in->e, r[0], r[1], r[2]);
    double *worst = is_large ? &s->worst_relative : &s->worst_absolute;
    if (error > *worst) *worst = error;
    *(is_large ? &s->relative : &s->absolute) += 1;
}

static void check_split(const operation_in *in, void *context)
{
    state *s = context;
    double r[MAX_PARTS];
    apply(s->promise->which, in, r);
    if (isfinite(in->a[0]))
        check_finite(s, in, r);
    else
        check_special(s, in->a[0], r);
}

TEST(splits_keep_their_bounds)
{
    for (size_t i = 0; i < sizeof promises / sizeof *promises; i++) {
        state s = {.promise = &promises[i]};
        exact_init(s.x);
        exact_init(s.got);
        exact_init(s.last);
        mpfr_set_ui_2exp(s.last, 1, s.promise->last, MPFR_RNDN);
        cases_visit(s.promise->which, test_seed(), test_cases(RANDOM_CASES), check_split, &s);
        test_note("%s: %ld cases, worst %s relative; %ld small, worst %.3f 2^%d; %ld overflow, "
                  "%ld special",
                  operation_names[s.promise->which], s.relative, test_power(s.worst_relative),
                  s.absolute, s.worst_absolute, s.promise->last, s.infinite, s.special);
        CHECK(s.relative > 10000 && s.absolute > 1000 && s.special > 10, "too few cases");
        CHECK(s.infinite > 1000 || s.promise->largest == INFINITY, "nothing overflows");
        mpfr_clears(s.x, s.last, s.got, (mpfr_ptr)0);
    }
}

/* Every split number comes back: unchanged, or within 2^-49 from double-float. */
TEST(round_trips_keep_numbers)
{
    static const operation pairs[][2] = {{OPERATION_td_df_split, OPERATION_td_df_join},
                                         {OPERATION_td_ts_split, OPERATION_td_ts_join},
                                         {OPERATION_td_dd_split, OPERATION_td_dd_join}};
    test_random r = random_start(test_seed());
    for (int i = 0; i < 300000; i++) {
        operation_in in = {.e = 0}, back = {.e = 0};
        const int which = i % 3;
        in.a[0] = random_part(&r, DOUBLE, 0, -90, 127);
        if (i % 2) in.a[0] = double_of(bits_of(in.a[0]) & ~UINT64_C(15)); /* 49 bits */
        apply(pairs[which][0], &in, back.a);
        if (!isfinite(back.a[0])) continue;
        const double x = double_of(operation_apply(pairs[which][1], &back).part[0]);
        CHECK(which == 0 && i % 2 == 0 ? fabs(x - in.a[0]) <= 0x1p-49 * fabs(in.a[0])
                                       : x == in.a[0],
              "%s: %a came back as %a", operation_names[pairs[which][0]], in.a[0], x);
    }
}

/* Joins round to nearest. */

typedef struct {
    operation which;
    mpfr_t x;
    long checked, wrong;
} join_state;

static void check_join(const operation_in *in, void *context)
{
    join_state *s = context;
    const format_id format = operation_formats[s->which];
    const double got = double_of(operation_apply(s->which, in).part[0]);
    double want = in->a[0];
    if (isfinite(want)) {
        if (!isfinite(in->a[1]) || !isfinite(in->a[2])) return; /* no number */
        if (format != DF && !is_normalised(format, in->a)) return;
        mpfr_set_prec(s->x, 2200);
        exact_set_parts(s->x, in->a);
        want = mpfr_get_d(s->x, MPFR_RNDN);
    }
    s->checked++;
    CHECK(got == want || (got != got && want != want), "%s (%a, %a, %a) is %a, not %a",
          operation_names[s->which], in->a[0], in->a[1], in->a[2], got, want);
}

TEST(joins_round_once)
{
    static const operation all[] = {OPERATION_td_df_join, OPERATION_td_dd_join,
                                    OPERATION_td_ts_join};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        join_state s = {.which = all[i]};
        exact_init(s.x);
        cases_visit(s.which, test_seed(), test_cases(RANDOM_CASES), check_join, &s);
        test_note("%s: %ld cases", operation_names[s.which], s.checked);
        CHECK(s.checked > test_cases(100000), "too few cases");
        mpfr_clear(s.x);
    }
}

/* Conversions between the longer formats: |result - a| <= bound |a's second part|, and
 * normalised. */

typedef struct {
    operation which;
    format_id to;
    double bound;
    mpfr_t x, got, second;
    long checked;
} conversion;

static void check_conversion(const operation_in *in, void *context)
{
    conversion *s = context;
    const format_id from = operation_formats[s->which];
    double r[MAX_PARTS];
    apply(s->which, in, r);
    if (!isfinite(in->a[0])) {
        if (s->which == OPERATION_td_ts_to_dd) return;
        CHECK(r[0] == in->a[0] || (r[0] != r[0] && in->a[0] != in->a[0]), "%g became %g", in->a[0],
              r[0]);
        return;
    }
    for (int i = 0; i < formats[from].parts; i++)
        if (!isfinite(in->a[i]) || (in->a[i] != 0.0 && fabs(in->a[i]) < 0x1p-120)) return;
    if (!is_normalised(from, in->a)) return;
    s->checked++;
    exact_set_parts(s->x, in->a);
    exact_set_parts(s->got, r);
    exact_set(s->second, in->a[1]);
    CHECK_AT_MOST(exact_distance(s->got, s->x, s->second), s->bound, "%s (%a, %a, %a) is (%a, %a)",
                  operation_names[s->which], in->a[0], in->a[1], in->a[2], r[0], r[1]);
    CHECK(is_normalised(s->to, r), "%s (%a, %a, %a) is (%a, %a), which overlaps",
          operation_names[s->which], in->a[0], in->a[1], in->a[2], r[0], r[1]);
}

TEST(conversions_keep_their_bounds)
{
    static const conversion all[] = {
        {.which = OPERATION_td_ds, .to = DS, .bound = 0x1p-24},
        {.which = OPERATION_td_dd_shorten, .to = DD, .bound = 0x1p-24},
        {.which = OPERATION_td_dd_from_ds, .to = DD, .bound = 0.0},
        {.which = OPERATION_td_ts_to_dd, .to = DD, .bound = 0x1p-53},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        conversion s = all[i];
        exact_init(s.x);
        exact_init(s.got);
        exact_init(s.second);
        cases_visit(s.which, test_seed(), test_cases(RANDOM_CASES), check_conversion, &s);
        test_note("%s: %ld cases", operation_names[s.which], s.checked);
        CHECK(s.checked > test_cases(100000), "too few cases");
        mpfr_clears(s.x, s.got, s.second, (mpfr_ptr)0);
    }
}

/* The ends of double+single: lo stays finite, and ends at 2^-149. */
TEST(double_single_ends_gently)
{
    static const double cases[][3] = {
        {0x1p1000, 0x1p947, 0x1.fffffep127},
        {0x1p1000, -0x1p947, -0x1.fffffep127},
        {0x1p181, 0x1p128, 0x1.fffffep127},
        {0x1p180, 0x1p127, 0x1p127},
        {0x1p-90, 0x1.8p-148, 0x1.8p-148},
        {0x1p-90, 0x1p-150, 0.0},
        {0x1p-90, -0x1.8p-150, -0x1p-149},
        {INFINITY, 1.0, 0.0},
        {-INFINITY, NAN, 0.0},
        {NAN, 1.0, 0.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const operation_in in = {.a = {cases[i][0], cases[i][1]}};
        double r[MAX_PARTS];
        apply(OPERATION_td_ds, &in, r);
        CHECK(same_bits(r[0], in.a[0]) && r[1] == cases[i][2], "(%a, %a) is (%a, %a)", in.a[0],
              in.a[1], r[0], r[1]);
    }
}
