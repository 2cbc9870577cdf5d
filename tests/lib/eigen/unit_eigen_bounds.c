/* unit_eigen_bounds.c - intervals from norms that a test makes up: every term of a radius, what
 * clusters become, what is refused. */
#include "tests/support/test.h"

#include <math.h>
#include <string.h>

#include "lib/eigen/eigen_bounds.h"
#include "lib/eigen/upward.h"

enum { MOST = 6 };

/* n columns; what a test does not set is 0, but for unit columns of X and P. */
static struct {
    td_norm norm[TD_OF_COUNT][MOST];
    double d[MOST], lower[MOST], upper[MOST], gram;
    int64_t cluster[MOST];
    td_eigen_measures m;
} given;

static void set_norm(td_verified_matrix which, int j, double norm)
{
    int exponent = 0;
    const double fraction = frexp(norm, &exponent); /* 1/2 <= fraction < 1, or 0 */
    given.norm[which][j] = (td_norm){4.0 * fraction * fraction, norm == 0.0 ? 0 : exponent - 1};
}

static void make(int n, bool has_b)
{
    memset(&given, 0, sizeof given);
    given.m =
        (td_eigen_measures){.n = n, .has_b = has_b, .error = td_error_rounded_once(), .d = given.d};
    for (int i = 0; i < TD_OF_COUNT; i++) given.m.norm[i] = given.norm[i];
    for (int j = 0; j < n; j++) {
        given.d[j] = j + 1.0;
        set_norm(TD_OF_X, j, 1.0);
        set_norm(TD_OF_P, j, 1.0);
        given.lower[j] = given.upper[j] = -77.0;
        given.cluster[j] = -77;
    }
}

static td_bounds_status find(void)
{
    return td_eigen_bounds_find(&given.m, given.lower, given.upper, given.cluster, &given.gram);
}

static double radius(int i) { return (given.upper[i] - given.lower[i]) / 2.0; }

/* At least what is expected, and little more. */
static void assert_radius(int i, double expected)
{
    if (!(radius(i) >= expected && radius(i) <= expected * (1.0 + 1e-9) + 0x1p-46))
        fail_msg("radius %d is %a, not %a", i, radius(i), expected);
}

TEST(radii_are_residuals)
{
    make(3, false);
    set_norm(TD_OF_R, 0, 0.125);
    set_norm(TD_OF_R, 2, 0x1p-20);
    set_norm(TD_OF_G, 1, 0.75);
    assert_int_equal(find(), TD_BOUNDS_FOUND);
    assert_true(given.gram >= 0.75 && given.gram < 0.75 + 1e-9);
    assert_radius(0, 0.125 / sqrt(0.25));
    assert_radius(1, 0.0);
    assert_radius(2, 0x1p-20 / sqrt(0.25));
    for (int i = 0; i < 3; i++) assert_int_equal(given.cluster[i], i);

    make(3, true); /* X'R counts, over 1 - |G| */
    set_norm(TD_OF_T, 0, 0.0625);
    set_norm(TD_OF_G, 1, 0.75);
    assert_int_equal(find(), TD_BOUNDS_FOUND);
    assert_radius(0, 0.0625 / 0.25);
    assert_radius(1, 0.0);
}

/* Residuals that are computed as 0: what their rounding may hide. */
TEST(every_rounding_counts)
{
    make(1, false); /* X D is rounded */
    given.d[0] = 0x1p20;
    assert_int_equal(find(), TD_BOUNDS_FOUND);
    assert_true(radius(0) >= 0x1p-33);

    make(1, true); /* P and P D are rounded, and multiplied by X' */
    given.d[0] = 0x1p20;
    set_norm(TD_OF_P, 0, 1.0);
    set_norm(TD_OF_X, 0, 0x1p10);
    assert_int_equal(find(), TD_BOUNDS_FOUND);
    assert_true(radius(0) >= 2.0 * 0x1p-23);
    assert_true(given.gram >= 0x1p-43); /* X' times P's rounding */

    make(1, false); /* R, of which half a unit is lost */
    given.d[0] = 0.0;
    set_norm(TD_OF_R, 0, 1.0);
    assert_int_equal(find(), TD_BOUNDS_FOUND);
    assert_true(given.upper[0] >= 1.0 + 0x1p-52);

    make(1, false); /* the bottom of the range */
    given.d[0] = 0.0;
    assert_int_equal(find(), TD_BOUNDS_FOUND);
    assert_true(given.upper[0] >= 2 * 0x1p-1074 && given.lower[0] <= -2 * 0x1p-1074);
    assert_true(given.gram > 0.0);
}

