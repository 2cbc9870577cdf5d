/* check_dgemm.c - every emulated mode through tandem_dgemm: bit for bit the plain C definition, and
 * near the exact product. */
#include "../support/test.h"

#include <math.h>
#include <string.h>

#include "../../include/tandem.h"
#include "../support/bits.h"
#include "support/checked.h"
#include "support/device.h"

/* The mode that the tests are running for. */
static const mode *tested;

static double check(const product *of) { return checked_product(tested, of); }

static test_matrix compute(const problem *p) { return checked_compute(tested, p); }

static product plain(const char *data, int64_t m, int64_t n, int64_t k)
{
    return (product){.data = data, .m = m, .n = n, .k = k, .alpha = 1.0, .seed = 41};
}

/* Of many products that differ in numbers alone sanitizers see some. */
static bool is_left_out(int i) { return test_is_brief() && i % 8 != 0; }

static void set_ops(product *of, int which)
{
    of->op_a = which & 1 ? TANDEM_OP_T : TANDEM_OP_N;
    of->op_b = which & 2 ? TANDEM_OP_T : TANDEM_OP_N;
}

/* All transposes, sizes around the edges of blocks, tiles and superblocks, odd leading
 * dimensions. */
static void all_shapes(void **unused)
{
    (void)unused;
    static const int sizes[] = {1, 64, 3, 65, 16, 63, 130, 17},
                     depths[] = {0,  1,  15,  16,  17,  31,  32,  33,   63,
                                 64, 65, 100, 511, 512, 513, 545, 1024, 1025};
    enum { SIZES = 8, DEPTHS = 18 };
    double worst = 0.0;
    for (int i = 0; i < DEPTHS; i++)
        for (int ops = 0; ops < 4; ops++) {
            if (is_left_out(i + ops) || (tested->is_variant && (i + ops) % 3)) continue;
            if (!mode_has_turn(tested, i + ops, 2)) continue;
            product of = plain("both signs", sizes[(3 * i + ops) % SIZES],
                               sizes[(5 * i + 3 * ops + 1) % SIZES], depths[i]);
            set_ops(&of, ops);
            of.pad_a = (i + ops) % 4;
            of.pad_b = (i + 2 * ops) % 3;
            of.pad_c = (2 * i + ops) % 5;
            of.guard = i % 4;
            of.beta = i % 2 ? 0.7 : 0.0;
            worst = fmax(worst, check(&of));
        }
    test_note("worst error of all shapes: %s", test_power(worst));
}

static void empty_products(void **unused)
{
    (void)unused;
    static const int sizes[][3] = {{0, 5, 5}, {5, 0, 5}, {0, 0, 0}, {5, 5, 0}, {0, 5, 0}};
    for (int i = 0; i < 5; i++)
        for (int beta = 0; beta < 3; beta++) {
            product of = plain("uniform", sizes[i][0], sizes[i][1], sizes[i][2]);
            of.guard = 3;
            of.pad_c = 2;
            of.beta = beta / 2.0;
            check(&of);
        }
}

static void tall_products(void **unused)
{
    (void)unused;
    static const struct {
        int m, n, k;
    } shapes[] = {{1, 1, 16384}, {65, 1, 4096}, {5, 70, 2048}, {2, 3, 16383}, {2, 3, 70000}};
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    static const char *const data[] = {"uniform", "wide 4", "constant", "worst constant"};
    if (tested->is_variant) return;
    for (int d = 0; d < (tested->format ? 4 : 1); d++) {
        double worst = 0.0;
        /* Found for df; slow on the host device. */
        if (tested->rounds_sum && d % 2 == 1) continue;
        if (test_is_brief() && d > 0) continue;
        for (int i = 0; i < SHAPES; i++) {
            if (test_is_brief() && i != 1) continue;
            if (!mode_has_turn(tested, i + d, 2)) continue;
            product of = plain(data[d], shapes[i].m, shapes[i].n, shapes[i].k);
            if (test_is_brief()) of.k = 1600;
            if (of.k > 16384 && d > 0) continue;
            if (of.k > 16384 && tested->rounds_sum) of.k = 20000;
            set_ops(&of, i + d);
            const double error = check(&of);
            if (of.k <= 16384) worst = fmax(worst, error);
        }
        test_note("worst error to k = 16384 of %s: %s", data[d], test_power(worst));
    }
}

static void all_scalars(void **unused)
{
    (void)unused;
    static const double alphas[] = {0.0, 1.0, -1.0, 1.7, -0x1p-300, 0x1p600, 0x1p-1074};
    static const double betas[] = {0.0, 1.0, -1.0, -0.3, 0x1p-1000};
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 5; j++) {
            if (is_left_out(i + j) || !mode_has_turn(tested, i + j, 2)) continue;
            product of = plain("both signs", 19, 66, 40);
            set_ops(&of, i + j);
            of.alpha = alphas[i];
            of.beta = betas[j];
            of.pad_c = 1;
            of.guard = 1;
            check(&of);
        }
}

