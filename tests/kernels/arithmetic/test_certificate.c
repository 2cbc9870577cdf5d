/* test_certificate.c - td_exact_axpby against MPFR: results that it certifies are correctly
 * rounded, up to the limit of what it can know, and few others are refused. */
#include "tests/support/test.h"

#include <float.h>
#include <math.h>

#include "exact_state.h"
#include "tests/support/bits.h"

enum { FINISHES = 30000 };

/* X of some bits, at times a power of two or next to one. */
static void random_whole(state *s)
{
    test_random *r = &s->random;
    const int bits = random_int(r, 0, 155), how = random_int(r, 0, 3);
    mpfr_set_zero(s->sum, 1);
    for (int i = 0; i < TD_EXACT_LIMBS; i++) {
        const int left = bits - 32 * i;
        uint32_t w = how > 1 ? (uint32_t)random_bits(r) : how == 1 ? ~0u : 0u;
        if (how == 0 && left > 0 && left <= 32) w = 1u << (left - 1);
        w = left >= 32 ? w : left > 0 ? w & ((1u << left) - 1) : 0;
        mpfr_set_ui(s->term, w, MPFR_RNDN);
        mpfr_mul_2si(s->term, s->term, 32L * i, MPFR_RNDN);
        add_exactly(s->sum, s->term);
    }
    if (random_int(r, 0, 1)) mpfr_neg(s->sum, s->sum, MPFR_RNDN);
}

