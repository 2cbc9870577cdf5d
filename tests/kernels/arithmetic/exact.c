#include "exact.h"

#include "tests/support/test.h"

void exact_init(mpfr_t x)
{
    mpfr_init2(x, EXACT_BITS);
    mpfr_set_zero(x, 1);
}

void exact_set(mpfr_t x, double value) { CHECK(mpfr_set_d(x, value, MPFR_RNDN) == 0, "%a", value); }

void exact_add(mpfr_t x, mpfr_t y)
{
    CHECK(mpfr_add(x, x, y, MPFR_RNDN) == 0, "EXACT_BITS is too small");
}

void exact_multiply(mpfr_t x, mpfr_t y)
{
    CHECK(mpfr_mul(x, x, y, MPFR_RNDN) == 0, "EXACT_BITS is too small");
}

void exact_set_parts(mpfr_t x, const double parts[MAX_PARTS])
{
    exact_set(x, parts[0]);
    for (int i = 1; i < MAX_PARTS; i++)
        CHECK(mpfr_add_d(x, x, parts[i], MPFR_RNDN) == 0, "EXACT_BITS is too small");
}

void exact_shift(mpfr_t x, int e) { mpfr_mul_2si(x, x, e, MPFR_RNDN); }

double exact_distance(mpfr_t x, mpfr_t y, mpfr_t scale)
{
    double ratio = 0.0;
    mpfr_t difference;
    mpfr_init2(difference, 64);
    mpfr_sub(difference, x, y, MPFR_RNDA);
    if (!mpfr_zero_p(difference)) {
        mpfr_div(difference, difference, scale, MPFR_RNDA);
        ratio = mpfr_get_d(difference, MPFR_RNDA);
    }
    mpfr_clear(difference);
    return ratio < 0.0 ? -ratio : ratio;
}