static void all_distributions(void **unused)
{
    (void)unused;
    static const struct {
        int m, n, k;
    } shapes[] = {{33, 34, 100}, {66, 20, 530}, {9, 7, 1100}};
    for (int d = 0; d < distribution_count; d++) {
        double worst = 0.0;
        if (is_left_out(d) || (tested->is_variant && !mode_has_turn(tested, d, 2))) continue;
        if (distributions[d].overflows && strcmp(tested->name, "fp64") == 0) continue;
        for (int i = 0; i < (tested->is_variant || test_is_brief() ? 1 : 3); i++) {
            if (!tested->is_variant && !mode_has_turn(tested, d + i, 3)) continue;
            product of = plain(distributions[d].name, shapes[i].m, shapes[i].n, shapes[i].k);
            set_ops(&of, d + i);
            of.seed = (uint64_t)(100 + d);
            of.alpha = i ? -1.0 : 1.0;
            of.beta = i == 1 ? 0.5 : 0.0;
            worst = fmax(worst, check(&of));
        }
        test_note("worst error of %s: %s", distributions[d].name, test_power(worst));
    }
}

/* The rounded product is taken away: errors of the sums show, of repaired elements too. They are of
 * the mode's size. */
static void errors_show_in_what_is_left(void **unused)
{
    (void)unused;
    static const char *const data[] = {"uniform",   "both signs", "wide 2",      "constant",
                                       "scattered", "crossing",   "far crossing"};
    static const int depths[] = {1, 16, 100, 512, 1025, 4096, 16384};
    double overall = 0.0;
    if (tested->is_variant) return;
    for (int d = 0; d < 7; d++) {
        double worst = 0.0;
        for (int i = 0; i < 7; i++) {
            product of = plain(data[d], 7, 5, depths[i]);
            if (of.k > 1025 && d % 3 != 0) continue; /* it takes long */
            if (test_is_brief() && (d % 3 != 0 || (i != 1 && i != 3))) continue;
            if (of.k > 4096 && d > 0) continue;
            if (d > 0 && !mode_has_turn(tested, d + i, 2)) continue;
            of.seed = (uint64_t)(200 + i);
            of.alpha = i % 2 ? 1.0 : 1.7;
            of.beta = -1.0;
            of.takes_product = true;
            worst = fmax(worst, check(&of));
        }
        test_note("worst error of %s less its product: %s", data[d], test_power(worst));
        if (d < 4) overall = fmax(overall, worst);
    }
    CHECK(!tested->format || overall > tested->bound * 0x1p-8, "better than the mode can be: %s",
          test_power(overall));
}

/* What a mode with longer sums is for: of random matrices, all but one element in a thousand are
 * the nearest to exact. Of exact modes, all. */
static void most_elements_are_correctly_rounded(void **unused)
{
    (void)unused;
    static const char *const data[] = {"uniform", "both signs", "wide 1"};
    static const int sizes[][2] = {{64, 10}, {64, 100}, {64, 1000}, {32, 4096}, {24, 8192}};
    if (!tested->rounds_sum && !tested->is_exact) return;
    int64_t elements = 0, wrong = 0;
    for (int d = 0; d < 3; d++)
        for (int i = 0; i < (test_is_brief() ? 2 : d > 0 ? 3 : 5); i++) {
            if (d > 0 && !mode_has_turn(tested, d + i, 2)) continue;
            product of = plain(data[d], sizes[i][0], sizes[i][0], sizes[i][1]);
            of.seed = (uint64_t)(300 + i);
            problem p = problem_make(&of);
            test_matrix c = compute(&p);
            const ref_gemm gemm = problem_gemm(&p, &p.c);
            int here = 0;
            for (int64_t j = 0; j < of.n; j++)
                for (int64_t l = 0; l < of.m; l++) {
                    const double x = *matrix_at(&c, l, j);
                    here += x != ref_measure(&gemm, l, j, x).nearest;
                }
            CHECK(1000 * here <= (tested->is_exact ? 0 : of.m * of.n),
                  "%d of %d elements are not: %s", here, (int)(of.m * of.n), product_text(&of));
            elements += of.m * of.n;
            wrong += here;
            matrix_free(&c);
            problem_free(&p);
        }
    test_note("%d of %d elements are not correctly rounded", (int)wrong, (int)elements);
}

/* NaN and infinities */

static int is_same_kind(double x, double y)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    return isinf(x) || isinf(y) ? x == y : 1;
}

/* C of a problem whose operands were changed by hand: bits of the definition, the kinds of a plain
 * binary64 loop, and the bound for what is finite. */
