/* test_exact.c - sums of exact.h against MPFR: products over the whole range, cancellation, ties,
 * and the ends of the range. */
#include "tests/support/test.h"

#include <float.h>
#include <math.h>

#include "exact_state.h"
#include "tests/support/bits.h"

enum { SUMS = 60000 };

static double sum_up(state *s, bool backwards)
{
    td_exact x = {s->word, STRIDE, TD_EXACT_WORDS, TD_EXACT_LOWEST};
    td_exact_clear(&x);
    for (int i = 0; i < s->terms; i++) {
        const int l = backwards ? s->terms - 1 - i : i;
        td_exact_add_product(&x, bits_of(s->a[l]), bits_of(s->b[l]));
        if (i % 1000 == 999) td_exact_carry(&x);
    }
    td_exact_carry(&x);
    return td_exact_combine(&x, s->alpha, s->beta, s->c);
}

static void set_sum(state *s)
{
    mpfr_set_zero(s->sum, 1);
    for (int l = 0; l < s->terms; l++) add_product_exactly(s, s->sum, s->a[l], s->b[l]);
}

static void check_sum(state *s)
{
    set_sum(s);
    combine_exactly(s, s->sum);
    const double want = rounded(s->sum), got = sum_up(s, false);
    CHECK(bits_of(got) == bits_of(want),
          "%d terms, %a %a first, alpha %a, beta %a, c %a: %a, not %a", s->terms, s->a[0], s->b[0],
          s->alpha, s->beta, s->c, got, want);
    CHECK(bits_of(sum_up(s, true)) == bits_of(want), "%d terms backwards", s->terms);
    count_result(s, want);
}

static void add_term(state *s, double a, double b)
{
    s->a[s->terms] = a;
    s->b[s->terms++] = b;
}

/* Terms of which some cancel: exponents of a and b from low to high. */
static void random_terms(state *s, int low, int high)
{
    test_random *r = &s->random;
    const int count = random_int(r, 1, 12);
    s->terms = 0;
    while (s->terms < count) {
        const double a = any_number(r, low, high), b = any_number(r, low, high);
        add_term(s, a, b);
        if (random_int(r, 0, 1)) add_term(s, random_int(r, 0, 3) ? -a : nextafter(-a, 0.0), b);
    }
    for (int i = s->terms - 1; i > 0; i--) {
        const int j = random_int(r, 0, i);
        const double a = s->a[i], b = s->b[i];
        s->a[i] = s->a[j], s->b[i] = s->b[j];
        s->a[j] = a, s->b[j] = b;
    }
}

TEST(sums_round_once)
{
    static const int range[][2] = {{-1074, 1023}, {-540, -480}, {-4, 4}, {-1074, -900},
                                   {400, 520},    {490, 512},   {0, 0},  {-60, 60}};
    state *s = state_start();
    for (int i = 0; i < SUMS; i++) {
        const int *ends = range[(size_t)i % (sizeof range / sizeof *range)];
        random_terms(s, ends[0], ends[1]);
        s->alpha = random_scalar(&s->random);
        s->beta = random_int(&s->random, 0, 1) ? 0.0 : random_scalar(&s->random);
        set_sum(s);
        random_c(s);
        check_sum(s);
    }
    test_note("sums: %ld zero, %ld subnormal, %ld infinite, %ld halfway, %ld with c that cancels",
              s->zero, s->subnormal, s->infinite, s->halfway, s->cancelled);
    CHECK(s->zero > 1000 && s->subnormal > 500 && s->infinite > 500 && s->cancelled > 2500,
          "too few cases");
    state_stop(s);
}

