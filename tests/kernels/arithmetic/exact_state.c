#include "exact_state.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "tests/support/test.h"

state *state_start(void)
{
    static state s;
    memset(&s, 0, sizeof s);
    s.random = random_start(test_seed());
    mpfr_inits2(BITS, s.sum, s.term, s.error, s.end, s.room, s.unit, (mpfr_ptr)0);
    return &s;
}

void state_stop(state *s)
{
    mpfr_clears(s->sum, s->term, s->error, s->end, s->room, s->unit, (mpfr_ptr)0);
}

double any_number(test_random *r, int low, int high)
{
    double x = 1.0 + ldexp((double)(random_bits(r) >> 12), -52);
    if (random_int(r, 0, 7) == 0) x = 1.0 + ldexp(1.0, -random_int(r, 1, 52));
    return ldexp(random_int(r, 0, 1) ? x : -x, random_int(r, low, high));
}

void add_exactly(mpfr_t x, mpfr_t y)
{
    CHECK(mpfr_add(x, x, y, MPFR_RNDN) == 0, "BITS is too small");
}

void add_product_exactly(state *s, mpfr_t x, double u, double v)
{
    CHECK(mpfr_set_d(s->term, u, MPFR_RNDN) == 0, "BITS is too small");
    CHECK(mpfr_mul_d(s->term, s->term, v, MPFR_RNDN) == 0, "BITS is too small");
    add_exactly(x, s->term);
}

void combine_exactly(state *s, mpfr_t x)
{
    CHECK(mpfr_mul_d(x, x, s->alpha, MPFR_RNDN) == 0, "BITS is too small");
    if (s->beta != 0.0) add_product_exactly(s, x, s->beta, s->c);
}

double rounded(mpfr_t x) { return mpfr_zero_p(x) ? 0.0 : mpfr_get_d(x, MPFR_RNDN); }

void count_result(state *s, double result)
{
    s->zero += result == 0.0;
    s->subnormal += result != 0.0 && fabs(result) < DBL_MIN;
    s->infinite += isinf(result) != 0;
    const double next = nextafter(result, mpfr_cmp_d(s->sum, result) > 0 ? INFINITY : -INFINITY);
    if (!isfinite(result) || !isfinite(next)) return;
    mpfr_mul_2ui(s->error, s->sum, 1, MPFR_RNDN);
    mpfr_sub_d(s->error, s->error, result, MPFR_RNDN);
    s->halfway += mpfr_cmp_d(s->error, next) == 0;
}

double random_scalar(test_random *r)
{
    static const double some[] = {1.0, -1.0, 0.0, 0.5, 3.0, -0.0, DBL_TRUE_MIN, DBL_MAX, -DBL_MIN};
    const int i = random_int(r, 0, 15);
    if (i < 9) return some[i];
    return i < 12 ? any_number(r, -1074, 1023) : any_number(r, -3, 3);
}

void random_c(state *s)
{
    test_random *r = &s->random;
    s->c = random_scalar(r);
    if (s->beta == 0.0 && random_int(r, 0, 1)) s->c = NAN; /* not read */
    const int how = random_int(r, 0, 3);
    if (s->beta == 0.0 || how < 2) return;
    mpfr_mul_d(s->term, s->sum, -s->alpha, MPFR_RNDN);
    mpfr_div_d(s->term, s->term, s->beta, MPFR_RNDN);
    if (how == 2) mpfr_mul_2si(s->term, s->term, random_int(r, -250, 300), MPFR_RNDN);
    if (how == 2 && random_int(r, 0, 1)) mpfr_prec_round(s->term, 2, MPFR_RNDN);
    const double c = mpfr_get_d(s->term, MPFR_RNDN);
    mpfr_prec_round(s->term, BITS, MPFR_RNDN);
    if (isfinite(c)) s->c = random_int(r, 0, 1) ? c : nextafter(c, 0.0);
    s->cancelled += how == 3 && isfinite(c) && c != 0.0;
}