/* The whole number s->sum as limbs. */
static void set_limbs(state *s, uint32_t limb[TD_EXACT_LIMBS])
{
    const uint32_t flip = mpfr_sgn(s->sum) < 0 ? ~0u : 0u;
    int64_t carry = flip & 1;
    for (int i = 0; i < TD_EXACT_LIMBS; i++) { /* floor(|X| / 2^(32 i)) less 2^32 times the next */
        mpfr_abs(s->term, s->sum, MPFR_RNDN);
        mpfr_div_2ui(s->term, s->term, 32ul * (unsigned)i, MPFR_RNDN);
        mpfr_floor(s->term, s->term);
        mpfr_div_2ui(s->end, s->term, 32, MPFR_RNDN);
        mpfr_floor(s->end, s->end);
        mpfr_mul_2ui(s->end, s->end, 32, MPFR_RNDN);
        mpfr_sub(s->term, s->term, s->end, MPFR_RNDN);
        carry += (uint32_t)mpfr_get_ui(s->term, MPFR_RNDN) ^ flip;
        limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* s->sum <- a number halfway between two, or a little off that. */
static void near_tie(state *s)
{
    test_random *r = &s->random;
    const int where = random_int(r, 0, 7);
    const int e = where == 0   ? random_int(r, -1074, -1010)
                  : where == 1 ? random_int(r, 1020, 1023)
                               : random_int(r, -1000, 1000);
    double x = any_number(r, e, e);
    if (where == 1 && random_int(r, 0, 1)) x = DBL_MAX;
    if (random_int(r, 0, 3) == 0) x = nextafter(ldexp(x < 0 ? -1.0 : 1.0, ilogb(x)), 0.0);
    const double below = nextafter(x, 0.0), unit = x - below;
    mpfr_set_d(s->sum, unit, MPFR_RNDN);
    mpfr_div_2ui(s->sum, s->sum, 1, MPFR_RNDN);
    if (random_int(r, 0, 7)) {
        mpfr_set_d(s->term, random_int(r, 0, 1) ? unit : -unit, MPFR_RNDN);
        mpfr_div_2ui(s->term, s->term, (unsigned)random_int(r, 1, 110), MPFR_RNDN);
        add_exactly(s->sum, s->term);
    }
    mpfr_set_d(s->term, random_int(r, 0, 3) ? x : below, MPFR_RNDN);
    add_exactly(s->sum, s->term);
}

/* A scalar that is neither 0 nor far from 1. */
static double plain_scalar(test_random *r)
{
    return random_int(r, 0, 1) ? ldexp(random_int(r, 0, 1) ? 1.0 : -1.0, random_int(r, -3, 3))
                               : any_number(r, -3, 3);
}

/* X, alpha, beta and c with a sum next to a tie: s->sum is X, *e its exponent. */
static void near_tie_by_x(state *s, int *e)
{
    test_random *r = &s->random;
    near_tie(s);
    s->alpha = random_int(r, 0, 3) ? plain_scalar(r) : any_number(r, -1074, 1023);
    s->beta = random_int(r, 0, 1) ? 0.0 : plain_scalar(r);
    mpfr_div_d(s->term, s->sum, s->beta, MPFR_RNDN);
    const double c = s->beta == 0.0 ? NAN : mpfr_get_d(s->term, MPFR_RNDN);
    s->c = random_int(r, 0, 1) ? c : ldexp(c, random_int(r, -40, 40));
    if (s->beta != 0.0 && !isfinite(s->c)) s->c = DBL_MAX;
    if (s->beta != 0.0) add_product_exactly(s, s->sum, -s->beta, s->c);
    mpfr_div_d(s->sum, s->sum, s->alpha, MPFR_RNDN);
    *e = mpfr_zero_p(s->sum) ? 0 : (int)mpfr_get_exp(s->sum) - random_int(r, 1, 155);
    mpfr_mul_2si(s->sum, s->sum, -*e, MPFR_RNDN);
    mpfr_rint(s->sum, s->sum, MPFR_RNDN);
}

/* beta c is a tie, of 27 bits times 27, or of few bits; X is far below it. */
static void near_tie_by_c(state *s, int *e)
{
    test_random *r = &s->random;
    const int bits = random_int(r, 0, 3) ? 26 : random_int(r, 0, 26), q = random_int(r, -500, 480);
    const double x = 1.0 + ldexp(1.0 + 2.0 * random_int(r, 0, (1 << 25) - 1), -26);
    random_whole(s);
    s->alpha = plain_scalar(r);
    s->beta = 1.0 + (bits ? ldexp(1.0, -bits) : 0.0);
    s->c = ldexp(random_int(r, 0, 1) ? x : -x, q);
    if (random_int(r, 0, 3) == 0) s->c = ldexp(1.0, q);
    *e = q - random_int(r, 100, 500);
}

/* Anything. */
static void any_finish(state *s, int *e)
{
    test_random *r = &s->random;
    *e = random_int(r, 0, 3) ? random_int(r, -200, 0) : random_int(r, -2300, 2000);
    s->alpha = random_scalar(r);
    s->beta = random_int(r, 0, 1) ? 0.0 : random_scalar(r);
    random_whole(s);
    mpfr_set(s->room, s->sum, MPFR_RNDN);
    mpfr_mul_2si(s->sum, s->sum, *e, MPFR_RNDN);
    random_c(s);
    mpfr_set(s->sum, s->room, MPFR_RNDN);
}

/* s->room <- |s->sum - (x + y) / 2| if that is less. */
static void take_distance(state *s, double x, double y)
{
    mpfr_set_d(s->term, x, MPFR_RNDN);
    mpfr_add_d(s->term, s->term, y, MPFR_RNDN);
    mpfr_div_2ui(s->term, s->term, 1, MPFR_RNDN);
    mpfr_sub(s->term, s->sum, s->term, MPFR_RNDN);
    mpfr_abs(s->term, s->term, MPFR_RNDN);
    if (mpfr_cmp(s->term, s->room) < 0) mpfr_set(s->room, s->term, MPFR_RNDN);
}

/* s->room <- the distance from s->sum to the nearest tie, or a quarter of the last place;
 * s->unit <- what the certificate is to see of that, at least. Beyond binary64 as if it had no
 * end. */
static void set_room(state *s)
{
    const bool is_large = !mpfr_zero_p(s->sum) && mpfr_get_exp(s->sum) > 900;
    const int down = is_large ? (int)mpfr_get_exp(s->sum) : 0;
    mpfr_div_2ui(s->sum, s->sum, (unsigned)down, MPFR_RNDN);
    const int top = mpfr_zero_p(s->sum) ? -9999 : (int)mpfr_get_exp(s->sum); /* |sum| < 2^top */
    const int last = top - 53 > -1074 ? top - 53 : -1074;
    const double near = mpfr_get_d(s->sum, MPFR_RNDN);
    mpfr_set_ui_2exp(s->room, 1, last - 2, MPFR_RNDN);
    take_distance(s, near, nextafter(near, INFINITY));
    take_distance(s, near, nextafter(near, -INFINITY));
    mpfr_set_ui_2exp(s->unit, 1,
                     top < -1073        ? -1074
                     : last - top > -33 ? top - 64
                                        : top - 96,
                     MPFR_RNDN);
    mpfr_mul_2ui(s->sum, s->sum, (unsigned)down, MPFR_RNDN);
    mpfr_mul_2ui(s->room, s->room, (unsigned)down, MPFR_RNDN);
    mpfr_mul_2ui(s->unit, s->unit, (unsigned)down, MPFR_RNDN);
}

/* eta_log near the limit, or anything. */
static int random_eta(state *s, int e)
{
    test_random *r = &s->random;
    const int how = random_int(r, 0, 7);
    if (how == 0) return TD_EXACT_NO_ERROR;
    if (how == 1 || s->alpha == 0.0 || mpfr_zero_p(s->room)) return 256 * random_int(r, 0, 80);
    mpfr_div_d(s->term, s->room, fabs(s->alpha), MPFR_RNDN);
    mpfr_log2(s->end, s->term, MPFR_RNDN);
    return (int)floor(256.0 * (mpfr_get_d(s->end, MPFR_RNDN) - e)) - random_int(r, -40, 100);
}

/* s->error <- |alpha| eta 2^e, from below. */
static void set_error(state *s, int e, int eta_log)
{
    mpfr_set_d(s->error, eta_log / 256.0, MPFR_RNDN);
    mpfr_exp2(s->error, s->error, MPFR_RNDD);
    mpfr_mul_2si(s->error, s->error, e, MPFR_RNDD);
    mpfr_mul_d(s->error, s->error, fabs(s->alpha), MPFR_RNDD);
}

/* s->sum + side * s->error, rounded once. */
static double rounded_end(state *s, int side)
{
    if (side > 0) mpfr_add(s->end, s->sum, s->error, MPFR_RNDN);
    if (side < 0) mpfr_sub(s->end, s->sum, s->error, MPFR_RNDN);
    return rounded(s->end);
}

/* How many results could be certified and were, could not, and were refused though they could. */
typedef struct {
    long certified, open, refused;
} census;

static void check_certificate(state *s, double got, int eta_log, bool is_certified, census *n)
{
    const bool is_same =
        bits_of(rounded_end(s, 1)) == bits_of(got) && bits_of(rounded_end(s, -1)) == bits_of(got);
    n->certified += is_certified;
    n->open += !is_same;
    n->refused += is_same && !is_certified;
    if (is_certified) {
        CHECK(is_same, "%a is certified with %d, but may be another", got, eta_log);
        return;
    }
    mpfr_mul_d(s->end, s->error, 1.08, MPFR_RNDN); /* the logarithms' errors: 2^0.086, 2^(6/256) */
    mpfr_mul_ui(s->term, s->unit, 2, MPFR_RNDN);
    mpfr_add(s->end, s->end, s->term, MPFR_RNDN);
    CHECK(mpfr_cmp(s->room, s->end) <= 0, "%a is refused with %d", got, eta_log);
}

static void check_finish(state *s, census *n)
{
    static void (*const kinds[])(state *, int *) = {any_finish, near_tie_by_x, near_tie_by_c};
    uint32_t limb[TD_EXACT_LIMBS];
    int e;
    kinds[random_int(&s->random, 0, 2)](s, &e);
    set_limbs(s, limb);
    mpfr_mul_2si(s->sum, s->sum, e, MPFR_RNDN);
    combine_exactly(s, s->sum);
    set_room(s);
    const double want = rounded(s->sum);
    const int eta_log = random_eta(s, e);
    bool is_certified;
    const double got =
        td_exact_axpby(s->alpha, limb, TD_EXACT_LIMBS, e, s->beta, s->c, eta_log, &is_certified);
    CHECK(bits_of(got) == bits_of(want), "X 2^%d, alpha %a, beta %a, c %a: %a, not %a", e, s->alpha,
          s->beta, s->c, got, want);
    count_result(s, want);
    if (eta_log == TD_EXACT_NO_ERROR || s->alpha == 0.0) {
        CHECK(is_certified, "there is no error");
        return;
    }
    set_error(s, e, eta_log);
    check_certificate(s, got, eta_log, is_certified, n);
}

TEST(certified_results_are_correctly_rounded)
{
    const int finishes = test_cases(FINISHES), few = test_cases(200);
    census n = {0};
    state *s = state_start();
    mpfr_set_prec(s->error, 600);
    mpfr_set_prec(s->end, 7000);
    for (int i = 0; i < finishes; i++) check_finish(s, &n);
    test_note("finishes: %ld certified, %ld open, %ld refused without need", n.certified, n.open,
              n.refused);
    test_note("and: %ld zero, %ld subnormal, %ld infinite, %ld halfway", s->zero, s->subnormal,
              s->infinite, s->halfway);
    CHECK(n.certified > finishes / 4 && n.open > finishes / 16 && s->subnormal > few &&
              s->infinite > few && s->halfway > few,
          "too few cases");
    state_stop(s);
}

/* 5 +- 2^-51 (1 + 2^-78), where 2^78 + 1 = (2^26 + 1) (2^52 - 2^26 + 1): its last bit alone breaks
 * the tie, and is shifted out. */
TEST(bits_that_are_shifted_out_count)
{
    const uint32_t five[TD_EXACT_LIMBS] = {5};
    const double alpha = DBL_TRUE_MIN; /* one bit, which leaves five's at the bottom */
    const double beta = 0x1p26 + 1.0, c = 0x1p-129 * (0x1p52 - 0x1p26 + 1.0);
    bool ok;
    const double up =
        td_exact_axpby(alpha, five, TD_EXACT_LIMBS, 1074, beta, c, TD_EXACT_NO_ERROR, &ok);
    CHECK(up == nextafter(5.0, 6.0), "above the tie: %a", up);
    const double down =
        td_exact_axpby(alpha, five, TD_EXACT_LIMBS, 1074, beta, -c, TD_EXACT_NO_ERROR, &ok);
    CHECK(down == nextafter(5.0, 4.0), "below the tie: %a", down);
    const double even =
        td_exact_axpby(alpha, five, TD_EXACT_LIMBS, 1074, 1.0, 0x1p-51, TD_EXACT_NO_ERROR, &ok);
    CHECK(even == 5.0, "a tie: %a", even);
}

TEST(special_scalars_are_refused)
{
    static const double cases[][3] = {{NAN, 0.0, 0.0}, {INFINITY, 1.0, 1.0},
                                      {1.0, NAN, 1.0}, {1.0, -INFINITY, 0.0},
                                      {1.0, 1.0, NAN}, {0.0, 1.0, INFINITY}};
    const uint32_t three[TD_EXACT_LIMBS] = {3};
    bool is_certified;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        td_exact_axpby(cases[i][0], three, TD_EXACT_LIMBS, 0, cases[i][1], cases[i][2],
                       TD_EXACT_NO_ERROR, &is_certified);
        CHECK(!is_certified, "case %zu", i);
    }
    const double got =
        td_exact_axpby(2.0, three, TD_EXACT_LIMBS, 0, -0.0, NAN, TD_EXACT_NO_ERROR, &is_certified);
    CHECK(is_certified && got == 6.0, "c counts if beta is -0: %a", got);
}