static void check_special(const problem *p)
{
    test_matrix c = compute(p), want = matrix_copy(&p->c), plain_c = matrix_copy(&p->c),
                before = p->c;
    const ref_gemm gemm = problem_gemm(p, &want), loop = problem_gemm(p, &plain_c),
                   start = problem_gemm(p, &before);
    ref_account account = mode_product(tested, &gemm);
    account.repaired = 0; /* of elements that turn out finite */
    ref_ieee(&loop);
    checked_compare(tested, p, &c, &want);
    for (int64_t j = 0; j < c.cols; j++)
        for (int64_t i = 0; i < c.rows; i++) {
            const double x = *matrix_at(&c, i, j), y = *matrix_at(&plain_c, i, j);
            CHECK(is_same_kind(x, y), "C(%d, %d) is %g, in binary64 %g: %s", (int)i, (int)j, x, y,
                  product_text(&p->of));
            if (!isfinite(y) || !isfinite(p->of.alpha) || (i + j) % 5 != 0) continue;
            const verdict v = mode_judge(tested, &start, &account, false, i, j, x);
            CHECK_AT_MOST(v.error, v.bound, "C(%d, %d): %s", (int)i, (int)j, product_text(&p->of));
        }
    ref_account_free(&account);
    matrix_free(&c);
    matrix_free(&want);
    matrix_free(&plain_c);
}

static void special_operands(void **unused)
{
    (void)unused;
    static const double values[] = {NAN, INFINITY, -INFINITY};
    for (int round = 0; round < 24; round++) {
        if (is_left_out(round % 7) || !mode_has_turn(tested, round / 2, 2)) continue;
        product of = plain(round % 2 ? "zeros" : "both signs", 70, 67, 45);
        set_ops(&of, round / 3);
        of.beta = round % 4 == 1 ? 1.5 : 0.0;
        of.seed = (uint64_t)round;
        problem p = problem_make(&of);
        test_random r = random_start((uint64_t)round);
        for (int count = round % 5; count >= 0; count--) {
            test_matrix *x = round % 3 == 0         ? &p.a
                             : round % 3 == 1       ? &p.b
                             : random_int(&r, 0, 1) ? &p.a
                                                    : &p.b;
            *matrix_at(x, random_int(&r, 0, (int)x->rows - 1),
                       random_int(&r, 0, (int)x->cols - 1)) = values[(round / 2 + count) % 3];
        }
        check_special(&p);
        problem_free(&p);
    }
}

/* 0 times infinity, infinity minus infinity, in A, B, C and the scalars. */
static void special_everywhere(void **unused)
{
    (void)unused;
    static const double scalars[] = {1.0, NAN, INFINITY, -INFINITY, 0.0, 2.0};
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            if (is_left_out(i + j)) continue;
            product of = plain("both signs", 20, 10, 18);
            of.alpha = scalars[i];
            of.beta = scalars[j];
            problem p = problem_make(&of);
            if (of.alpha != 0.0) {
                *matrix_at(&p.a, 1, 2) = INFINITY;
                *matrix_at(&p.b, 2, 3) = 0.0;
                *matrix_at(&p.b, 2, 4) = -INFINITY;
                *matrix_at(&p.a, 5, 7) = INFINITY;
                *matrix_at(&p.a, 5, 8) = -INFINITY;
            }
            if (of.beta != 0.0) {
                *matrix_at(&p.c, 0, 0) = NAN;
                *matrix_at(&p.c, 1, 1) = INFINITY;
                *matrix_at(&p.c, 2, 0) = -INFINITY;
            }
            check_special(&p);
            problem_free(&p);
        }
}

/* All of A and B is NaN where alpha is 0. */
static void unread_operands_change_nothing(void **unused)
{
    (void)unused;
    product of = plain("uniform", 7, 6, 5);
    of.alpha = 0.0;
    of.beta = 2.0;
    problem p = problem_make(&of);
    test_matrix c = compute(&p);
    for (int64_t i = 0; i < 7; i++)
        CHECK(*matrix_at(&c, i, 5) == 2.0 * *matrix_at(&p.c, i, 5), "row %d", (int)i);
    matrix_free(&c);
    problem_free(&p);
}

/* The comparison that everything rests on notices one flipped bit on the device. */
static void a_flipped_bit_is_seen(void **unused)
{
    (void)unused;
    product of = plain("uniform", 40, 50, 60);
    problem p = problem_make(&of);
    test_matrix good = compute(&p);
    const int bit = tested->is_variant ? 50 : 20; /* they may have few bits */
    *matrix_at(&p.a, 39, 59) = double_of(bits_of(*matrix_at(&p.a, 39, 59)) ^ UINT64_C(1) << bit);
    test_matrix bad = compute(&p);
    const int64_t at = matrix_difference(&good, &bad);
    CHECK(at >= 0 && at % 40 == 39, "another A gives the same C, or another row of it (%d)",
          (int)at);
    CHECK(matrix_hash(&good) != matrix_hash(&bad), "and the same hash");
    matrix_free(&good);
    matrix_free(&bad);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_shapes),
        cmocka_unit_test(empty_products),
        cmocka_unit_test(tall_products),
        cmocka_unit_test(all_scalars),
        cmocka_unit_test(all_distributions),
        cmocka_unit_test(errors_show_in_what_is_left),
        cmocka_unit_test(most_elements_are_correctly_rounded),
        cmocka_unit_test(special_operands),
        cmocka_unit_test(special_everywhere),
        cmocka_unit_test(unread_operands_change_nothing),
        cmocka_unit_test(a_flipped_bit_is_seen),
    };
    int failed = 0;
    device_require();
    while ((tested = mode_after(tested)))
        failed += cmocka_run_group_tests_name(tested->name, tests, NULL, NULL);
    return failed;
}