/* Sums of n products: (n + 2) 2^-53 |A||x|, and the same of X'X. */
TEST(sums_are_worse)
{
    make(4, false);
    given.m.error = td_error_of_sums(4);
    for (int j = 0; j < 4; j++) set_norm(TD_OF_A, j, 0x1p30);
    assert_int_equal(find(), TD_BOUNDS_FOUND);
    for (int i = 0; i < 4; i++) assert_true(radius(i) >= 6 * 0x1p-53 * 2 * 0x1p30);
    assert_true(given.gram >= 6 * 0x1p-53 * (2 * 2 + 2));
    make(4, false);
    for (int j = 0; j < 4; j++) set_norm(TD_OF_A, j, 0x1p30); /* is not looked at */
    assert_int_equal(find(), TD_BOUNDS_FOUND);
    for (int i = 0; i < 4; i++) assert_true(radius(i) < 1e-14);
}

TEST(clusters_are_what_meets)
{
    make(5, false);
    const double d[] = {3.0, 1.0, 7.0, 1.125, 3.5};
    memcpy(given.d, d, sizeof d);
    set_norm(TD_OF_R, 1, 0.0625); /* of 1 and 1.125: meet in the middle, at least */
    set_norm(TD_OF_R, 3, 0.0625);
    assert_int_equal(find(), TD_BOUNDS_FOUND);
    const int64_t clusters[] = {0, 0, 1, 2, 3};
    assert_memory_equal(given.cluster, clusters, sizeof clusters);
    const double together = sqrt(2.0) * sqrt(2.0) * 0.0625;
    assert_true(given.lower[0] <= 1.0 - together && given.lower[0] > 1.0 - 1.01 * together);
    assert_true(given.upper[0] >= 1.125 + together && given.upper[0] < 1.125 + 1.01 * together);
    assert_true(given.lower[1] == given.lower[0] && given.upper[1] == given.upper[0]);

    /* The last one's interval is wide, and holds two more; with these it reaches the others. */
    set_norm(TD_OF_R, 2, 3.9);
    assert_int_equal(find(), TD_BOUNDS_FOUND);
    for (int i = 0; i < 5; i++) assert_int_equal(given.cluster[i], 0);
    assert_true(given.lower[0] <= 1.0 - sqrt(2.0) * 3.9);
}

TEST(equal_approximations_are_a_cluster)
{
    make(2, false);
    given.d[0] = given.d[1] = 0.0;
    assert_int_equal(find(), TD_BOUNDS_FOUND);
    assert_int_equal(given.cluster[1], 0);
}

static void check_refused(td_bounds_status status)
{
    assert_int_equal(find(), status);
    for (int i = 0; i < given.m.n; i++)
        assert_true(given.lower[i] == -77.0 && given.upper[i] == -77.0 && given.cluster[i] == -77);
}

TEST(nothing_is_made_of_nothing)
{
    for (int has_b = 0; has_b < 2; has_b++) {
        make(2, has_b);
        set_norm(TD_OF_G, 0, 1.0);
        check_refused(TD_BOUNDS_NOT_INDEPENDENT);
        make(2, has_b);
        set_norm(TD_OF_G, 0, 0.8); /* together above 1 */
        set_norm(TD_OF_G, 1, 0.7);
        check_refused(TD_BOUNDS_NOT_INDEPENDENT);
        for (int which = 0; which < TD_OF_COUNT; which++) {
            if (which == TD_OF_A || which == TD_OF_B || (!has_b && which >= TD_OF_P)) continue;
            make(2, has_b);
            given.norm[which][1].squares = NAN;
            check_refused(TD_BOUNDS_NOT_FINITE);
        }
        make(2, has_b);
        set_norm(has_b ? TD_OF_T : TD_OF_R, 1, 0x1p1023);
        given.d[1] = 0x1.fp1023;
        check_refused(TD_BOUNDS_NOT_FINITE);
    }
}

TEST(hypot_is_a_bound)
{
    const double x[] = {0.0, 0x1p-1074, 3e-310, 1e-200, 0.3, 1.0, 7.0, 1e200, 0x1.fp1022};
    const int count = sizeof x / sizeof *x;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            const long double exact = hypotl(x[i], x[j]);
            const double bound = td_hypot_up(x[i], x[j]);
            assert_true((long double)bound >= exact);
            assert_true((long double)bound <= exact * (1.0L + 0x1p-49L) + 0x1p-1070L);
        }
    assert_true(isnan(td_hypot_up(NAN, 1.0)) && isnan(td_hypot_up(1.0, NAN)));
    assert_true(isnan(td_hypot_up(NAN, 0.0)) && isnan(td_hypot_up(0.0, NAN)));
    assert_true(isinf(td_hypot_up(INFINITY, 1.0)) != 0);
}