/* Results halfway between two numbers, and next to that by one bit anywhere below. */
TEST(ties_go_to_even)
{
    state *s = state_start();
    test_random *r = &s->random;
    s->alpha = s->beta = 1.0;
    for (int i = 0; i < 20000; i++) {
        const int e = i % 4 ? random_int(r, -900, 969) : random_int(r, -1074, -1020);
        const double x = any_number(r, 0, 0);
        const double ulp = ldexp(1.0, e - 52 < -1074 ? -1074 : e - 52);
        const double half = random_int(r, 0, 1) ? 0.5 : -0.5;
        s->c = ldexp(x, e);
        s->terms = 0;
        add_term(s, ulp, half);
        check_sum(s);
        const double a = any_number(r, -1074, -600);
        add_term(s, a, any_number(r, -1074, e > 0 ? 0 : -500));
        check_sum(s);
    }
    test_note("ties: %ld halfway", s->halfway);
    CHECK(s->halfway > 19000, "too few cases");
    state_stop(s);
}

/* The least number that rounds to infinity is 2^1024 - 2^970. */
TEST(overflow_begins_where_it_should)
{
    static const struct {
        double bit; /* added to 2^1024 - 2^970 */
        double want;
    } cases[] = {{0.0, INFINITY},       {0x1p-1074, INFINITY}, {-0x1p-1074, DBL_MAX},
                 {-0x1p900, DBL_MAX},   {0x1p969, INFINITY},   {-0x1p970, DBL_MAX},
                 {-0x1.8p970, DBL_MAX}, {0x1p1023, INFINITY}};
    state *s = state_start();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            s->terms = 0;
            s->alpha = sign;
            s->beta = sign;
            s->c = DBL_MAX;
            add_term(s, 0x1p485, 0x1p485);
            add_term(s, cases[i].bit, 1.0);
            add_term(s, cases[i].bit, 0x1p-1074); /* far below */
            check_sum(s);
            if (cases[i].bit == 0.0) continue;
            const double got = sum_up(s, false);
            CHECK(got == sign * cases[i].want, "%a and 2^1024 - 2^970 give %a", cases[i].bit, got);
        }
    CHECK(s->infinite > 0, "too few cases");
    state_stop(s);
}

/* What rounds by its sign: a sum that is nothing but products below 2^-1075, a zero with and
 * without terms. */
TEST(zeros_have_the_right_sign)
{
    static const struct {
        double a, b, alpha, beta, c, want;
    } cases[] = {
        {0.0, 1.0, 1.0, 0.0, NAN, 0.0},
        {-0.0, 1.0, 1.0, 0.0, NAN, 0.0},
        {1.0, 1.0, 1.0, -1.0, 1.0, 0.0},
        {0.0, 1.0, -1.0, 1.0, -0.0, 0.0},
        {0x1p-600, -0x1p-600, 1.0, 0.0, 0.0, -0.0},
        {0x1p-600, 0x1p-600, -1.0, 1.0, 0.0, -0.0},
        {0x1p-600, 0x1p-600, -1.0, 1.0, 0x1p-1074, 0x1p-1074},
    };
    state *s = state_start();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s->terms = 0;
        add_term(s, cases[i].a, cases[i].b);
        s->alpha = cases[i].alpha;
        s->beta = cases[i].beta;
        s->c = cases[i].c;
        const double got = sum_up(s, false);
        CHECK(bits_of(got) == bits_of(cases[i].want), "case %zu is %a, not %a", i, got,
              cases[i].want);
    }
    state_stop(s);
}

TEST(long_sums_round_once)
{
    static const int range[][2] = {{-30, 30}, {-1074, 1023}, {1023, 1023}, {-1074, -1040}};
    state *s = state_start();
    test_random *r = &s->random;
    for (int i = 0; i < 8; i++) {
        const int *ends = range[i % 4];
        s->terms = 0;
        while (s->terms < MAX_TERMS / 2)
            add_term(s, any_number(r, ends[0], ends[1]), any_number(r, ends[0], ends[1]));
        for (int l = 0; l < MAX_TERMS / 2; l++) add_term(s, i < 4 ? -s->a[l] : s->b[l], s->b[l]);
        s->a[1] = nextafter(s->a[1], 0.0); /* all but this cancels if i < 4 */
        s->alpha = i % 2 ? DBL_TRUE_MIN : -1.7;
        s->beta = i % 2 ? -0.3 : 0.0;
        s->c = any_number(r, -100, 100);
        check_sum(s);
    }
    state_stop(s);
}
