/* test_logarithm.c - the whole-number logarithms and the levels of the residue modes, against MPFR
 * and the references. */
#include "../support/test.h"

#include <math.h>
#include <mpfr.h>

#include "../../kernels/residue/moduli.h"
#include "../support/random.h"
#include "ref_lines.h"

enum { SMALL = 1 << 16, RANDOM = 100000 };

/* 256 log2(x) lies in [below, below + 2), and at most at above. The same numbers as the
 * reference's. */
static void check_logarithm(uint64_t x)
{
    static mpfr_t log;
    static int is_ready;
    if (!is_ready++) mpfr_init2(log, 160);
    const int below = td_log_below(x), above = td_log_above(x);
    mpfr_set_uj(log, x, MPFR_RNDN);
    mpfr_log2(log, log, MPFR_RNDN);
    mpfr_mul_ui(log, log, 256, MPFR_RNDN);
    CHECK(mpfr_cmp_si(log, below) >= 0 && mpfr_cmp_si(log, below + 2) < 0, "%llu: %d",
          (unsigned long long)x, below);
    CHECK(mpfr_cmp_si(log, above) <= 0 && above - below <= 2, "%llu: %d", (unsigned long long)x,
          above);
    CHECK(below == ref_log_below(x) && above == ref_log_above(x),
          "%llu: the references have %d, %d", (unsigned long long)x, (int)ref_log_below(x),
          (int)ref_log_above(x));
}

/* Small numbers, all sizes, and both sides of every step. */
TEST(logarithms_are_bounds)
{
    test_random r = random_start(test_seed());
    for (uint64_t x = 1; x <= SMALL; x++) check_logarithm(x);
    for (int i = 0; i < RANDOM; i++) {
        const uint64_t x = random_bits(&r) >> random_int(&r, 0, 63);
        if (x) check_logarithm(x);
    }
    mpfr_t step;
    mpfr_init2(step, 200);
    for (int log = 16; log < 64 * 256; log++) {
        mpfr_set_si(step, log, MPFR_RNDN);
        mpfr_div_ui(step, step, 256, MPFR_RNDN);
        mpfr_exp2(step, step, MPFR_RNDN);
        const uint64_t x = mpfr_get_uj(step, MPFR_RNDD);
        check_logarithm(x);
        check_logarithm(x + 1 ? x + 1 : x);
        check_logarithm(x > 1 ? x - 1 : x);
    }
    mpfr_clear(step);
    check_logarithm(UINT64_MAX);
}

static const unsigned long moduli_of_reals[] = {TD_MODULI, TD_MORE_MODULI},
                           moduli_of_complex[] = {TD_COMPLEX_MODULI};

/* The product of the first moduli. */
static void set_product(mpfr_t product, const unsigned long *moduli, int count)
{
    mpfr_set_ui(product, 1, MPFR_RNDN);
    for (int t = 0; t < count; t++) mpfr_mul_ui(product, product, moduli[t], MPFR_RNDN);
}

static unsigned long common_divisor(unsigned long a, unsigned long b)
{
    return b ? common_divisor(b, a % b) : a;
}

static void check_coprime(const unsigned long *moduli, int count)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            CHECK(moduli[i] < moduli[j] && common_divisor(moduli[i], moduli[j]) == 1, "%lu, %lu",
                  moduli[i], moduli[j]);
}

TEST(moduli_are_coprime)
{
    static const unsigned long few[] = {TD_MODULI};
    assert_int_equal(sizeof few / sizeof *few, TD_MAX_MODULI);
    assert_int_equal(sizeof moduli_of_reals / sizeof *moduli_of_reals, TD_SECOND_MODULI);
    assert_int_equal(sizeof moduli_of_complex / sizeof *moduli_of_complex, TD_MOST_COMPLEX_MODULI);
    check_coprime(moduli_of_reals, TD_SECOND_MODULI);
    check_coprime(moduli_of_complex, TD_MOST_COMPLEX_MODULI);
}

/* -1 has a square root modulo each modulus of complex products, and 2 an inverse. */
TEST(moduli_have_roots_of_minus_1)
{
    for (int t = 0; t < TD_MOST_COMPLEX_MODULI; t++) {
        const unsigned long p = moduli_of_complex[t];
        unsigned long j = 1;
        while (j < p && j * j % p != p - 1) j++;
        CHECK(j < p && p % 2 == 1, "%lu", p);
    }
}

/* Two lines of k elements whose norms are at most 2^(level / 256) before rounding have products
 * below P / 2 (1 - 2^-20) after it. */
static void check_level(const unsigned long *moduli, int count, int64_t k, int level)
{
    mpfr_t product, norm, rounding;
    if (level < 0) return; /* lines of numbers of at most a half, of which one may be that */
    mpfr_inits2(400, product, norm, rounding, (mpfr_ptr)0);
    set_product(product, moduli, count);
    mpfr_mul_d(product, product, 0.5 * (1.0 - 0x1p-20), MPFR_RNDN);
    mpfr_set_si(norm, level, MPFR_RNDN);
    mpfr_div_ui(norm, norm, 256, MPFR_RNDN);
    mpfr_exp2(norm, norm, MPFR_RNDU);
    mpfr_set_si(rounding, (long)k, MPFR_RNDN);
    mpfr_sqrt(rounding, rounding, MPFR_RNDU);
    mpfr_div_ui(rounding, rounding, 2, MPFR_RNDN);
    mpfr_add(norm, norm, rounding, MPFR_RNDU);
    mpfr_sqr(norm, norm, MPFR_RNDU);
    CHECK(mpfr_less_p(norm, product), "%d moduli, k = %lld", count, (long long)k);
    mpfr_mul_d(norm, norm, 1.0 + 0x1p-6, MPFR_RNDD);
    CHECK(count < 8 || mpfr_greater_p(norm, product), "%d moduli: room is wasted", count);
    mpfr_clears(product, norm, rounding, (mpfr_ptr)0);
}

static void check_levels(int64_t k)
{
    for (int count = TD_MIN_MODULI; count <= TD_SECOND_MODULI; count++) {
        if (count > TD_MAX_MODULI && count < TD_SECOND_MODULI) continue;
        const int level = td_level(count, k);
        CHECK(count == TD_SECOND_MODULI || level == ref_level(false, count, k),
              "%d moduli, k = %lld: %d, the reference %d", count, (long long)k, level,
              (int)ref_level(false, count, k));
        check_level(moduli_of_reals, count, k, level);
    }
    for (int count = TD_MIN_MODULI; count <= TD_MOST_COMPLEX_MODULI; count++) {
        const int level = td_complex_level(count, k);
        CHECK(count > TD_MAX_MODULI || level == ref_level(true, count, k),
              "%d complex moduli, k = %lld: %d, the reference %d", count, (long long)k, level,
              (int)ref_level(true, count, k));
        check_level(moduli_of_complex, count, k, level);
    }
}

TEST(levels_keep_products_apart)
{
    static const int64_t depths[] = {
        1, 2, 3, 4, 5, 63, 64, 1000, 16384, 131072, 131073, 1 << 20, (INT64_C(1) << 31) - 1};
    for (int i = 0; i < 13; i++) check_levels(depths[i]);
}
